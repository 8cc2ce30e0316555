import type { ApiMatch, SoldOperation } from '../../core/apis/api-routes'
import { minimumOf } from '../../core/apis/prices/price'
import type { Money } from '../../core/money'
import type { Route } from '../call'

/** The smallest minimum that a price by the answer may have to be paid per request (x402's `upto`). Null if that is not offered. */
export type UpToFrom = Money | null

/** The route of an imported operation, for `authenticate`: reads need `data:read`, writes `apis:write`. */
export function soldRoute(match: ApiMatch, upToFrom: UpToFrom = null): Extract<Route, { kind: 'priced' }> {
  const { operation } = match
  const scope = operation.effect === 'read' ? 'data:read' : 'apis:write'
  return {
    kind: 'priced',
    operation: operation.name,
    scope,
    match,
    ...(isPayable(match, upToFrom) && { payable: true }),
  }
}

/**
 * Whether a caller without an account may pay for the one call: the operator says so, or says nothing and the upstream wants no credential,
 * neither as `auth` nor in one of the API's own headers. Also, the price is fixed and above zero, or is settled by `upto` and is never below
 * the minimum of a settlement; the answer comes whole, and the call can be repeated.
 */
export function isPayable(
  { api: { auth, headers }, operation: { price, effect, answer, payPerRequest } }: SoldOperation,
  upToFrom: UpToFrom = null,
): boolean {
  const isOpen = auth.kind === 'none' && Object.keys(headers).every((name) => PLAIN_HEADERS.has(name.toLowerCase()))
  return (
    (payPerRequest ?? isOpen) &&
    auth.kind !== '402' &&
    (price.mode === 'fixed' ? price.amount > 0 : upToFrom !== null && minimumOf(price) >= upToFrom) &&
    effect === 'read' &&
    answer === 'whole'
  )
}

/** Headers that hold no credential. Any other may. */
const PLAIN_HEADERS = new Set(['accept', 'accept-language', 'cache-control', 'prefer', 'user-agent'])
