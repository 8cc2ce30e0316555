import type { AuditEntry } from '../audit'
import type { ParameterError } from '../catalogue/parameters'
import type { AccountId, LimitRequestId } from '../ids'
import type { Limits } from '../limits/tier'
import { isPlainText, PLAIN_LINE_RULE } from '../plain-text'
import { no, ok, type Result } from '../result'
import type { Account } from './account'
import { wrong } from './key-form'

/** An owner's request for higher limits (spec 8). Immutable: a decision makes a new record. */
export interface LimitRequest extends LimitRequestForm {
  readonly id: LimitRequestId
  readonly accountId: AccountId
  readonly at: number
  readonly status: 'pending' | 'approved' | 'declined'
  /** What the operator said to it. */
  readonly reason: string | null
  readonly decidedAt: number | null
}

/** What the owner says of the need. */
export interface LimitRequestForm {
  readonly peakRpm: number
  readonly peakTpm: number
  readonly endpoints: readonly string[]
  readonly useCase: string
}

/** Requests for higher limits. Each write is one atomic batch with its audit row, durable when it resolves. */
export interface LimitRequestStore {
  byId(id: LimitRequestId): Promise<LimitRequest | null>
  /** The account's request that waits for a decision. */
  pending(account: AccountId): Promise<LimitRequest | null>
  /** Newest first, after `after`; of one account, or of all. */
  list(
    filter: { readonly accountId: AccountId | null; readonly status: LimitRequest['status'] | null },
    limit: number,
    after: LimitRequestId | null,
  ): Promise<readonly LimitRequest[]>
  /** False when the account has one that waits: there is at most one, also when two are sent at once. */
  open(request: LimitRequest, audit: AuditEntry): Promise<boolean>
  /** Writes the decision and, with it, the account that it changes. */
  decide(decided: LimitRequest, account: Account | null, audit: AuditEntry): Promise<void>
}

const MAX_PER_MINUTE = 1_000_000_000
const MAX_ENDPOINTS = 50
const USE_CASE = { least: 20, most: 2000 }

/** Judges the form of a request against the limits that the account has, and lists every wrong member at once. */
export function parseLimitRequest(body: unknown, now: Limits): Result<LimitRequestForm, readonly ParameterError[]> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return no([wrong('body', 'must be a JSON object', body)])
  const { peak_rpm: rpm, peak_tpm: tpm, endpoints, use_case: useCase, ...rest } = body as Record<string, unknown>
  const errors = Object.keys(rest).map((name) => wrong(name.slice(0, 60), 'is not a member of this body', rest[name]))
  if (!isCount(rpm)) errors.push(wrong('peak_rpm', `must be a whole number from 1 to ${MAX_PER_MINUTE}`, rpm))
  if (!isCount(tpm)) errors.push(wrong('peak_tpm', `must be a whole number from 1 to ${MAX_PER_MINUTE}`, tpm))
  if (isCount(rpm) && isCount(tpm) && rpm <= now.rpm && tpm <= now.tpm)
    errors.push(
      wrong('peak_rpm', `must be above ${now.rpm}, or peak_tpm above ${now.tpm}: you have these already`, rpm),
    )
  const named = Array.isArray(endpoints) ? endpoints.filter(isEndpoint) : []
  if (
    !Array.isArray(endpoints) ||
    named.length !== endpoints.length ||
    named.length === 0 ||
    named.length > MAX_ENDPOINTS
  )
    errors.push(
      wrong(
        'endpoints',
        `must be a list of 1 to ${MAX_ENDPOINTS} endpoints, each a name of at most 64 characters`,
        endpoints,
      ),
    )
  const text = typeof useCase === 'string' ? useCase.trim() : ''
  const length = [...text].length
  if (length < USE_CASE.least || length > USE_CASE.most || !isPlainText(text))
    errors.push(
      wrong(
        'use_case',
        `must be text of ${USE_CASE.least} to ${USE_CASE.most} characters, ${PLAIN_LINE_RULE}`,
        useCase,
      ),
    )
  if (errors.length > 0 || !isCount(rpm) || !isCount(tpm)) return no(errors)
  return ok({ peakRpm: rpm, peakTpm: tpm, endpoints: [...new Set(named)], useCase: text })
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 1 && Number(value) <= MAX_PER_MINUTE
}

function isEndpoint(value: unknown): value is string {
  return typeof value === 'string' && /^[\w/.:-]{1,64}$/.test(value)
}
