import { failure } from '../../core/failure'
import { isGated, isProbe } from '../routing/endpoint'
import { type EndpointTable, UNKNOWN_ENDPOINT, wrongMethod } from '../routing/endpoint-table'
import type { DashboardFiles } from '../system/dashboard-files'
import type { Gate } from './gate'
import { type Admission, type BunServer, type ContextDeps, RequestContext, routeGroup } from './request-context'
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
 * Runs around every request. Creates its context, sets request ids on every response, and gives all failures one shape. A gated path
 * that no route answers is authenticated here, so that even its 404, 405 and 503 carry the limit headers.
 */
export function requestHooks(options: RequestHookOptions, endpoints: EndpointTable) {
  const { contexts, gate, dashboard, isDraining, onFault } = options
  const unrouted = ({ request: { method }, url: { pathname } }: RequestContext) =>
    endpoints.routeOf(method, pathname) ?? UNKNOWN_ENDPOINT
  const admission: Admission = {
    open: (context, route) => gate.open(context, route ?? unrouted(context)),
    routeAt: ({ request: { method }, url: { pathname } }, mounted) => endpoints.routeAt(method, mounted, pathname),
  }
  const refuse = ({ ids, url, reply, readings }: RequestContext, error: unknown): Response => {
    const problem = failureOf(error, ids.own, onFault)
    if (reply) return reply.refuse(problem)
    const headers = new Headers({ ...idHeaders(ids), ...(readings && limitHeaders(readings)) })
    return failureResponse(problem, ids.own, url.pathname, headers)
  }
  const refuseUnrouted = async (context: RequestContext, error: unknown): Promise<Response> => {
    const closed = error instanceof Failed ? ({ kind: 'unmatched', failure: error.failure } as const) : null
    try {
      const reply = await gate.open(context, closed ?? unrouted(context))
      return reply.refuse(reply.refusal ?? UNKNOWN_ENDPOINT.failure)
    } catch (fault) {
      return refuse(context, fault)
    }
  }
  return routeGroup({ name: 'request-hooks' })
    .onRequest((elysia) => {
      const { request, set } = elysia
      const context = new RequestContext(request, elysia.server as BunServer, contexts, admission)
      elysia.context = context
      const { pathname } = context.url
      if (!isGated(pathname)) Object.assign(set.headers, idHeaders(context.ids))
      if (hasBadHost(context)) throw new Failed(BAD_HOST)
      if (isDraining() && !isProbe(pathname) && !context.origin.isConsole) throw new Failed(DRAINING)
    })
    .onError({ as: 'global' }, ({ context, request, code, error }) => {
      const { pathname } = context.url
      const isUnrouted = code === 'NOT_FOUND'
      if (isGated(pathname) && !context.reply && (isUnrouted || error instanceof Failed))
        return refuseUnrouted(context, error)
      if (!isUnrouted) return refuse(context, error)
      const allow = endpoints.methodsAt(pathname)
      if (allow.length > 0) return refuse(context, new Failed(wrongMethod(request.method, allow)))
      return (
        dashboard.answer(request) ?? refuse(context, new Failed(endpoints.unknown(request.method, pathname).failure))
      )
    })
}

const BAD_HOST = failure('invalid_request', 'The Host header is not a valid host name.')
const DRAINING = failure('service_unavailable', 'This server is shutting down. Try again.', { retryAfterSeconds: 1 })

/** Two Host headers arrive as one, joined by a comma (RFC 9112 section 3.2). */
function hasBadHost({ request: { headers }, origin }: RequestContext): boolean {
  return origin.hasBadHost === true || headers.get('host')?.includes(',') === true
}
