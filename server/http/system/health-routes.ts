import type { OwnerSessions } from '../middleware/caller/owner-session'
import { type RequestContext, routeGroup } from '../middleware/request-context'
import { documented, type EndpointDocs } from '../openapi/documented'
import { ref } from '../openapi/json-schema'
import type { Readiness } from './readiness'

const READY = { status: 'ready' }
const NOT_READY = { status: 'not_ready', code: 'charges_unavailable' }

const HEALTH_DOCS = {
  health: {
    id: 'health',
    tag: 'Health',
    summary: 'Liveness',
    description: 'Returns 200 while the process is alive. Checks nothing else.',
    answers: { 200: { description: 'Alive.', schema: ref('Health'), examples: { alive: { status: 'ok' } } } },
    failures: ['internal_error'],
  },
  ready: {
    id: 'ready',
    tag: 'Health',
    summary: 'Readiness',
    description:
      "Returns 200 when calls can be served and charged, and otherwise a code of what fails. With an operator's session it also returns the reason, and the state of each part and provider.",
    answers: {
      200: { description: 'Ready.', schema: ref('Ready'), examples: { ready: READY } },
      503: {
        description:
          'Not ready: the database is not responding, calls cannot be charged, the first search index is being built, or the server is shutting down.',
        schema: ref('Ready'),
        examples: { not_ready: NOT_READY },
        headers: ['Retry-After'],
      },
    },
    failures: ['internal_error'],
  },
} as const satisfies Record<string, EndpointDocs>

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
