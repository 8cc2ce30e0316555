import { routeGroup } from '../middleware/request-context'
import { API_WILDCARD, type GatedCall } from '../routing/endpoint'
import type { ApiCalls } from './api-calls'

/**
 * Imported operations (spec-answers 12). The router has one route for all of them: which operation a request is for, and whether it may
 * be called, was decided by the endpoint table before routing.
 */
export function importedRoutes(calls: ApiCalls) {
  return routeGroup({ name: 'imported' }).all(
    API_WILDCARD,
    ({ context }) => calls.answer(context as GatedCall['context']),
    { parse: 'none', detail: { hide: true } },
  )
}
