import type { AccountId, KeyId, RequestId } from '../ids'
import type { Money } from '../money'

/** Tokens of one call; zero for data endpoints. */
export interface TokenCounts {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

export const NO_TOKENS: TokenCounts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

/** How a charge came about, so that `/v1/usage/{id}` can explain it: cost = units x unit price, in units of the operation. */
export interface Charged {
  readonly cost: Money
  readonly priceVersion: string
  readonly units: number
  readonly unitPrice: Money
}

/** One call of a known key, as it ended. Immutable. With `charged`, it is the durable usage event of a success. */
export interface CallRecord {
  readonly id: RequestId
  /** The caller's `X-Request-ID`, or null where it sent none. Never a key to anything. */
  readonly clientRequestId: string | null
  readonly accountId: AccountId
  readonly keyId: KeyId
  /** A catalogue operation, or the name of a free route. */
  readonly operation: string
  /** Whether the summary counts it: catalogue operations only, so that reading one's usage does not change it. */
  readonly counted: boolean
  readonly at: number
  readonly status: number
  readonly code: string | null
  readonly latencyMs: number
  readonly address: string
  readonly tokens: TokenCounts
  readonly charged: Charged | null
}
