import type { Failure } from '../core/failure'
import type { AccountId, CredentialId, PoolId, RequestId } from '../core/ids'
import { isCount, isJson } from '../core/json'
import type { Readings, Subject } from '../core/limits/limiter'
import type { Tier } from '../core/limits/tier'
import type { Money } from '../core/money'
import type { CallRecord, Charged } from '../core/usage/call-record'
import type { UpstreamState } from '../pipeline/models/model-backend'
import type { CreditUse } from '../pipeline/work'
import type { WorkerReport } from './worker-reports'

/**
 * What a worker and its primary say about calls: the payloads of frames, by kind. A request's answer has the type named `...Answer`. The primary
 * believes none of a worker's members before it has checked them (`readX`); a worker believes its primary.
 */

/**
 * `admit`: may the holder of this credential call there? Carries the hash of what was presented, never an id. `isRefused`: the worker refuses the
 * call itself, and wants to know its windows only.
 */
export type Admit = readonly [
  kind: 'api_key' | 'oauth_token',
  hash: string,
  audience: string,
  method: string,
  url: string,
  address: string,
  clientRequestId: string | null,
  isRefused: boolean,
]

/**
 * `refusal`: null if the call may go on. `caller`: null for one who is not known. `full`: why there is no slot for it, with the windows; null if
 * it has one or wants none.
 */
export type AdmitAnswer = readonly [
  id: RequestId,
  at: number,
  caller: CallerFacts | null,
  subjects: readonly WireSubject[],
  readings: Readings,
  refusal: Failure | null,
  full: readonly [Failure, Readings | null] | null,
]

export interface CallerFacts {
  readonly kind: 'key' | 'app'
  readonly account: AccountId
  readonly credential: CredentialId
  readonly pool: PoolId
  readonly tier: Tier
  readonly allowedModels: readonly string[]
}

/** A subject, whose limits are null for infinity. */
export interface WireSubject extends Pick<Subject, 'name' | 'owner' | 'cost'> {
  readonly limits: Readonly<Record<keyof Subject['limits'], number | null>>
}

/** `hold`: what the work needs of the limits and the money. */
export type Hold = readonly [id: RequestId, needs: HoldNeeds]

export interface HoldNeeds {
  readonly operation: string
  readonly maxCost: Money
  readonly version: string
  readonly fixed: boolean
  readonly minCost: Money | null
  readonly credit: CreditUse
  readonly needsTopUp: string | null
  /** The model whose windows and upstreams the call loads, and its likely tokens; null for work without a load. */
  readonly load: { readonly model: string; readonly tokens: number } | null
  readonly timeoutMs: number
  /** For the offer of a payment; null where none is made. */
  readonly fingerprint: string | null
  /** The budget scope that the caller named. */
  readonly scope: string | null
}

/** `available`: with and without signup credit, if the money is not enough. `isStale`: nothing was taken, quote again. */
export type HoldAnswer = readonly [
  refusal: Failure | null,
  isCredit: boolean,
  readings: Readings | null,
  available: readonly [Money | null, Money | null] | null,
  isStale?: true,
]

/** `keep`: makes the hold of a stream durable, with the charge so far. */
export type Keep = readonly [id: RequestId, row: CallRow]
export type KeepAnswer = readonly [isDurable: boolean]

/** `capture`: charges and ends the call. */
export type Capture = readonly [id: RequestId, overrun: Money, tokens: number, row: CallRow]
export type CaptureAnswer = readonly [refusal: Failure | null, readings: Readings | null]

/**
 * `claim`: goes on with a call of an earlier session, which may have been another primary's: held again under the limits, the key's state and the money
 * of now, unless its hold was kept.
 */
export type Claim = readonly [id: RequestId, admit: Admit, needs: HoldNeeds]
/** `charged`: it was charged before; `ended`: it is over, and nothing was charged. */
export type ClaimAnswer = readonly [state: 'open' | 'charged' | 'ended', refusal: Failure | null]

/** `abandoned`: its caller got a 503 while its charge was on its way. */
export type Abandoned = readonly [id: RequestId]
/** False: ask again later. */
export type AbandonedAnswer = readonly [isReversed: boolean]

/** `release`: ends the call without a charge. */
export type Release = readonly [id: RequestId, tokens: number]
export type ReleaseAnswer = readonly [readings: Readings | null]

/** `note`: the row of a call that was not charged. */
export type Note = readonly [id: RequestId, row: CallRow]

/** `alone`: the caller hung up and the call goes on; or, with a name, at this upstream. */
export type Alone = readonly [id: RequestId, upstream: string | null]

/** What a worker knows of a call's row. The primary has the rest. */
export type CallRow = Pick<
  CallRecord,
  | 'status'
  | 'code'
  | 'model'
  | 'usageSource'
  | 'charged'
  | 'held'
  | 'upstreamCost'
  | 'upstream'
  | 'failure'
  | 'operation'
> & { readonly tokens: CallRecord['tokens'] }

export function rowOf(record: CallRecord): CallRow {
  const { status, code, model, usageSource, charged, held, upstreamCost, upstream, failure, operation, tokens } = record
  return { status, code, model, usageSource, charged, held, upstreamCost, upstream, failure, operation, tokens }
}

export function onWire({ name, limits, owner, cost }: Subject): WireSubject {
  const { rpm, tpm, concurrency } = limits
  return {
    name,
    limits: { rpm: finite(rpm), tpm: finite(tpm), concurrency: finite(concurrency) },
    ...(owner && { owner }),
    ...(cost !== undefined && { cost }),
  }
}

export function offWire({ limits: { rpm, tpm, concurrency }, ...subject }: WireSubject): Subject {
  const limits = {
    rpm: rpm ?? Number.POSITIVE_INFINITY,
    tpm: tpm ?? Number.POSITIVE_INFINITY,
    concurrency: concurrency ?? Number.POSITIVE_INFINITY,
  }
  return { ...subject, limits }
}

function finite(limit: number): number | null {
  return Number.isFinite(limit) ? limit : null
}

type Read<T> = T | null

export function readAdmit(payload: unknown): Read<Admit> {
  if (!Array.isArray(payload)) return null
  const [kind, hash, audience, method, url, address, clientRequestId, isRefused] = payload
  const isKind = kind === 'api_key' || kind === 'oauth_token'
  if (!isKind || !isText(hash, 128) || !isText(audience, 16) || !isText(method, 16) || !isText(url, 8192)) return null
  if (!isText(address, 64) || (clientRequestId !== null && !isText(clientRequestId, 256))) return null
  if (typeof isRefused !== 'boolean') return null
  return [kind, hash, audience, method, url, address, clientRequestId, isRefused]
}

export function readId([id]: readonly unknown[]): RequestId | null {
  return isText(id, 64) ? (id as RequestId) : null
}

export function readNeeds(value: unknown): Read<HoldNeeds> {
  if (!isJson(value)) return null
  const {
    operation,
    maxCost,
    version,
    fixed,
    minCost,
    credit,
    needsTopUp,
    load,
    timeoutMs,
    fingerprint,
    scope = null,
  } = value
  if (!isText(operation, 200) || !isCount(maxCost) || !isText(version, 200) || typeof fixed !== 'boolean') return null
  if ((minCost !== null && !isCount(minCost)) || (credit !== 'all' && credit !== 'part' && credit !== 'nothing'))
    return null
  if ((needsTopUp !== null && !isText(needsTopUp, 200)) || (fingerprint !== null && !isText(fingerprint, 200)))
    return null
  if (scope !== null && !isText(scope, 64)) return null
  if (load !== null && (!isJson(load) || !isText(load['model'], 200) || !isCount(load['tokens']))) return null
  return {
    ...value,
    scope,
    timeoutMs: typeof timeoutMs === 'number' ? timeoutMs : Number.POSITIVE_INFINITY,
  } as HoldNeeds
}

export function readRow(value: unknown): Read<CallRow> {
  if (!isJson(value)) return null
  const {
    status,
    code = null,
    model,
    usageSource,
    charged,
    held,
    upstreamCost,
    upstream,
    failure,
    operation,
    tokens,
  } = value
  if (!isCount(status) || (code !== null && !isText(code, 64)) || !isText(operation, 200)) return null
  if (
    !isOptional(model, (text) => isText(text, 200)) ||
    !isOptional(held, isCount) ||
    !isOptional(upstreamCost, isCount)
  )
    return null
  if (usageSource !== undefined && usageSource !== 'exact' && usageSource !== 'estimated') return null
  if (!isJson(tokens) || !['input', 'output', 'cacheRead', 'cacheWrite'].every((name) => isCount(tokens[name])))
    return null
  if (charged !== null && !isCharged(charged)) return null
  if (
    !isOptional(
      upstream,
      (use) => isJson(use) && isText(use['provider'], 200) && isCount(use['waitingMs']) && isCount(use['upstreamMs']),
    )
  )
    return null
  if (!isOptional(failure, isFailureNote)) return null
  return { ...value, code } as CallRow
}

/** The report of a worker, with the upstreams that can be read. */
export function readReport(value: unknown): Read<WorkerReport> {
  if (!isJson(value)) return null
  const { upstreams, sources, version, pid, cpuPercent } = value
  if (!Array.isArray(upstreams) || !isJson(sources) || !Object.values(sources).every((is) => typeof is === 'boolean'))
    return null
  if (!isText(version, 64) || !isCount(pid) || !isCount(cpuPercent)) return null
  return { ...value, upstreams: upstreams.filter(isUpstreamState) } as unknown as WorkerReport
}

function isRefusal(value: unknown): boolean {
  return isJson(value) && isCount(value['at']) && isCount(value['status']) && isText(value['words'], 400)
}

function isUpstreamState(value: unknown): value is UpstreamState {
  if (!isJson(value)) return false
  const { name, breaker, underWay, failures, failingSince, nextTryAt, lastRefusal, models } = value
  if (!isOptional(lastRefusal, isRefusal)) return false
  const areTimes = [failingSince, nextTryAt].every((at) => at === null || isCount(at))
  const isBreaker = breaker === 'closed' || breaker === 'open' || breaker === 'probing'
  return isText(name, 500) && isBreaker && isCount(underWay) && isCount(failures) && areTimes && Array.isArray(models)
}

function isCharged(value: unknown): value is Charged {
  if (!isJson(value)) return false
  const { cost, priceVersion, units, unitPrice, lines } = value
  const isLine = (line: unknown) => isJson(line) && isText(line['item'], 200) && isCount(line['unitPrice'])
  const areLines = lines === undefined || (Array.isArray(lines) && lines.length <= 100 && lines.every(isLine))
  return isCount(cost) && isText(priceVersion, 200) && typeof units === 'number' && isCount(unitPrice) && areLines
}

function isFailureNote(value: unknown): boolean {
  if (!isJson(value)) return false
  return (
    isText(value['message'], 4096) &&
    ['route', 'param', 'rule'].every((name) => value[name] === null || isText(value[name], 1024))
  )
}

function isOptional(value: unknown, is: (value: unknown) => boolean): boolean {
  return value === undefined || is(value)
}

function isText(value: unknown, most: number): value is string {
  return typeof value === 'string' && value.length <= most
}
