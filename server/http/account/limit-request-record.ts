import type { Static } from '@sinclair/typebox'
import type { LimitRequest, LimitRequestForm } from '../../core/accounts/staff/limit-request'
import type { Submitted } from '../../core/accounts/submitted'
import { isoTime } from '../../core/clock'
import { validateBody } from '../middleware/input/validate-body'
import {
  form,
  identifier,
  instant,
  listOf,
  named,
  nextCursor,
  oneOf,
  orNull,
  prose,
  record,
  text,
  whole,
  withRule,
} from '../openapi/json-schema'

const PER_MINUTE = { minimum: 1, maximum: 1_000_000_000 }
const MAX_ENDPOINTS = 50

export const LIMIT_REQUEST_STATES = ['pending', 'approved', 'declined'] as const

const REQUESTED = {
  peak_rpm: whole('Requests per minute at your peak.', PER_MINUTE),
  peak_tpm: whole('Tokens per minute at your peak.', PER_MINUTE),
  endpoints: withRule(
    `must be a list of 1 to ${MAX_ENDPOINTS} endpoints, each a name of at most 64 characters`,
    listOf(text('Name of an endpoint.', { pattern: '^[\\w/.:-]{1,64}$' }), 'The endpoints you will call.', {
      minItems: 1,
      maxItems: MAX_ENDPOINTS,
    }),
  ),
  use_case: prose('What you need it for.', 2000, 20),
}

export const NewLimitRequest = named(
  'LimitRequestForm',
  form('At least one of the two peaks must be above the current limits of the account.', REQUESTED),
)
export type NewLimitRequest = Static<typeof NewLimitRequest>

export const LimitRequestRecord = named(
  'LimitRequest',
  record('A request for higher limits.', {
    id: identifier('lim', 'Id of the request.'),
    workspace_id: text('Id of the account that asked.'),
    status: oneOf(LIMIT_REQUEST_STATES, 'The status of the request.'),
    ...REQUESTED,
    reason: orNull(text("The operator's reason.")),
    created_at: instant('When it was sent.'),
    decided_at: orNull(instant('When it was decided; null while it is pending.')),
  }),
)
export type LimitRequestRecord = Static<typeof LimitRequestRecord>

export const OneLimitRequest = record('The request.', { request: LimitRequestRecord })
export type OneLimitRequest = Static<typeof OneLimitRequest>

export const LimitRequestPage = named(
  'LimitRequestPage',
  record('A page of requests, newest first.', {
    requests: listOf(LimitRequestRecord, 'The requests.'),
    next_cursor: nextCursor(),
  }),
)
export type LimitRequestPage = Static<typeof LimitRequestPage>

/** The body of a request for higher limits, as core takes it. */
export function limitRequestForm(body: unknown): Submitted<LimitRequestForm> {
  const sent = validateBody(NewLimitRequest, body)
  if (sent.isWhole) return { ...sent, form: limitRequestOf(sent.form) }
  const { peak_rpm: peakRpm, peak_tpm: peakTpm } = sent.form
  return { ...sent, form: { ...(peakRpm !== undefined && { peakRpm }), ...(peakTpm !== undefined && { peakTpm }) } }
}

function limitRequestOf({ peak_rpm, peak_tpm, endpoints, use_case }: NewLimitRequest): LimitRequestForm {
  return { peakRpm: peak_rpm, peakTpm: peak_tpm, endpoints: [...new Set(endpoints)], useCase: use_case.trim() }
}

/** A request as its owner sees it. */
export function limitRequestRecord(request: LimitRequest): LimitRequestRecord {
  return {
    id: request.id,
    workspace_id: request.accountId,
    status: request.status,
    peak_rpm: request.peakRpm,
    peak_tpm: request.peakTpm,
    endpoints: request.endpoints,
    use_case: request.useCase,
    reason: request.reason,
    created_at: isoTime(request.at),
    decided_at: request.decidedAt === null ? null : isoTime(request.decidedAt),
  }
}
