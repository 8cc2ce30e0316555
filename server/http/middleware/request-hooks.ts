import { Elysia } from 'elysia'
import { failure } from '../../core/failure'
import { isUnavailable } from '../../core/unavailable'
import { isGated, isProbe } from '../routing/endpoints'
import type { ServedRoutes } from '../routing/served-routes'
import type { DashboardFiles } from '../system/dashboard-files'
import { Failed, failureResponse } from './failures'
import type { FrontDesk, Sockets } from './request-context'
import { idHeaders } from './request-ids'

export interface RequestHookOptions {
  readonly desk: FrontDesk
  readonly dashboard: DashboardFiles
  readonly isDraining: () => boolean
  /** Told of every exception behind a 500 or 503, with the request id. */
  readonly onFault: (requestId: string, error: unknown) => void
}

/**
 * What happens to every request before its route and after its failure: ids on every answer; for the gated prefixes the door,
 * whose verdict and headers reach every answer, a 404 and a 405 included; one shape for every failure.
 */
export function arrivals({ desk, dashboard, isDraining, onFault }: RequestHookOptions, routes: ServedRoutes) {
  const refuse = (request: Request, error: unknown): Response => {
    const { ids, url } = desk.arrival(request)
    const problem =
      error instanceof Failed
        ? error.failure
        : isUnavailable(error)
          ? failure('service_unavailable', 'The database does not answer. Nothing was charged.', {
              retryAfterSeconds: 1,
            })
          : failure('internal_error', `Something broke on our side. Nothing was charged. Request ${ids.own}.`)
    if (!(error instanceof Failed)) onFault(ids.own, error)
    const reply = desk.find(request)
    if (reply) return reply.refuse(problem)
    return failureResponse(problem, ids.own, url.pathname, new Headers(idHeaders(ids)))
  }
  return new Elysia({ name: 'arrivals' })
    .onRequest(async ({ request, server, set }) => {
      const arrival = desk.arrive(request, server as Sockets)
      const { pathname: path } = arrival.url
      const closed = desk.hasBadHost(request)
        ? failure('invalid_request', 'The Host header does not name a host.')
        : isDraining() && !isProbe(path)
          ? failure('service_unavailable', 'This server is shutting down. Try again.', { retryAfterSeconds: 1 })
          : null
      if (!isGated(path)) {
        Object.assign(set.headers, idHeaders(arrival.ids))
        return closed ? refuse(request, new Failed(closed)) : undefined
      }
      try {
        const reply = await desk.open(request, path, arrival, closed)
        return reply.refusal ? reply.refuse(reply.refusal) : undefined
      } catch (error) {
        return refuse(request, error)
      }
    })
    .onError({ as: 'global' }, ({ request, code, error }) => {
      if (code !== 'NOT_FOUND') return refuse(request, error)
      const allow = routes.methodsAt(desk.arrival(request).url.pathname)
      if (allow.length > 0) {
        const message = `This endpoint takes ${allow.join(' and ')}, not ${request.method}.`
        return refuse(request, new Failed(failure('method_not_allowed', message, { allow })))
      }
      return (
        dashboard.answer(request) ??
        refuse(request, new Failed(failure('unknown_endpoint', 'There is no such endpoint.')))
      )
    })
}
