import { currentPrice } from '../../core/catalog/prices'
import { type Failure, failure } from '../../core/failure'
import { formatUsd, type Money } from '../../core/money'
import { err, ok, type Result, reasonOf } from '../../core/result'
import type { EndCode } from '../../core/usage/call-record'
import { type AuthenticatedCall, type CallOptions, originOf } from '../call'
import { SHUTTING_DOWN } from '../call-upstream'
import { DeliveredBytes, type Ending } from '../idempotency/idempotency'
import { exceedsMinute, isKnownModel, soldModel } from '../models/validate-model-call'
import { creditUse } from '../provider-work'
import { accountOf } from '../record-call'
import type { Charge, OpenCall, Work, WorkResult } from '../work'
import {
  DeepResearch,
  likelyResearchTokens,
  MAX_RESEARCH_MS,
  maxResearchCost,
  type ResearchParts,
  type ResearchProgress,
  type ResearchRequest,
  type ResearchState,
  researchCost,
} from './deep-research'

export interface ResearchCall {
  readonly authenticated: AuthenticatedCall
  readonly options: Pick<CallOptions, 'maxPrice'>
  readonly model: string
  readonly question: string
  readonly maxSearches: number
  readonly cap: number
  readonly stream: boolean
  /** Equal only for attempts of the same request. */
  readonly fingerprint: () => string
  /** Called with the catalog's model once it is known. */
  readonly onModel: (id: string) => void
  /** How the route formats a job's answer and events. */
  readonly wire: ResearchWire
}

export interface ResearchWire {
  /** The response of a job that is not streamed. */
  whole(state: ResearchState): string
  event(event: ResearchEvent): string
}

/** The events of a job in order: `begun` first, `done` or `failed` last. */
export type ResearchEvent =
  | { readonly kind: 'begun' }
  | { readonly kind: 'progress'; readonly progress: ResearchProgress }
  | { readonly kind: 'done'; readonly state: ResearchState; readonly cost: Money }
  | { readonly kind: 'failed'; readonly failure: Failure }

const EVENTS = { 'content-type': 'text/event-stream' }

/**
 * A research job as the work of one priced call. Its maximum cost is held, and it is charged for its parts: each search at the
 * catalog's price, each model call at the model's. If all searches could cost more than `X-Max-Price-USD`, fewer are made.
 */
export function researchWork(parts: ResearchParts, call: ResearchCall): Result<Work, Failure> {
  const { authenticated, options, question, cap } = call
  const { caller, subjects } = authenticated
  if (caller.kind === 'anonymous') throw new Error('an anonymous caller passed to a model')
  const sold = soldModel(parts, caller, call.model, 'chat_completions')
  if (isKnownModel(sold)) call.onModel(call.model)
  if (!sold.ok) return sold
  const model = sold.value
  const searchPrice = currentPrice(parts.prices, 'llm-context', caller.account.id).amount
  const request = affordable({ model, question, maxSearches: call.maxSearches, cap }, searchPrice, options)
  if (!request) return err(tooExpensive(call, options.maxPrice ?? searchPrice))
  const maxCost = maxResearchCost(request, searchPrice)
  const tokens = likelyResearchTokens(request)
  const tooMany = exceedsMinute(tokens - request.cap, request.cap, subjects)
  if (tooMany) return err(tooMany)
  return ok({
    operation: 'deep-research',
    model: model.id,
    quote: { maxCost, version: model.priceVersion, fixed: false },
    effect: 'read',
    streams: call.stream,
    // A job limits its own time and settles the work that is done by then.
    timeoutMs: Number.POSITIVE_INFINITY,
    credit: !model.rechargeRequired || parts.creditBuysPaid ? creditUse(parts.search.onCredit) : 'nothing',
    ...(model.rechargeRequired && { needsTopUp: model.id }),
    fingerprint: call.fingerprint,
    load: { subjects, window: null, tokens, upstreams: model.upstreams },
    run: async (open) => new ResearchJob(parts, call, request, maxCost, open).result(),
  })
}

/** The request with as many searches as `X-Max-Price-USD` allows; null if not even one fits. */
function affordable(
  request: ResearchRequest,
  searchPrice: Money,
  { maxPrice }: ResearchCall['options'],
): ResearchRequest | null {
  if (maxPrice === null) return request
  for (let maxSearches = request.maxSearches; maxSearches > 0; maxSearches--)
    if (maxResearchCost({ ...request, maxSearches }, searchPrice) <= maxPrice) return { ...request, maxSearches }
  return null
}

function tooExpensive({ model }: ResearchCall, maxPrice: Money): Failure {
  const message = `A research by ${model} with one search could cost more than the ${formatUsd(maxPrice)} USD of X-Max-Price-USD. Lower max_tokens.`
  return failure('estimated_price_exceeds_max_price', message, { param: 'x-max-price-usd' })
}

class ResearchJob {
  private readonly parts: ResearchParts
  private readonly call: ResearchCall
  private readonly maxCost: Money
  private readonly priceVersion: string
  private readonly open: OpenCall
  private readonly abort = new AbortController()
  private readonly research: DeepResearch
  private readonly given = new DeliveredBytes()
  private readonly encoder = new TextEncoder()
  private isGone = false
  private isTooLong = false
  private send: (text: string) => void = () => undefined

  constructor(parts: ResearchParts, call: ResearchCall, request: ResearchRequest, maxCost: Money, open: OpenCall) {
    this.parts = parts
    this.call = call
    this.maxCost = maxCost
    this.priceVersion = request.model.priceVersion
    this.open = open
    const { authenticated } = open
    const concurrency = authenticated.subjects[0]?.limits.concurrency ?? 1
    const who = { account: accountOf(authenticated), concurrency, origin: originOf(authenticated) }
    // Signup credit pays only for sources that cost the operator nothing.
    const search = (open.isCredit && parts.search.onCredit) || parts.search
    const ends = { signal: this.abort.signal, isLeft: () => this.isLeft }
    this.research = new DeepResearch({ ...parts, search }, request, who, ends, (progress) => this.progressed(progress))
  }

  async result(): Promise<WorkResult> {
    this.open.asked('research')
    if (!this.call.stream) return this.whole()
    return {
      kind: 'stream',
      headers: EVENTS,
      lost: this.charge('gateway_restarted'),
      open: () => this.streamed(),
      close: () => undefined,
    }
  }

  /** Runs the job and returns its answer. A waiting caller has seen nothing of a failed job, so it pays nothing. */
  private async whole(): Promise<WorkResult> {
    const problem = await this.work()
    const charge = this.charge(this.code(problem))
    if (!problem) return { kind: 'answer', body: this.call.wire.whole(this.research.state), charge }
    const isCharged = this.isGone && this.research.hasBegun
    return { kind: 'failed', failure: problem, didNothing: true, ...(isCharged && { owed: charge }) }
  }

  /** Runs the job while its stream is read. Canceling the stream counts as a hang-up. */
  private streamed(): ReadableStream<Uint8Array> {
    let isRead = true
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.send = (text) => {
          if (isRead) controller.enqueue(this.encoder.encode(text))
        }
        void this.runAndSettle().finally(() => {
          if (isRead) controller.close()
        })
      },
      cancel: () => {
        isRead = false
        this.leave()
      },
    })
  }

  private async runAndSettle(): Promise<void> {
    // After any failure here, repeats that wait for this idempotency key must not wait forever.
    let end: Ending = 'unknown'
    try {
      this.sendEvent({ kind: 'begun' })
      end = await this.settled(await this.work())
    } catch (error) {
      this.parts.onTrouble('research', reasonOf(error))
      this.sendEvent({ kind: 'failed', failure: failure('internal_error', 'The charge could not be recorded.') })
    } finally {
      await this.open.close(end)
    }
  }

  /** The caller hung up: the current step finishes and no other starts, unless the answer must be stored (`isLeft`). */
  private leave(): void {
    this.isGone = true
    this.open.drain?.begin()
  }

  private get isLeft(): boolean {
    return this.isGone && !this.open.hasKey
  }

  /** A failure while the caller listened is not charged. Running out of the job's own time counts as an end of the job. */
  private get isChargeable(): boolean {
    if (this.isGone) return this.research.hasBegun
    return this.isTooLong && this.research.state.text !== ''
  }

  private code(problem: Failure | null): EndCode | null {
    if (problem === SHUTTING_DOWN) return 'gateway_shutdown'
    if (this.isGone) return 'caller_hung_up'
    return problem && 'stream_cut'
  }

  /** Charges or releases, and sends the last event. */
  private async settled(problem: Failure | null): Promise<Ending> {
    const { open } = this
    const { state } = this.research
    if (problem && !this.isChargeable) {
      open.note(problem === SHUTTING_DOWN ? 'gateway_shutdown' : problem.code, problem.message)
      await open.giveBack()
      this.sendEvent({ kind: 'failed', failure: problem })
      return 'nothing'
    }
    // Written before the charge, so that a repeat gets it too.
    const last = this.written({ kind: 'done', state, cost: researchCost(state, this.maxCost) })
    const stored = problem || !open.hasKey ? 'cut' : { body: this.given.whole(), headers: EVENTS }
    const captured = await open.charge(this.charge(this.code(problem)), stored)
    const failed = captured.ok ? problem : captured.error
    if (failed) this.sendEvent({ kind: 'failed', failure: failed })
    else this.send(last)
    return captured.ok ? 'done' : 'unknown'
  }

  private sendEvent(event: ResearchEvent): void {
    this.send(this.written(event))
  }

  private written(event: ResearchEvent): string {
    const text = this.call.wire.event(event)
    if (this.open.hasKey) this.given.push(this.encoder.encode(text))
    return text
  }

  private async work(): Promise<Failure | null> {
    const { hangUp, shutdown } = this.open
    const leave = () => this.leave()
    const stop = () => this.abort.abort()
    const timer = setTimeout(() => {
      this.isTooLong = true
      stop()
    }, MAX_RESEARCH_MS)
    hangUp.addEventListener('abort', leave, { once: true })
    shutdown.addEventListener('abort', stop, { once: true })
    if (hangUp.aborted) leave()
    if (shutdown.aborted) stop()
    try {
      const problem = await this.research.run()
      return problem && shutdown.aborted ? SHUTTING_DOWN : problem
    } catch (error) {
      this.parts.onTrouble('research', reasonOf(error))
      return failure('internal_error', 'Something broke on our side.')
    } finally {
      clearTimeout(timer)
      hangUp.removeEventListener('abort', leave)
      shutdown.removeEventListener('abort', stop)
    }
  }

  private progressed(progress: ResearchProgress): void {
    if (!this.call.stream) return
    // The charge that the next start applies if this process dies now.
    if (progress.step !== 'text')
      this.open
        .persist(this.charge('gateway_restarted'))
        .catch((error: unknown) => this.parts.onTrouble('research', reasonOf(error)))
    this.sendEvent({ kind: 'progress', progress })
  }

  private charge(code: EndCode | null): Charge {
    const { state } = this.research
    const cost = researchCost(state, this.maxCost)
    const charged = { cost, priceVersion: this.priceVersion, units: 1, unitPrice: cost, lines: state.lines }
    return { charged, code, tokens: state.tokens, upstreamCost: state.upstreamCost, usageSource: state.source }
  }
}
