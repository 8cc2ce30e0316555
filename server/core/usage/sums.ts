import { type Money, plus, ZERO } from '../money'

/** Sums over counted calls (spec D8). */
export interface UsageSums {
  readonly requests: number
  readonly failedRequests: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens: number
  readonly cacheWriteTokens: number
  readonly charged: Money
}

export const NO_USAGE: UsageSums = {
  requests: 0,
  failedRequests: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  charged: ZERO,
}

export function added(a: UsageSums, b: UsageSums): UsageSums {
  return {
    requests: a.requests + b.requests,
    failedRequests: a.failedRequests + b.failedRequests,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    charged: plus(a.charged, b.charged),
  }
}
