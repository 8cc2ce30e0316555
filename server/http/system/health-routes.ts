import type { OwnerSessions } from '../middleware/caller/owner-session'
import { type RequestContext, routeGroup } from '../middleware/request-context'
import { documented } from '../openapi/documented'
import { HEALTH_DOCS } from './health-docs'
import type { Readiness } from './readiness'

/** `/health`: the process is alive. `/ready`: it can serve and charge calls; operators also see why not. */
export function healthRoutes({ readiness, owners }: { readiness: Readiness; owners: Pick<OwnerSessions, 'owner'> }) {
  /** A session that cannot be read counts as none, because this route must respond even if the database does not. */
  const isOperator = (request: Request, context: RequestContext) =>
    context.origin.isConsole ||
    (request.headers.has('cookie') &&
      owners.owner(context).then(
        ({ account }) => account.operator,
        () => false,
      ))
  return routeGroup({ name: 'health' })
    .get('/health', () => ({ status: 'ok' as const }), documented(HEALTH_DOCS.health))
    .get(
      '/ready',
      async ({ context, request, set }) => {
        const shown = (await isOperator(request, context)) ? await readiness.details() : await readiness.status()
        set.headers['cache-control'] = 'no-store'
        if (shown.status !== 'ready') {
          set.status = 503
          set.headers['retry-after'] = '1'
        }
        return shown
      },
      documented(HEALTH_DOCS.ready),
    )
}
