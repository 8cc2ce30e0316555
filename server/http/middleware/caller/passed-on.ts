import { parseAddress, UNKNOWN_ADDRESS } from '../../../core/credentials/address'
import { type Failure, failure } from '../../../core/failure'
import { pathOf, withOrigin } from '../request-context'
import { idHeaders, requestIds } from '../request-ids'
import { failureResponse } from '../response/failures'

/**
 * In a request that a worker passes on to its primary: the token of the worker's session, and the address of the connection that the request came over.
 * Proxies in front report callers as they do to one process, so the primary reads their headers with that address. A worker overwrites what a caller sent.
 */
export const PASSED_ON_HEADER = 'x-gateway-passed-on'

/** Bun sends its own where a request has none, so a worker sends them empty, and the primary removes those: its answer is for the caller. */
export const ADDED_BY_BUN = ['accept', 'accept-encoding', 'user-agent'] as const

export function passedOnValue(token: string, peer: string): string {
  return `${token} ${peer}`
}

type Handle = (request: Request) => Response | Promise<Response>

/** Handles requests on the primary's internal listener, where only its workers may call: `isToken` says whether a token is that of a session. */
export function fromWorkers(isToken: (token: string) => boolean, now: () => number, handle: Handle): Handle {
  return (request) => {
    const { headers } = request
    const value = headers.get(PASSED_ON_HEADER) ?? ''
    const space = value.indexOf(' ')
    if (space < 0 || !isToken(value.slice(0, space))) return refusal(request, now(), NOT_A_WORKER, pathOf(request.url))
    headers.delete(PASSED_ON_HEADER)
    for (const name of ADDED_BY_BUN) if (headers.get(name) === '') headers.delete(name)
    return handle(withOrigin(request, { peer: parseAddress(value.slice(space + 1)) ?? UNKNOWN_ADDRESS }))
  }
}

const NOT_A_WORKER = failure(
  'insufficient_permissions',
  'This port is only for the workers of this gateway. Call its public address.',
)

/** Answers a request that no route has seen. */
export function refusal({ headers }: Request, now: number, problem: Failure, path: string): Response {
  const ids = requestIds(headers, now)
  const own = new Headers({ ...idHeaders(ids), 'x-content-type-options': 'nosniff' })
  return failureResponse(problem, ids.own, path, own)
}
