import type { AuditEntry } from '../audit'
import type { ParameterError } from '../catalogue/parameters'
import type { AccountId, LimitRequestId } from '../ids'
import type { Limits } from '../limits/tier'
import { isPlainText, PLAIN_LINE_RULE } from '../plain-text'
import { no, ok, type Result } from '../result'
import type { Account } from './account'
import { wrong } from './submitted'

/** An owner's request for higher limits (spec 8). Immutable: a decision creates a new record. */
export interface LimitRequest extends LimitRequestForm {
  readonly id: LimitRequestId
  readonly accountId: AccountId
  readonly at: number
  readonly status: 'pending' | 'approved' | 'declined'
  /** The operator's reason for the decision. */
  readonly reason: string | null
  readonly decidedAt: number | null
}

/** The owner's description of the need. */
export interface LimitRequestForm {
  readonly peakRpm: number
  readonly peakTpm: number
  readonly endpoints: readonly string[]
  readonly useCase: string
}

/** Requests for higher limits. Each write is one atomic batch with its audit row, durable when it resolves. */
export interface LimitRequestStore {
  byId(id: LimitRequestId): Promise<LimitRequest | null>
  /** The account's undecided request. */
  pending(account: AccountId): Promise<LimitRequest | null>
  /** Requests of one account or of all, newest first, starting after `after`. */
  list(
    filter: { readonly accountId: AccountId | null; readonly status: LimitRequest['status'] | null },
    limit: number,
    after: LimitRequestId | null,
  ): Promise<readonly LimitRequest[]>
  /** Returns false when the account already has an undecided request, even if two arrive at once. */
  open(request: LimitRequest, audit: AuditEntry): Promise<boolean>
  /** Writes the decision and the account that it changes in one batch. */
  decide(decided: LimitRequest, account: Account | null, audit: AuditEntry): Promise<void>
}

const MAX_PER_MINUTE = 1_000_000_000
const MAX_ENDPOINTS = 50
const USE_CASE = { min: 20, max: 2000 }

/** Validates a request against the account's current limits. Lists all errors at once. */
export function parseLimitRequest(body: unknown, current: Limits): Result<LimitRequestForm, readonly ParameterError[]> {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return no([wrong('body', 'must be a JSON object', body)])
  const { peak_rpm: rpm, peak_tpm: tpm, endpoints, use_case: useCase, ...rest } = body as Record<string, unknown>
  const errors = Object.keys(rest).map((name) => wrong(name.slice(0, 60), 'is not a member of this body', rest[name]))
  if (!isCount(rpm)) errors.push(wrong('peak_rpm', `must be an integer from 1 to ${MAX_PER_MINUTE}`, rpm))
  if (!isCount(tpm)) errors.push(wrong('peak_tpm', `must be an integer from 1 to ${MAX_PER_MINUTE}`, tpm))
  if (isCount(rpm) && isCount(tpm) && rpm <= current.rpm && tpm <= current.tpm)
    errors.push(
      wrong(
        'peak_rpm',
        `must be above ${current.rpm}, or peak_tpm above ${current.tpm}: your current limits already allow this`,
        rpm,
      ),
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
  if (length < USE_CASE.min || length > USE_CASE.max || !isPlainText(text))
    errors.push(
      wrong('use_case', `must be text of ${USE_CASE.min} to ${USE_CASE.max} characters, ${PLAIN_LINE_RULE}`, useCase),
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
