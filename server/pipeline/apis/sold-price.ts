import type { ApiOperation } from '../../core/apis/api'
import type { CallPrice } from '../../core/apis/prices/price'
import { operatorPrice, type PriceStore } from '../../core/catalog/prices'
import type { AccountId } from '../../core/ids'

/** The operation's price, or the amount that the operator set for everyone or for this account. What an upstream reports has no amount. */
export function soldPrice(
  prices: Pick<PriceStore, 'newest'>,
  { name, price, priceVersion }: Pick<ApiOperation, 'name' | 'price' | 'priceVersion'>,
  account: AccountId | null,
): CallPrice {
  const set = price.mode === 'reported' ? null : operatorPrice(prices, name, account)
  if (!set || price.mode === 'reported') return { price, version: priceVersion }
  return { price: { ...price, amount: set.amount }, version: set.version }
}
