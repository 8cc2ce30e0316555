import { DAY_MS, MINUTE_MS } from '../core/clock'
import type { Failure } from '../core/failure'
import { idTime, makeId, type RequestId } from '../core/ids'
import { isCount, stringOrEmpty } from '../core/json'
import type { Journal } from '../core/ledger/journal'
import { type Money, micros } from '../core/money'
import type { UpstreamFault } from '../core/telemetry/failure-streak'
import type { Telemetry } from '../core/telemetry/telemetry'
import type { CallRecord } from '../core/usage/call-record'
import { type AuthenticatedCall, countedOn, takesSlot, type Verdict } from '../pipeline/call'
import type { Allowance, Wanted } from '../pipeline/decisions'
import type { Funding } from '../pipeline/funding/payment'
import type { Items } from '../pipeline/models/item-references'
import { callRecord } from '../pipeline/record-call'
import { begin, type ClaimParts, Claims, incomingOf, type ServedCall, served } from './claims'
import {
  type AbandonedAnswer,
  type AdmitAnswer,
  type CallRow,
  type CaptureAnswer,
  type ClaimAnswer,
  type HoldAnswer,
  type KeepAnswer,
  onWire,
  type ReleaseAnswer,
  readAdmit,
  readId,
  readNeeds,
  readReport,
  readRow,
} from './messages'
import { readIds, readItems } from './remote-items'
import { wantedOf } from './wanted'
import type { WorkerReport } from './worker-reports'

/** The calls of one worker that may be open at once. */
const MAX_CALLS = 10_000
/** A call that took nothing for so long was forgotten by its worker. */
const IDLE_MS = 10 * MINUTE_MS

/** A stolen credential must not give back what its calls were charged long ago. Longer than any outage after which a worker asks. */
const REVERSIBLE_MS = DAY_MS

export interface WorkerCallsParts extends ClaimParts {
  readonly funding: Pick<Funding, 'offered'>
  readonly journal: Pick<Journal, 'note'>
  readonly telemetry: Pick<Telemetry, 'callEnded' | 'upstreamEnded'>
  readonly items: Items
  /** Resolves once all workers have what has changed. */
  readonly pushed: () => Promise<unknown>
  /** Whether this process stops: what is open may end, and nothing new begins. */
  readonly isDraining: () => boolean
  /** What the worker says of itself; null once it is gone. */
  readonly onReport: (report: WorkerReport | null) => void
  /** The worker has opened its port. */
  readonly onListening: () => void
  /** A worker said what it cannot know or may not do. */
  readonly onLie: (what: string) => void
  /** How much of an overrun that the worker reports the gateway bears. */
  readonly bear: (overrun: Money) => Money
  /** An upstream cost more than was held. */
  readonly onOverrun: (request: string, what: string, amount: Money) => void
}

/** A request of a worker, without what the session adds. */
type Asked = readonly unknown[]
type Answer = readonly unknown[]
/** There in the same turn, unless something has to be waited for. */
type Answering = Answer | Promise<Answer>

/**
 * The calls of one worker, decided here (`Decisions`). The worker is told only of its own calls, by ids that are made here, and each of them ends
 * once: by a capture, by a release, or, when the worker is gone, by `end`.
 */
export class WorkerCalls {
  private readonly parts: WorkerCallsParts
  private readonly calls = new Map<RequestId, ServedCall>()
  private readonly claims: Claims
  private isOver = false

  constructor(parts: WorkerCallsParts) {
    this.parts = parts
    this.claims = new Claims(parts)
  }

  get count(): number {
    return this.calls.size
  }

  /** The answer to a request. An empty one says that the request was refused as a lie. */
  answer(kind: string, asked: Asked): Answering {
    switch (kind) {
      case 'admit':
        return this.admit(asked)
      case 'capture':
        return this.inTurn(asked, () => this.capture(asked))
      case 'claim':
        return this.inTurn(asked, () => this.claim(asked))
      case 'abandoned':
        return this.inTurn(asked, () => this.abandoned(asked))
    }
    const call = this.callOf(asked)
    if (!call) return []
    switch (kind) {
      case 'hold':
        return this.hold(call, asked)
      case 'keep':
        return this.keep(call, asked)
      case 'release':
        return this.release(call, asked)
      case 'recall':
        return this.recall(call, asked)
      default:
        return this.lie(`it asked for ${kind}`)
    }
  }

  private inTurn<T>([id]: Asked, run: () => Promise<T>): Promise<T> {
    return this.parts.turns.take(stringOrEmpty(id), run)
  }

  /** Takes what needs no answer. */
  take(kind: string, said: Asked): void {
    // The row of a call of an earlier session comes too late; so does a hang-up that the capture of its call has overtaken.
    const isLate = (kind === 'note' || kind === 'alone') && !this.calls.has(said[0] as RequestId)
    const call = kind === 'counters' || isLate ? null : this.callOf(said)
    if (kind === 'counters' && said[0] === 'ended') this.upstreamEnded(said.slice(1))
    else if (kind === 'counters' && said[0] === 'listening') this.parts.onListening()
    else if (kind === 'counters' && said[0] === 'report') this.parts.onReport(readReport(said[1]))
    if (!call) return
    if (kind === 'note') this.note(call, said)
    else if (kind === 'alone') alone(call, said[1])
    else if (kind === 'items') this.remember(call, said[1])
    else this.lie(`it said ${kind}`)
  }

  /** A request to an upstream ended there. */
  private upstreamEnded([upstream, ms, failure, fault, part]: Asked): void {
    if (typeof upstream !== 'string' || typeof ms !== 'number') return
    const kind = typeof failure === 'string' ? failure : null
    const name = typeof part === 'string' ? part : upstream
    this.parts.telemetry.upstreamEnded(upstream, ms, kind, (fault ?? null) as UpstreamFault | null, name)
  }

  /** Forgets calls that their worker forgot. */
  sweep(): void {
    const now = this.parts.clock.now()
    for (const [id, call] of this.calls)
      if (call.holds === null && now - call.since > IDLE_MS) {
        void call.allowance?.release(0)
        this.calls.delete(id)
      }
  }

  /**
   * The worker's process is gone, or was cut off and its lease is over: charges what it delivered of streams, as a start does, and gives back the
   * rest.
   */
  async end(): Promise<void> {
    this.isOver = true
    this.parts.onReport(null)
    const all = [...this.calls.values()]
    this.calls.clear()
    await Promise.all(all.map((call) => this.inTurn([call.verdict.incoming.id], () => this.settle(call))))
  }

  private async settle(call: ServedCall): Promise<void> {
    const { allowance, kept } = call
    // A capture that is under way ends by itself.
    if (allowance === null || call.isEnding || call.isReleased) return
    call.isReleased = true
    if (kept?.charged) {
      const record = this.record(call, kept)
      const { charged, tokens } = kept
      const used = tokens.input + tokens.output
      await allowance.capture({ amount: charged.cost, record, overrun: micros(0), tokens: used, answer: undefined })
    }
    await allowance.release(0)
  }

  private admit(asked: Asked): Answering {
    if (this.parts.isDraining()) return []
    const admit = readAdmit(asked)
    if (!admit) return this.lie('an admit that cannot be read')
    if (this.calls.size >= MAX_CALLS) return this.lie('too many open calls')
    const { clock, tag, decisions, routeOf } = this.parts
    const [at, route] = [clock.now(), routeOf(admit[3], admit[4])]
    const id = `${makeId('req', at).slice(0, -tag.length)}${tag}` as RequestId
    const deciding = decisions.authenticate(incomingOf({ id, at, route }, admit))
    if (deciding instanceof Promise) return deciding.then((verdict) => this.admitted(verdict))
    return this.admitted(deciding)
  }

  private admitted(verdict: Verdict): Answer {
    if (this.isOver) return []
    const { caller, readings, incoming } = verdict
    const isKnown = caller.kind !== 'anonymous'
    const call = served(verdict)
    if (isKnown) this.calls.set(incoming.id, call)
    const refusal = 'failure' in verdict ? verdict.failure : null
    const subjects = 'failure' in verdict ? [] : verdict.subjects.map(onWire)
    const full = isKnown && takesSlot(incoming.route) ? begin(this.parts.decisions, call) : null
    const facts = isKnown
      ? {
          kind: caller.kind,
          account: caller.account.id,
          credential: countedOn(caller).id,
          pool: countedOn(caller).poolId,
          tier: caller.tier,
          allowedModels: caller.kind === 'key' ? caller.key.allowedModels : [],
        }
      : null
    return [incoming.id, incoming.at, facts, subjects, readings, refusal, full] satisfies AdmitAnswer
  }

  private async claim(asked: Asked): Promise<Answer> {
    const [id, admit, needs] = [this.claims.ownId(asked), readAdmit(asked[1]), readNeeds(asked[2])]
    if (id === null || this.calls.has(id)) return this.lie('a call that is not its own')
    if (!admit || !needs || this.calls.size >= MAX_CALLS) return this.lie('a claim that it may not have')
    const claimed = await this.claims.claim(id, admit, needs)
    if ('answer' in claimed) return claimed.answer
    if (this.isOver) await this.settle(claimed)
    else this.calls.set(id, claimed)
    return ['open', null] satisfies ClaimAnswer
  }

  private async abandoned(asked: Asked): Promise<Answer> {
    const id = this.claims.ownId(asked)
    if (id === null) return this.lie('a call that is not its own')
    await this.calls.get(id)?.allowance?.release(0)
    this.calls.delete(id)
    if (!(this.parts.clock.now() - (idTime('req', id) ?? Number.NaN) <= REVERSIBLE_MS)) {
      this.lie(`the charge of an old call back: ${id}`)
      return [true]
    }
    return [await this.claims.abandon(id)] satisfies AbandonedAnswer
  }

  private hold(call: ServedCall, asked: Asked): Answering {
    const needs = readNeeds(asked[1])
    const { verdict } = call
    if (!needs || call.holds !== null || call.isReleased || 'failure' in verdict)
      return this.lie('a hold that it may not have')
    if (call.allowance === null) begin(this.parts.decisions, call)
    const { allowance } = call
    if (allowance === null) return this.lie('a hold without a slot')
    const wanted = wantedOf(needs, verdict, this.parts)
    if (!wanted.ok) return this.stale(wanted.error)
    const work = wanted.value
    const holding = allowance.hold(work, null)
    if (holding !== null) return this.heldLater(call, { verdict, allowance, work }, holding)
    call.holds = needs.maxCost
    return heldBy(allowance)
  }

  /** Answered once the worker has what is on sale now, so that it can quote again. */
  private async stale(problem: Failure): Promise<Answer> {
    await this.parts.pushed()
    return [problem, false, null, null, true] satisfies HoldAnswer
  }

  private async heldLater(
    call: ServedCall,
    { verdict, allowance, work }: { verdict: AuthenticatedCall; allowance: Allowance; work: Wanted },
    holding: NonNullable<ReturnType<Allowance['hold']>>,
  ): Promise<Answer> {
    const refused = holding instanceof Promise ? await holding : holding
    // Its worker was given up meanwhile.
    if (refused === null && call.isReleased) await allowance.release(0)
    else if (refused === null) {
      call.holds = work.quote.maxCost
      return heldBy(allowance)
    }
    if (refused === null) return []
    const { decisions, funding } = this.parts
    const isPayable = work.fingerprint() !== ''
    const offered = isPayable ? await funding.offered(refused.failure, work, verdict) : refused.failure
    const available = [await decisions.spendable(verdict, true), await decisions.spendable(verdict, false)] as const
    return [offered, false, refused.readings ?? null, available] satisfies HoldAnswer
  }

  private async keep(call: ServedCall, asked: Asked): Promise<Answer> {
    const row = readRow(asked[1])
    if (!call.allowance || !row || call.holds === null || (row.charged?.cost ?? 0) > call.holds)
      return this.lie('a hold that it cannot keep')
    const isKept = await call.allowance.keep(this.record(call, row))
    if (isKept) call.kept = row
    return [isKept] satisfies KeepAnswer
  }

  private async capture(asked: Asked): Promise<Answer> {
    const call = this.callOf(asked)
    const [id, overrun, tokens, given] = asked
    const row = readRow(given)
    const amount = row?.charged?.cost ?? null
    if (!call) return []
    if (
      !call.allowance ||
      !row ||
      amount === null ||
      call.holds === null ||
      call.isEnding ||
      !isCount(overrun) ||
      !isCount(tokens)
    )
      return this.lie('a charge without a hold')
    if (amount > call.holds) return this.lie('a charge above its hold')
    // What the gateway bears is the worker's word, so it is bounded by what the call may cost at all, and in sum.
    const borne = this.parts.bear(micros(Math.min(overrun, call.holds)))
    if (borne > 0) this.parts.onOverrun(String(id), row.model ?? row.operation, borne)
    call.isEnding = true
    const record = this.record(call, row)
    const captured = await call.allowance.capture({ amount, record, overrun: borne, tokens, answer: undefined })
    call.isEnding = false
    if (!captured.ok) return [captured.error, call.allowance.readings() ?? null] satisfies CaptureAnswer
    call.isReleased = true
    this.calls.delete(id as RequestId)
    this.ended(record)
    return [null, call.allowance.readings() ?? null] satisfies CaptureAnswer
  }

  private release(call: ServedCall, asked: Asked): Answering {
    const tokens = isCount(asked[1]) ? asked[1] : 0
    const { allowance } = call
    call.isReleased = true
    call.holds = null
    const released = allowance?.release(tokens) ?? null
    if (call.isNoted) this.calls.delete(asked[0] as RequestId)
    const answer = (): ReleaseAnswer => [allowance?.readings() ?? null]
    return released === null ? answer() : released.then(answer)
  }

  private note(call: ServedCall, said: Asked): void {
    const row = readRow(said[1])
    if (!row || row.charged !== null) {
      this.lie('a row that cannot be read')
      return
    }
    call.isNoted = true
    const record = this.record(call, row)
    this.parts.journal.note(record)
    this.ended(record)
    if (call.isReleased || call.allowance === null) this.calls.delete(said[0] as RequestId)
  }

  private async recall({ verdict }: ServedCall, asked: Asked): Promise<Answer> {
    const ids = readIds(asked[1])
    if (!ids || 'failure' in verdict) return this.lie('items that it may not have')
    return [...((await this.parts.items.recall(verdict, ids)) ?? [])]
  }

  private remember({ verdict }: ServedCall, given: unknown): void {
    const items = readItems(given)
    if (items && !('failure' in verdict)) this.parts.items.remember(verdict, items)
    else this.lie('items that cannot be read')
  }

  private ended({ id, operation, status, code, upstream, latencyMs }: CallRecord): void {
    this.parts.telemetry.callEnded({ id, operation, status, code, upstream: upstream?.provider ?? null, ms: latencyMs })
  }

  private callOf(asked: Asked): ServedCall | null {
    const id = readId(asked)
    const call = id === null ? undefined : this.calls.get(id)
    if (!call) this.lie('a call that is not its own')
    return call ?? null
  }

  /** The row of a call: who called what and when is known here, and only the rest is the worker's word. */
  private record({ verdict }: ServedCall, row: CallRow): CallRecord {
    const { route } = verdict.incoming
    const operation = route.kind === 'priced' ? route.operation : row.operation
    return callRecord(verdict, operation, { ...row, now: this.parts.clock.now() })
  }

  private lie(what: string): Answer {
    this.parts.onLie(what)
    return []
  }
}

function heldBy(allowance: Allowance): Answer {
  return [null, allowance.isCredit, allowance.readings() ?? null, null] satisfies HoldAnswer
}

function alone({ allowance }: ServedCall, upstream: unknown): void {
  if (upstream === null) allowance?.drain?.begin()
  else if (typeof upstream === 'string') allowance?.drain?.at(upstream)
}
