import type { ModelOperationName } from '../../core/catalogue/operation'
import type { Clock } from '../../core/clock'
import type { Failure } from '../../core/failure'
import type { Ledger } from '../../core/ledger/ledger'
import type { Subject } from '../../core/limits/limiter'
import type { ModelCatalogue } from '../../core/models/catalogue'
import type { Model } from '../../core/models/model'
import type { Money } from '../../core/money'
import type { AuthenticatedCall } from '../call'
import type { StreamDeps } from '../stream'
import type { InputTokens } from './input-tokens'
import type { ModelBackend } from './model-backend'
import type { ModelRequest, TokenBounds } from './wires/model-request'
import type { ModelWire, WirePath } from './wires/model-wire'

export interface ModelDeps extends StreamDeps {
  readonly catalogue: ModelCatalogue
  readonly backend: ModelBackend
  readonly ledger: Ledger
  readonly clock: Clock
  readonly inputs: InputTokens
  /** Whether signup credit pays for models that need a top-up; for the others it does. */
  readonly creditBuysPaid: boolean
  /** The output cap of a call that names none, of a model that has none of its own. */
  readonly defaultCap: number
}

/** A call of a model, with its body read and not yet validated. */
export interface ModelCall {
  readonly authenticated: AuthenticatedCall
  readonly operation: ModelOperationName
  readonly wire: ModelWire
  readonly path: WirePath
  readonly request: ModelRequest
  readonly headers: Readonly<Record<string, string>>
  /** Equal for two tries of one request only. */
  readonly fingerprint: () => string
  /** Told which model of the catalogue the call is of, once that is known: the row of a refusal names it. */
  readonly onModel: (id: string) => void
  /** Told which betas that the caller named are not passed on. */
  readonly onRemovedBetas: (names: readonly string[]) => void
  /** The body of a failure behind the 200 of a stream, in the shape of the route. */
  readonly failureJson: (failure: Failure) => string
}

/** A call that was validated: what it asks, of which model, and what it can come to at most. */
export interface ValidatedCall {
  readonly call: ModelCall
  readonly request: ModelRequest
  readonly model: Model
  readonly cap: number
  readonly bounds: TokenBounds
  readonly most: Money
  readonly subjects: readonly Subject[]
  /** The window of its model's family, which is among `subjects`: it counts requests of its own (spec 8). */
  readonly family: Subject | null
}
