import { routeGroup } from '../middleware/request-context'
import { API_WILDCARD, type GatedCall } from '../routing/endpoint'
import type { ImportedRoutes } from '../routing/endpoint-table'
import type { ApiCalls } from './api-calls'

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
