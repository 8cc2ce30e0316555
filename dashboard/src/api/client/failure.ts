import { FAILURE_TEXT } from '../../messages/failures.ts'

/** A wrong field of what was sent, as the server names it. */
export interface FieldFailure {
  readonly param: string
  readonly rule: string
}

/** Why a call of the dashboard did not succeed. `status` 0: the server did not answer at all. */
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

/** The failure of an answer with this status and body; any body, also none. `retryAfter` is the header's. */
export function parseFailure(status: number, body: unknown, retryAfter: string | null = null): ApiFailure {
  const error = member(body, 'error')
  const message = member(error, 'message')
  const requestId = member(error, 'request_id')
  const seconds = Number(member(error, 'retry_after') ?? retryAfter ?? Number.NaN)
  const details = member(error, 'details')
  return new ApiFailure({
    status,
    // An upstream's own refusal may have no code, but a message.
    code: codeOf(error) ?? (typeof message === 'string' ? 'refused' : 'no_response'),
    message: typeof message === 'string' ? message : FAILURE_TEXT.unreadable(status),
    requestId: typeof requestId === 'string' ? requestId : null,
    retryAfterSeconds: Number.isFinite(seconds) ? seconds : null,
    fields: Array.isArray(details) ? details.map(fieldOf) : [],
  })
}

/** The failure of a call that got no answer: server away, network cut, answer unreadable. */
export function noResponse(): ApiFailure {
  return new ApiFailure({ status: 0, code: 'no_response', message: FAILURE_TEXT.noResponse })
}

/** What was thrown, as a failure. */
export function toFailure(error: unknown): ApiFailure {
  return error instanceof ApiFailure ? error : noResponse()
}

/** What became of a question or a change; null while nothing is wrong. */
export function failureFrom({ error }: { readonly error: Error | null }): ApiFailure | null {
  return error && toFailure(error)
}

/** Google's form has the status as its code, and ours as the reason in its details. */
function codeOf(error: unknown): string | null {
  const [code, details] = [member(error, 'code'), member(error, 'details')]
  if (typeof code === 'string') return code
  const reasons: unknown[] = Array.isArray(details) ? details.map((detail) => member(detail, 'reason')) : []
  return reasons.find((reason) => typeof reason === 'string') ?? null
}

function fieldOf(detail: unknown): FieldFailure {
  return { param: String(member(detail, 'param') ?? ''), rule: String(member(detail, 'rule') ?? '') }
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
