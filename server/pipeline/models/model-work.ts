import { boundedBytes } from '../../core/bounded-bytes'
import { type Failure, uncharged } from '../../core/failure'
import { isJson } from '../../core/json'
import { isLocal } from '../../core/models/model'
import { maxTokenCost } from '../../core/models/token-price'
import { isUnitPrice, tokenPriceOf } from '../../core/models/unit-price'
import type { Money } from '../../core/money'
import { err, ok, type Result } from '../../core/result'
import { SHUTTING_DOWN, toFailure } from '../call-upstream'
import { accountOf } from '../record-call'
import { type StreamSale, settledStream } from '../stream'
import type { OpenCall, Work, WorkResult } from '../work'
import { rememberItems, responseOfBody, responseOfEnding } from './item-references'
import type { BackendAnswer } from './model-backend'
import type { ModelCall, ModelDeps, ValidatedCall } from './model-call'
import { estimatedCharge, modelCharge, NO_OUTPUT } from './model-charge'
import { validateModelCall } from './validate-model-call'
import { mayHideOutput } from './wires/hidden-output'
import { readableJson, reportsFailure } from './wires/json/readable-json'
import { outputAt } from './wires/model-request'
import type { MeteredOutput, UpstreamWire } from './wires/model-wire'

/** The largest plain answer. It may contain images, so the limit is higher than a search's. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** The work of one model call, plain or streamed, or what is wrong with its input (spec D2, D4, D9). */
export function modelWork(deps: ModelDeps, call: ModelCall): Result<Work, Failure> {
  const validation = validateModelCall(deps, call)
  if (!validation.ok) return validation
  const validated = validation.value
  const { model, maxCost, reserved, subjects, family, request } = validated
  return ok({
    operation: call.operation,
    model: model.id,
    quote: { maxCost, version: model.priceVersion, fixed: false },
    effect: 'read',
    streams: request.stream,
    // Model upstreams have their own deadlines.
    timeoutMs: Number.POSITIVE_INFINITY,
    credit: !model.rechargeRequired || deps.creditBuysPaid ? 'all' : 'nothing',
    ...(model.rechargeRequired && { needsTopUp: model.id }),
    fingerprint: call.fingerprint,
    load: { subjects, window: family, tokens: reserved, upstreams: model.upstreams },
    explainRefusal: (problem) => withFittingCap(deps, validated, problem),
    run: (open) => ask(deps, { validated, startedAt: deps.clock.now() }, open),
  })
}

/** A call that was sent upstream, and when. */
interface StartedCall {
  readonly validated: ValidatedCall
  readonly startedAt: number
}

/** From here on only the end of this process aborts the call. */
async function ask(deps: ModelDeps, started: StartedCall, open: OpenCall): Promise<WorkResult> {
  const { call, request, model, cap } = started.validated
  const { wire, path, headers } = call
  open.asked(model.upstreams[0]?.kind ?? 'none')
  const traceparent = open.authenticated.incoming.trace?.handedOn ?? null
  const account = accountOf(open.authenticated)
  const concurrency = open.authenticated.subjects[0]?.limits.concurrency ?? 1
  const sent = { account, concurrency, model, wire, request, path, cap, headers, traceparent }
  let opened = await deps.backend.open(sent, open.shutdown)
  let wasUnreadable = false
  while (opened.ok && !request.stream) {
    const answer = opened.value
    open.drain?.at(answer.upstream)
    open.asked(answer.kind)
    const result = await whole(deps, started, open, answer)
    if (result !== null) return result
    wasUnreadable = true
    opened = await deps.backend.open(sent, open.shutdown, answer.position + 1)
  }
  if (!opened.ok) {
    if (open.shutdown.aborted) return brokenOff(deps, started, open, SHUTTING_DOWN)
    return { kind: 'failed', failure: wasUnreadable ? UNREADABLE : toFailure(opened.error), didNothing: true }
  }
  const answer = opened.value
  open.drain?.at(answer.upstream)
  open.asked(answer.kind)
  return {
    kind: 'stream',
    headers: { 'content-type': answer.contentType },
    lost: modelCharge(started.validated, NO_OUTPUT, 'gateway_restarted'),
    open: () => settledStream(deps, open, answer, modelStream(deps, started, answer.wire)),
    close: () => answer.close(),
  }
}

/** The answer broke off. A waiting caller gets a failure; one who hung up is charged by estimate (spec D4). */
async function brokenOff(deps: ModelDeps, started: StartedCall, open: OpenCall, problem: Failure): Promise<WorkResult> {
  const broken = { kind: 'failed' as const, failure: problem, didNothing: true }
  if (!open.hangUp.aborted) return broken
  const code = problem === SHUTTING_DOWN ? 'gateway_shutdown' : 'caller_hung_up'
  return { ...broken, owed: await estimatedCharge(deps, started, NO_OUTPUT, code) }
}

/** Null if the body is no answer. It costs nothing, and the next upstream may be asked. */
async function whole(
  deps: ModelDeps,
  started: StartedCall,
  open: OpenCall,
  answer: BackendAnswer,
): Promise<WorkResult | null> {
  const { call, request } = started.validated
  const body = await wholeBody(answer)
  const read = body.ok ? readAnswer(started.validated, answer, body.value) : null
  answer.close(body.ok ? (read === null ? 'no answer' : 'answer') : undefined)
  if (!body.ok) {
    if (open.shutdown.aborted) return brokenOff(deps, started, open, SHUTTING_DOWN)
    deps.onTrouble(answer.upstream, body.error)
    return brokenOff(deps, started, open, body.error === LATE ? TOO_LATE : BROKEN)
  }
  if (read === null) return null
  return {
    kind: 'answer',
    body: read.body,
    headers: { 'content-type': answer.contentType },
    charge: modelCharge(started.validated, read.seen, open.hangUp.aborted ? 'caller_hung_up' : null),
    onCharged: async () =>
      rememberItems(deps.items, accountOf(call.authenticated), request, () => responseOfBody(read.body)),
  }
}

const UTF8 = new TextDecoder()

/** The content of an answer, and its body for the caller; null if it is no JSON object of this wire, or an error. */
function readAnswer(
  { request, unitLine }: ValidatedCall,
  { wire, contentType }: Pick<BackendAnswer, 'wire' | 'contentType'>,
  body: Uint8Array<ArrayBuffer>,
): { readonly seen: MeteredOutput; readonly body: Uint8Array<ArrayBuffer> } | null {
  if (wire.isBinary) return isSound(contentType) && body.length > 0 ? { seen: WHOLE, body } : null
  const text = UTF8.decode(body)
  const json = readableJson(text)
  if (!isJson(json) || reportsFailure(json)) return null
  const answer = wire.answerOf ? wire.answerOf(json, request, body) : body
  if (!answer) return null
  if (unitLine) return { seen: { ...WHOLE, ...(wire.unitsOf && { units: wire.unitsOf(json) }) }, body: answer }
  const counts = wire.usageOf(json)
  return { seen: { counts, isFinal: counts !== null, textBytes: wire.textBytes(text) }, body: answer }
}

/** The answer of a call that is not charged by tokens. */
const WHOLE: MeteredOutput = { counts: null, isFinal: true, textBytes: 0 }

/** Whether a 200 holds sound, rather than an error in JSON or a page of a proxy. */
function isSound(contentType: string): boolean {
  return /^(audio\/|application\/(octet-stream|ogg)\b)/i.test(contentType.trim())
}

/** The body gets as much time as the headers had. */
async function wholeBody(answer: BackendAnswer): Promise<Result<Uint8Array<ArrayBuffer>, string>> {
  let isLate = false
  const deadline = setTimeout(() => {
    isLate = true
    answer.close()
  }, answer.drainMs)
  try {
    const { body, length } = answer
    if (length !== null && length > MAX_ANSWER_BYTES) return err('the answer is too large')
    // Bun reads a body of a bounded length at once, without the pieces of a loop.
    const bytes = await (length === null ? boundedBytes(body, MAX_ANSWER_BYTES) : Bun.readableStreamToBytes(body))
    return bytes ? ok(bytes) : err('the answer is too large')
  } catch (error) {
    return err(isLate ? LATE : error instanceof Error ? error.name : 'the answer was cut')
  } finally {
    clearTimeout(deadline)
  }
}

const UNREADABLE = uncharged('upstream_error', 'The model returned an unreadable response. Try again.')
const LATE = 'the answer did not end in time'
const TOO_LATE = uncharged('upstream_timeout', 'The model did not finish its response in time.')
const BROKEN = uncharged('upstream_error', 'The model stopped in the middle of its response. Try again.')

/** How a model's stream, which arrives in this wire, is metered and charged. */
function modelStream(
  deps: Pick<ModelDeps, 'clock' | 'inputs' | 'items'>,
  started: { readonly validated: ValidatedCall; readonly startedAt: number },
  wire: UpstreamWire,
): StreamSale {
  const { validated } = started
  const { call, request, model, maxCost } = validated
  const meter = wire.meter(request, call.path)
  const encoder = new TextEncoder()
  return {
    meter,
    stopsWithCaller: isLocal(model) ? 'at once' : model.stopsBilling && !mayHideOutput(request) ? 'soon' : null,
    get progress() {
      return meter.seen.textBytes
    },
    get hasBegun() {
      return meter.seen.counts !== null || meter.seen.textBytes > 0
    },
    lost: () => (maxCost === 0 ? null : modelCharge(validated, meter.seen, 'gateway_restarted')),
    charge({ isWhole, isGone, wasStopped, code }) {
      // The vendor's usage report counts even if the end of the stream did not follow it.
      const isCounted = meter.seen.isFinal || (isWhole && !isGone) || maxCost === 0
      if (isCounted) return modelCharge(validated, meter.seen, code)
      return estimatedCharge(deps, started, meter.seen, code, wasStopped)
    },
    onCharged: () =>
      rememberItems(deps.items, accountOf(call.authenticated), request, () => responseOfEnding(meter.ending)),
    errorEvent: (problem) =>
      encoder.encode(call.wire.errorEvent(call.failureJson(problem), call.path, meter.sentEvents ?? 0)),
  }
}

/** Adds the largest affordable output cap to a refusal for lack of money. Other failures are returned unchanged. */
async function withFittingCap(
  deps: Pick<ModelDeps, 'decisions' | 'creditBuysPaid'>,
  validated: Pick<ValidatedCall, 'call' | 'request' | 'model' | 'cap' | 'bounds'>,
  problem: Failure,
): Promise<Failure> {
  if (problem.code !== 'insufficient_balance' && problem.code !== 'insufficient_api_key_balance') return problem
  if (isUnitPrice(validated.model.price)) return problem
  const { call, model } = validated
  const creditPays = !model.rechargeRequired || deps.creditBuysPaid
  const available = await deps.decisions.spendable(call.authenticated, creditPays)
  const cap = available === null ? 0 : largestCap(validated, available)
  const hint =
    cap > 0
      ? `An output cap of at most ${cap} tokens would fit.`
      : 'The input alone costs more than what is left, so no output cap would fit.'
  return { ...problem, message: `${problem.message} ${hint}` }
}

/** The largest cap whose maximum cost is within `available`; 0 if there is none. */
function largestCap(
  { request, model, cap, bounds }: Pick<ValidatedCall, 'request' | 'model' | 'cap' | 'bounds'>,
  available: Money,
): number {
  let fits = 0
  for (let over = cap; over - fits > 1; ) {
    const tried = fits + Math.floor((over - fits) / 2)
    const maxCost = maxTokenCost(tokenPriceOf(model), {
      input: bounds.input.max,
      output: outputAt(request, tried),
      hourCache: request.hourCache ?? false,
    })
    if (maxCost <= available) fits = tried
    else over = tried
  }
  return fits
}
