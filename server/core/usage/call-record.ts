import type { AccountId, CredentialId, RequestId } from '../ids'
import type { Money } from '../money'

/** Tokens of one call; zero for data endpoints. */
export interface TokenCounts {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

export const NO_TOKENS: TokenCounts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

/** One line of a charge: `units` at `unitPrice` for each `per` of them. Cost: the sum of all lines, rounded up once. */
export interface ChargeLine {
  /** What was counted, such as `output_tokens`, or one part of a longer job in words. */
  readonly item: string
  readonly units: number
  readonly unitPrice: Money
  readonly per: 1 | 1_000_000
}

/** Whether tokens were counted by who made them, or by us from what went through. */
export type UsageSource = 'exact' | 'estimated'

/** How a charge came about, so that `/v1/usage/{id}` can explain it: cost = units x unit price, in units of the operation. */
export interface Charged {
  readonly cost: Money
  readonly priceVersion: string
  readonly units: number
  readonly unitPrice: Money
  /** Set where one price per unit does not explain it: tokens, and jobs of several parts. */
  readonly lines?: readonly ChargeLine[]
}

/** One call of a known key or app, as it ended. Immutable. With `charged`, it is the durable usage event of a success. */
export interface CallRecord {
  readonly id: RequestId
  /** The caller's `X-Request-ID`, or null where it sent none. Never a key to anything. */
  readonly clientRequestId: string | null
  readonly accountId: AccountId
  /** The key, or the connection of an app. */
  readonly keyId: CredentialId
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
  /** The model, on model routes. */
  readonly model?: string
  readonly usageSource?: UsageSource
  readonly charged: Charged | null
}
