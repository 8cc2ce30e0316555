import { priceOf } from '../../core/catalogue/prices'
import { type Failure, failure } from '../../core/failure'
import { formatUsd, type Money } from '../../core/money'
import { err, ok, type Result } from '../../core/result'
import { type AuthenticatedCall, type CallOptions, originOf } from '../call'
import { SHUTTING_DOWN } from '../call-upstream'
import { type Ending, GivenBytes } from '../idempotency/idempotency'
import { isSold, moreThanMinute, soldModel } from '../models/validate-model-call'
import { creditUse } from '../provider-work'
import { accountOf } from '../record-call'
import type { Charge, EndCode, OpenCall, Work, WorkResult } from '../work'
import {
  DeepResearch,
  likelyResearchTokens,
  MAX_RESEARCH_MS,
  mostResearchCost,
  type ResearchAsked,
  type ResearchParts,
  type ResearchProgress,
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
  /** Equal for two tries of one request only. */
  readonly fingerprint: () => string
  /** Told which model of the catalogue the call is of, once that is known. */
  readonly onModel: (id: string) => void
  /** How the wire writes what a job tells. */
  readonly wire: ResearchWire
}

export interface ResearchWire {
  /** The answer of a job that tells nothing before its end. */
  whole(state: ResearchState): string
  event(event: ResearchEvent): string
}

/** What a job tells while it runs, in order: first `begun`, and last `done` or `failed`. */
export type ResearchEvent =
  | { readonly kind: 'begun' }
  | { readonly kind: 'progress'; readonly progress: ResearchProgress }
  | { readonly kind: 'done'; readonly state: ResearchState; readonly cost: Money }
  | { readonly kind: 'failed'; readonly failure: Failure }

/** What a stream of its events is sent as. */
const EVENTS = { 'content-type': 'text/event-stream' }

/**
 * A research job as the work of one priced call: the most it can cost is held, and it is charged for its parts: each search at the
 * catalogue's price, each question at the model's. `X-Max-Price-USD` bounds it: fewer searches are made where all would cost more.
 */
export function researchWork(parts: ResearchParts, call: ResearchCall): Result<Work, Failure> {
  const { authenticated, options, question, cap } = call
  const { caller, subjects } = authenticated
  if (caller.kind === 'anonymous') throw new Error('an anonymous caller passed to a model')
  const sold = soldModel(parts, caller, call.model, 'chat_completions')
  if (isSold(sold)) call.onModel(call.model)
  if (!sold.ok) return sold
  const model = sold.value
  const searchPrice = priceOf(parts.prices, 'llm-context', caller.account.id).amount
  const asked = affordable({ model, question, maxSearches: call.maxSearches, cap }, searchPrice, options)
  if (!asked) return err(tooDear(call, options.maxPrice ?? searchPrice))
  const most = mostResearchCost(asked, searchPrice)
  const tokens = likelyResearchTokens(asked)
  const tooMany = moreThanMinute(tokens - asked.cap, asked.cap, subjects)
  if (tooMany) return err(tooMany)
  return ok({
    operation: 'deep-research',
    model: model.id,
    quote: { most, version: model.priceVersion, fixed: false },
    effect: 'read',
    streams: call.stream,
    // A job bounds its own time, and settles what it has come to by then.
    timeoutMs: Number.POSITIVE_INFINITY,
    credit: !model.rechargeRequired || parts.creditBuysPaid ? creditUse(parts.search.onCredit) : 'nothing',
    ...(model.rechargeRequired && { needsTopUp: model.id }),
    fingerprint: call.fingerprint,
    load: { subjects, window: null, tokens, upstreams: model.upstreams },
    run: async (open) => new ResearchJob(parts, call, asked, most, open).result(),
  })
}

/** With as many searches as the caller's own bound allows; null when not even one. */
function affordable(
  asked: ResearchAsked,
  searchPrice: Money,
  { maxPrice }: ResearchCall['options'],
): ResearchAsked | null {
  if (maxPrice === null) return asked
  for (let maxSearches = asked.maxSearches; maxSearches > 0; maxSearches--)
    if (mostResearchCost({ ...asked, maxSearches }, searchPrice) <= maxPrice) return { ...asked, maxSearches }
  return null
}

function tooDear({ model }: ResearchCall, most: Money): Failure {
  const message = `A research by ${model} with one search could cost more than the ${formatUsd(most)} USD of X-Max-Price-USD. Lower max_tokens.`
  return failure('estimated_price_exceeds_max_price', message, { param: 'x-max-price-usd' })
}

/** One job under way, and what it comes to. */
class ResearchJob {
  private readonly parts: ResearchParts
  private readonly call: ResearchCall
  private readonly most: Money
  private readonly open: OpenCall
  private readonly abort = new AbortController()
  private readonly research: DeepResearch
  private readonly given = new GivenBytes()
  private readonly encoder = new TextEncoder()
  private isGone = false
  private isTooLong = false
  private send: (text: string) => void = () => undefined

  constructor(parts: ResearchParts, call: ResearchCall, asked: ResearchAsked, most: Money, open: OpenCall) {
    this.parts = parts
    this.call = call
    this.most = most
    this.open = open
    const who = { account: accountOf(open.authenticated), origin: originOf(open.authenticated) }
    // On signup credit only that part of the sources is asked which costs the operator nothing.
    const search = (open.isCredit && parts.search.onCredit) || parts.search
    const ends = { signal: this.abort.signal, isLeft: () => this.isLeft }
    this.research = new DeepResearch({ ...parts, search }, asked, who, ends, (progress) => this.progressed(progress))
  }

  async result(): Promise<WorkResult> {
    if (!this.call.stream) return this.whole()
    return {
      kind: 'stream',
      headers: EVENTS,
      lost: this.charge('gateway_restarted'),
      open: () => this.streamed(),
      close: () => undefined,
    }
  }

  /** Works, and then answers. Nobody has seen anything of a job that failed, so that it costs nothing to who waited. */
  private async whole(): Promise<WorkResult> {
    const problem = await this.work()
    const charge = this.charge(this.code(problem))
    if (!problem) return { kind: 'answer', body: this.call.wire.whole(this.research.state), charge }
    const isOwed = this.isGone && this.research.hasBegun
    return { kind: 'failed', failure: problem, didNothing: true, ...(isOwed && { owed: charge }) }
  }

  /** The job runs while it is read, and is told when its reader is gone. */
  private streamed(): ReadableStream<Uint8Array> {
    let isRead = true
    return new ReadableStream<Uint8Array>({
      start: (controller) => {
        this.send = (text) => {
          if (isRead) controller.enqueue(this.encoder.encode(text))
        }
        void this.told().finally(() => {
          if (isRead) controller.close()
        })
      },
      cancel: () => {
        isRead = false
        this.leave()
      },
    })
  }

  private async told(): Promise<void> {
    // Whatever breaks here, whoever waits for this call's key must not wait for ever.
    let end: Ending = 'unknown'
    try {
      this.tell({ kind: 'begun' })
      end = await this.settled(await this.work())
    } catch (error) {
      this.parts.onTrouble('research', error instanceof Error ? error.message : String(error))
      this.tell({ kind: 'failed', failure: failure('internal_error', 'The charge could not be recorded.') })
    } finally {
      await this.open.close(end)
    }
  }

  /** The caller is gone: the step under way goes to its end, and no other is begun, unless there is an answer to keep (`isLeft`). */
  private leave(): void {
    this.isGone = true
    this.open.drain?.begin()
  }

  private get isLeft(): boolean {
    return this.isGone && !this.open.hasKey
  }

  /** A break while the caller listened is not charged; the end of the time that a job may take is the job's own. */
  private get isOwed(): boolean {
    if (this.isGone) return this.research.hasBegun
    return this.isTooLong && this.research.state.text !== ''
  }

  private code(problem: Failure | null): EndCode {
    if (problem === SHUTTING_DOWN) return 'gateway_shutdown'
    if (this.isGone) return 'caller_hung_up'
    return problem && 'stream_cut'
  }

  /** Charges, or lets go, and tells the end. */
  private async settled(problem: Failure | null): Promise<Ending> {
    const { open } = this
    const { state } = this.research
    if (problem && !this.isOwed) {
      open.note(502, problem === SHUTTING_DOWN ? 'gateway_shutdown' : problem.code)
      await open.giveBack()
      this.tell({ kind: 'failed', failure: problem })
      return 'nothing'
    }
    // Written before it is charged, so that a repeat gets it too.
    const last = this.written({ kind: 'done', state, cost: researchCost(state, this.most) })
    const kept = problem || !open.hasKey ? 'cut' : { body: this.given.whole(), headers: EVENTS }
    const captured = await open.charge(this.charge(this.code(problem)), kept)
    const failed = captured.ok ? problem : captured.error
    if (failed) this.tell({ kind: 'failed', failure: failed })
    else this.send(last)
    return captured.ok ? 'done' : 'unknown'
  }

  private tell(event: ResearchEvent): void {
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
      this.parts.onTrouble('research', error instanceof Error ? error.message : String(error))
      return failure('internal_error', 'Something broke on our side.')
    } finally {
      clearTimeout(timer)
      hangUp.removeEventListener('abort', leave)
      shutdown.removeEventListener('abort', stop)
    }
  }

  private progressed(progress: ResearchProgress): void {
    if (!this.call.stream) return
    // What a start would charge if this process died now.
    if (progress.step !== 'text') void this.open.persist(this.charge('gateway_restarted'))
    this.tell({ kind: 'progress', progress })
  }

  private charge(code: EndCode): Charge {
    const { state } = this.research
    const cost = researchCost(state, this.most)
    const priceVersion = this.parts.catalogue.byId(this.call.model)?.priceVersion ?? 'none'
    const charged = { cost, priceVersion, units: 1, unitPrice: cost, lines: state.lines }
    return { charged, code, tokens: state.tokens, usageSource: state.source }
  }
}
