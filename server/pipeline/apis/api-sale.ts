import type { ApiMatch, SoldOperation } from '../../core/apis/api-routes'
import { type CallPrice, minimumOf } from '../../core/apis/prices/price'
import { operatorPrice, type Prices } from '../../core/catalog/prices'
import { type Failure, uncharged } from '../../core/failure'
import type { AccountId } from '../../core/ids'
import type { Money } from '../../core/money'
import type { Result } from '../../core/result'
import type { PricedRoute } from '../call'
import type { Work } from '../work'
import type { ApiInput } from './api-input'

/** A call of an imported operation, with its input validated and its price fixed. */
export interface ApiSale {
  readonly match: ApiMatch
  readonly input: ApiInput
  readonly price: CallPrice
  /** The same call of the operation as it is now. */
  requote(): Result<Work, Failure>
  /** How many gateways the request has passed through before this one. */
  readonly hops: number
}

export const CALL_LOOP = uncharged(
  'upstream_unavailable',
  'This request has passed through three gateways and is probably going in a circle. It was not sent on.',
)
export const WRONG_ANSWER = uncharged(
  'upstream_error',
  'The upstream answered, but not with the result that this operation sells.',
)
export const NO_FIGURE = uncharged(
  'upstream_error',
  'The upstream answered without the figure that this operation is priced by.',
)

/**
 * The operation's price, or the amount that the operator set for everyone or for this account. A `reported` price has no amount.
 * An amount set before the API was made was for another API of its name, which was removed.
 */
export function soldPrice(
  prices: Prices,
  { api, operation: { name, price, priceVersion } }: SoldOperation,
  account: AccountId | null,
): CallPrice {
  const set = price.mode === 'reported' ? null : operatorPrice(prices, name, account, api.createdAt)
  if (!set || price.mode === 'reported') return { price, version: priceVersion }
  return { price: { ...price, amount: set.amount }, version: set.version }
}

/** The smallest minimum that a price by the answer may have to be paid per request (x402's `upto`). Null if that is not offered. */
export type UpToFrom = Money | null

/**
 * The route of an imported operation, for `authenticate`: reads need `data:read`, writes `apis:write`. Its upstream may be slow, so each call takes a
 * slot.
 */
export function soldRoute(match: ApiMatch, upToFrom: UpToFrom = null): PricedRoute {
  const { operation } = match
  const scope = operation.effect === 'read' ? 'data:read' : 'apis:write'
  return {
    kind: 'priced',
    operation: operation.name,
    scope,
    match,
    takesSlot: true,
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
