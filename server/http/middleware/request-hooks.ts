import { type EndpointTable, wrongMethod } from '../routing/endpoint-table'
import type { DashboardFiles } from '../system/dashboard-files'
import { type RequestParts, refused, requestProblem } from './gated-paths'
import { type BunServer, RequestContext, routeGroup } from './request-context'
import { idHeaders } from './request-ids'
import { Failed } from './response/failures'

/** Runs around every request of the router. Creates its context, sets request ids on every response, and gives all failures one shape. */
export function requestHooks(
  {
    contexts,
    dashboard,
    refusal,
    onFault,
  }: Omit<RequestParts, 'gate' | 'baseUrl'> & { readonly dashboard: DashboardFiles },
  endpoints: EndpointTable,
) {
  return routeGroup({ name: 'request-hooks' })
    .onRequest((elysia) => {
      const { request, set } = elysia
      const context = new RequestContext(request, elysia.server as BunServer, contexts)
      elysia.context = context
      Object.assign(set.headers, idHeaders(context.ids))
      const problem = requestProblem(context, refusal)
      if (problem) throw new Failed(problem)
    })
    .onError({ as: 'global' }, ({ context, request, code, error }) => {
      const { path } = context
      if (code !== 'NOT_FOUND') return refused(context, error, onFault)
      const allow = endpoints.methodsAt(path)
      const problem = allow.length > 0 ? wrongMethod(request.method, allow) : null
      return (
        (problem ? null : dashboard.answer(request)) ??
        refused(context, new Failed(problem ?? endpoints.unknown(request.method, path).failure), onFault)
      )
    })
}
