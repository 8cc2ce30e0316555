import type { AccountId, CredentialId, RequestId } from '../ids'
import type { Money } from '../money'

/** The tokens of a call; zero for data endpoints. */
export interface TokenCounts {
  readonly input: number
  readonly output: number
  readonly cacheRead: number
  readonly cacheWrite: number
}

export const NO_TOKENS: TokenCounts = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

/** One line of a charge: `units` at `unitPrice` per `per` units. The cost is the sum of all lines, rounded up once. */
export interface ChargeLine {
  /** The counted unit, such as `output_tokens`, or a description of one part of a longer job. */
  readonly item: string
  readonly units: number
  readonly unitPrice: Money
  readonly per: 1 | 1_000_000
}

/** Whether the upstream reported the tokens, or the gateway estimated them from the traffic. */
export type UsageSource = 'exact' | 'estimated'

/** A charge with the figures that `/v1/usage/{id}` shows to explain it: cost = units x unit price. */
export interface Charged {
  readonly cost: Money
  readonly priceVersion: string
  readonly units: number
  readonly unitPrice: Money
  /** Set when there is more than one unit price: for tokens, and for jobs of several parts. */
  readonly lines?: readonly ChargeLine[]
}

/**
 * How a call ended that is not a failure of one code: charged and logged with the status of its answer, or, if it began to stream and was
 * not charged, with that of a failure.
 */
export type EndCode = 'caller_hung_up' | 'stream_cut' | 'gateway_restarted' | 'gateway_shutdown'

/** Why a call failed, without anything that its caller sent. */
export interface FailureNote {
  /** The route template, such as `/v1/usage/{id}`. Null for a path that does not exist. */
  readonly route: string | null
  readonly message: string
  /** The parameter at fault, and the rule that it breaks. */
  readonly param: string | null
  readonly rule: string | null
}

/** The upstream part of a call. */
export interface UpstreamUse {
  /** Which provider answered or failed; `cache` if the answer was cached. */
  readonly provider: string
  /** Milliseconds from the arrival of the call until its upstream was asked. */
  readonly waitingMs: number
  /** Milliseconds that the upstream took. */
  readonly upstreamMs: number
}

/** A finished call of a key or app. Immutable. With `charged`, it is the durable usage event of a success. */
export interface CallRecord {
  readonly id: RequestId
  /** The caller's `X-Request-ID`, or null. Never used as an identifier. */
  readonly clientRequestId: string | null
  readonly accountId: AccountId
  /** The key or app grant. */
  readonly keyId: CredentialId
  /** A billable operation, or the name of a free route. */
  readonly operation: string
  /** Whether usage summaries include it: a failed or a charged call of a billable operation, so not the reading of usage, and no quote. */
  readonly counted: boolean
  readonly at: number
  readonly status: number
  readonly code: string | null
  readonly latencyMs: number
  readonly address: string
  readonly tokens: TokenCounts
  /** The model, on model routes. */
  readonly model?: string | undefined
  readonly usageSource?: UsageSource | undefined
  readonly charged: Charged | null
  /** What was given back of the charge later. Set when the log is read; absent for nothing. */
  readonly refunded?: Money | undefined
  /** The hold. Absent without one, and for a fixed price, which equals its hold. */
  readonly held?: Money | undefined
  /** Its upstream cost to the operator, by the purchase price at that time. Absent if not known. Never shown to the caller. */
  readonly upstreamCost?: Money | undefined
  /** The budget scope that its caller named. */
  readonly scope?: string | undefined
  /** Absent if no upstream was asked. */
  readonly upstream?: UpstreamUse | undefined
  /** Set for a failure. */
  readonly failure?: FailureNote | undefined
  /** How many calls without a row of their own are counted on this one. */
  readonly repeats?: number | undefined
}
