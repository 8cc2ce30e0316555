import { type Failure, uncharged } from '../../core/failure'
import { isJson } from '../../core/json'
import { isLocal } from '../../core/models/model'
import { isUnitPrice } from '../../core/models/unit-price'
import { type Money, ZERO } from '../../core/money'
import { ok, type Result } from '../../core/result'
import type { Quote } from '../call'
import { SHUTTING_DOWN, toFailure } from '../call-upstream'
import { accountOf } from '../record-call'
import { type StreamEnd, type StreamSale, settledStream } from '../stream'
import type { Charge, CreditUse, Load, OpenCall, Work, WorkResult } from '../work'
import { isCacheable, KeptAnswerWork } from './answer-cache'
import { rememberItems, responseOfBody, responseOfEnding } from './item-references'
import type { BackendAnswer, BackendCall } from './model-backend'
import type { ModelCall, ModelDeps, ValidatedCall } from './model-call'
import { estimatedCharge, modelCharge, NO_OUTPUT, unpricedTier } from './model-charge'
import { validateModelCall } from './validate-model-call'
import { mayHideOutput } from './wires/hidden-output'
import { readableJson, reportsFailure } from './wires/json/readable-json'
import { maxCallCost, outputAt } from './wires/model-request'
import type { MeteredOutput, StreamMeter, UpstreamWire } from './wires/model-wire'

/** The largest plain answer. It may contain images, so the limit is higher than a search's. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024

/** The work of one model call, plain or streamed, or what is wrong with its input (spec D2, D4, D9). */
export function modelWork(deps: ModelDeps, call: ModelCall): Result<Work, Failure> {
  const validation = validateModelCall(deps, call)
  if (!validation.ok) return validation
  const kept = deps.answers.find(validation.value)
  return ok(kept ? new KeptAnswerWork(deps, validation.value, kept) : new ModelWork(deps, validation.value))
}

const NO_FALLBACKS: readonly ValidatedCall[] = []

class ModelWork implements Work {
  readonly operation: Work['operation']
  readonly quote: Quote
  readonly effect = 'read'
  readonly streams: boolean
  // Model upstreams have their own deadlines.
  readonly timeoutMs = Number.POSITIVE_INFINITY
  readonly credit: CreditUse
  readonly needsTopUp: string | undefined
  readonly load: Load
  private readonly deps: ModelDeps
  /** At the model that is asked. */
  private validated: ValidatedCall
  private readonly fallbacks: readonly ValidatedCall[]
  /** Whether the last model failed, before anything went to the caller, for a reason that another one need not have. */
  private mayFallBack = false
  private startedAt = 0
  private tries = Number.POSITIVE_INFINITY

  constructor(deps: ModelDeps, validated: ValidatedCall) {
    const { call, request, model, load, fallbacks = NO_FALLBACKS } = validated
    let { maxCost } = validated
    let strictest = model
    for (const other of fallbacks) {
      if (other.maxCost > maxCost) maxCost = other.maxCost
      if (other.model.rechargeRequired && !strictest.rechargeRequired) strictest = other.model
    }
    this.operation = call.operation
    this.quote = { maxCost, version: model.priceVersion, fixed: false }
    this.streams = request.stream
    this.credit = !strictest.rechargeRequired || deps.creditBuysPaid ? 'all' : 'nothing'
    this.needsTopUp = strictest.rechargeRequired ? strictest.id : undefined
    this.load = load
    this.fallbacks = fallbacks
    this.deps = deps
    this.validated = validated
  }

  /** The model that serves the call. */
  get model(): string {
    return this.validated.model.id
  }

  fingerprint(): string {
    return this.validated.call.fingerprint()
  }

  explainRefusal(problem: Failure): Promise<Failure> {
    return withFittingCap(this.deps.decisions, [this.validated, ...this.fallbacks], this.credit === 'all', problem)
  }

  requote(): Result<Work, Failure> {
    return modelWork(this.deps, this.validated.call)
  }

  /** From here on only the end of this process aborts the call. */
  run(open: OpenCall): Promise<WorkResult> {
    return this.fallbacks.length === 0 ? this.ask(open) : this.askInTurn(open)
  }

  private async askInTurn(open: OpenCall): Promise<WorkResult> {
    let result = await this.ask(open)
    for (const next of this.fallbacks) {
      // After a hang-up no other model begins, unless a repeat may ask for the answer.
      if (!this.mayFallBack || this.tries === 0 || (open.hangUp.aborted && !open.hasKey)) break
      this.mayFallBack = false
      this.validated = next
      result = await this.ask(open)
    }
    return result
  }

  private async ask(open: OpenCall): Promise<WorkResult> {
    const { deps, validated } = this
    const { request } = validated
    this.startedAt = deps.clock.now()
    open.asked(validated.model.upstreams[0]?.kind ?? 'none')
    const sent = backendCall(validated, open, this.tries)
    let opened = await deps.backend.open(sent, open.shutdown)
    let wasUnreadable = false
    while (opened.ok) {
      const answer = opened.value
      open.drain?.at(answer.upstream)
      open.asked(answer.kind)
      this.validated = answer.tier === null ? validated : { ...validated, servedTier: answer.tier.toLowerCase() }
      if (request.stream) return this.stream(open, answer)
      const body = await answer.bytes(MAX_ANSWER_BYTES)
      let read: ReadAnswer | null = null
      try {
        if (body.ok) read = readAnswer(validated, answer, body.value)
      } finally {
        answer.close(body.ok ? (read === null ? 'no answer' : 'answer') : undefined)
      }
      if (!body.ok) {
        if (open.shutdown.aborted) return this.brokenOff(open, SHUTTING_DOWN)
        deps.onTrouble(answer.upstream, body.error.reason)
        return this.brokenOff(open, body.error.kind === 'timeout' ? TOO_LATE : BROKEN)
      }
      if (read !== null) return this.answer(open, answer.contentType, read)
      // It costs nothing, and the next upstream may be asked.
      wasUnreadable = true
      opened = await deps.backend.open(sent, open.shutdown, answer.position + 1)
    }
    if (open.shutdown.aborted) return this.brokenOff(open, SHUTTING_DOWN)
    this.tries = sent.tries
    this.mayFallBack = wasUnreadable || !opened.error.passThrough
    return { kind: 'failed', failure: wasUnreadable ? UNREADABLE : toFailure(opened.error), didNothing: true }
  }

  /** The headers of an answer. With fallbacks they tell which model it is from. */
  private answerHeaders(contentType: string): Readonly<Record<string, string>> {
    const headers = { 'content-type': contentType }
    return this.fallbacks.length === 0 ? headers : { ...headers, 'x-served-by': this.model }
  }

  private answer(open: OpenCall, contentType: string, { seen, body }: ReadAnswer): WorkResult {
    const charge = modelCharge(this.validated, seen, open.hangUp.aborted ? 'caller_hung_up' : null)
    reportTier(this.deps, this.validated, seen)
    const { call, request } = this.validated
    rememberItems(this.deps.items, call.authenticated, request, () => responseOfBody(body))
    const headers = this.answerHeaders(contentType)
    if (!isCacheable(this.validated)) return { kind: 'answer', body, headers, charge }
    return {
      kind: 'answer',
      body,
      headers: { ...headers, 'x-cache': 'miss' },
      charge,
      onCharged: this.keeping(contentType, body, charge),
    }
  }

  /** Keeps the answer of the model that was asked. Another one that served the call in its place has a price of its own. */
  private keeping(contentType: string, body: Uint8Array<ArrayBuffer>, { charged }: Charge): () => Promise<void> {
    const { deps, validated } = this
    return async () => {
      if (validated.model.id === validated.call.request.model)
        deps.answers.keep(validated, { contentType, body, cost: charged.cost })
    }
  }

  private stream(open: OpenCall, answer: BackendAnswer): WorkResult {
    const { deps, validated, startedAt } = this
    return {
      kind: 'stream',
      headers: this.answerHeaders(answer.contentType),
      lost: modelCharge(validated, NO_OUTPUT, 'gateway_restarted'),
      open: () => settledStream(deps, open, answer, new ModelStream(deps, { validated, startedAt }, answer.wire)),
      close: () => answer.close(),
    }
  }

  /** The answer broke off. A waiting caller gets a failure; one who hung up is charged by estimate (spec D4). */
  private async brokenOff(open: OpenCall, problem: Failure): Promise<WorkResult> {
    const broken = { kind: 'failed' as const, failure: problem, didNothing: true }
    if (!open.hangUp.aborted) return broken
    const { deps, validated, startedAt } = this
    const code = problem === SHUTTING_DOWN ? 'gateway_shutdown' : 'caller_hung_up'
    return { ...broken, owed: await estimatedCharge(deps, { validated, startedAt }, NO_OUTPUT, code) }
  }
}

function backendCall(
  { call, request, model, cap }: ValidatedCall,
  { authenticated }: OpenCall,
  tries: number,
): BackendCall {
  const { wire, path, headers } = call
  const account = accountOf(authenticated)
  const concurrency = authenticated.subjects[0]?.limits.concurrency ?? 1
  const traceparent = authenticated.incoming.trace?.handedOn ?? null
  return { account, concurrency, model, wire, request, path, cap, headers, traceparent, order: null, tries }
}

const DECODER = new TextDecoder()

/** The content of an answer, and its body for the caller. */
interface ReadAnswer {
  readonly seen: MeteredOutput
  readonly body: Uint8Array<ArrayBuffer>
}

/** Null if it is no JSON object of this wire, or an error. */
function readAnswer(
  { request, unitLines }: ValidatedCall,
  { wire, contentType }: Pick<BackendAnswer, 'wire' | 'contentType'>,
  body: Uint8Array<ArrayBuffer>,
): ReadAnswer | null {
  if (wire.isBinary) return isSound(contentType) && body.length > 0 ? { seen: WHOLE, body } : null
  const text = DECODER.decode(body)
  const json = readableJson(text)
  if (!isJson(json) || reportsFailure(json)) return null
  const answer = wire.answerOf ? wire.answerOf(json, request, body) : body
  if (!answer) return null
  if (unitLines) {
    if (!wire.unitsOf) return { seen: WHOLE, body: answer }
    const units = wire.unitsOf(json)
    return { seen: units === null ? NO_OUTPUT : { ...WHOLE, units }, body: answer }
  }
  const counts = wire.usageOf(json)
  return { seen: { counts, isFinal: counts !== null, textBytes: wire.textBytes(text) }, body: answer }
}

/** The answer of a call that is not charged by tokens. */
const WHOLE: MeteredOutput = { counts: null, isFinal: true, textBytes: 0 }

/** Whether a 200 holds sound, rather than an error in JSON or a page of a proxy. */
function isSound(contentType: string): boolean {
  return /^(audio\/|application\/(octet-stream|ogg)\b)/i.test(contentType.trim())
}

const UNREADABLE = uncharged('upstream_error', 'The model returned an unreadable response. Try again.')
const TOO_LATE = uncharged('upstream_timeout', 'The model did not finish its response in time.')
const BROKEN = uncharged('upstream_error', 'The model stopped in the middle of its response. Try again.')

/** Adds the largest affordable output cap to a refusal for lack of money. Other failures are returned unchanged. */
async function withFittingCap(
  decisions: ModelDeps['decisions'],
  [first, ...others]: readonly [ValidatedCall, ...(readonly ValidatedCall[])],
  creditPays: boolean,
  problem: Failure,
): Promise<Failure> {
  if (problem.code !== 'insufficient_balance' && problem.code !== 'insufficient_api_key_balance') return problem
  if (isUnitPrice(first.model.price)) return problem
  const available = await decisions.spendable(first.call.authenticated, creditPays)
  const caps = [first, ...others].map((one) => largestCap(one, available ?? ZERO))
  const cap = Math.min(...caps)
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
    const maxCost = maxCallCost(request, model, { ...bounds, output: outputAt(request, tried) })
    if (maxCost <= available) fits = tried
    else over = tried
  }
  return fits
}

const ENCODER = new TextEncoder()

/** A call that was sent upstream, and when. */
interface Started {
  readonly validated: ValidatedCall
  readonly startedAt: number
}

type StreamedDeps = Pick<ModelDeps, 'clock' | 'inputs' | 'items' | 'onTrouble'>

/** Logs that the operator pays for a tier, such as the one that a project at the vendor is set to. */
function reportTier({ onTrouble }: StreamedDeps, { model }: ValidatedCall, seen: MeteredOutput): void {
  const tier = unpricedTier(model, seen)
  if (tier !== null) onTrouble(model.id, `served at the tier ${tier}, for which the model has no price`)
}

/** How a model's stream, which arrives in this wire, is metered and charged. */
class ModelStream implements StreamSale {
  readonly meter: StreamMeter
  private readonly deps: StreamedDeps
  private readonly started: Started

  constructor(deps: StreamedDeps, started: Started, wire: UpstreamWire) {
    this.deps = deps
    this.started = started
    this.meter = wire.meter(started.validated.request, started.validated.call.path)
  }

  get stopsWithCaller(): StreamSale['stopsWithCaller'] {
    const { model, request } = this.started.validated
    return isLocal(model) ? 'at once' : model.stopsBilling && !mayHideOutput(request) ? 'soon' : null
  }

  get progress(): number {
    return this.meter.textBytes
  }

  get hasBegun(): boolean {
    return this.meter.textBytes > 0 || this.meter.seen.counts !== null
  }

  lost(): Charge | null {
    const { validated } = this.started
    return validated.maxCost === 0 ? null : modelCharge(validated, this.meter.seen, 'gateway_restarted')
  }

  charge({ isWhole, isGone, wasStopped, code }: StreamEnd): Charge | Promise<Charge> {
    const { deps, started, meter } = this
    if (isWhole) this.remember()
    // The vendor's usage report counts even if the end of the stream did not follow it.
    const isCounted = meter.seen.isFinal || (isWhole && !isGone) || started.validated.maxCost === 0
    reportTier(deps, started.validated, meter.seen)
    if (isCounted) return modelCharge(started.validated, meter.seen, code)
    return estimatedCharge(deps, started, meter.seen, code, wasStopped)
  }

  private remember(): void {
    const { call, request } = this.started.validated
    rememberItems(this.deps.items, call.authenticated, request, () => responseOfEnding(this.meter.ending))
  }

  errorEvent(problem: Failure): Uint8Array {
    const { call } = this.started.validated
    return ENCODER.encode(call.wire.errorEvent(call.failureJson(problem), call.path, this.meter.sentEvents ?? 0))
  }
}
