import type { Operation } from '../core/catalogue/operation'
import type { Parameters, ParameterTable } from '../core/catalogue/parameters'
import { type PriceStore, priceOf } from '../core/catalogue/prices'
import type { AccountId } from '../core/ids'
import { type Money, times } from '../core/money'
import type { Charged } from '../core/usage/call-record'

/** What one call costs: `most` is held before the upstream is called, and an answer is charged what it came to, never more. */
export interface Quote {
  readonly most: Money
  /** The catalogue version, or the id of the operator's price. */
  readonly version: string
  /** Whether every success costs `most`. */
  readonly fixed: boolean
}

/** The quote of what is sold by the unit. */
export interface UnitQuote extends Quote {
  /** The charge for an answer of so many units. More than were held for is a bug of the provider, and throws. */
  charge(units: number): Charged
}

/** Units of one price: a fixed price is one unit of it. */
export function quoteOf<T extends ParameterTable>(
  prices: PriceStore,
  operation: Operation<T>,
  input: Parameters<T>,
  account: AccountId | null,
): UnitQuote {
  const { metering } = operation
  const price = priceOf(prices, metering ? metering.priceName(input) : operation.name, account)
  const mostUnits = metering ? metering.mostUnits(input) : 1
  return {
    most: times(price.amount, mostUnits),
    version: price.version,
    fixed: mostUnits === 1,
    charge(units) {
      if (units > mostUnits) throw new Error(`an answer of ${units} units, where ${mostUnits} were held for`)
      return { cost: times(price.amount, units), priceVersion: price.version, units, unitPrice: price.amount }
    },
  }
}
