import type { Budget } from '../credentials/api-key'
import { fromUsdNumber } from '../money'
import type { PoolBudget } from './hold'

/** Converts a key's budget for the counters. Its form accepts only whole micro-USD. */
export function poolBudget({ limitUsd, period, timezone }: Budget): PoolBudget {
  const limit = fromUsdNumber(limitUsd)
  if (limit === null) throw new RangeError(`not a whole number of micro-USD: ${limitUsd} USD`)
  return { limit, period, timezone }
}
