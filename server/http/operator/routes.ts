import { OPERATIONS } from '../../core/catalogue/operations'
import type { ParameterTable } from '../../core/catalogue/parameters'
import { isoTime } from '../../core/clock'
import type { LimitRequestId } from '../../core/ids'
import type { ModelCatalogue } from '../../core/models/catalogue'
import { formatUsd } from '../../core/money'
import type { ModelBackend, UpstreamState } from '../../pipeline/models/model-backend'
import { PAGE_QUERY, pageOf, queryOf } from '../middleware/list-query'
import type { OwnerSessions } from '../middleware/owner-session'
import { routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'
import { describeRequests, type OperatorParts } from './operator-commands'
import { operatorGate } from './operator-gate'

const REQUESTS_QUERY = {
  ...PAGE_QUERY,
  status: {
    in: 'query',
    kind: 'enum',
    values: ['pending', 'approved', 'declined'],
    description: 'Only requests with this status.',
  },
} as const satisfies ParameterTable

type Parts = OperatorParts & {
  readonly owners: OwnerSessions
  readonly models: ModelCatalogue
  readonly upstreams: ModelBackend['states']
}

/**
 * For operators: decides requests for higher limits, sets prices (spec-answers 4), and shows the state of the model upstreams. Every
 * change is audited.
 */
export function operatorRoutes(parts: Parts) {
  const { limitRequests, prices, models, upstreams } = parts
  const { operator, order } = operatorGate(parts, parts.owners)
  return routeGroup({ name: 'operator', prefix: '/api/operator' })
    .get(
      '/limit-requests',
      async ({ context }) => {
        await operator(context)
        const { status, limit, cursor } = queryOf(REQUESTS_QUERY, context)
        const filter = { accountId: null, status: status ?? null }
        const page = pageOf(
          await limitRequests.list(filter, limit + 1, (cursor ?? null) as LimitRequestId | null),
          limit,
        )
        return { requests: await describeRequests(parts, page.rows), next_cursor: page.next }
      },
      UNDOCUMENTED,
    )
    .post(
      '/limit-requests/:id/approve',
      async ({ context, params }) => order(context, 'approve', { request: params.id }),
      { parse: 'none', ...UNDOCUMENTED },
    )
    .post(
      '/limit-requests/:id/decline',
      async ({ context, params }) => order(context, 'decline', { request: params.id }),
      { parse: 'none', ...UNDOCUMENTED },
    )
    .get(
      '/prices',
      async ({ context }) => {
        await operator(context)
        return {
          catalogue: Object.values(OPERATIONS).map(({ name, price }) => ({ operation: name, usd: formatUsd(price) })),
          prices: prices.all().map(({ operation, accountId, amount, id, at }) => ({
            ...{ operation, account: accountId, usd: amount === null ? null : formatUsd(amount), version: id },
            at: isoTime(at),
          })),
        }
      },
      UNDOCUMENTED,
    )
    .get(
      '/upstreams',
      async ({ context }) => {
        await operator(context)
        return { upstreams: upstreams(models.list()).map(wireUpstream) }
      },
      UNDOCUMENTED,
    )
    .post('/prices', ({ context }) => order(context, 'price', {}), { parse: 'none', ...UNDOCUMENTED })
}

function wireUpstream({ name, models, breaker, failures, failingSince, nextTryAt, underWay }: UpstreamState) {
  const time = (at: number | null) => (at === null ? null : isoTime(at))
  return {
    ...{ name, models: [...models], breaker, failures },
    ...{ failing_since: time(failingSince), next_try_at: time(nextTryAt), under_way: underWay },
  }
}
