import type { AccountId } from '../../core/ids'
import type { Model, ModelUpstream, UpstreamKind } from '../../core/models/model'
import type { UpstreamFailure } from '../../core/providers/provider'
import type { Result } from '../../core/result'
import type { UpstreamStream } from '../stream'
import type { ModelRequest } from './wires/model-request'
import type { ModelWire, UpstreamWire, WirePath } from './wires/model-wire'

/** A refusal of an upstream, in its own words. */
export interface LastRefusal {
  readonly at: number
  readonly status: number
  readonly words: string
}

/** What a server of models says to a question for its models. */
export interface ListedModels {
  /** Null if it did not answer. */
  readonly status: number | null
  /** Why there is no list, in its own words, without secrets; null if there is one. */
  readonly problem: string | null
  /** Its address is private, and no setting allows it. */
  readonly isForbidden: boolean
  /** Their names there. */
  readonly models: readonly string[]
}

/** A call on its way to an upstream. */
export interface BackendCall {
  /** Whose slots it takes, and whose failures it adds to. */
  readonly account: AccountId
  /** The concurrent calls that the account's tier allows a key. */
  readonly concurrency: number
  readonly model: Model
  readonly wire: ModelWire
  readonly request: ModelRequest
  readonly path: WirePath
  /** The output cap to set if the caller sent none. */
  readonly cap: number
  /** The caller's headers that are forwarded to a vendor, such as `anthropic-version`. */
  readonly headers: Readonly<Record<string, string>>
  /** Our position in the trace of the call; null if the upstream does not get it. */
  readonly traceparent: string | null
  /** The upstreams in the order in which they are tried. The backend sets it when the call begins. */
  order: readonly ModelUpstream[] | null
  /** How many more requests may be sent. The backend counts them: after a timeout one at most, since a vendor may bill what it did not answer. */
  tries: number
}

/** A successful answer whose headers have arrived and whose body follows. */
export interface BackendAnswer extends UpstreamStream {
  /** Its index in the order of the call. */
  readonly position: number
  /** For the caller, who must not learn the upstream's address. */
  readonly kind: UpstreamKind
  /** The service tier that its headers name. */
  readonly tier: string | null
  /** How to read the body: the call's own wire, or its translation. */
  readonly wire: UpstreamWire
  /**
   * Reads the body of a plain answer, which gets as much time as its headers had. `timeout`: it did not end in time. Never rejects.
   */
  bytes(maxBytes: number): Promise<Result<Uint8Array<ArrayBuffer>, UpstreamFailure>>
  /**
   * Frees the upstream's slot and cancels the rest of the body. Must be called on every way out; may be called repeatedly. `whole`: the body of
   * a plain answer was read to its end. That it is no answer says nothing about the upstream's health, since the call may have caused it.
   */
  close(whole?: 'answer' | 'no answer'): void
}

/** The health of one model at an upstream, for `/ready` and the operator. */
export interface UpstreamState {
  readonly name: string
  /** `closed`: it gets calls. `open`: it failed repeatedly and gets none. `probing`: one call tests whether it recovered. */
  readonly breaker: 'closed' | 'open' | 'probing'
  readonly underWay: number
  /** Consecutive failures. */
  readonly failures: number
  /** The time of the first of them in milliseconds; null if there are none. */
  readonly failingSince: number | null
  /** While the breaker is open: when the next test call is allowed. */
  readonly nextTryAt: number | null
  /** What it said last to a call that was not to blame, without secrets; absent if it never did. For operators only. */
  readonly lastRefusal?: LastRefusal
  /** The ids of the requested models that use this upstream. */
  readonly models: readonly string[]
}

/**
 * Calls models. Tries a model's upstreams in the order of the call, beginning at position `from`, until one answers. Obeys `signal` at once, even after
 * the headers. Never rejects because of an upstream.
 */
export interface ModelBackend {
  open(call: BackendCall, signal: AbortSignal, from?: number): Promise<Result<BackendAnswer, UpstreamFailure>>
  /** All upstreams that were called so far, and all upstreams of these models. */
  states(models: readonly Model[]): readonly UpstreamState[]
}
