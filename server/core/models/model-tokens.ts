import type { TokenCounts } from '../usage/call-record'

/** Token counts of a call, with those that have a price of their own but are not reported separately. */
export interface ModelTokens extends TokenCounts {
  /** The part of `cacheWrite` that is cached for an hour. Absent if zero. */
  readonly hourWrite?: number
}
