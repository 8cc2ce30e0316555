import type { ApiRoutes, SoldOperation } from '../../core/apis/api-routes'
import type { ApiRegistry } from '../../core/apis/api-store'
import { inputNames, inputSchema } from '../../core/apis/input-schema'
import type { Operation } from '../../core/catalog/operation'
import { OPERATIONS } from '../../core/catalog/operations'
import type { ParameterTable } from '../../core/catalog/parameters'
import { currentPrice, type PriceStore } from '../../core/catalog/prices'
import { formatUsd } from '../../core/money'
import { isPayable, soldPrice, type UpToFrom } from '../../pipeline/apis/api-sale'
import { queryOf } from '../middleware/input/list-query'
import { routeGroup } from '../middleware/request-context'
import { documented, type EndpointDocs } from '../openapi/documented'
import { bodySchema } from '../openapi/parameter-documents'
import { publicEndpoint, served } from '../routing/endpoint'
import { type CatalogOperation, CatalogPage } from './catalog-record'
import { priceRecordOf } from './price-record'

const CATALOG_QUERY = {
  q: { in: 'query', kind: 'text', min: 1, max: 200, description: 'Only operations with all of these words.' },
  api: { in: 'query', kind: 'text', min: 1, max: 40, description: 'Only operations of this API.' },
  kind: {
    in: 'query',
    kind: 'enum',
    values: ['built_in', 'imported'],
    description: 'Only built-in operations, or only those of APIs that the operator imported.',
  },
  limit: { in: 'query', kind: 'integer', min: 1, max: 100, default: 50, description: 'Maximum number of operations.' },
  cursor: { in: 'query', kind: 'text', min: 1, max: 200, description: '`next_cursor` of the previous page.' },
} as const satisfies ParameterTable

/** An operation with the text that a search looks at. */
export interface Entry {
  readonly name: string
  readonly api: string
  readonly kind: 'built_in' | 'imported'
  readonly text: string
  record(): CatalogOperation
}

export interface CatalogParts {
  readonly apis: ApiRegistry
  readonly prices: PriceStore
  readonly upToFrom: UpToFrom
}

const BUILT_IN_TITLES: Readonly<Record<string, string>> = { websearch: 'Web search', social: 'Social network' }

const CATALOG = publicEndpoint()

/** All operations on sale now, by name. */
export function catalogEntries({ apis, prices, upToFrom }: CatalogParts): () => readonly Entry[] {
  const builtIn = Object.values(OPERATIONS).map((operation) => builtInEntry(operation, prices))
  // One index per catalog: a catalog is replaced as a whole.
  const indexes = new WeakMap<ApiRoutes, readonly Entry[]>()
  return () => {
    const { routes } = apis
    const index =
      indexes.get(routes) ??
      [...builtIn, ...[...routes.operations].map((sold) => importedEntry(sold, { prices, upToFrom }))].sort(byName)
    indexes.set(routes, index)
    return index
  }
}

/** Everything that can be bought, for anybody (spec D12). */
export function catalogRoutes(parts: CatalogParts) {
  const entries = catalogEntries(parts)
  return routeGroup({ name: 'catalog' }).get(
    '/v1/catalog',
    ...served(CATALOG, documented(CATALOG_DOCS, CATALOG_QUERY), ({ context }) => {
      const { q = '', api, kind, limit, cursor = '' } = queryOf(CATALOG_QUERY, context)
      const words = q.toLowerCase().split(/\s+/).filter(Boolean)
      const page: Entry[] = []
      for (const entry of entries()) {
        if (entry.name <= cursor || entry.api !== (api ?? entry.api) || entry.kind !== (kind ?? entry.kind)) continue
        if (words.every((word) => entry.text.includes(word))) page.push(entry)
        if (page.length > limit) break
      }
      const shown = page.slice(0, limit)
      const answer: CatalogPage = {
        operations: shown.map((entry) => entry.record()),
        next_cursor: page.length > limit ? (shown.at(-1)?.name ?? null) : null,
      }
      return context.reply.free(answer)
    }),
  )
}

function importedEntry({ api, operation }: SoldOperation, { prices, upToFrom }: Omit<CatalogParts, 'apis'>): Entry {
  const { name, method, path, title, description, effect, parameters, examples } = operation
  const inputs = inputNames(parameters)
  return {
    name,
    kind: 'imported',
    api: api.name,
    text: [name, title, description, api.title].join(' ').toLowerCase(),
    record: () => ({
      name,
      api: api.name,
      api_title: api.title,
      method,
      path: `/apis/v1/${api.name}${path}`,
      title,
      description,
      effect,
      pay_per_request: isPayable({ api, operation }, upToFrom),
      price: priceRecordOf(soldPrice(prices, { api, operation }, null).price),
      input_schema: inputSchema(operation),
      parameters: parameters.map(({ name, in: location }, i) => ({ input: inputs[i] ?? name, name, in: location })),
      body_type: operation.body?.contentType ?? null,
      examples: examples.map(({ title, input }) => ({ title, input })),
    }),
  }
}

function builtInEntry(
  { name, title, description, path, methods, parameters, unit, payable, effect, example }: Operation,
  prices: PriceStore,
): Entry {
  const api = path.split('/')[3] ?? ''
  return {
    name,
    kind: 'built_in',
    api,
    text: [name, title, description].join(' ').toLowerCase(),
    record: () => ({
      name,
      api,
      api_title: BUILT_IN_TITLES[api] ?? api,
      method: methods[0] ?? 'GET',
      path,
      title,
      description,
      effect: effect ?? 'read',
      pay_per_request: payable === true,
      price: { mode: 'fixed', usd: formatUsd(currentPrice(prices, name, null).amount), unit },
      input_schema: bodySchema(parameters),
      parameters: Object.entries(parameters).flatMap(([name, { in: location }]) =>
        location === 'query' ? [{ input: name, name, in: methods[0] === 'POST' ? ('body' as const) : location }] : [],
      ),
      body_type: methods[0] === 'POST' ? 'application/json' : null,
      examples: [{ title, input: example }],
    }),
  }
}

function byName(a: Entry, b: Entry): number {
  return a.name < b.name ? -1 : 1
}

const CATALOG_DOCS = {
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
