import { CATALOGUE_VERSION } from '../../core/catalogue/operation'
import { PRICE_NAMES } from '../../core/catalogue/operations'
import type { RouteDocs } from '../openapi/documented'
import { listOf, microsUsd, oneOf, record, text } from '../openapi/json-schema'
import { OWNER_FAILURES } from '../openapi/owner-failures'

const PRICE = record('What one unit of an operation costs.', {
  operation: oneOf(PRICE_NAMES, 'The operation, or a price of it that depends on the input.'),
  unit: text('What is counted: a request, or what of an answer is charged one by one.'),
  amount_micros_usd: microsUsd('What it costs this account now.'),
  catalogue_micros_usd: microsUsd('What the catalogue says.'),
  price_version: text(
    'Stands in every charge at this price: the catalogue version, or the id of the price of the operator.',
  ),
})

export const PRICE_DOCS = {
  list: {
    id: 'listPrices',
    tag: 'Account',
    summary: 'Your prices',
    description:
      'What each operation costs your account now. The operator can set prices of its own, for everybody or for one account. Models have theirs in `GET /v1/models`.',
    access: 'session',
    answers: {
      200: {
        description: 'Every price that is not by the token.',
        schema: record('The prices.', { prices: listOf(PRICE, 'The prices.') }),
        examples: {
          some: {
            prices: [
              {
                operation: 'image-search',
                unit: 'request',
                amount_micros_usd: 5000,
                catalogue_micros_usd: 5000,
                price_version: CATALOGUE_VERSION,
              },
            ],
          },
        },
      },
    },
    failures: OWNER_FAILURES,
  },
} as const satisfies Record<string, RouteDocs>
