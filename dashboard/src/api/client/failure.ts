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
    // A vendor's own refusal may have no code; its words stand then.
    code: String(member(error, 'code') ?? (typeof message === 'string' ? 'refused' : 'no_answer')),
    message: typeof message === 'string' ? message : `The server answered ${status}.`,
    requestId: typeof requestId === 'string' ? requestId : null,
    retryAfterSeconds: Number.isFinite(seconds) ? seconds : null,
    fields: Array.isArray(details) ? details.map(fieldOf) : [],
  })
}

/** The failure of a call that got no answer: server away, network cut, answer unreadable. */
export function noResponse(): ApiFailure {
  return new ApiFailure({ status: 0, code: 'no_answer', message: 'The server did not answer.' })
}

/** What was thrown, as a failure. */
export function toFailure(error: unknown): ApiFailure {
  return error instanceof ApiFailure ? error : noResponse()
}

/** What became of a question or a change; null while nothing is wrong. */
export function failureFrom({ error }: { readonly error: Error | null }): ApiFailure | null {
  return error && toFailure(error)
}

function fieldOf(detail: unknown): FieldFailure {
  return { param: String(member(detail, 'param') ?? ''), rule: String(member(detail, 'rule') ?? '') }
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}
