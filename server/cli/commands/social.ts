import { randomUUID } from 'node:crypto'
import { ApiClient } from '../api'
import { COMMON_USAGE, type Command, parsedArgs } from '../command'
import { UsageError } from '../control-client'
import { asJson, printed, usdText } from '../print'

interface Action {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** The required arguments, by parameter name. If the last one is text, it takes all remaining words. */
  readonly takes: readonly string[]
}

const ACTIONS: Readonly<Record<string, Action>> = {
  link: { method: 'POST', path: 'auth_social', takes: [] },
  whois: { method: 'GET', path: 'user_social', takes: ['username'] },
  me: { method: 'GET', path: 'user_social', takes: [] },
  follow: { method: 'POST', path: 'follow_social', takes: ['target_user_id'] },
  unfollow: { method: 'POST', path: 'unfollow_social', takes: ['target_user_id'] },
  like: { method: 'POST', path: 'like_social', takes: ['tweet_id'] },
  unlike: { method: 'POST', path: 'unlike_social', takes: ['tweet_id'] },
  post: { method: 'POST', path: 'post_social', takes: ['content'] },
  delete: { method: 'POST', path: 'delete_social', takes: ['tweet_id'] },
  dm: { method: 'POST', path: 'dm_social', takes: ['recipient_id', 'text'] },
  threads: { method: 'GET', path: 'dm_threads_social', takes: [] },
}

export const SOCIAL: Command = {
  name: 'social',
  summary: 'link a social account and act with it',
  usage: `COMMAND

  link                                    print a URL where the owner of a social account can approve the link
  me                                      show the linked account
  whois USERNAME                          show another account
  follow ID, unfollow ID                  ID is a user's id
  like ID, unlike ID, delete ID           ID is a post's id
  post TEXT [--reply-to ID] [--quote ID]  write a post
  dm ID TEXT                              send a direct message to a user
  threads                                 show direct messages

A linked account belongs to an API key: set GATEWAY_API_KEY, or sign in and name the key with --key-id KEY.
Every write has an idempotency key, so that repeating it after a lost response does not act twice. Set it with
--idempotency-key KEY.

${COMMON_USAGE}`,
  words: Object.keys(ACTIONS),
  async run(args, terminal) {
    const { values, positionals } = parsedArgs(args, {
      'reply-to': { type: 'string' },
      quote: { type: 'string' },
      'idempotency-key': { type: 'string' },
      // Its former name.
      name: { type: 'string' },
      'key-id': { type: 'string' },
    })
    const [what = '', ...rest] = positionals
    const action = Object.hasOwn(ACTIONS, what) ? ACTIONS[what] : undefined
    if (!action) throw new UsageError(`"social" takes ${Object.keys(ACTIONS).join(', ')}; see --help`)
    const input = { ...inputOf(what, action, rest), ...optionsIn(values) }
    const idempotencyKey = values['idempotency-key'] ?? values.name ?? randomUUID()
    const api = await ApiClient.open(terminal, values)
    const path = `/apis/v1/social/${action.path}`
    const answer =
      action.method === 'GET'
        ? await api.send('GET', `${path}${Object.keys(input).length > 0 ? `?${new URLSearchParams(input)}` : ''}`)
        : await api.send('POST', path, { body: input, headers: { 'idempotency-key': idempotencyKey } })
    const body = Object((await answer.json()) as unknown) as Record<string, unknown>
    printed(terminal, values, body, () =>
      what === 'link'
        ? `Open this URL as the owner of the social account, before ${body['expires_at']}:\n${body['auth_url']}\n`
        : asJson(body['data'] ?? body),
    )
    const cost = answer.headers.get('x-cost-micros-usd')
    if (!values.json && cost !== null) terminal.err(`Cost ${usdText(Number(cost))} USD\n`)
  },
}

function inputOf(what: string, { takes }: Action, rest: readonly string[]): Record<string, string> {
  const isText = takes.at(-1) === 'content' || takes.at(-1) === 'text'
  const given =
    isText && rest.length > takes.length
      ? [...rest.slice(0, takes.length - 1), rest.slice(takes.length - 1).join(' ')]
      : rest
  if (given.length !== takes.length)
    throw new UsageError(
      `"social ${what}" takes ${takes.length === 0 ? 'no arguments' : takes.join(' and ')}; see --help`,
    )
  return Object.fromEntries(takes.map((name, i) => [name, given[i] ?? '']))
}

function optionsIn(values: {
  'reply-to'?: string | undefined
  quote?: string | undefined
  'key-id'?: string | undefined
}): Record<string, string> {
  return {
    ...(values['key-id'] !== undefined && { key_id: values['key-id'] }),
    ...(values['reply-to'] !== undefined && { in_reply_to_tweet_id: values['reply-to'] }),
    ...(values.quote !== undefined && { quote_tweet_id: values.quote }),
  }
}
