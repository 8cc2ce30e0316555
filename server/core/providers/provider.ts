import type { Failure } from '../failure'
import type { Result } from '../result'

/** A success by the provider's contract: what is charged for. `body` is JSON and goes out as it is. */
export interface ProviderAnswer {
  readonly body: string | Uint8Array<ArrayBuffer>
  /** How many units it was, where the operation is metered; one where it is absent. */
  readonly units?: number
  /** How long ago it was made, when it was kept from an earlier call. */
  readonly ageSeconds?: number
}

/**
 * Why an upstream gave no success. `passThrough` is its own error body, sent on as it came (spec 7 rule 2); it is set only
 * when the failure is about the caller's request, never about our own credential or balance with that upstream.
 */
export interface UpstreamFailure {
  /**
   * `invalid_input`: the caller must change something that only the source could judge; no other source is asked.
   * `refused`: the gateway itself refused before the source was asked; `failure` says why.
   */
  readonly kind: 'error' | 'unavailable' | 'timeout' | 'rate_limited' | 'invalid_input' | 'refused'
  /** What the caller is told, where the provider knows better than its kind does. */
  readonly failure?: Failure
  /** What is wrong, with `invalid_input`. Shown to the caller. */
  readonly input?: { readonly param: string; readonly rule: string }
  /** For the log; never shown to a caller, and free of secrets. */
  readonly reason: string
  readonly retryAfterSeconds?: number
  readonly passThrough?: {
    readonly status: number
    readonly contentType: string
    readonly body: string
    /** A 403 about what was asked for, where the source's words tell it from one about our credential. */
    readonly isAboutInput?: true
  }
}

/** On whose behalf a provider is called. */
export interface CallOrigin {
  /**
   * Calls with an equal value are one caller's, for a source that serves callers in turn. Opaque, and for that alone: it is never
   * logged, nor sent on.
   */
  readonly caller: string
}

/**
 * A source of answers for one operation. It never throws for what an upstream does: that is an `UpstreamFailure`.
 * It obeys `signal` promptly and answers `timeout` when it aborts. It may be called many times at once.
 */
export interface Provider<I> {
  readonly name: string
  /**
   * Nobody outside is asked and nothing is paid for an answer. Only such a call ends when its caller hangs up: any other goes on to
   * its end, and is charged.
   */
  readonly isLocal?: true
  call(input: I, signal: AbortSignal, origin: CallOrigin): Promise<Result<ProviderAnswer, UpstreamFailure>>
  /** Whether it could answer now; for `/ready`. */
  ready(): Promise<boolean>
  /**
   * What signup credit buys here, where that is not all of it: the part that costs the operator nothing, or null for nothing.
   */
  readonly onCredit?: Provider<I> | null
}
