import type { EndpointDocs } from '../openapi/documented'
import { CatalogPage } from './catalog-record'

export const CATALOG_DOCS = {
  id: 'searchCatalog',
  tag: 'Data',
  summary: 'Search the catalog',
  description:
    'Every operation that is on sale, built-in and imported, with its price and parameters. Needs no key. Model prices are in `GET /v1/models`.',
  answers: {
    200: {
      description: 'A page of operations, by name.',
      schema: CatalogPage,
      examples: {
        weather: {
          operations: [
            {
              name: 'weather.getForecast',
              api: 'weather',
              api_title: 'Weather',
              method: 'GET',
              path: '/apis/v1/weather/v1/forecast',
              title: 'Forecast',
              description: 'The forecast of the next days.',
              effect: 'read',
              pay_per_request: false,
              price: { mode: 'fixed', usd: '0.01' },
              input_schema: {
                type: 'object',
                properties: { city: { type: 'string' } },
                required: ['city'],
                additionalProperties: false,
              },
              parameters: [{ input: 'city', name: 'city', in: 'query' }],
              body_type: null,
              examples: [{ title: 'Paris', input: { city: 'Paris' } }],
            },
          ],
          next_cursor: null,
        },
      },
    },
  },
  failures: ['invalid_parameter', 'rate_limit_exceeded', 'internal_error', 'service_unavailable'],
} as const satisfies EndpointDocs
