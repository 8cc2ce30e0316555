import type { Model } from '../../core/models/model'
import type { UpstreamFailure } from '../../core/providers/provider'
import type { Result } from '../../core/result'
import type { ModelRequest } from './wires/model-request'
import type { ModelWire, WirePath } from './wires/model-wire'

/** A call on its way to an upstream. */
export interface BackendCall {
  readonly model: Model
  readonly wire: ModelWire
  readonly request: ModelRequest
  readonly path: WirePath
  /** The output cap where the caller named none. */
  readonly cap: number
  /** The caller's headers that a vendor reads, such as `anthropic-version`. */
  readonly headers: Readonly<Record<string, string>>
}

/** A success on its way back: its headers are there, its body comes. */
export interface BackendAnswer {
  /** Which upstream it is, for the log. */
  readonly upstream: string
  readonly contentType: string
  readonly body: ReadableStream<Uint8Array>
  /** Longest silence within the body. */
  readonly idleMs: number
  /** Longest that it goes on once its caller is gone. */
  readonly drainMs: number
  /** Gives the upstream's place back, and cancels what still comes. Free to repeat; must be called on every way out. */
  close(): void
}

/** How an upstream is, for `/ready` and the operator. */
export interface UpstreamState {
  readonly name: string
  /** `closed`: calls go there. `open`: it failed again and again, and gets none. `probing`: one call finds out. */
  readonly breaker: 'closed' | 'open' | 'probing'
  readonly underWay: number
  /** Failures in a row, up to now. */
  readonly failures: number
  /** When the first of those was, in milliseconds; null where there is none. */
  readonly failingSince: number | null
  /** While it gets no calls: when one may find out whether it is back. */
  readonly nextTryAt: number | null
  /** The ids of those of the models that were asked about which go there. */
  readonly models: readonly string[]
}

/**
 * Where models are. Goes to a model's upstreams in their order until one answers; obeys `signal` at once, also behind the
 * headers. Never rejects for what an upstream does.
 */
export interface ModelBackend {
  open(call: BackendCall, signal: AbortSignal): Promise<Result<BackendAnswer, UpstreamFailure>>
  /** Every upstream that was called, and every one of these models, called or not. */
  states(models: readonly Model[]): readonly UpstreamState[]
}
