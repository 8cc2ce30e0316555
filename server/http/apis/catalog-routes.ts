import type { ApiRoutes, SoldOperation } from '../../core/apis/api-routes'
import type { ApiRegistry } from '../../core/apis/api-store'
import { inputSchema } from '../../core/apis/input-schema'
import type { Operation } from '../../core/catalogue/operation'
import { OPERATIONS } from '../../core/catalogue/operations'
import type { ParameterTable } from '../../core/catalogue/parameters'
import { type PriceStore, priceOf } from '../../core/catalogue/prices'
import { formatUsd } from '../../core/money'
import { queryOf } from '../middleware/list-query'
import { routeGroup } from '../middleware/request-context'
import { bodySchema } from '../openapi/parameter-documents'
import { publicEndpoint, served } from '../routing/endpoint'
import { CATALOG_DOCS } from './catalog-docs'
import type { CatalogOperation, CatalogPage } from './catalog-record'
import { priceRecordOf } from './price-record'

const CATALOG_QUERY = {
  q: { in: 'query', kind: 'text', min: 1, max: 200, description: 'Only operations with all of these words.' },
  api: { in: 'query', kind: 'text', min: 1, max: 40, description: 'Only operations of this API.' },
  limit: { in: 'query', kind: 'integer', min: 1, max: 100, default: 50, description: 'Maximum number of operations.' },
  cursor: { in: 'query', kind: 'text', min: 1, max: 200, description: '`next_cursor` of the previous page.' },
} as const satisfies ParameterTable

/** An operation with the text that a search looks at. */
interface Entry {
  readonly name: string
  readonly api: string
  readonly text: string
  record(): CatalogOperation
}

interface Parts {
  readonly apis: ApiRegistry
  readonly prices: PriceStore
}

const CATALOG = publicEndpoint()

/** Everything that can be bought, for anybody (spec-answers 12). */
export function catalogRoutes({ apis, prices }: Parts) {
  const builtIn = Object.values(OPERATIONS).map((operation) => builtInEntry(operation, prices))
  // One index per catalog: a catalog is replaced as a whole.
  const indexes = new WeakMap<ApiRoutes, readonly Entry[]>()
  const indexOf = (routes: ApiRoutes) => {
    const index = indexes.get(routes) ?? [...builtIn, ...[...routes.operations].map(importedEntry)].sort(byName)
    indexes.set(routes, index)
    return index
  }
  return routeGroup({ name: 'catalog' }).get(
    '/v1/catalog',
    ...served(
      CATALOG,
      ({ context }) => {
        const { q = '', api, limit, cursor = '' } = queryOf(CATALOG_QUERY, context)
        const words = q.toLowerCase().split(/\s+/).filter(Boolean)
        const page: Entry[] = []
        for (const entry of indexOf(apis.routes)) {
          if (entry.name <= cursor || (api !== undefined && entry.api !== api)) continue
          if (words.every((word) => entry.text.includes(word))) page.push(entry)
          if (page.length > limit) break
        }
        const shown = page.slice(0, limit)
        const answer: CatalogPage = {
          operations: shown.map((entry) => entry.record()),
          next_cursor: page.length > limit ? (shown.at(-1)?.name ?? null) : null,
        }
        return context.reply.free(answer)
      },
      CATALOG_DOCS,
      CATALOG_QUERY,
    ),
  )
}

function importedEntry({ api, operation }: SoldOperation): Entry {
  const { name, method, path, title, description } = operation
  return {
    ...{ name, api: api.name, text: [name, title, description, api.title].join(' ').toLowerCase() },
    record: () => ({
      ...{ name, api: api.name, method, path: `/apis/v1/${api.name}${path}`, title, description },
      price: priceRecordOf(operation.price),
      input_schema: inputSchema(operation),
    }),
  }
}

function builtInEntry(
  { name, title, description, path, methods, parameters, unit }: Operation,
  prices: PriceStore,
): Entry {
  const api = path.split('/')[3] ?? ''
  return {
    ...{ name, api, text: [name, title, description].join(' ').toLowerCase() },
    record: () => ({
      ...{ name, api, method: methods[0] ?? 'GET', path, title, description },
      price: { mode: 'fixed', usd: formatUsd(priceOf(prices, name, null).amount), unit },
      input_schema: bodySchema(parameters),
    }),
  }
}

function byName(a: Entry, b: Entry): number {
  return a.name < b.name ? -1 : 1
}
