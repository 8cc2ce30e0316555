import type { SoldOperation } from '../../core/apis/api-routes'
import type { CallPrice } from '../../core/apis/prices/price'
import { operatorPrice, type PriceStore } from '../../core/catalog/prices'
import type { AccountId } from '../../core/ids'

/**
 * The operation's price, or the amount that the operator set for everyone or for this account. A `reported` price has no amount.
 * An amount set before the API was made was for another API of its name, which was removed.
 */
export function soldPrice(
  prices: Pick<PriceStore, 'newest'>,
  { api, operation: { name, price, priceVersion } }: SoldOperation,
  account: AccountId | null,
): CallPrice {
  const set = price.mode === 'reported' ? null : operatorPrice(prices, name, account, api.createdAt)
  if (!set || price.mode === 'reported') return { price, version: priceVersion }
  return { price: { ...price, amount: set.amount }, version: set.version }
}
