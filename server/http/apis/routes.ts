import type { ApiMatch, ApiRoutes } from '../../core/apis/api-routes'
import type { PriceStore } from '../../core/catalog/prices'
import { type failure, wrongParameters } from '../../core/failure'
import { soldPrice } from '../../pipeline/apis/sold-price'
import { isPayable, soldRoute, type UpToFrom } from '../../pipeline/apis/sold-route'
import type { Route } from '../../pipeline/call'
import { routeGroup } from '../middleware/request-context'
import { API_WILDCARD, type GatedCall } from '../routing/endpoint'
import { type ImportedRoutes, wrongMethod } from '../routing/endpoint-table'
import type { ApiCalls } from './api-calls'
import { importedDocument } from './imported-docs'

/** Imported operations (spec D12). The router has one route for all of them; the catalog says which one a request is for. */
export function importedRoutes(calls: ApiCalls, imported: ImportedRoutes) {
  return routeGroup({ name: 'imported' }).all(
    API_WILDCARD,
    async ({ context }) => {
      const route = imported.routeOf(context.request.method, context.url.pathname)
      const reply = await context.admit(route)
      if (reply.refusal) return reply.refuse(reply.refusal)
      if (route?.kind !== 'priced' || !route.match) throw new Error('a call that was not refused has an operation')
      return calls.answer(context as GatedCall['context'], route.match)
    },
    { parse: 'none', detail: { hide: true } },
  )
}

const PREFIX = '/apis/v1/'

/** The routes of the operations that are on sale at the moment of a request. */
export function importedRouteTable(registry: { readonly routes: ApiRoutes }, upToFrom: UpToFrom): ImportedRoutes {
  // A path without parameters has one match for as long as its API does not change.
  const routes = new WeakMap<ApiMatch, Route>()
  const routeFor = (match: ApiMatch): Route => {
    const known = routes.get(match)
    if (known) return known
    const route = soldRoute(match, upToFrom)
    if (!match.operation.path.includes('{')) routes.set(match, route)
    return route
  }
  return {
    routeOf(method, path) {
      if (!path.startsWith(PREFIX)) return null
      const end = path.indexOf('/', PREFIX.length)
      if (end < 0) return null
      const found = registry.routes.match(method, path.slice(PREFIX.length, end), path.slice(end))
      if (found.ok) return routeFor(found.value)
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

function unmatched(problem: ReturnType<typeof failure>): Route {
  return { kind: 'unmatched', failure: problem }
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
