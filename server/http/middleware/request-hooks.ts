import { failure } from '../../core/failure'
import { type Endpoints, isProbe, wrongMethod } from '../routing/endpoint-table'
import type { DashboardFiles } from '../system/dashboard-files'
import type { Gate } from './gate'
import { hasBadHost } from './normalize-url'
import { type BunServer, type ContextDeps, RequestContext, routeGroup } from './request-context'
import { idHeaders } from './request-ids'
import { Failed, failureOf, failureResponse, type OnFault } from './response/failures'
import { limitHeaders } from './response/reply'

export interface RequestHookOptions {
  readonly contexts: ContextDeps
  readonly gate: Gate
  readonly dashboard: DashboardFiles
  readonly isDraining: () => boolean
  readonly onFault: OnFault
}

/**
 * Runs around every request. Creates its context, sets request ids on every response, authenticates gated paths (so that even
 * their 404 and 405 carry the limit headers), and gives all failures one shape.
 */
export function requestHooks(options: RequestHookOptions, endpoints: Endpoints) {
  const { contexts, gate, dashboard, isDraining, onFault } = options
  const refuse = ({ ids, url, reply, readings }: RequestContext, error: unknown): Response => {
    const problem = failureOf(error, ids.own, onFault)
    if (reply) return reply.refuse(problem)
    const headers = new Headers({ ...idHeaders(ids), ...(readings && limitHeaders(readings)) })
    return failureResponse(problem, ids.own, url.pathname, headers)
  }
  return routeGroup({ name: 'request-hooks' })
    .onRequest(async (elysia) => {
      const { request, set } = elysia
      const context = new RequestContext(request, elysia.server as BunServer, contexts)
      elysia.context = context
      const path = context.url.pathname
      const closed = hasBadHost(request)
        ? failure('invalid_request', 'The Host header is not a valid host name.')
        : isDraining() && !isProbe(path)
          ? failure('service_unavailable', 'This server is shutting down. Try again.', { retryAfterSeconds: 1 })
          : null
      const route = endpoints.table.routeOf(request.method, path)
      if (!route) {
        Object.assign(set.headers, idHeaders(context.ids))
        return closed ? refuse(context, new Failed(closed)) : undefined
      }
      try {
        const reply = await gate.open(context, closed ? { kind: 'unmatched', failure: closed } : route)
        return reply.refusal ? reply.refuse(reply.refusal) : undefined
      } catch (error) {
        return refuse(context, error)
      }
    })
    .onError({ as: 'global' }, ({ context, request, code, error }) => {
      if (code !== 'NOT_FOUND') return refuse(context, error)
      const allow = endpoints.table.methodsAt(context.url.pathname)
      if (allow.length > 0) return refuse(context, new Failed(wrongMethod(request.method, allow)))
      return (
        dashboard.answer(request) ??
        refuse(context, new Failed(endpoints.table.unknown(request.method, context.url.pathname).failure))
      )
    })
}
