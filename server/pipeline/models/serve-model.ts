import { boundedBytes } from '../../core/bounded-bytes'
import { type Failure, failure } from '../../core/failure'
import { isJson } from '../../core/json'
import type { Model } from '../../core/models/model'
import { no, ok, type Result } from '../../core/result'
import { limitFailure } from '../auth/authenticate'
import type { AuthenticatedCall } from '../call'
import { HUNG_UP, toFailure } from '../call-upstream'
import type { CreditUse, Reservation } from '../funding/funding'
import type { FirstTurn } from '../idempotency/idempotency'
import { inTurn } from '../idempotency/idempotent-call'
import { accountOf, spendable, tooDear } from '../paid-call'
import { meteredStream } from '../stream'
import { withFittingCap } from './fitting-cap'
import type { BackendAnswer } from './model-backend'
import {
  charge,
  drainOf,
  giveBack,
  type ModelCall,
  type ModelDeps,
  type ModelOutcome,
  reckoned,
  recordOf,
  SHUTTING_DOWN,
  type Taken,
  type ValidatedCall,
} from './model-call'
import { validateModelCall } from './validate-model-call'
import { isTooDeep } from './wires/json-depth'
import type { Seen } from './wires/model-wire'

/** Most bytes of a plain answer; with pictures in it, a model's is longer than a search's. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024
const NOTHING: Seen = { counts: null, isFinal: false, textBytes: 0 }

/**
 * The second half of a call of a model, in the place that was taken for it: input, tokens, the first top-up, the most it can
 * cost, upstream, charge (spec-answers 2, 4, 9). What was taken is given back on every way out; a stream takes it along, to its end.
 */
export async function serveModel(deps: ModelDeps, call: ModelCall): Promise<ModelOutcome> {
  const judging = validateModelCall(deps, call)
  if (!judging.ok) return { kind: 'refused', failure: judging.error }
  const judged = judging.value
  const { model, most } = judged
  const { authenticated, options } = call
  if (options.quote)
    return {
      kind: 'quoted',
      quote: { most, version: model.priceVersion, fixed: false },
      balance: await spendable(deps, authenticated),
    }
  if (options.maxPrice !== null && most > options.maxPrice) return tooDear(most, options.maxPrice)
  return inTurn(deps.idempotency, call, call.operation, judged.request.stream, (first) => bought(deps, judged, first))
}

/** Tokens, money, upstream, charge. */
async function bought(deps: ModelDeps, judged: ValidatedCall, first: FirstTurn | null): Promise<ModelOutcome> {
  const { call, bounds, subjects, family, model } = judged
  const { authenticated } = call
  const asked = family && (await deps.limiter.countRequest([family]))
  if (asked && !asked.ok) return { kind: 'refused', failure: limitFailure(asked.error, authenticated.caller) }
  const { ticket } = call
  const waits = drainsFull(deps, authenticated, model)
  if (waits) return { kind: 'refused', failure: waits, readings: await deps.limiter.read(subjects) }
  const counted = await ticket.reserve(subjects, bounds.input.likely + bounds.output)
  if (!counted.ok)
    return {
      kind: 'refused',
      failure: limitFailure(counted.error, authenticated.caller),
      readings: counted.error.readings,
    }
  const drain = drainOf(deps, call, model)
  const reserved = await reserveTokens(deps, { ...call, ...judged })
  if (!reserved.ok) {
    await ticket.finish(0)
    const problem = await withFittingCap(deps, judged, reserved.error)
    return { kind: 'refused', failure: problem, readings: await deps.limiter.read(subjects) }
  }
  const taken = { judged, reservation: reserved.value, ticket, first, drain, askedAt: deps.clock.now() }
  try {
    return await forwarded(deps, taken)
  } catch (error) {
    await giveBack(taken, 0)
    throw error
  }
}

/** Why an account whose calls go on without their callers must wait, or null. */
export function drainsFull(
  { drains }: Pick<ModelDeps, 'drains'>,
  authenticated: AuthenticatedCall,
  model: Model,
): Failure | null {
  const places = authenticated.subjects[0]?.limits.concurrency ?? 1
  return drains.refusal(accountOf(authenticated), places, model)
}

/** Makes sure of the money of a call that is charged by its tokens, the first top-up included. */
export async function reserveTokens(
  deps: Pick<ModelDeps, 'ledger' | 'funding' | 'creditBuysPaid'>,
  {
    authenticated,
    operation,
    model,
    most,
  }: Pick<ModelCall, 'authenticated' | 'operation'> & Pick<ValidatedCall, 'model' | 'most'>,
  /** What signup credit may buy beside the model. */
  beside: CreditUse = 'all',
): Promise<Result<Reservation, Failure>> {
  if (authenticated.caller.kind !== 'anonymous' && model.rechargeRequired) {
    const balance = await deps.ledger.balance(authenticated.caller.account.id)
    if (!balance || balance.toppedUp <= 0)
      return no(
        failure(
          'recharge_required',
          `${model.id} needs a first top-up: signup credit pays for models with "recharge_required": false.`,
        ),
      )
  }
  const credit = !model.rechargeRequired || deps.creditBuysPaid ? beside : 'nothing'
  const quote = {
    most,
    version: model.priceVersion,
    fixed: false,
    charge: () => {
      throw new Error('a model call is charged by its tokens')
    },
  }
  return deps.funding.reserve(
    quote,
    authenticated,
    { name: operation, takesConcurrency: true, timeoutMs: 0 },
    credit,
    () => '',
  )
}

/** From here on a hang-up changes nothing; only the end of this process still breaks a call off. */
async function forwarded(deps: ModelDeps, taken: Taken): Promise<ModelOutcome> {
  const { call, request, model, cap } = taken.judged
  if (call.hangUp.aborted) return refused(deps, taken, HUNG_UP)
  const shutdown = new AbortController()
  const over = Promise.withResolvers<void>()
  deps.streams.add(taken, () => {
    shutdown.abort()
    return over.promise
  })
  try {
    const opened = await deps.backend.open(
      { model, wire: call.wire, request, path: call.path, cap, headers: call.headers },
      shutdown.signal,
    )
    if (opened.ok) taken.drain.at(opened.value.upstream)
    if (shutdown.signal.aborted && !opened.ok) return brokenOff(deps, taken, SHUTTING_DOWN)
    if (!opened.ok) return refused(deps, taken, toFailure(opened.error))
    return request.stream
      ? await streamed(deps, taken, opened.value)
      : await plain(deps, taken, opened.value, shutdown.signal)
  } finally {
    deps.streams.delete(taken)
    over.resolve()
  }
}

async function refused(deps: ModelDeps, taken: Taken, problem: Failure): Promise<ModelOutcome> {
  await giveBack(taken, 0)
  return { kind: 'refused', failure: problem, readings: await deps.limiter.read(taken.judged.subjects) }
}

/** There is no answer to the end: a break to whoever waits, and charged by estimate to whoever left (spec-answers 4). */
async function brokenOff(deps: ModelDeps, taken: Taken, problem: Failure): Promise<ModelOutcome> {
  if (taken.judged.call.hangUp.aborted) {
    const { judged, seen } = await reckoned(deps, taken, NOTHING)
    const kept = taken.first?.cut()
    const code = problem === SHUTTING_DOWN ? 'gateway_shutdown' : 'caller_hung_up'
    const { tokens } = await charge(deps, judged, taken.reservation, seen, code, kept)
    await giveBack(taken, tokens.input + tokens.output)
  }
  return refused(deps, taken, problem)
}

async function streamed(deps: ModelDeps, taken: Taken, answer: BackendAnswer): Promise<ModelOutcome> {
  const { judged, reservation } = taken
  // What is free leaves nothing to settle.
  const kept =
    judged.most === 0 || (await reservation.keep?.(recordOf(deps, judged, NOTHING, 'gateway_restarted').record))
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
    body: meteredStream(deps, taken, answer),
    readings: await deps.limiter.read(judged.subjects),
  }
}

async function plain(
  deps: ModelDeps,
  taken: Taken,
  answer: BackendAnswer,
  shutdown: AbortSignal,
): Promise<ModelOutcome> {
  const { judged, reservation, first } = taken
  const body = await wholeBody(answer)
  answer.close()
  if (!body.ok) {
    if (shutdown.aborted) return brokenOff(deps, taken, SHUTTING_DOWN)
    deps.onTrouble(answer.upstream, body.error)
    return brokenOff(deps, taken, body.error === LATE ? TOO_LATE : BROKEN)
  }
  const seen = seenIn(judged, body.value)
  if (!seen) {
    deps.onTrouble(answer.upstream, 'an answer that is no JSON object, or nests too deep')
    const problem = failure('upstream_error', 'The model gave an answer that cannot be read. You were not charged.')
    return refused(deps, taken, problem)
  }
  const { captured, tokens } = await charge(
    deps,
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
    readings: await deps.limiter.read(judged.subjects),
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
