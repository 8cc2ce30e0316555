import type { Budget } from '../credentials/api-key'
import { fromUsdNumber } from '../money'
import type { PoolBudget } from './hold'

/** A key's budget as the counters take it. The owner's form let in whole micro-USD only. */
export function poolBudget({ limitUsd, period, timezone }: Budget): PoolBudget {
  const limit = fromUsdNumber(limitUsd)
  if (limit === null) throw new RangeError(`not a whole number of micro-USD: ${limitUsd} USD`)
  return { limit, period, timezone }
}
