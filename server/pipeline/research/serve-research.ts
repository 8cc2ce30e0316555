import { priceOf } from '../../core/catalogue/prices'
import { type Failure, failure } from '../../core/failure'
import type { IdempotencyRecord } from '../../core/idempotency/idempotency-record'
import type { Readings, Ticket } from '../../core/limits/limiter'
import { formatUsd, type Money } from '../../core/money'
import type { CallRecord } from '../../core/usage/call-record'
import { limitFailure } from '../auth/authenticate'
import { type CallOptions, originOf, type Quoted, type Repeated } from '../call'
import type { Reservation } from '../funding/funding'
import { type Ending, type FirstTurn, GivenBytes } from '../idempotency/idempotency'
import { inTurn, type Keyed } from '../idempotency/idempotent-call'
import type { Drain } from '../models/drains'
import { drainOf, type EndCode, giveBack, SHUTTING_DOWN } from '../models/model-call'
import { drainsFull, reserveTokens } from '../models/serve-model'
import { isSold, moreThanMinute, soldModel } from '../models/validate-model-call'
import { callRecord, creditUse, spendable } from '../paid-call'
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

export interface ResearchCall extends Keyed {
  readonly model: string
  readonly question: string
  readonly maxSearches: number
  readonly cap: number
  readonly stream: boolean
  /** Its place, which was taken before its body was read. */
  readonly ticket: Ticket
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

export type ResearchOutcome =
  | { readonly kind: 'served'; readonly body: string; readonly cost: Money; readonly readings: Readings }
  | {
      readonly kind: 'streaming'
      /** Runs the job; resolves when it has told everything and is charged. */
      readonly run: (tell: (text: string) => void) => Promise<void>
      /** The caller is gone. */
      readonly hangUp: () => void
      readonly readings: Readings
    }
  | Repeated
  | Quoted
  | { readonly kind: 'refused'; readonly failure: Failure; readonly readings?: Readings }

const OPERATION = 'deep-research'
const JSON_ANSWER = { 'content-type': 'application/json' }
/** What a stream of its events is sent as. */
export const EVENTS = { 'content-type': 'text/event-stream' }

/**
 * A research job as one priced call: the most it can cost is held, and it is charged for its parts: each search at the
 * catalogue's price, each question at the model's. `X-Max-Price-USD` bounds it: fewer searches are made where all would cost more.
 */
export async function serveResearch(parts: ResearchParts, call: ResearchCall): Promise<ResearchOutcome> {
  const { authenticated, options } = call
  const { caller } = authenticated
  if (caller.kind === 'anonymous') throw new Error('the door let nobody known pass to a model')
  const model = soldModel(parts, caller, call.model, 'chat_completions')
  if (isSold(model)) call.onModel(call.model)
  if (!model.ok) return { kind: 'refused', failure: model.error }
  const searchPrice = priceOf(parts.prices, 'llm-context', caller.account.id).amount
  const asked = affordable(
    { model: model.value, question: call.question, maxSearches: call.maxSearches, cap: call.cap },
    searchPrice,
    options,
  )
  if (!asked) return tooDear(call, searchPrice, options)
  const most = mostResearchCost(asked, searchPrice)
  if (options.quote) {
    const quote = { most, version: model.value.priceVersion, fixed: false }
    return { kind: 'quoted', quote, balance: await spendable(parts, authenticated) }
  }
  const likely = likelyResearchTokens(asked)
  const tooMany = moreThanMinute(likely - asked.cap, asked.cap, authenticated.subjects)
  if (tooMany) return { kind: 'refused', failure: tooMany }
  return inTurn(parts.idempotency, call, OPERATION, call.stream, (first) =>
    begun(parts, call, { asked, most, likely, first }),
  )
}

/** Tokens, money, the job. */
async function begun(
  parts: ResearchParts,
  call: ResearchCall,
  { asked, most, likely, first }: Begun,
): Promise<ResearchOutcome> {
  const { authenticated } = call
  const { ticket } = call
  const waits = drainsFull(parts, authenticated, asked.model)
  if (waits) return { kind: 'refused', failure: waits, readings: await parts.limiter.read(authenticated.subjects) }
  const counted = await ticket.reserve(authenticated.subjects, likely)
  if (!counted.ok)
    return {
      kind: 'refused',
      failure: limitFailure(counted.error, authenticated.caller),
      readings: counted.error.readings,
    }
  const drain = drainOf(parts, call, asked.model)
  const reserved = await reserveTokens(
    parts,
    { authenticated, operation: OPERATION, model: asked.model, most },
    creditUse(parts.search.onCredit),
  )
  if (!reserved.ok) {
    await ticket.finish(0)
    return { kind: 'refused', failure: reserved.error, readings: await parts.limiter.read(authenticated.subjects) }
  }
  const job = new Job(parts, call, asked, most, { ticket, reservation: reserved.value, first, drain })
  return call.stream ? job.streaming() : job.whole()
}

/** With as many searches as the caller's own bound allows; null when not even one. */
function affordable(asked: ResearchAsked, searchPrice: Money, { maxPrice }: CallOptions): ResearchAsked | null {
  if (maxPrice === null) return asked
  for (let maxSearches = asked.maxSearches; maxSearches > 0; maxSearches--)
    if (mostResearchCost({ ...asked, maxSearches }, searchPrice) <= maxPrice) return { ...asked, maxSearches }
  return null
}

function tooDear(call: ResearchCall, searchPrice: Money, { maxPrice }: CallOptions): ResearchOutcome {
  const most = formatUsd(maxPrice ?? searchPrice)
  const message = `A research by ${call.model} with one search could cost more than the ${most} USD of X-Max-Price-USD. Lower max_tokens.`
  return {
    kind: 'refused',
    failure: failure('estimated_price_exceeds_max_price', message, { param: 'x-max-price-usd' }),
  }
}

interface Begun {
  readonly asked: ResearchAsked
  readonly most: Money
  readonly likely: number
  readonly first: FirstTurn | null
}

interface Taken {
  readonly ticket: Pick<Ticket, 'finish'>
  readonly reservation: Reservation
  readonly first: FirstTurn | null
  readonly drain: Drain
}

/** One job with what it has taken; gives it back on every way out. */
class Job {
  private readonly parts: ResearchParts
  private readonly call: ResearchCall
  private readonly most: Money
  private readonly taken: Taken
  private readonly abort = new AbortController()
  private readonly research: DeepResearch
  private readonly given = new GivenBytes()
  private isGone = false
  private isTooLong = false
  private isShutdown = false
  private send: (text: string) => void = () => undefined

  constructor(parts: ResearchParts, call: ResearchCall, asked: ResearchAsked, most: Money, taken: Taken) {
    this.parts = parts
    this.call = call
    this.most = most
    this.taken = taken
    const { caller } = call.authenticated
    const account = caller.kind === 'anonymous' ? null : caller.account.id
    const who = { account, origin: originOf(call.authenticated) }
    // On signup credit only that part of the sources is asked which costs the operator nothing.
    const search = (taken.reservation.isCredit && parts.search.onCredit) || parts.search
    const ends = { signal: this.abort.signal, isLeft: () => this.isLeft }
    this.research = new DeepResearch({ ...parts, search }, asked, who, ends, (progress) => this.progressed(progress))
  }

  /** Works, and then answers. Nobody has seen anything of a job that failed, so that it costs nothing to who waited. */
  async whole(): Promise<ResearchOutcome> {
    const over = Promise.withResolvers<void>()
    this.parts.streams.add(this, () => this.shutDown(over.promise))
    try {
      return await this.answered()
    } finally {
      this.parts.streams.delete(this)
      over.resolve()
    }
  }

  private async answered(): Promise<ResearchOutcome> {
    const { authenticated, wire } = this.call
    const { first } = this.taken
    const problem = await this.work()
    const read = () => this.parts.limiter.read(authenticated.subjects)
    if (problem && !(this.isGone && this.research.hasBegun)) {
      await giveBack(this.taken, 0)
      return { kind: 'refused', failure: problem, readings: await read() }
    }
    const body = wire.whole(this.research.state)
    const kept = problem ? first?.cut() : first?.answer(body, JSON_ANSWER)
    const captured = await this.charge(this.code(problem), kept)
    if (!captured.ok) return { kind: 'refused', failure: captured.error, readings: await read() }
    return { kind: 'served', body, cost: captured.value.cost, readings: await read() }
  }

  async streaming(): Promise<ResearchOutcome> {
    if (!(await this.writeDown())) {
      await giveBack(this.taken, 0)
      const message = 'The charge could not be prepared. You were not charged.'
      return { kind: 'refused', failure: failure('service_unavailable', message, { retryAfterSeconds: 1 }) }
    }
    return {
      kind: 'streaming',
      run: (tell) => this.told(tell),
      hangUp: () => this.leave(),
      readings: await this.parts.limiter.read(this.call.authenticated.subjects),
    }
  }

  private async told(send: (text: string) => void): Promise<void> {
    this.send = send
    this.tell({ kind: 'begun' })
    const done = this.work().then((problem) => this.ending(problem))
    this.parts.streams.add(this, () => this.shutDown(done))
    await done.finally(() => this.parts.streams.delete(this))
  }

  /** The caller is gone: the step under way goes to its end, and no other is begun, unless there is an answer to keep (`isLeft`). */
  private leave(): void {
    this.isGone = true
    this.taken.drain.begin()
  }

  private get isLeft(): boolean {
    return this.isGone && !this.taken.first
  }

  private async shutDown(done: Promise<void>): Promise<void> {
    this.isShutdown = true
    this.abort.abort()
    await done
  }

  /** A break while the caller listened is not charged; the end of the time that a job may take is the job's own. */
  private get isOwed(): boolean {
    if (this.isGone) return this.research.hasBegun
    return this.isTooLong && this.research.state.text !== ''
  }

  private code(problem: Failure | null): EndCode {
    if (this.isShutdown && problem) return 'gateway_shutdown'
    if (this.isGone) return 'caller_hung_up'
    return problem && 'stream_cut'
  }

  private async ending(problem: Failure | null): Promise<void> {
    // Whatever breaks here, whoever waits for this turn must not wait for ever.
    let end: Ending = 'unknown'
    try {
      end = await this.ended(problem)
    } finally {
      await this.taken.first?.end(end)
    }
  }

  /** Charges, or lets go, and tells the end. */
  private async ended(problem: Failure | null): Promise<Ending> {
    const { state } = this.research
    const { first } = this.taken
    if (problem && !this.isOwed) {
      const code = this.isShutdown ? 'gateway_shutdown' : problem.code
      const end = { status: 502, code, charged: null, now: this.parts.clock.now() }
      this.parts.journal.note(callRecord(this.call.authenticated, OPERATION, end))
      await giveBack(this.taken, 0)
      this.tell({ kind: 'failed', failure: problem })
      return 'nothing'
    }
    // Written before it is charged, so that the idempotency get it too.
    const last = this.written({ kind: 'done', state, cost: researchCost(state, this.most) })
    const kept = problem ? first?.cut() : first?.answer(this.given.whole(), EVENTS)
    const captured = await this.charge(this.code(problem), kept)
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
    if (this.taken.first) this.given.push(new TextEncoder().encode(text))
    return text
  }

  private async work(): Promise<Failure | null> {
    const { hangUp } = this.call
    const leave = () => this.leave()
    const timer = setTimeout(() => {
      this.isTooLong = true
      this.abort.abort()
    }, MAX_RESEARCH_MS)
    hangUp.addEventListener('abort', leave, { once: true })
    if (hangUp.aborted) leave()
    try {
      const problem = await this.research.run()
      return problem && this.isShutdown ? SHUTTING_DOWN : problem
    } catch (error) {
      this.parts.onTrouble('research', error instanceof Error ? error.message : String(error))
      return failure('internal_error', 'Something broke on our side.')
    } finally {
      clearTimeout(timer)
      hangUp.removeEventListener('abort', leave)
    }
  }

  private progressed(progress: ResearchProgress): void {
    if (!this.call.stream) return
    if (progress.step !== 'text') void this.writeDown()
    this.tell({ kind: 'progress', progress })
  }

  /** What a start would charge if this process died now. */
  private async writeDown(): Promise<boolean> {
    return (await this.taken.reservation.keep?.(this.record('gateway_restarted'))) ?? false
  }

  private async charge(code: EndCode, kept?: IdempotencyRecord) {
    const record = this.record(code)
    const captured = await this.taken.reservation.capture(
      record.charged?.cost ?? researchCost(this.research.state, this.most),
      record,
      undefined,
      kept,
    )
    await giveBack(this.taken, record.tokens.input + record.tokens.output)
    return captured
  }

  private record(code: EndCode): CallRecord {
    const { state } = this.research
    const model = this.parts.catalogue.byId(this.call.model)
    const cost = researchCost(state, this.most)
    const priceVersion = model?.priceVersion ?? 'none'
    const charged = { cost, priceVersion, units: 1, unitPrice: cost, lines: state.lines }
    return {
      ...callRecord(this.call.authenticated, OPERATION, { status: 200, code, charged, now: this.parts.clock.now() }),
      tokens: state.tokens,
      model: this.call.model,
      usageSource: state.source,
    }
  }
}
