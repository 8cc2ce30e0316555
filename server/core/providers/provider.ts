import type { Failure } from '../failure'
import type { Money } from '../money'
import type { Result } from '../result'

/** A successful response, which is charged for. `body` is JSON and is sent unchanged. */
export interface ProviderAnswer {
  readonly body: string | Uint8Array<ArrayBuffer>
  /** The number of units, for metered operations. One if absent. */
  readonly units?: number
  /** The age of a cached response. */
  readonly ageSeconds?: number
  /** The source that answered, where several are combined. */
  readonly provider?: string
  /** Its cost to the operator; absent if not known. */
  readonly cost?: Money
}

/**
 * Why an upstream call failed. `passThrough` is the upstream's own error body, forwarded unchanged (spec 7 rule 2). It is only set when
 * the failure is about the caller's request, never when it is about our own credential or balance with that upstream.
 */
export interface UpstreamFailure {
  /**
   * `invalid_input`: the caller must change something that only the upstream can validate; no other source is tried.
   * `refused`: the gateway refused before it called the upstream; `failure` says why.
   */
  readonly kind: 'error' | 'unavailable' | 'timeout' | 'rate_limited' | 'invalid_input' | 'refused'
  /** The caller's error, when the provider knows more than `kind` expresses. */
  readonly failure?: Failure
  /** The invalid parameter, with `invalid_input`. Shown to the caller. */
  readonly input?: { readonly param: string; readonly rule: string }
  /** The source is well, but cannot answer this request. */
  readonly isAboutRequest?: true
  /** For the log. Never shown to a caller. Contains no secrets. */
  readonly reason: string
  readonly retryAfterSeconds?: number
  readonly passThrough?: {
    readonly status: number
    readonly contentType: string
    readonly body: string
    /** The upstream's 403 is about the caller's input, not about our credential. */
    readonly isAboutInput?: true
  }
}

/** The caller on whose behalf a provider is called. */
export interface CallOrigin {
  /**
   * Identifies the caller, so that a source can serve callers in turn. Opaque. Never logged or sent upstream.
   */
  readonly caller: string
  /** The `traceparent` for a search API; null unless the operator hands traces on and the call is traced. Web pages never get it. */
  readonly traceparent: string | null
}

/**
 * A source of responses for one operation. Never throws for errors of an upstream: they are an `UpstreamFailure`. Obeys `signal`
 * promptly and returns `timeout` when it aborts. Safe for concurrent calls.
 */
export interface Provider<I> {
  readonly name: string
  /**
   * Calls stay inside the gateway and cost the operator nothing. Only such calls end when their caller disconnects. Others run to
   * their end and are charged.
   */
  readonly isLocal?: true
  /** The operator's cost of an answer; absent if not known, or if each answer says its own. */
  readonly cost?: Money
  /** It asks other providers, each of which is observed for itself. */
  readonly isChain?: true
  call(input: I, signal: AbortSignal, origin: CallOrigin): Promise<Result<ProviderAnswer, UpstreamFailure>>
  /** Whether it can respond now, for `/ready`. */
  ready(): Promise<boolean>
  /**
   * The part of this provider that signup credit pays for: the part that costs the operator nothing, or null for none. If absent,
   * signup credit pays for all of it.
   */
  readonly onCredit?: Provider<I> | null
}
