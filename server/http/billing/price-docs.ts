import type { EndpointDocs } from '../openapi/documented'
import { PriceList } from './record'

export const PRICE_DOCS = {
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
