import { OPERATIONS } from '../../core/catalog/operations'
import type { ParameterTable } from '../../core/catalog/parameters'
import type { ModelCatalog } from '../../core/models/model-catalog'
import { formatUsd } from '../../core/money'
import type { ModelBackend } from '../../pipeline/models/model-backend'
import { LIMIT_REQUEST_STATES } from '../account/limit-request-record'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { PAGE_QUERY, queryOf } from '../middleware/input/list-query'
import { routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed, type Id } from '../routing/api-access'
import { OperatorCommands, type OperatorParts } from './operator-commands'
import { command, operatorRoles } from './operator-roles'
import {
  Approval,
  Decline,
  NewPrice,
  type OperatorLimitRequestPage,
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
 * For operators: decides requests for higher limits, sets prices (spec D4), and shows the state of the model upstreams. Every
 * change is audited.
 */
export function operatorRoutes(parts: Parts) {
  const { prices, models, upstreams } = parts
  const orders = new OperatorCommands(parts)
  const { operator } = operatorRoles(parts.owners)
  return routeGroup({ name: 'operator', prefix: '/api/operator' })
    .get(
      '/limit-requests',
      ...allowed(operator(), UNDOCUMENTED, async ({ context }): Promise<OperatorLimitRequestPage> => {
        const { status = null, ...page } = queryOf(REQUESTS_QUERY, context)
        return orders.requestPage(status, page)
      }),
    )
    .post(
      '/limit-requests/:id/approve',
      ...command(operator(), Approval, (actor, form, { id }: Id) => orders.approve(actor, { ...form, request: id })),
    )
    .post(
      '/limit-requests/:id/decline',
      ...command(operator(), Decline, (actor, form, { id }: Id) => orders.decline(actor, { ...form, request: id })),
    )
    .get(
      '/prices',
      ...allowed(operator(), UNDOCUMENTED, async (): Promise<OperatorPrices> => {
        return {
          catalogue: Object.values(OPERATIONS).map(({ name, price }) => ({ operation: name, usd: formatUsd(price) })),
          prices: prices.all().map(priceRecord),
        }
      }),
    )
    .post('/prices', ...command(operator(), NewPrice, (actor, form) => orders.setPrice(actor, form)))
    .get(
      '/upstreams',
      ...allowed(
        operator(),
        UNDOCUMENTED,
        async (): Promise<UpstreamList> => ({ upstreams: upstreams(models.list()).map(upstreamRecord) }),
      ),
    )
}
