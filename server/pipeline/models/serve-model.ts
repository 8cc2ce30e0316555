import { boundedBytes } from '../../core/bounded-bytes'
import { type Failure, failure } from '../../core/failure'
import type { BackendAnswer } from '../../core/models/backend'
import { isTooDeep } from '../../core/models/json-depth'
import type { Model } from '../../core/models/model'
import { isJson } from '../../core/models/model-request'
import type { Seen } from '../../core/models/model-wire'
import { no, ok, type Result } from '../../core/result'
import { limitFailure } from '../auth/authenticate'
import type { Admitted } from '../call'
import { HUNG_UP, toFailure } from '../call-upstream'
import type { CreditUse, Reservation } from '../funding/funding'
import type { FirstTurn } from '../idempotency/idempotency'
import { inTurn } from '../idempotency/idempotent-call'
import { accountOf, spendable, tooDear } from '../paid-call'
import { meteredStream } from '../stream'
import { withFittingCap } from './fitting-cap'
import {
  charge,
  drainOf,
  giveBack,
  type ModelCall,
  type ModelCounter,
  type ModelOutcome,
  reckoned,
  recordOf,
  SHUTTING_DOWN,
  type Taken,
  type ValidatedCall,
} from './model-call'
import { validateModelCall } from './validate-model-call'

/** Most bytes of a plain answer; with pictures in it, a model's is longer than a search's. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
const NOTHING: Seen = { counts: null, isFinal: false, textBytes: 0 }

/**
 * The second half of a call of a model, in the place that was taken for it: input, tokens, the first top-up, the most it can
 * cost, upstream, charge (spec-answers 2, 4, 9). What was taken is given back on every way out; a stream takes it along, to its end.
 */
export async function serveModel(counter: ModelCounter, call: ModelCall): Promise<ModelOutcome> {
  const judging = validateModelCall(counter, call)
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
async function bought(counter: ModelCounter, judged: ValidatedCall, first: FirstTurn | null): Promise<ModelOutcome> {
  const { call, bounds, subjects, family, model } = judged
  const { admitted } = call
  const asked = family && (await counter.limiter.countRequest([family]))
  if (asked && !asked.ok) return { kind: 'refused', failure: limitFailure(asked.error, admitted.caller) }
  const { ticket } = call
  const waits = drainsFull(counter, admitted, model)
  if (waits) return { kind: 'refused', failure: waits, readings: await counter.limiter.read(subjects) }
  const counted = await ticket.reserve(subjects, bounds.input.likely + bounds.output)
  if (!counted.ok)
    return { kind: 'refused', failure: limitFailure(counted.error, admitted.caller), readings: counted.error.readings }
  const drain = drainOf(counter, call, model)
  const reserved = await reserveTokens(counter, { ...call, ...judged })
  if (!reserved.ok) {
    await ticket.finish(0)
    const problem = await withFittingCap(counter, judged, reserved.error)
    return { kind: 'refused', failure: problem, readings: await counter.limiter.read(subjects) }
  }
  const taken = { judged, reservation: reserved.value, ticket, first, drain, askedAt: counter.clock.now() }
  try {
    return await forwarded(counter, taken)
  } catch (error) {
    await giveBack(taken, 0)
    throw error
  }
}

/** Why an account whose calls go on without their callers must wait, or null. */
export function drainsFull({ drains }: Pick<ModelCounter, 'drains'>, admitted: Admitted, model: Model): Failure | null {
  const places = admitted.subjects[0]?.limits.concurrency ?? 1
  return drains.refusal(accountOf(admitted), places, model)
}

/** Makes sure of the money of a call that is charged by its tokens, the first top-up included. */
export async function reserveTokens(
  counter: Pick<ModelCounter, 'ledger' | 'funding' | 'creditBuysPaid'>,
  {
    admitted,
    operation,
    model,
    most,
  }: Pick<ModelCall, 'admitted' | 'operation'> & Pick<ValidatedCall, 'model' | 'most'>,
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

/** From here on a hang-up changes nothing; only the end of this process still breaks a call off. */
async function forwarded(counter: ModelCounter, taken: Taken): Promise<ModelOutcome> {
  const { call, request, model, cap } = taken.judged
  if (call.hangUp.aborted) return refused(counter, taken, HUNG_UP)
  const shutdown = new AbortController()
  const over = Promise.withResolvers<void>()
  counter.streams.add(taken, () => {
    shutdown.abort()
    return over.promise
  })
  try {
    const opened = await counter.backend.open(
      { model, wire: call.wire, request, path: call.path, cap, headers: call.headers },
      shutdown.signal,
    )
    if (opened.ok) taken.drain.at(opened.value.upstream)
    if (shutdown.signal.aborted && !opened.ok) return brokenOff(counter, taken, SHUTTING_DOWN)
    if (!opened.ok) return refused(counter, taken, toFailure(opened.error))
    return request.stream
      ? await streamed(counter, taken, opened.value)
      : await plain(counter, taken, opened.value, shutdown.signal)
  } finally {
    counter.streams.delete(taken)
    over.resolve()
  }
}

async function refused(counter: ModelCounter, taken: Taken, problem: Failure): Promise<ModelOutcome> {
  await giveBack(taken, 0)
  return { kind: 'refused', failure: problem, readings: await counter.limiter.read(taken.judged.subjects) }
}

/** There is no answer to the end: a break to whoever waits, and charged by estimate to whoever left (spec-answers 4). */
async function brokenOff(counter: ModelCounter, taken: Taken, problem: Failure): Promise<ModelOutcome> {
  if (taken.judged.call.hangUp.aborted) {
    const { judged, seen } = await reckoned(counter, taken, NOTHING)
    const kept = taken.first?.cut()
    const code = problem === SHUTTING_DOWN ? 'gateway_shutdown' : 'caller_hung_up'
    const { tokens } = await charge(counter, judged, taken.reservation, seen, code, kept)
    await giveBack(taken, tokens.input + tokens.output)
  }
  return refused(counter, taken, problem)
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

async function plain(
  counter: ModelCounter,
  taken: Taken,
  answer: BackendAnswer,
  shutdown: AbortSignal,
): Promise<ModelOutcome> {
  const { judged, reservation, first } = taken
  const body = await wholeBody(answer)
  answer.close()
  if (!body.ok) {
    if (shutdown.aborted) return brokenOff(counter, taken, SHUTTING_DOWN)
    counter.onTrouble(answer.upstream, body.error)
    return brokenOff(counter, taken, body.error === LATE ? TOO_LATE : BROKEN)
  }
  const seen = seenIn(judged, body.value)
  if (!seen) {
    counter.onTrouble(answer.upstream, 'an answer that is no JSON object, or nests too deep')
    const problem = failure('upstream_error', 'The model gave an answer that cannot be read. You were not charged.')
    return refused(counter, taken, problem)
  }
  const { captured, tokens } = await charge(
    counter,
    judged,
    reservation,
    seen,
    judged.call.hangUp.aborted ? 'caller_hung_up' : null,
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

/** Null where it is no JSON object, or nests deeper than anything goes through the gateway. */
function seenIn({ call }: ValidatedCall, body: Uint8Array): Seen | null {
  if (isTooDeep(body, false)) return null
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

/** Once its headers are there, it may take as long again as they might have. */
async function wholeBody(answer: BackendAnswer): Promise<Result<Uint8Array<ArrayBuffer>, string>> {
  let isLate = false
  const deadline = setTimeout(() => {
    isLate = true
    answer.close()
  }, answer.drainMs)
  try {
    const whole = await boundedBytes(answer.body, MAX_ANSWER_BYTES)
    return whole ? ok(whole) : no('an answer that is too long')
  } catch (error) {
    return no(isLate ? LATE : error instanceof Error ? error.name : 'the answer was cut')
  } finally {
    clearTimeout(deadline)
  }
}

const LATE = 'an answer that does not end'
const TOO_LATE = failure('upstream_timeout', 'The model did not end its answer in time. You were not charged.')
const BROKEN = failure('upstream_error', 'The model broke off in the middle of its answer. You were not charged.')
