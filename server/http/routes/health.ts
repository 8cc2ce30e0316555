import { Elysia } from 'elysia'
import type { ModelBackend } from '../../core/models/backend'
import { documented } from '../docs/documented'
import { HEALTH_DOCS } from '../docs/health-docs'

/** Each part that must answer before calls can be served. */
export type Checks = Readonly<Record<string, () => Promise<boolean>>>

/** Where search answers come from, in the order they are asked, and whether each could answer now. */
export type Sources = () => Promise<Readonly<Record<string, boolean>>>

/** `/health`: the process lives. `/ready`: it can serve, for the database and the search index answer. */
export function healthRoutes(
  checks: Checks,
  isDraining: () => boolean,
  sources?: Sources,
  upstreams: ModelBackend['states'] = () => [],
) {
  return new Elysia({ name: 'health' })
    .get('/health', () => ({ status: 'ok' as const }), documented(HEALTH_DOCS.health))
    .get(
      '/ready',
      async ({ set }) => {
        const results = await Promise.all(
          Object.entries(checks).map(async ([name, check]) => [name, await check()] as const),
        )
        const ready = !isDraining() && results.every(([, works]) => works)
        set.headers['cache-control'] = 'no-store'
        if (!ready) {
          set.status = 503
          set.headers['retry-after'] = '1'
        }
        const status = ready ? ('ready' as const) : isDraining() ? ('draining' as const) : ('not_ready' as const)
        const models = upstreams([]).map(({ name, breaker, underWay }) => ({ name, breaker, under_way: underWay }))
        return { status, checks: Object.fromEntries(results), ...(sources && { sources: await sources() }), models }
      },
      documented(HEALTH_DOCS.ready),
    )
}
