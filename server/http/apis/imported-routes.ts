import type { Api, ApiOperation } from '../../core/apis/api'
import type { ApiRoutes } from '../../core/apis/api-routes'
import { type failure, wrongParameters } from '../../core/failure'
import { ZERO } from '../../core/money'
import type { Route } from '../../pipeline/call'
import { type ImportedRoutes, wrongMethod } from '../routing/endpoint-table'

const PREFIX = '/apis/v1/'

/** The routes of the operations that are on sale at the moment of a request. */
export function importedRouteTable(registry: { readonly routes: ApiRoutes }): ImportedRoutes {
  return {
    routeOf(method, path) {
      if (!path.startsWith(PREFIX)) return null
      const end = path.indexOf('/', PREFIX.length)
      if (end < 0) return null
      const found = registry.routes.match(method, path.slice(PREFIX.length, end), path.slice(end))
      if (found.ok) {
        const { api, operation } = found.value
        const scope = operation.effect === 'read' ? 'data:read' : 'apis:write'
        const payable = isPayable(api, operation) && ({ payable: true } as const)
        return { kind: 'priced', operation: operation.name, scope, match: found.value, ...payable }
      }
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

/**
 * Whether a caller without a key may pay for the one call: the price is fixed and above zero, the answer comes whole, the call can be
 * repeated, and the upstream costs nothing, since a payment may turn out not to settle after the upstream was asked.
 */
export function isPayable({ auth }: Pick<Api, 'auth'>, { price, effect, answer, upstreamCost }: ApiOperation): boolean {
  const isFree = upstreamCost === null ? auth.kind === 'none' : upstreamCost === ZERO
  return isFree && price.mode === 'fixed' && price.amount > 0 && effect === 'read' && answer === 'whole'
}

function unmatched(problem: ReturnType<typeof failure>): Route {
  return { kind: 'unmatched', failure: problem }
}
