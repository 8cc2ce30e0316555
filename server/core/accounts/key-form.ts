import { isSold, SOLD } from '../catalogue/operations'
import type { ParameterError } from '../catalogue/parameters'
import { Allowlist, MAX_ALLOWED_IPS } from '../credentials/allowlist'
import type { Budget, KeySettings } from '../credentials/api-key'
import { fromUsdNumber, type Money } from '../money'
import { isPlainLine, PLAIN_LINE_RULE } from '../plain-text'
import { no, ok, type Result } from '../result'
import { isTimeZone } from '../usage/calendar'
import { parseInstant } from './instant'

/** What an owner may send to make or change a key. Only what was sent is set. */
export interface KeyForm extends Partial<KeySettings> {
  readonly spendingLimit?: Money | null
  readonly budget?: Budget | null
  readonly stopsAt?: number
}

/** Reads one member of the form into `into`, or gives the rule that it breaks. */
type Member = (value: unknown, into: Mutable<KeyForm>, now: number) => string | null
type Mutable<T> = { -readonly [K in keyof T]: T[K] }

const MAX_NAME = 64
const MAX_LIST = 100
const MAX_LIMIT_USD = 1_000_000

const MEMBERS: Readonly<Record<string, Member>> = {
  name(value, into) {
    const name = typeof value === 'string' ? value.trim() : ''
    if (name === '' || [...name].length > MAX_NAME || !isPlainLine(name))
      return `must be text of 1 to ${MAX_NAME} characters, ${PLAIN_LINE_RULE}`
    into.name = name
    return null
  },
  spending_limit(value, into) {
    const amount = value === null ? null : typeof value === 'number' ? fromUsdNumber(value) : undefined
    if (amount === undefined || amount === 0 || (value !== null && (amount === null || Number(value) > MAX_LIMIT_USD)))
      return 'must be null (no limit) or USD from 0.000001 to 1000000 with at most 6 decimals'
    into.spendingLimit = amount
    return null
  },
  allowed_ips(value, into) {
    const entries = stringsOf(value, MAX_ALLOWED_IPS)
    if (!entries) return `must be a list of at most ${MAX_ALLOWED_IPS} addresses or CIDR ranges`
    const trimmed = entries.map((entry) => entry.trim().toLowerCase())
    const parsed = Allowlist.parse(trimmed)
    if (!parsed.ok) return `entry ${JSON.stringify(parsed.error.entry.slice(0, 60))} ${parsed.error.rule}`
    into.allowedIps = [...new Set(trimmed)]
    return null
  },
  expires_at(value, into, now) {
    const at = value === null ? null : instantOf(value)
    if (at === undefined) return 'must be null (never) or an RFC 3339 time'
    if (at !== null && at <= now) return 'must be in the future'
    into.expiresAt = at
    return null
  },
  allowed_endpoints(value, into) {
    const names = stringsOf(value, MAX_LIST)
    if (!names?.every(isSold)) return `must be a list of any of ${SOLD.join(', ')}`
    into.allowedEndpoints = [...new Set(names.filter(isSold))]
    return null
  },
  allowed_models(value, into) {
    const names = stringsOf(value, MAX_LIST)
    if (!names?.every((name) => name.length >= 1 && name.length <= 200 && isPlainLine(name)))
      return `must be a list of at most ${MAX_LIST} model ids`
    into.allowedModels = [...new Set(names)]
    return null
  },
  rpm_limit: (value, into) => capOf(value, (cap) => (into.rpmLimit = cap)),
  tpm_limit: (value, into) => capOf(value, (cap) => (into.tpmLimit = cap)),
  budget(value, into) {
    const budget = value === null ? null : budgetOf(value)
    if (budget === undefined)
      return 'must be null or {limit_usd, period: day|week|month, timezone: an IANA time zone}, limit_usd from 0.000001 to 1000000'
    into.budget = budget
    return null
  },
  stops_at(value, into, now) {
    const at = instantOf(value)
    if (at === undefined) return 'must be an RFC 3339 time'
    into.stopsAt = Math.max(at, now)
    return null
  },
}

/** Judges a whole form and lists every wrong member at once. `stops_at` belongs to the change of a replaced key only. */
export function parseKeyForm(
  body: unknown,
  purpose: 'create' | 'change',
  now: number,
): Result<KeyForm, readonly ParameterError[]> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return no([wrong('body', 'must be a JSON object', body)])
  const into: Mutable<KeyForm> = {}
  const errors: ParameterError[] = []
  for (const [name, value] of Object.entries(body)) {
    const member = Object.hasOwn(MEMBERS, name) && !(purpose === 'create' && name === 'stops_at') ? MEMBERS[name] : null
    const broken = member ? member(value, into, now) : 'is not a member of this body'
    if (broken) errors.push(wrong(name.slice(0, 60), broken, value))
  }
  if (purpose === 'create' && !Object.hasOwn(body, 'name'))
    errors.push({ param: 'name', in: 'body', code: 'missing_parameter', rule: 'is required', received: null })
  return errors.length > 0 ? no(errors) : ok(into)
}

export function wrong(param: string, rule: string, received: unknown): ParameterError {
  const text = typeof received === 'string' ? received : (JSON.stringify(received) ?? '')
  return { param, in: 'body', code: 'invalid_parameter', rule, received: text.slice(0, 100) }
}

function stringsOf(value: unknown, most: number): string[] | null {
  if (!Array.isArray(value) || value.length > most) return null
  return value.every((entry): entry is string => typeof entry === 'string') ? value : null
}

function instantOf(value: unknown): number | undefined {
  return typeof value === 'string' ? (parseInstant(value) ?? undefined) : undefined
}

function capOf(value: unknown, set: (cap: number | null) => void): string | null {
  if (value !== null && !(Number.isSafeInteger(value) && Number(value) >= 1))
    return 'must be null or a whole number above 0'
  set(value === null ? null : Number(value))
  return null
}

function budgetOf(value: unknown): Budget | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { limit_usd: usd, period, timezone, ...rest } = value as Record<string, unknown>
  const amount = typeof usd === 'number' ? fromUsdNumber(usd) : null
  if (!amount || Number(usd) > MAX_LIMIT_USD || Object.keys(rest).length > 0) return undefined
  if (period !== 'day' && period !== 'week' && period !== 'month') return undefined
  if (typeof timezone !== 'string' || !isTimeZone(timezone)) return undefined
  return { limitUsd: Number(usd), period, timezone }
}
