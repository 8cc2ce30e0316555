import { OPERATIONS } from '../../core/catalog/operations'
import type { ParameterTable } from '../../core/catalog/parameters'
import type { ModelCatalog } from '../../core/models/model-catalog'
import { formatUsd } from '../../core/money'
import type { ModelBackend } from '../../pipeline/models/model-backend'
import { LIMIT_REQUEST_STATES } from '../account/limit-request-record'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { PAGE_QUERY, queryOf } from '../middleware/input/list-query'
import { routeGroup } from '../middleware/request-context'
import { answeredBy } from './cells/cell-routing'
import { LIMIT_REQUESTS, UPSTREAMS } from './cells/report-joins'
import { OperatorCommands, type OperatorParts } from './operator-commands'
import { operatorGate } from './operator-gate'
import {
  Approval,
  Decline,
  NewPrice,
  type OneOperatorLimitRequest,
  type OperatorLimitRequestPage,
  type OperatorPrice,
  type OperatorPrices,
  priceRecord,
  type UpstreamList,
  upstreamRecord,
} from './record'

const REQUESTS_QUERY = {
  ...PAGE_QUERY,
  status: {
    in: 'query',
    kind: 'enum',
    values: LIMIT_REQUEST_STATES,
    description: 'Only requests with this status.',
  },
} as const satisfies ParameterTable

type Parts = OperatorParts & {
  readonly owners: OwnerSessions
  readonly models: ModelCatalog
  readonly upstreams: ModelBackend['states']
}

/**
 * For operators: decides requests for higher limits, sets prices (spec-answers 4), and shows the state of the model upstreams. Every
 * change is audited.
 */
export function operatorRoutes(parts: Parts) {
  const { prices, models, upstreams } = parts
  const orders = new OperatorCommands(parts)
  const { operator, order } = operatorGate(parts.owners)
  return routeGroup({ name: 'operator', prefix: '/api/operator' })
    .get(
      '/limit-requests',
      async ({ context }): Promise<OperatorLimitRequestPage> => {
        await operator(context)
        const { status = null, ...page } = queryOf(REQUESTS_QUERY, context)
        return orders.requestPage(status, page)
      },
      answeredBy(LIMIT_REQUESTS),
    )
    .post(
      '/limit-requests/:id/approve',
      ({ context, params }): Promise<OneOperatorLimitRequest> =>
        order(context, Approval, (actor, form) => orders.approve(actor, { ...form, request: params.id })),
      { parse: 'none', ...answeredBy('record') },
    )
    .post(
      '/limit-requests/:id/decline',
      ({ context, params }): Promise<OneOperatorLimitRequest> =>
        order(context, Decline, (actor, form) => orders.decline(actor, { ...form, request: params.id })),
      { parse: 'none', ...answeredBy('record') },
    )
    .get(
      '/prices',
      async ({ context }): Promise<OperatorPrices> => {
        await operator(context)
        return {
          catalogue: Object.values(OPERATIONS).map(({ name, price }) => ({ operation: name, usd: formatUsd(price) })),
          prices: prices.all().map(priceRecord),
        }
      },
      answeredBy('main'),
    )
    .post(
      '/prices',
      ({ context }): Promise<OperatorPrice> => order(context, NewPrice, (actor, form) => orders.setPrice(actor, form)),
      { parse: 'none', ...answeredBy('main') },
    )
    .get(
      '/upstreams',
      async ({ context }): Promise<UpstreamList> => {
        await operator(context)
        return { upstreams: upstreams(models.list()).map(upstreamRecord) }
      },
      answeredBy(UPSTREAMS),
    )
}
