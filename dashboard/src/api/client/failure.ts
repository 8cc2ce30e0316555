import { member } from '../../../../server/core/json.ts'
import { FAILURE_TEXT } from '../../messages/failures.ts'

/** An invalid field, as the server names it. */
export interface FieldFailure {
  readonly param: string
  readonly rule: string
}

/** Why a call of the dashboard failed. `status` is 0 if there was no response. */
export class ApiFailure extends Error {
  readonly status: number
  readonly code: string
  readonly requestId: string | null
  readonly retryAfterSeconds: number | null
  readonly fields: readonly FieldFailure[]

  constructor(parts: {
    status: number
    code: string
    message: string
    requestId?: string | null
    retryAfterSeconds?: number | null
    fields?: readonly FieldFailure[]
  }) {
    super(parts.message)
    this.status = parts.status
    this.code = parts.code
    this.requestId = parts.requestId ?? null
    this.retryAfterSeconds = parts.retryAfterSeconds ?? null
    this.fields = parts.fields ?? []
  }
}

/** Parses the failure of a response, whatever its body. `retryAfter` is the header. */
export function parseFailure(status: number, body: unknown, retryAfter: string | null = null): ApiFailure {
  const error = member(body, 'error')
  const message = member(error, 'message')
  const requestId = member(error, 'request_id')
  const seconds = Number(member(error, 'retry_after') ?? retryAfter ?? Number.NaN)
  const details = member(error, 'details')
  return new ApiFailure({
    status,
    // An upstream's own error may have a message but no code.
    code: codeOf(error) ?? (typeof message === 'string' ? 'refused' : 'no_response'),
    message: typeof message === 'string' ? message : FAILURE_TEXT.unreadable(status),
    requestId: typeof requestId === 'string' ? requestId : null,
    retryAfterSeconds: Number.isFinite(seconds) ? seconds : null,
    fields: Array.isArray(details) ? details.map(fieldOf) : [],
  })
}

/** The failure of a call without a readable response: the server or the network is down. */
export function noResponse(): ApiFailure {
  return new ApiFailure({ status: 0, code: 'no_response', message: FAILURE_TEXT.noResponse })
}

/** Converts anything that was thrown into a failure. */
export function toApiFailure(error: unknown): ApiFailure {
  return error instanceof ApiFailure ? error : noResponse()
}

/** The failure of a query or mutation; null if it has not failed. */
export function failureFrom({ error }: { readonly error: Error | null }): ApiFailure | null {
  return error && toApiFailure(error)
}

/** Google's error format puts the status in `code` and the gateway's code in `details`. */
function codeOf(error: unknown): string | null {
  const [code, details] = [member(error, 'code'), member(error, 'details')]
  if (typeof code === 'string') return code
  const reasons: unknown[] = Array.isArray(details) ? details.map((detail) => member(detail, 'reason')) : []
  return reasons.find((reason) => typeof reason === 'string') ?? null
}

function fieldOf(detail: unknown): FieldFailure {
  return { param: String(member(detail, 'param') ?? ''), rule: String(member(detail, 'rule') ?? '') }
}
