import type { ApiMatch, SoldOperation } from '../../core/apis/api-routes'
import { ZERO } from '../../core/money'
import type { Route } from '../call'

/** The route of an imported operation, for `authenticate`: reads need `data:read`, writes `apis:write`. */
export function soldRoute(match: ApiMatch): Extract<Route, { kind: 'priced' }> {
  const { operation } = match
  const scope = operation.effect === 'read' ? 'data:read' : 'apis:write'
  return { kind: 'priced', operation: operation.name, scope, match, ...(isPayable(match) && { payable: true }) }
}

/**
 * Whether a caller without a key may pay for the one call: the price is fixed and above zero, the answer comes whole, the call can be
 * repeated, and the upstream costs nothing, since a payment may turn out not to settle after the upstream was asked.
 */
export function isPayable({
  api: { auth },
  operation: { price, effect, answer, upstreamCost },
}: SoldOperation): boolean {
  const isFree = upstreamCost === null ? auth.kind === 'none' : upstreamCost === ZERO
  return (
    isFree &&
    auth.kind !== '402' &&
    price.mode === 'fixed' &&
    price.amount > 0 &&
    effect === 'read' &&
    answer === 'whole'
  )
}
