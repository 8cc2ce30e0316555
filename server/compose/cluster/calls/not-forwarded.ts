import type { Missing } from '../../../adapters/cluster/forwarder'
import { type ForwardedCall, OPERATOR } from '../../../core/cluster/hop'
import { failure } from '../../../core/failure'
import { failureResponse } from '../../../http/middleware/response/failures'
import { isGated } from '../../../http/routing/endpoint-table'

/** The path of a request, whose URL may be a bare path. */
export function pathOf(request: Request): string {
  return URL.parse(request.url, 'http://localhost')?.pathname ?? '/'
}

/** Replaces the owner's answer: 503 with Retry-After. */
export function notForwarded(request: Request, call: ForwardedCall, { outcome }: Missing): Response {
  if (outcome === 'did not run') return unavailableResponse(request, call)
  if (outcome === 'late body')
    return unavailableResponse(request, call, 'The body did not arrive in time. The request did not run.')
  const next = call.address === OPERATOR ? REPEAT_COMMAND : isGated(pathOf(request)) ? REPEAT_CALL : REPEAT_CHANGE
  return unavailableResponse(
    request,
    call,
    `The node that handled this request is gone, so its outcome is unknown. ${next}`,
  )
}

const REPEAT_CALL = 'Look up its id in your requests, or send it again with the same Idempotency-Key.'

const REPEAT_CHANGE = 'Check whether it took effect before you send it again.'

const REPEAT_COMMAND =
  'Check whether it took effect before you repeat it. With a --reference, no grant, debit or refund is booked twice.'

const DID_NOT_RUN = 'No node can handle this request now. It did not run. Try again.'

const DATABASE_SILENT = 'The database of this account is not responding. The request did not run. Try again.'

/** The message for callers when no node answers for a cell. */
export function reasonFor(cell: { readonly silence: string | null } | null): string {
  return cell?.silence == null ? DID_NOT_RUN : DATABASE_SILENT
}

/** 503 with Retry-After, in the format of the path. */
export function unavailableResponse(request: Request, { requestId }: ForwardedCall, message = DID_NOT_RUN): Response {
  const problem = failure('service_unavailable', message, { retryAfterSeconds: 1 })
  const headers = new Headers({ 'x-gateway-request-id': requestId, 'x-content-type-options': 'nosniff' })
  return failureResponse(problem, requestId, pathOf(request), headers)
}
