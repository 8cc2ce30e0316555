import type { Budget, ScopeBudget } from '../credentials/api-key'
import { fromUsdNumber, type Money } from '../money'
import type { PoolBudget } from './hold'

/** Converts a key's budget for the counters. Its form accepts only whole micro-USD. */
export function poolBudget({ limitUsd, period, timezone, raise }: Budget): PoolBudget {
  const limit = wholeMicros(limitUsd)
  return { limit, period, timezone, raise: raise ? { amount: wholeMicros(raise.usd), until: raise.until } : null }
}

/** A budget of each scope of a key, which follows UTC. */
export function scopeBudget(budget: ScopeBudget | null): PoolBudget | null {
  return budget && poolBudget({ ...budget, timezone: 'UTC' })
}

function wholeMicros(usd: number): Money {
  const amount = fromUsdNumber(usd)
  if (amount === null) throw new RangeError(`not a whole number of micro-USD: ${usd} USD`)
  return amount
}
