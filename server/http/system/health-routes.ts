import { Elysia } from 'elysia'
import type { OwnerSessions } from '../middleware/owner-session'
import { documented } from '../openapi/documented'
import { HEALTH_DOCS } from './health-docs'
import type { Readiness } from './readiness'

/** `/health`: the process lives. `/ready`: it can serve and charge; an operator's session reads why not. */
export function healthRoutes({ readiness, owners }: { readiness: Readiness; owners: Pick<OwnerSessions, 'owner'> }) {
  /** A session that cannot be read is a stranger's: this route answers whatever else does not. */
  const isOperator = (request: Request) =>
    request.headers.has('cookie') &&
    owners.owner(request).then(
      ({ account }) => account.operator,
      () => false,
    )
  return new Elysia({ name: 'health' })
    .get('/health', () => ({ status: 'ok' as const }), documented(HEALTH_DOCS.health))
    .get(
      '/ready',
      async ({ request, set }) => {
        const status = await readiness.status()
        set.headers['cache-control'] = 'no-store'
        if (status !== 'ready') {
          set.status = 503
          set.headers['retry-after'] = '1'
        }
        return { status, ...((await isOperator(request)) && (await readiness.details())) }
      },
      documented(HEALTH_DOCS.ready),
    )
}
