import { type Failure, failure } from '../../core/failure'
import { isUnavailable } from '../../core/unavailable'
import { Failed } from './failures'

/** Called with every exception behind a 500 or 503, and its request id. */
export type OnFault = (requestId: string, error: unknown) => void

/** The failure to return for an exception. An internal one reveals nothing but the request id. */
export function problemOf(error: unknown, requestId: string, onFault: OnFault): Failure {
  if (error instanceof Failed) return error.failure
  onFault(requestId, error)
  if (isUnavailable(error))
    return failure('service_unavailable', 'The database is not responding. Nothing was charged. Try again.', {
      retryAfterSeconds: 1,
    })
  return failure(
    'internal_error',
    `Something went wrong on our side. Nothing was charged. If it happens again, contact support and quote ${requestId}.`,
  )
}
