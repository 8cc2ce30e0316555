import { catalogPrice, PRICE_NAMES, unitOf } from '../../core/catalog/operations'
import { currentPrice, type PriceStore } from '../../core/catalog/prices'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { routeGroup } from '../middleware/request-context'
import { documented, type EndpointDocs } from '../openapi/documented'
import { allowed, signedIn } from '../routing/api-access'
import { PriceList } from './record'

const PRICE_DOCS = {
  list: {
    id: 'listPrices',
    tag: 'Account',
    summary: 'Your prices',
    description:
      'What each operation currently costs your account. The operator can override catalog prices for all accounts or for one. Model prices are in `GET /v1/models`.',
    answers: { 200: { description: 'All prices except those per token.', schema: PriceList } },
    failures: [],
  },
} as const satisfies Record<string, EndpointDocs>

/** The current price of each operation for the owner's account (spec 1.3: account-specific pricing may differ). */
export function priceRoutes({ owners, prices }: { owners: OwnerSessions; prices: PriceStore }) {
  return routeGroup({ name: 'prices', prefix: '/api' }).get(
    '/prices',
    ...allowed(signedIn(owners, 'member'), documented(PRICE_DOCS.list), async ({ accountId }): Promise<PriceList> => {
      return {
        prices: PRICE_NAMES.map((operation) => {
          const { amount, version } = currentPrice(prices, operation, accountId)
          return {
            operation,
            unit: unitOf(operation),
            amount_micros_usd: amount,
            catalogue_micros_usd: catalogPrice(operation),
            price_version: version,
          }
        }),
      }
    }),
  )
}
