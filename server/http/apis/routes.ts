import type { ApiMatch, ApiRoutes } from '../../core/apis/api-routes'
import type { PriceStore } from '../../core/catalog/prices'
import { type failure, wrongParameters } from '../../core/failure'
import { isPayable, soldPrice, soldRoute, type UpToFrom } from '../../pipeline/apis/api-sale'
import { type ImportedRoutes, type Matched, refusing, wrongMethod } from '../routing/endpoint-table'
import type { ApiCalls } from './api-calls'
import { importedDocument } from './imported-docs'

const PREFIX = '/apis/v1/'

/** Imported operations (spec D12): those that are on sale at the moment of a request. */
export function importedRouteTable(
  registry: { readonly routes: ApiRoutes },
  upToFrom: () => UpToFrom,
  calls: Pick<ApiCalls, 'answer'>,
): ImportedRoutes {
  // A path without parameters has one match for as long as its API does not change.
  const fixed = new WeakMap<ApiMatch, Matched>()
  const endpointOf = (match: ApiMatch): Matched => {
    const known = fixed.get(match)
    if (known) return known
    const endpoint: Matched = {
      route: soldRoute(match, upToFrom()),
      handler: ({ context }) => calls.answer(context, match),
      params: match.values,
    }
    if (!match.operation.path.includes('{')) fixed.set(match, endpoint)
    return endpoint
  }
  return {
    match(method, path) {
      if (!path.startsWith(PREFIX)) return null
      const end = path.indexOf('/', PREFIX.length)
      if (end < 0) return null
      const found = registry.routes.match(method, path.slice(PREFIX.length, end), path.slice(end))
      if (found.ok) return endpointOf(found.value)
      switch (found.error.kind) {
        case 'unknown':
          return null
        case 'method':
          return unmatched(wrongMethod(method, found.error.allow))
        case 'value': {
          const { param, rule } = found.error
          return unmatched(wrongParameters([{ param, in: 'query', code: 'invalid_parameter', rule, received: null }]))
        }
      }
    },
  }
}

function unmatched(problem: ReturnType<typeof failure>): Matched {
  return refusing({ kind: 'unmatched', failure: problem })
}

/** The imported operations of the API documents. `version` is another object after each change of the catalog. */
export function importedDocuments(routes: ApiRoutes, upToFrom: UpToFrom, prices: Pick<PriceStore, 'newest'>) {
  return {
    version: routes,
    document: () =>
      importedDocument(
        routes,
        (sold) => isPayable(sold, upToFrom),
        (sold) => soldPrice(prices, sold, null).price,
      ),
  }
}
