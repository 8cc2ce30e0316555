import type { DeliveryRecord, NewWebhook, WebhookChange, WebhookRecord } from '../../http/webhooks/record'
import { ApiClient } from '../api'
import { COMMON_USAGE, type Command, type Flags, parsedArgs, words } from '../command'
import { askServer, UsageError } from '../control-client'
import { asJson } from '../print'
import { PROGRAM } from '../program'
import { table } from '../table'
import { WebhookClient } from '../webhook-client'
import type { OperatorCommand } from './operator-command'

const WEBHOOK_FLAGS = {
  to: { type: 'string' },
  events: { type: 'string', multiple: true },
  limit: { type: 'string' },
  cursor: { type: 'string' },
} as const satisfies Flags

const SUBCOMMANDS = [
  'list',
  'add',
  'confirm',
  'code',
  'show',
  'set',
  'rotate',
  'pause',
  'resume',
  'remove',
  'test',
  'deliveries',
  'resend',
] as const
type Subcommand = (typeof SUBCOMMANDS)[number]

const WEBHOOK_USAGE = `  list                                    list webhooks
  add URL [--events TYPE,TYPE]            create a webhook for all events or these; its secret is printed once
  confirm WEBHOOK CODE                    enter the code that was sent to its URL; before, it receives no events
  code WEBHOOK                            send a new code to its URL, at most 5 times a day
  show WEBHOOK                            show a webhook
  set WEBHOOK [--to URL] [--events TYPE,TYPE|all]
                                          change where its events are sent, or which
  rotate WEBHOOK                          create a new secret, printed once; the old one signs as well for 24 hours
  pause WEBHOOK                           stop sending events
  resume WEBHOOK                          send events again
  remove WEBHOOK                          delete a webhook and its log
  test WEBHOOK                            send a test event; a success resumes a webhook that was paused because it failed
  deliveries WEBHOOK [--limit N] [--cursor CURSOR]
                                          list what was sent, newest first: 20, or N up to 200
  resend WEBHOOK DELIVERY                 send a delivery again, with the same id and body

WEBHOOK is an id (hook_...) or the URL of a webhook. docs/webhooks.md lists the types of events.`

export const WEBHOOKS: Command = {
  name: 'webhooks',
  summary: 'list, create and change webhooks, and see what was sent',
  usage: `COMMAND

${WEBHOOK_USAGE}
Requires "${PROGRAM} login": API keys cannot manage webhooks.

${COMMON_USAGE}`,
  words: SUBCOMMANDS,
  async run(args, terminal) {
    const { values, positionals } = parsedArgs(args, WEBHOOK_FLAGS)
    // Arguments are checked before anything is sent.
    const job = webhookJob(positionals, values)
    const { result, text, secret } = await job(ownWebhooks(await ApiClient.open(terminal, values)))
    if (values.json) return terminal.out(asJson(result))
    // Only the secret goes to standard output, so that it can be piped into a file or a secret store.
    if (secret === undefined) return terminal.out(text)
    terminal.err(`${text}\nThe secret of this webhook. It cannot be shown again:\n`)
    terminal.out(`${secret}\n`)
  },
}

export const WEBHOOK_COMMANDS: readonly OperatorCommand[] = [
  {
    words: 'webhooks',
    about: 'list, create and change the webhooks of an operator, which also receive the events of the whole gateway',
    legend: `${WEBHOOK_USAGE}\n--account is needed where there are several operators.\n`,
    usage: 'COMMAND [--account ACCOUNT]',
    async run(args) {
      const { values, positionals } = parsedArgs(args, { ...WEBHOOK_FLAGS, account: { type: 'string' } })
      const job = webhookJob(positionals, values)
      const { result, text, secret } = await job(operatorWebhooks(values.account))
      if (values.json) return asJson(result)
      return secret === undefined ? text : `${text}\nThe secret of this webhook. It cannot be shown again:\n${secret}\n`
    },
  },
]

/** The webhooks of the account that is signed in. */
function ownWebhooks(api: ApiClient): WebhookClient {
  return new WebhookClient((method, path, body, query) =>
    api.json(method, `/v1/webhooks${path}${queryText(query)}`, { body }),
  )
}

/** The webhooks of an operator's account; without `account`, of the only operator. */
function operatorWebhooks(account: string | undefined): WebhookClient {
  const named = account === undefined ? {} : { account }
  return new WebhookClient((method, path, body, query) =>
    askServer(method, `/api/operator/webhooks${path}${queryText({ ...query, ...named })}`, body),
  )
}

function queryText(query: Readonly<Record<string, string>> = {}): string {
  const text = String(new URLSearchParams(query))
  return text === '' ? '' : `?${text}`
}

interface Outcome {
  readonly result: unknown
  readonly text: string
  readonly secret?: string
}
type Job = (client: WebhookClient) => Promise<Outcome>
type Values = ReturnType<typeof parsedArgs<typeof WEBHOOK_FLAGS>>['values']

function webhookJob([what, ...rest]: readonly string[], values: Values): Job {
  const known = SUBCOMMANDS.find((one) => one === what)
  if (known === undefined) throw new UsageError(`"webhooks" takes ${SUBCOMMANDS.join(', ')}; see --help`)
  return JOBS[known](rest, values)
}

const JOBS: Record<Subcommand, (rest: readonly string[], values: Values) => Job> = {
  list(rest) {
    words('webhooks list', rest, [])
    return async (client) => {
      const result = await client.list()
      return { result, text: listing(result.webhooks) }
    }
  },
  add(rest, { events }) {
    const { url } = words('webhooks add', rest, ['url'])
    const body = { url, ...(events !== undefined && { events: typesIn(events) }) } as NewWebhook // the server validates it
    return async (client) => created(await client.add(body))
  },
  confirm(rest) {
    const { webhook, code } = words('webhooks confirm', rest, ['webhook', 'code'])
    return withOne('confirm', [webhook], async (client, { id }) => listed(await client.confirm(id, code)))
  },
  code: (rest) => withOne('code', rest, async (client, { id }) => sent(await client.sendCode(id))),
  show: (rest) =>
    withOne('show', rest, async (_, webhook) => ({ result: { webhook }, text: listing([webhook]) + details(webhook) })),
  set(rest, { to, events }) {
    const change = { ...(to !== undefined && { url: to }), ...(events !== undefined && { events: typesIn(events) }) }
    if (Object.keys(change).length === 0)
      throw new UsageError('"webhooks set" takes a webhook and --to or --events; see --help')
    return changed('set', rest, change as WebhookChange) // the server validates it
  },
  rotate: (rest) => withOne('rotate', rest, async (client, { id }) => created(await client.rotate(id))),
  pause: (rest) => changed('pause', rest, { status: 'paused' }),
  resume: (rest) => changed('resume', rest, { status: 'active' }),
  remove: (rest) =>
    withOne('remove', rest, async (client, { id }) => {
      const result = await client.remove(id)
      return { result, text: `Removed ${id}.\n` }
    }),
  test: (rest) => withOne('test', rest, async (client, { id }) => sent(await client.test(id))),
  deliveries(rest, { limit = '20', cursor = null }) {
    if (!/^\d{1,3}$/.test(limit)) throw new UsageError(`--limit must be a number from 1 to 200, not "${limit}"`)
    return withOne('deliveries', rest, async (client, { id }) => {
      const result = await client.deliveries(id, Number(limit), cursor)
      const more = result.next_cursor === null ? '' : `\nOlder ones: --cursor ${result.next_cursor}\n`
      return { result, text: deliveryTable(result.deliveries) + more }
    })
  },
  resend(rest) {
    const { webhook, delivery } = words('webhooks resend', rest, ['webhook', 'delivery'])
    return withOne('resend', [webhook], async (client, { id }) => sent(await client.resend(id, delivery)))
  },
}

/** A command about one webhook, which is named by its id or its URL. */
function withOne(
  what: Subcommand,
  rest: readonly string[],
  act: (client: WebhookClient, webhook: WebhookRecord) => Promise<Outcome>,
): Job {
  const { webhook: named } = words(`webhooks ${what}`, rest, ['webhook'])
  return async (client) => {
    const found = (await client.list()).webhooks.filter(({ id, url }) => id === named || url === named)
    const [only, ...others] = found
    if (!only) throw new UsageError(`there is no webhook "${named}"`)
    if (others.length > 0)
      throw new UsageError(
        `several webhooks have this URL. Use one of their ids: ${found.map(({ id }) => id).join(', ')}`,
      )
    return act(client, only)
  }
}

function changed(what: Subcommand, rest: readonly string[], change: WebhookChange): Job {
  return withOne(what, rest, async (client, { id }) => listed(await client.change(id, change)))
}

function listed(result: { readonly webhook: WebhookRecord }): Outcome {
  return { result, text: listing([result.webhook]) + nextStep(result.webhook) }
}

function created(result: { readonly webhook: WebhookRecord; readonly secret: string }): Outcome {
  return { ...listed(result), secret: result.secret }
}

function nextStep({ id, status }: WebhookRecord): string {
  if (status !== 'unconfirmed') return ''
  return `\nA code is sent to this URL. No events are, before "webhooks confirm ${id} CODE", or the receiver answers with the code.\n`
}

function sent(result: { readonly delivery: DeliveryRecord }): Outcome {
  return { result, text: deliveryTable([result.delivery]) }
}

/** `all`, and no types: every event. */
function typesIn(given: readonly string[]): readonly string[] {
  const types = given.flatMap((text) => text.split(',')).map((type) => type.trim())
  return types.filter((type) => type !== '' && type !== 'all')
}

function listing(webhooks: readonly WebhookRecord[]): string {
  if (webhooks.length === 0) return 'No webhooks.\n'
  return table(
    ['WEBHOOK', 'URL', 'EVENTS', 'STATUS', 'FAILING SINCE'],
    webhooks.map(({ id, url, events, status, failing_since: since }) => [
      id,
      url,
      events.length === 0 ? 'all' : events.join(' '),
      status,
      since ?? '-',
    ]),
  )
}

/** The facts that the listing leaves out. */
function details(webhook: WebhookRecord): string {
  const { created_at: created, previous_secret_until: until, dropped_events: dropped } = webhook
  const secret = until === null ? '' : `The previous secret signs too until ${until}.\n`
  return `\nCreated ${created}.\n${secret}${dropped === 0 ? '' : `Events dropped because too many waited: ${dropped}.\n`}${nextStep(webhook)}`
}

function deliveryTable(deliveries: readonly DeliveryRecord[]): string {
  if (deliveries.length === 0) return 'Nothing was sent yet.\n'
  return table(
    ['DELIVERY', 'TYPE', 'STATUS', 'SENT', 'LAST', 'ANSWER', 'MS', 'NEXT'],
    deliveries.map((one) => [
      one.id,
      one.type,
      one.status,
      one.attempts,
      one.last_attempt_at ?? '-',
      one.error ?? String(one.response_status ?? '-'),
      one.duration_ms ?? '-',
      one.next_attempt_at ?? '-',
    ]),
  )
}
