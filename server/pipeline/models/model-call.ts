import type { ModelOperationName } from '../../core/catalogue/operation'
import type { Clock } from '../../core/clock'
import { type Failure, failure } from '../../core/failure'
import type { IdempotencyRecord } from '../../core/idempotency/idempotency-record'
import type { Journal } from '../../core/ledger/journal'
import type { Ledger } from '../../core/ledger/ledger'
import type { Limiter, Readings, Subject, Ticket } from '../../core/limits/limiter'
import type { ModelCatalogue } from '../../core/models/catalogue'
import type { Model } from '../../core/models/model'
import { costOfLines, tokenLines } from '../../core/models/token-price'
import { least, type Money, minus, ZERO } from '../../core/money'
import type { CallRecord } from '../../core/usage/call-record'
import type { Quoted, Repeated } from '../call'
import type { Funding, Reservation } from '../funding/funding'
import type { FirstTurn, Idempotency } from '../idempotency/idempotency'
import type { Keyed } from '../idempotency/idempotent-call'
import { accountOf, callRecord } from '../paid-call'
import type { Drain, Drains } from './drains'
import { countedInput, type InputTokens } from './input-tokens'
import type { ModelBackend } from './model-backend'
import type { OpenStreams } from './open-streams'
import type { ModelRequest, TokenBounds } from './wires/model-request'
import { type Metered, type ModelWire, metered, type Seen, USUAL_BYTES, type WirePath } from './wires/model-wire'

export interface ModelDeps {
  readonly catalogue: ModelCatalogue
  readonly backend: ModelBackend
  readonly limiter: Limiter
  readonly ledger: Ledger
  readonly journal: Pick<Journal, 'note'>
  readonly clock: Clock
  readonly streams: OpenStreams
  readonly drains: Drains
  readonly inputs: InputTokens
  readonly funding: Funding
  readonly idempotency: Idempotency
  /** Whether signup credit pays for models that need a top-up; for the others it does. */
  readonly creditBuysPaid: boolean
  /** The output cap of a call that names none, of a model that has none of its own. */
  readonly defaultCap: number
  /** The caller of a stream that lasts longer is told so, and goes: the stream is as one whose caller hung up. */
  readonly longestStreamMs: number
  readonly onTrouble: (what: string, reason: string) => void
  /** Money that the house lost. */
  readonly onOverrun: (request: string, model: string, amount: Money) => void
}

/** A call of a model, with its body read and not yet judged. */
export interface ModelCall extends Keyed {
  readonly operation: ModelOperationName
  readonly wire: ModelWire
  readonly path: WirePath
  readonly request: ModelRequest
  readonly headers: Readonly<Record<string, string>>
  /** Its place, which was taken before its body was read. */
  readonly ticket: Ticket
  /** Told which model of the catalogue the call is of, once that is known: the row of a refusal names it. */
  readonly onModel: (id: string) => void
  /** Told which betas that the caller named are not passed on. */
  readonly onRemovedBetas: (names: readonly string[]) => void
  /** The body of a failure behind the 200 of a stream, in the shape of the route. */
  readonly failureJson: (failure: Failure) => string
}

/** A call that was judged: what it asks, of which model, and what it can come to at most. */
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

export type ModelOutcome =
  | {
      readonly kind: 'served'
      readonly contentType: string
      readonly body: Uint8Array<ArrayBuffer>
      readonly cost: Money
      readonly readings: Readings
    }
  | {
      readonly kind: 'streaming'
      readonly contentType: string
      readonly body: ReadableStream<Uint8Array>
      readonly readings: Readings
    }
  | Repeated
  | Quoted
  | { readonly kind: 'refused'; readonly failure: Failure; readonly readings?: Readings }

/** How a call came to its end, as the log has it beside a status of 200. */
export type EndCode = null | 'caller_hung_up' | 'stream_cut' | 'gateway_restarted' | 'gateway_shutdown'

/** The row and the charge of what went through: the written rule of `metered`, at the model's price. */
export function recordOf(
  deps: Pick<ModelDeps, 'clock'>,
  judged: ValidatedCall,
  seen: Seen,
  code: EndCode,
): { readonly record: CallRecord; readonly cost: Money; readonly overrun: Money; readonly metered: Metered } {
  const { call, model, bounds, most } = judged
  const counted = metered(seen, { input: bounds.input.likely, output: bounds.output })
  const lines = tokenLines(model.price, counted.tokens)
  const real = costOfLines(lines)
  const cost = least(real, most)
  const charged = { cost, priceVersion: model.priceVersion, units: 1, unitPrice: cost, lines }
  const end = { status: 200, code, charged, now: deps.clock.now() }
  // What is kept for an hour is among the cache writes; its own price stands in the lines.
  const { hourWrite: _, ...tokens } = counted.tokens
  const record: CallRecord = {
    ...callRecord(call.authenticated, call.operation, end),
    tokens,
    model: model.id,
    usageSource: counted.source,
  }
  return { record, cost, overrun: real > most ? minus(real, most) : ZERO, metered: counted }
}

/**
 * Charges a call for what went through. Whatever the vendor says, the caller pays at most what was held. `kept`: its answer, for
 * its idempotency, in the same commit.
 */
export async function charge(
  deps: ModelDeps,
  judged: ValidatedCall,
  reservation: Reservation,
  seen: Seen,
  code: EndCode,
  kept?: IdempotencyRecord,
) {
  const { record, cost, overrun, metered: counted } = recordOf(deps, judged, seen, code)
  if (overrun > 0) deps.onOverrun(record.id, judged.model.id, overrun)
  return { captured: await reservation.capture(cost, record, overrun, kept), tokens: counted.tokens }
}

/** What a call under way has taken. */
export interface Taken {
  readonly judged: ValidatedCall
  readonly reservation: Reservation
  readonly ticket: Pick<Ticket, 'finish'>
  /** Set under an `Idempotency-Key`. */
  readonly first: FirstTurn | null
  /** Where the call is counted once its caller is gone. */
  readonly drain: Drain
  /** When the upstream was asked. */
  readonly askedAt: number
}

/** Where a call is counted from the moment its caller is gone, until it gives its place back. */
export function drainOf(
  { drains }: Pick<ModelDeps, 'drains'>,
  { authenticated, hangUp, ticket }: Pick<ModelCall, 'authenticated' | 'hangUp' | 'ticket'>,
  model: Model,
): Drain {
  const drain = drains.open(accountOf(authenticated), model)
  const begin = () => drain.begin()
  hangUp.addEventListener('abort', begin, { once: true })
  ticket.with(() => {
    hangUp.removeEventListener('abort', begin)
    drain.end()
  })
  return drain
}

/**
 * What a call that nobody saw the end of is charged by (spec-answers 4): its input, as the vendor told it or by the tokenizer; and
 * of output what came, or, where more may have been written than was sent, what the model writes in the time that it took.
 */
export async function reckoned(
  deps: Pick<ModelDeps, 'clock' | 'inputs'>,
  { judged, askedAt }: Pick<Taken, 'judged' | 'askedAt'>,
  seen: Seen,
  /** Whether the vendor had stopped when we did: then nothing was written that did not come. */
  hasStopped = false,
): Promise<{ readonly judged: ValidatedCall; readonly seen: Seen }> {
  const { bounds, request, model } = judged
  const seconds = Math.max(0, deps.clock.now() - askedAt) / 1000
  const likely = seen.counts ? bounds.input.likely : await countedInput(deps.inputs, request, bounds.input)
  const written = hasStopped ? 0 : Math.ceil(seconds * model.tokensPerSecond) * USUAL_BYTES
  return {
    judged: { ...judged, bounds: { ...bounds, input: { ...bounds.input, likely } } },
    seen: { ...seen, isFinal: false, textBytes: Math.max(seen.textBytes, written) },
  }
}

/** The failure of whoever waits when the process ends. */
export const SHUTTING_DOWN = failure(
  'service_unavailable',
  'The gateway is shutting down and could not finish this call. You were not charged; send the request again.',
  { retryAfterSeconds: 1 },
)

/** Ends a call without a charge, or after it. Free to repeat. */
export async function giveBack(
  { reservation, ticket }: Pick<Taken, 'reservation' | 'ticket'>,
  tokens: number,
): Promise<void> {
  await ticket.finish(tokens)
  await reservation.release()
}
