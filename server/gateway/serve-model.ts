import { boundedBytes } from '../core/bounded-bytes'
import { type Failure, failure } from '../core/failure'
import type { BackendAnswer } from '../core/models/backend'
import { isJson } from '../core/models/model-request'
import type { Seen } from '../core/models/model-wire'
import { no, ok, type Result } from '../core/result'
import { limitFailure } from './admit'
import { withFittingCap } from './fitting-cap'
import { told } from './forward'
import type { CreditUse, Reservation } from './funding/funding'
import { judgeModelCall } from './judge-model-call'
import {
  charge,
  giveBack,
  type JudgedCall,
  type ModelCall,
  type ModelCounter,
  type ModelOutcome,
  recordOf,
  type Taken,
} from './model-call'
import type { FirstTurn } from './repeats'
import { spendable, tooDear } from './serve'
import { meteredStream } from './stream'
import { inTurn, stopOf } from './turn-of'

/** Most bytes of a plain answer; with pictures in it, a model's is longer than a search's. */
const MOST_ANSWER_BYTES = 64 * 1024 * 1024
const NOTHING: Seen = { counts: null, isFinal: false, textBytes: 0 }

/**
 * The second half of a call of a model, in the place that was taken for it: input, tokens, the first top-up, the most it can
 * cost, upstream, charge (spec-answers 2, 4, 9). What was taken is given back on every way out; a stream takes it along, to its end.
 */
export async function serveModel(counter: ModelCounter, call: ModelCall): Promise<ModelOutcome> {
  const judging = judgeModelCall(counter, call)
  if (!judging.ok) return { kind: 'refused', failure: judging.error }
  const judged = judging.value
  const { model, most } = judged
  const { admitted, wishes } = call
  if (wishes.quote)
    return {
      kind: 'quoted',
      quote: { most, version: model.priceVersion, fixed: false },
      balance: await spendable(counter, admitted),
    }
  if (wishes.maxPrice !== null && most > wishes.maxPrice) return tooDear(most, wishes.maxPrice)
  return inTurn(counter.repeats, call, call.operation, judged.request.stream, (first) => bought(counter, judged, first))
}

/** Tokens, money, upstream, charge. */
async function bought(counter: ModelCounter, judged: JudgedCall, first: FirstTurn | null): Promise<ModelOutcome> {
  const { call, bounds, subjects, family } = judged
  const { admitted } = call
  const asked = family && (await counter.limiter.countRequest([family]))
  if (asked && !asked.ok) return { kind: 'refused', failure: limitFailure(asked.error, admitted.caller) }
  const { ticket } = call
  const counted = await ticket.reserve(subjects, bounds.input.likely + bounds.output)
  if (!counted.ok)
    return { kind: 'refused', failure: limitFailure(counted.error, admitted.caller), readings: counted.error.readings }
  const reserved = await reserveTokens(counter, { ...call, ...judged })
  if (!reserved.ok) {
    await ticket.finish(0)
    const problem = await withFittingCap(counter, judged, reserved.error)
    return { kind: 'refused', failure: problem, readings: await counter.limiter.read(subjects) }
  }
  const taken = { judged, reservation: reserved.value, ticket, first, stop: stopOf(call, first) }
  try {
    return await forwarded(counter, taken)
  } catch (error) {
    await giveBack(taken, 0)
    throw error
  }
}

/** Makes sure of the money of a call that is charged by its tokens, the first top-up included. */
export async function reserveTokens(
  counter: Pick<ModelCounter, 'ledger' | 'funding' | 'creditBuysPaid'>,
  { admitted, operation, model, most }: Pick<ModelCall, 'admitted' | 'operation'> & Pick<JudgedCall, 'model' | 'most'>,
  /** What signup credit may buy beside the model. */
  beside: CreditUse = 'all',
): Promise<Result<Reservation, Failure>> {
  if (admitted.caller.kind !== 'anonymous' && model.rechargeRequired) {
    const balance = await counter.ledger.balance(admitted.caller.account.id)
    if (!balance || balance.toppedUp <= 0)
      return no(
        failure(
          'recharge_required',
          `${model.id} needs a first top-up: signup credit pays for models with "recharge_required": false.`,
        ),
      )
  }
  const credit = !model.rechargeRequired || counter.creditBuysPaid ? beside : 'nothing'
  const quote = {
    most,
    version: model.priceVersion,
    fixed: false,
    charge: () => {
      throw new Error('a model call is charged by its tokens')
    },
  }
  return counter.funding.reserve(
    quote,
    admitted,
    { name: operation, takesConcurrency: true, timeoutMs: 0 },
    credit,
    () => '',
  )
}

async function forwarded(counter: ModelCounter, taken: Taken): Promise<ModelOutcome> {
  const { judged } = taken
  const { call, request, model, cap, subjects } = judged
  const opened = await counter.backend.open(
    { model, wire: call.wire, request, path: call.path, cap, headers: call.headers },
    taken.stop,
  )
  if (!opened.ok) {
    await giveBack(taken, 0)
    return { kind: 'refused', failure: told(opened.error), readings: await counter.limiter.read(subjects) }
  }
  const answer = opened.value
  return request.stream ? streamed(counter, taken, answer) : plain(counter, taken, answer)
}

async function streamed(counter: ModelCounter, taken: Taken, answer: BackendAnswer): Promise<ModelOutcome> {
  const { judged, reservation } = taken
  // What is free leaves nothing to settle.
  const kept =
    judged.most === 0 || (await reservation.keep?.(recordOf(counter, judged, NOTHING, 'gateway_restarted').record))
  if (!kept) {
    answer.close()
    await giveBack(taken, 0)
    return {
      kind: 'refused',
      failure: failure('service_unavailable', 'The charge could not be prepared. You were not charged.', {
        retryAfterSeconds: 1,
      }),
    }
  }
  return {
    kind: 'streaming',
    contentType: answer.contentType,
    body: meteredStream(counter, taken, answer),
    readings: await counter.limiter.read(judged.subjects),
  }
}

async function plain(counter: ModelCounter, taken: Taken, answer: BackendAnswer): Promise<ModelOutcome> {
  const { judged, reservation, first, stop } = taken
  const came: Uint8Array[] = []
  const body = await wholeBody(answer, came)
  answer.close()
  const refused = async (problem: Failure): Promise<ModelOutcome> => {
    await giveBack(taken, 0)
    return { kind: 'refused', failure: problem, readings: await counter.limiter.read(judged.subjects) }
  }
  if (!body.ok) {
    if (stop.aborted && came.length > 0) return hungUp(counter, taken, came)
    counter.onTrouble(answer.upstream, body.error)
    return refused(failure('upstream_error', 'The model broke off in its answer. You were not charged.'))
  }
  const seen = seenIn(judged, body.value)
  if (!seen) {
    counter.onTrouble(answer.upstream, 'an answer that is no JSON object')
    return refused(failure('upstream_error', 'The model gave an answer that is none. You were not charged.'))
  }
  const { captured, tokens } = await charge(
    counter,
    judged,
    reservation,
    seen,
    stop.aborted ? 'caller_hung_up' : null,
    first?.answer(body.value, { 'content-type': answer.contentType }),
  )
  await giveBack(taken, tokens.input + tokens.output)
  if (!captured.ok) return { kind: 'refused', failure: captured.error }
  return {
    kind: 'served',
    contentType: answer.contentType,
    body: body.value,
    cost: captured.value.cost,
    readings: await counter.limiter.read(judged.subjects),
  }
}

/** A plain answer that its caller did not wait for: what came of it is charged, as of a stream, the input in any case (spec-answers 4). */
async function hungUp(counter: ModelCounter, taken: Taken, came: readonly Uint8Array[]): Promise<ModelOutcome> {
  const { judged, reservation } = taken
  const textBytes = judged.call.wire.textBytes(Buffer.concat(came).toString())
  const seen = { counts: null, isFinal: false, textBytes }
  const { captured, tokens } = await charge(counter, judged, reservation, seen, 'caller_hung_up')
  await giveBack(taken, tokens.input + tokens.output)
  if (!captured.ok) return { kind: 'refused', failure: captured.error }
  return {
    kind: 'served',
    contentType: 'application/json',
    // Nobody reads it.
    body: new Uint8Array(),
    cost: captured.value.cost,
    readings: await counter.limiter.read(judged.subjects),
  }
}

function seenIn({ call }: JudgedCall, body: Uint8Array): Seen | null {
  const text = new TextDecoder().decode(body)
  try {
    const json: unknown = JSON.parse(text)
    if (!isJson(json)) return null
    const counts = call.wire.usageOf(json)
    return { counts, isFinal: counts !== null, textBytes: call.wire.textBytes(text) }
  } catch {
    return null
  }
}

/** The whole body; `came` gets each part as it comes, for a caller who does not wait for the rest. */
async function wholeBody(answer: BackendAnswer, came: Uint8Array[]): Promise<Result<Uint8Array<ArrayBuffer>, string>> {
  try {
    const whole = await boundedBytes(answer.body, MOST_ANSWER_BYTES, came)
    return whole ? ok(whole) : no('an answer that is too long')
  } catch (error) {
    return no(error instanceof Error ? error.name : 'the answer was cut')
  }
}
