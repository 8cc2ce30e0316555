import { type Money, micros } from '../money'
import type { Model } from './model'
import type { PriceRule, TokenRates } from './token-price'
import { isUnitPrice, type ModelPrice } from './unit-price'

/** What some accounts pay of a model's list price. */
export interface PriceAdjustment {
  /** Names it in the price version of every charge. */
  readonly id: string
  /** Hundredths of a percent of the list price: 8,000 is a discount of 20 percent. */
  readonly basisPoints: number
}

/** The whole list price. */
export const WHOLE_PRICE = 10_000

const KNOWN = new WeakMap<Model, WeakMap<PriceAdjustment, Model>>()

/** The model at the adjusted price: the same object for the same two. Neither its rules nor the operator's own cost change. */
export function adjusted(model: Model, adjustment: PriceAdjustment): Model {
  const known = KNOWN.get(model) ?? new WeakMap<PriceAdjustment, Model>()
  KNOWN.set(model, known)
  const before = known.get(adjustment)
  if (before) return before
  const { id, basisPoints } = adjustment
  const price = adjustedPrice(model.price, basisPoints)
  const after = { ...model, price, priceVersion: `${model.priceVersion}+${id}` }
  known.set(adjustment, after)
  return after
}

/** Each amount of a price, rounded up to a whole micro-USD, so that the lines of a charge stay exact. */
export function adjustedPrice(price: ModelPrice, basisPoints: number): ModelPrice {
  const part = (amount: Money) => partOf(amount, basisPoints)
  if (!isUnitPrice(price)) return price.map((rule) => adjustedRule(rule, part))
  if (price.unit !== 'image') return { ...price, amount: part(price.amount) }
  const sizes = price.sizes.map((size) => ({ ...size, amount: part(size.amount) }))
  const { amount, edits } = price
  return {
    ...price,
    amount: amount === null ? null : part(amount),
    sizes,
    ...(edits !== undefined && { edits: part(edits) }),
  }
}

function adjustedRule(rule: PriceRule, part: (amount: Money) => Money): PriceRule {
  const { rates, request, tools } = rule
  // The loop loses the names.
  const own = Object.fromEntries(Object.entries(rates).map(([name, rate]) => [name, part(rate)])) as TokenRates
  return {
    ...rule,
    rates: own,
    ...(request !== undefined && { request: part(request) }),
    ...(tools && {
      tools: Object.fromEntries(
        Object.entries(tools).map(([name, tool]) => [name, { ...tool, amount: part(tool.amount) }]),
      ),
    }),
  }
}

function partOf(amount: Money, basisPoints: number): Money {
  const whole = BigInt(WHOLE_PRICE)
  return micros(Number((BigInt(amount) * BigInt(basisPoints) + whole - 1n) / whole))
}
