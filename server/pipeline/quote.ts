import type { Operation } from '../core/catalog/operation'
import type { Parameters, ParameterTable } from '../core/catalog/parameters'
import { currentPrice, type PriceStore } from '../core/catalog/prices'
import type { AccountId } from '../core/ids'
import { type Money, times } from '../core/money'
import type { Charged } from '../core/usage/call-record'

/** The price of one call: `maxCost` is held before the upstream is called, and an answer is charged its real cost, never more. */
export interface Quote {
  readonly maxCost: Money
  /** The catalog version, or the id of the operator's price. */
  readonly version: string
  /** The minimum of a success, if it can be paid for by a payment of its own although its price follows from the answer. */
  readonly minCost?: Money
  /** Whether every success costs exactly `maxCost`. */
  readonly fixed: boolean
}

/** The quote of an operation that is priced per unit. */
export interface UnitQuote extends Quote {
  /** The charge for an answer of this many units. Throws if there are more than were held for, which is a bug in the provider. */
  charge(units: number): Charged
}

/** Quotes units at the operation's price. A fixed price is one unit. */
export function quoteOf<T extends ParameterTable>(
  prices: PriceStore,
  operation: Operation<T>,
  input: Parameters<T>,
  account: AccountId | null,
): UnitQuote {
  const { metering } = operation
  const price = currentPrice(prices, metering ? metering.priceName(input) : operation.name, account)
  const maxUnits = metering ? metering.maxUnits(input) : 1
  return {
    maxCost: times(price.amount, maxUnits),
    version: price.version,
    fixed: maxUnits === 1,
    charge(units) {
      if (units > maxUnits) throw new Error(`an answer of ${units} units, but only ${maxUnits} were held for`)
      return { cost: times(price.amount, units), priceVersion: price.version, units, unitPrice: price.amount }
    },
  }
}
