import type { TokenCounts } from '../usage/call-record'

/** Tokens of a call, and what of them has a price of its own beside those that reports sum. */
export interface ModelTokens extends TokenCounts {
  /** Of `cacheWrite`, what the cache keeps for an hour; absent for none. */
  readonly hourWrite?: number
}
