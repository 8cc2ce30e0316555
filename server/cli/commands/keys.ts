import type { KeyPage, KeyRecord, KeyWithSecret, OneKey } from '../../http/keys/record'
import { ApiClient } from '../api'
import { COMMON_USAGE, type Command, parsedArgs, words } from '../command'
import { UsageError } from '../control-client'
import { asJson, keyStatusText, printed, usdText } from '../print'
import { PROGRAM } from '../program'
import { table } from '../table'
import type { Terminal } from '../terminal'

const FLAGS = {
  limit: { type: 'string' },
  budget: { type: 'string', multiple: true },
  ip: { type: 'string', multiple: true },
  expires: { type: 'string' },
  set: { type: 'string', multiple: true },
  grace: { type: 'string' },
  status: { type: 'string' },
  tag: { type: 'string', multiple: true },
  leaked: { type: 'boolean' },
} as const

const SUBCOMMANDS = ['list', 'create', 'show', 'rotate', 'disable', 'enable', 'revoke', 'limit', 'ips', 'set'] as const

export const KEYS: Command = {
  name: 'keys',
  summary: 'list, create and change API keys',
  usage: `COMMAND

  list [--status STATUS] [--tag TAG]      list keys; STATUS is active, disabled, expired, exhausted or revoked
  create NAME [--limit USD] [--budget USD/PERIOD]... [--ip ADDRESS]... [--tag TAG]... [--expires TIME]
         [--set SETTING=VALUE]...         create a key; its secret is printed once, alone on standard output. PERIOD is
                                          day, week or month, in the time zone of this computer
  show KEY                                show a key
  rotate KEY [--grace SECONDS | --leaked] create a replacement; the old key works for another day, for SECONDS,
                                          or with --leaked not at all
  disable KEY                             stop a key for now
  enable KEY                              let a disabled key work again
  revoke KEY                              stop a key for good
  limit KEY USD|none                      set or remove the spending limit
  ips KEY [ADDRESS]...                    allow only these addresses or ranges; without any, allow all
  set KEY SETTING=VALUE...                change any setting, such as note="for Ada" or rpm_limit=30

KEY is an id (key_...) or a name. SETTING is a name in the API. VALUE is JSON, or else text; null removes the setting.
Requires "${PROGRAM} login": API keys cannot manage keys.

${COMMON_USAGE}`,
  words: SUBCOMMANDS,
  async run(args, terminal) {
    const { values, positionals } = parsedArgs(args, FLAGS)
    const [what, ...rest] = positionals
    if (!SUBCOMMANDS.some((one) => one === what))
      throw new UsageError(`"keys" takes ${SUBCOMMANDS.join(', ')}; see --help`)
    const run = RUN[what as (typeof SUBCOMMANDS)[number]]
    // Arguments are checked before anything is sent.
    const job = run(rest, values)
    await job(await ApiClient.open(terminal, values), terminal, values)
  },
}

type Values = ReturnType<typeof parsedArgs<typeof FLAGS>>['values']
type Job<T = unknown> = (api: ApiClient, terminal: Terminal, values: Values) => Promise<T>

const RUN: Record<(typeof SUBCOMMANDS)[number], (rest: readonly string[], values: Values) => Job> = {
  list(rest, { status, tag: [tag, ...more] = [] }) {
    words('keys list', rest, [])
    if (more.length > 0) throw new UsageError('"keys list" takes one --tag')
    return async (api, terminal, values) => {
      const keys = await allKeys(api, { status, tag })
      printed(terminal, values, { keys }, () => listing(keys))
    }
  },
  create(rest, { limit, budget, ip, tag, expires, set = [] }) {
    const { name } = words('keys create', rest, ['name'])
    const body = {
      name,
      ...(limit !== undefined && { spending_limit: limitIn(limit) }),
      ...(budget !== undefined && { budgets: budget.map(budgetIn) }),
      ...(ip !== undefined && { allowed_ips: ip }),
      ...(tag !== undefined && { tags: tag }),
      ...(expires !== undefined && { expires_at: timeIn(expires) }),
      ...settingsIn(set),
    }
    return async (api, terminal, values) => printCreated(await api.json('POST', '/v1/keys', { body }), terminal, values)
  },
  show: (rest) => change('show', rest, 'GET', ''),
  rotate(rest, { grace, leaked }) {
    const { key } = words('keys rotate', rest, ['key'])
    if (grace !== undefined && !/^\d{1,7}$/.test(grace))
      throw new UsageError(`--grace must be a number of seconds, not "${grace}"`)
    const body = leaked
      ? { grace_period_seconds: 0 }
      : grace === undefined
        ? {}
        : { grace_period_seconds: Number(grace) }
    return async (api, terminal, values) =>
      printCreated(await api.json('POST', `/v1/keys/${await idOf(api, key)}/rotate`, { body }), terminal, values)
  },
  disable: (rest) => change('disable', rest, 'POST', '/disable'),
  enable: (rest) => change('enable', rest, 'POST', '/enable'),
  revoke: (rest) => {
    const revoke = change('revoke', rest, 'POST', '/revoke')
    return async (api, terminal, values) => {
      const { key } = await revoke(api, terminal, values)
      if (key.replaces !== null) await sayIfWorking(api, terminal, key.replaces)
    }
  },
  limit(rest) {
    const { key, usd: amount } = words('keys limit', rest, ['key', 'usd'])
    return change('limit', [key], 'PATCH', '', { spending_limit: limitIn(amount) })
  },
  ips([key, ...addresses]) {
    return change('ips', key === undefined ? [] : [key], 'PATCH', '', { allowed_ips: addresses })
  },
  set([key, ...settings]) {
    const body = settingsIn(settings)
    if (Object.keys(body).length === 0) throw new UsageError('"keys set" takes a key and SETTING=VALUE; see --help')
    return change('set', key === undefined ? [] : [key], 'PATCH', '', body)
  },
}

function change(what: string, rest: readonly string[], method: string, path: string, body?: unknown): Job<OneKey> {
  const { key: named } = words(`keys ${what}`, rest, ['key'])
  return async (api, terminal, values) => {
    const { key } = (await api.json(method, `/v1/keys/${await idOf(api, named)}${path}`, { body })) as OneKey
    const more = what === 'show' || what === 'set' ? `\n${details(key)}` : ''
    printed(terminal, values, { key }, () => listing([key]) + more)
    return { key }
  }
}

/** A key that was replaced works until its end, even if the one that replaced it is revoked. */
async function sayIfWorking(api: ApiClient, terminal: Terminal, id: string): Promise<void> {
  const { key } = (await api.json('GET', `/v1/keys/${id}`)) as OneKey
  if (key.status === 'revoked') return
  terminal.err(`The key that it replaced is ${keyStatusText(key)}. To end it, too: ${PROGRAM} keys revoke ${id}\n`)
}

/** Prints only the secret to standard output, so that it can be piped into a file or a secret store. */
function printCreated(created: Record<string, unknown>, terminal: Terminal, values: Values): void {
  const { key, secret } = created as KeyWithSecret
  if (values.json) {
    terminal.out(asJson(created))
    return
  }
  terminal.err(`${listing([key])}\nThe secret of this key. It cannot be shown again:\n`)
  terminal.out(`${secret}\n`)
}

type Filter = { readonly status?: string | undefined; readonly tag?: string | undefined }

async function allKeys(api: ApiClient, { status, tag }: Filter = {}): Promise<KeyRecord[]> {
  const keys: KeyRecord[] = []
  let cursor: string | null = null
  do {
    const query: URLSearchParams = new URLSearchParams({ limit: '200' })
    if (status !== undefined) query.set('status', status)
    if (tag !== undefined) query.set('tag', tag)
    if (cursor !== null) query.set('cursor', cursor)
    const page = (await api.json('GET', `/v1/keys?${query}`)) as KeyPage
    keys.push(...page.keys)
    cursor = page.next_cursor
  } while (cursor !== null)
  return keys
}

async function idOf(api: ApiClient, named: string): Promise<string> {
  if (/^key_[0-9a-f]+$/.test(named)) return named
  const found = (await allKeys(api)).filter(({ name }) => name === named)
  const [only, ...others] = found
  if (!only) throw new UsageError(`you have no key named "${named}"`)
  if (others.length > 0)
    throw new UsageError(
      `several keys are named "${named}". Use one of their ids: ${found.map(({ id }) => id).join(', ')}`,
    )
  return only.id
}

/** The columns of the listing. */
const LISTED: ReadonlySet<string> = new Set<keyof KeyRecord>([
  ...(['id', 'name', 'status', 'spent_micros_usd', 'spending_limit', 'allowed_ips', 'last_used_at'] as const),
])

function listing(keys: readonly KeyRecord[]): string {
  if (keys.length === 0) return 'No keys.\n'
  return table(
    ['KEY', 'NAME', 'STATUS', 'SPENT USD', 'LIMIT USD', 'ADDRESSES', 'LAST USED'],
    keys.map((key) => [
      key.id,
      key.name,
      keyStatusText(key),
      usdText(key.spent_micros_usd),
      key.spending_limit === null ? 'unlimited' : String(key.spending_limit),
      key.allowed_ips.length === 0 ? 'any' : key.allowed_ips.join(' '),
      key.last_used_at ?? 'never',
    ]),
  )
}

/** The settings of a key that the listing leaves out, unless empty. */
function details(key: KeyRecord): string {
  const rows = Object.entries(key).filter(([name, value]) => {
    const isEmpty = value === null || (Array.isArray(value) && value.length === 0)
    return !isEmpty && !LISTED.has(name)
  })
  return table(
    ['SETTING', 'VALUE'],
    rows.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
}

/** Settings by their names in the API, which the server validates. */
function settingsIn(settings: readonly string[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    settings.map((setting) => {
      const at = setting.indexOf('=')
      if (at < 1) throw new UsageError(`a setting must be SETTING=VALUE, not "${setting}"`)
      return [setting.slice(0, at), jsonOrText(setting.slice(at + 1))]
    }),
  )
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function limitIn(text: string): number | null {
  if (text === 'none') return null
  if (!/^\d{1,7}(\.\d{1,6})?$/.test(text))
    throw new UsageError(`a limit must be an amount of USD such as 5 or 0.25, or none, not "${text}"`)
  return Number(text)
}

function budgetIn(text: string) {
  const [, amount, period] = /^(\d{1,7}(?:\.\d{1,6})?)\/(day|week|month)$/.exec(text) ?? []
  if (amount === undefined)
    throw new UsageError(`--budget must be an amount of USD per day, week or month such as 5/day, not "${text}"`)
  return { limit_usd: Number(amount), period, timezone: Intl.DateTimeFormat().resolvedOptions().timeZone }
}

function timeIn(text: string): string {
  const at = Date.parse(text)
  if (Number.isNaN(at)) throw new UsageError(`--expires must be a time such as 2027-01-31T12:00:00Z, not "${text}"`)
  return new Date(at).toISOString()
}
