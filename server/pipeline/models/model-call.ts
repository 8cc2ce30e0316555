import type { ModelOperationName } from '../../core/catalog/operation'
import type { Clock } from '../../core/clock'
import type { Failure } from '../../core/failure'
import type { Model } from '../../core/models/model'
import type { ModelCatalog } from '../../core/models/model-catalog'
import type { UnitLines } from '../../core/models/unit-price'
import type { Money } from '../../core/money'
import type { Telemetry } from '../../core/telemetry/telemetry'
import type { Cached } from '../byte-cache'
import type { AuthenticatedCall } from '../call'
import type { Decisions } from '../decisions'
import type { StreamDeps } from '../stream'
import type { Load } from '../work'
import type { Items } from './item-references'
import type { ModelBackend } from './model-backend'
import type { ModelRequest, TokenBounds } from './wires/model-request'
import type { ModelWire, WirePath } from './wires/model-wire'

/** A tokenizer that runs off the serving thread. */
export interface InputTokens {
  /** Estimates the tokens of a body's text; null if it cannot. */
  count(body: Uint8Array): Promise<number | null>
}

/** A charged answer of a model whose entry has `answer_cache`. */
export interface KeptAnswer {
  readonly body: Uint8Array<ArrayBuffer>
  readonly contentType: string
  /** What it was charged. */
  readonly cost: Money
}

/** Answers to calls of the same account with the same bytes. `find`: null if there is none. */
export interface KeptAnswers {
  find(call: ValidatedCall): Cached<KeptAnswer> | null
  keep(call: ValidatedCall, answer: KeptAnswer): void
}

export interface ModelDeps extends StreamDeps {
  readonly catalog: ModelCatalog
  readonly backend: ModelBackend
  readonly decisions: Pick<Decisions, 'spendable'>
  readonly clock: Clock
  readonly inputs: InputTokens
  readonly items: Items
  readonly answers: KeptAnswers
  /** Whether signup credit also pays for models that require a top-up. It always pays for the others. */
  readonly creditBuysPaid: boolean
  /** The output cap for a call without one, if its model has no default either. */
  readonly defaultCap: number
  readonly telemetry: Telemetry
}

/** A model call whose body was parsed but not validated yet. */
export interface ModelCall {
  readonly authenticated: AuthenticatedCall
  readonly operation: ModelOperationName
  readonly wire: ModelWire
  readonly path: WirePath
  readonly request: ModelRequest
  readonly headers: Readonly<Record<string, string>>
  /** The models that the caller names to serve the call if no upstream of the first one does; null for those of its entry. */
  readonly fallback: readonly string[] | null
  /** The caller's `cache-control`; empty if it sends none. */
  readonly cacheControl: string
  /** Equal only for attempts of the same request. */
  fingerprint(): string
  /** Called with the catalog's model once it is known, so that the usage row of a refusal names it. */
  onModel(id: string): void
  /** Called with the caller's betas that are not forwarded. */
  onRemovedBetas(names: readonly string[]): void
  /** The error body of a failure after a stream's 200, in the route's format. */
  failureJson(failure: Failure): string
}

/** A validated call: its request, its model and its maximum cost. */
export interface ValidatedCall {
  readonly call: ModelCall
  readonly request: ModelRequest
  readonly model: Model
  readonly cap: number
  readonly bounds: TokenBounds
  readonly maxCost: Money
  /** The charge lines of the whole call, if its model is not charged by tokens. */
  readonly unitLines: UnitLines | null
  readonly load: Load
  /** The same call at the models that may serve it instead, in this order. */
  readonly fallbacks?: readonly ValidatedCall[]
  /** The service tier that the headers of the answer name. */
  readonly servedTier?: string
}
