import { randomUUID } from 'node:crypto'
import { Api } from '../api'
import { COMMON_USAGE, type Command, parsed } from '../command'
import { Misused } from '../control-client'
import { asJson, printed, usd } from '../print'

interface Action {
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** The words that must follow, by the route's names. The last takes what is left, when it is text. */
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
  summary: 'links a social account, and acts in its name',
  usage: `COMMAND

  link                      prints the address where its owner allows it
  me, whois USERNAME        the linked account, or another
  follow ID, unfollow ID    by user id
  like ID, unlike ID, delete ID
                            by post id
  post TEXT [--reply-to ID] [--quote ID]
  dm ID TEXT, threads

A linked account hangs on an API key: set GATEWAY_API_KEY, or name the key with --key-id KEY when signed in.
A write carries a name of its own, so that a repeat after a lost answer is not done twice; --name TEXT gives it.

${COMMON_USAGE}`,
  words: Object.keys(ACTIONS),
  async run(args, terminal) {
    const { values, positionals } = parsed(args, {
      'reply-to': { type: 'string' },
      quote: { type: 'string' },
      name: { type: 'string' },
      'key-id': { type: 'string' },
    })
    const [what = '', ...rest] = positionals
    const action = Object.hasOwn(ACTIONS, what) ? ACTIONS[what] : undefined
    if (!action) throw new Misused(`"social" takes ${Object.keys(ACTIONS).join(', ')}; see --help`)
    const input = { ...inputOf(what, action, rest), ...also(values) }
    const api = await Api.open(terminal, values)
    const path = `/apis/v1/social/${action.path}`
    const answer =
      action.method === 'GET'
        ? await api.send('GET', `${path}${Object.keys(input).length > 0 ? `?${new URLSearchParams(input)}` : ''}`)
        : await api.send('POST', path, { body: input, headers: { 'idempotency-key': values.name ?? randomUUID() } })
    const body = Object((await answer.json()) as unknown) as Record<string, unknown>
    printed(terminal, values, body, () =>
      what === 'link'
        ? `Open this address as the owner of the social account, before ${body['expires_at']}:\n${body['auth_url']}\n`
        : asJson(body['data'] ?? body),
    )
    const cost = answer.headers.get('x-cost-micros-usd')
    if (!values.json && cost !== null) terminal.err(`Cost ${usd(Number(cost))} USD\n`)
  },
}

function inputOf(what: string, { takes }: Action, rest: readonly string[]): Record<string, string> {
  const isText = takes.at(-1) === 'content' || takes.at(-1) === 'text'
  const given =
    isText && rest.length > takes.length
      ? [...rest.slice(0, takes.length - 1), rest.slice(takes.length - 1).join(' ')]
      : rest
  if (given.length !== takes.length)
    throw new Misused(`"social ${what}" takes ${takes.length === 0 ? 'no words' : takes.join(' and ')}; see --help`)
  return Object.fromEntries(takes.map((name, i) => [name, given[i] ?? '']))
}

function also(values: {
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
