import { type Clock, MINUTE_MS } from '../core/clock'
import { type Address, parseAddress, UNKNOWN_ADDRESS } from '../core/credentials/address'
import type { Audience } from '../core/credentials/oauth-grant'
import { type Failure, failure, uncharged } from '../core/failure'
import { makeId, type RequestId } from '../core/ids'
import type { DurableHold, Journal } from '../core/ledger/journal'
import { type Money, micros } from '../core/money'
import type { Result } from '../core/result'
import type { UpstreamFault } from '../core/telemetry/failure-streak'
import type { Telemetry } from '../core/telemetry/telemetry'
import type { CallRecord } from '../core/usage/call-record'
import {
  type AuthenticatedCall,
  countedOn,
  type IncomingCall,
  type RefusedOutcome,
  type Route,
  takesSlot,
  type Verdict,
} from '../pipeline/call'
import type { Allowance, Decisions, Wanted } from '../pipeline/decisions'
import type { Funding } from '../pipeline/funding/payment'
import type { Items } from '../pipeline/models/item-references'
import { callRecord } from '../pipeline/record-call'
import {
  type AbandonedAnswer,
  type AdmitAnswer,
  type CallRow,
  type CaptureAnswer,
  type ClaimAnswer,
  type HoldAnswer,
  type HoldNeeds,
  isCount,
  type KeepAnswer,
  onWire,
  type ReleaseAnswer,
  readAdmit,
  readId,
  readNeeds,
  readReport,
  readRow,
  rowOf,
} from './messages'
import { readIds, readItems } from './remote-items'
import { type OnSale, wantedOf } from './wanted'
import type { WorkerReport } from './worker-reports'

/** The calls of one worker that may be open at once. */
const MAX_CALLS = 10_000
/** A call that took nothing for so long was forgotten by its worker. */
const IDLE_MS = 10 * MINUTE_MS

/** What the primary knows of calls that are no longer open. */
export interface Recovery {
  /** The durable hold that a stream left to this process, from now on the caller's to end; null if there is none. */
  takeKept(id: RequestId): DurableHold | null
  settleKept(kept: DurableHold): Promise<void>
  /** Whether it was charged; null if there is no record of it. Sees every acknowledged charge. */
  wasCharged(id: RequestId): Promise<boolean | null>
  /** Reverses its charge if there is one. False: not yet. Idempotent. */
  reverse(id: RequestId): Promise<boolean>
}

export interface WorkerCallsParts extends OnSale {
  /** The end of its calls' ids, by which it is known again after a restart: 6 hex digits. */
  readonly tag: string
  /** Calls of all workers that are being ended or claimed. */
  readonly ending: Map<RequestId, Promise<unknown>>
  readonly recovery: Recovery
  readonly decisions: Deciding
  readonly funding: Pick<Funding, 'offered'>
  readonly journal: Pick<Journal, 'note'>
  readonly telemetry: Pick<Telemetry, 'callEnded' | 'upstreamEnded'>
  readonly items: Items
  readonly clock: Clock
  /** The route of a request; not on sale here: unmatched. */
  readonly routeOf: (method: string, url: string) => Route
  /** Whether this process stops: what is open may end, and nothing new begins. */
  readonly isDraining: () => boolean
  /** What the worker says of itself; null once it is gone. */
  readonly onReport: (report: WorkerReport | null) => void
  /** The worker has opened its port. */
  readonly onListening: () => void
  /** A worker said what it cannot know or may not do. */
  readonly onLie: (what: string) => void
  /** An upstream cost more than was held. */
  readonly onOverrun: (request: string, what: string, amount: Money) => void
}

/** Decides in this process. */
interface Deciding extends Decisions {
  begin(...of: Parameters<Decisions['begin']>): Result<Allowance, RefusedOutcome>
  adopt(call: AuthenticatedCall, kept: DurableHold): Result<Allowance, RefusedOutcome>
}

/** A call that a worker serves, and what it took. */
interface ServedCall {
  readonly verdict: Verdict
  readonly since: number
  allowance: Allowance | null
  /** The hold, until it ended. */
  holds: Money | null
  /** The charge of a stream if its worker dies now. */
  kept: CallRow | null
  isEnding: boolean
  isReleased: boolean
  isNoted: boolean
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
  private isOver = false

  constructor(parts: WorkerCallsParts) {
    this.parts = parts
  }

  get count(): number {
    return this.calls.size
  }

  /** The answer to a request. An empty one says that the request was refused as a lie. */
  answer(kind: string, asked: Asked): Answering {
    switch (kind) {
      case 'admit':
        return this.admit(asked)
      case 'hold':
        return this.hold(asked)
      case 'keep':
        return this.keep(asked)
      case 'capture':
        return this.inTurn(asked, () => this.capture(asked))
      case 'claim':
        return this.inTurn(asked, () => this.claim(asked))
      case 'abandoned':
        return this.inTurn(asked, () => this.abandoned(asked))
      case 'release':
        return this.release(asked)
      case 'recall':
        return this.recall(asked)
      default:
        return this.lie(`it asked for ${kind}`)
    }
  }

  /** Takes what needs no answer. */
  take(kind: string, said: Asked): void {
    // The row of a call of an earlier session comes too late.
    const isLate = kind === 'note' && !this.calls.has(said[0] as RequestId)
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
    const address = admit && (parseAddress(admit[5]) ?? (admit[5] === 'unknown' ? UNKNOWN_ADDRESS : null))
    if (!admit || !address) return this.lie('an admit that cannot be read')
    if (this.calls.size >= MAX_CALLS) return this.lie('too many open calls')
    const { clock, tag, decisions } = this.parts
    const at = clock.now()
    const id = `${makeId('req', at).slice(0, -tag.length)}${tag}` as RequestId
    const deciding = decisions.authenticate(this.incoming(id, at, admit, address))
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
    const full = isKnown && takesSlot(incoming.route) ? this.begin(call) : null
    const facts = isKnown
      ? {
          kind: caller.kind,
          account: caller.account.id,
          credential: countedOn(caller).id,
          pool: countedOn(caller).poolId,
          allowedModels: caller.kind === 'key' ? caller.key.allowedModels : [],
        }
      : null
    return [incoming.id, incoming.at, facts, subjects, readings, refusal, full] satisfies AdmitAnswer
  }

  /** Begins it, in a slot if its route takes one. Returns why there is none. */
  private begin(call: ServedCall): AdmitAnswer[6] {
    if ('failure' in call.verdict) return null
    const begun = this.parts.decisions.begin(call.verdict)
    if (!begun.ok) return [begun.error.failure, begun.error.readings ?? null]
    call.allowance = begun.value
    return null
  }

  private incoming(
    id: RequestId,
    at: number,
    [kind, hash, audience, method, url, , clientRequestId, isRefused]: NonNullable<ReturnType<typeof readAdmit>>,
    address: Address,
  ): IncomingCall {
    return {
      id,
      clientRequestId,
      at,
      credential: kind === 'api_key' ? { kind, hash, problem: null } : { kind, hash, audience: audience as Audience },
      address,
      request: { method, url },
      route: isRefused ? REFUSED_THERE : this.parts.routeOf(method, url),
      trace: null,
    }
  }

  /** One after the other for each call, also over sessions: what it asks in the next one must not overtake what goes on in this one. */
  private async inTurn<T>(asked: Asked, run: () => Promise<T>): Promise<T> {
    const { ending } = this.parts
    const id = asked[0] as RequestId
    const before = ending.get(id)
    const running = before === undefined ? run() : before.then(run, run)
    ending.set(id, running)
    try {
      return await running
    } finally {
      if (ending.get(id) === running) ending.delete(id)
    }
  }

  private async claim(asked: Asked): Promise<Answer> {
    const [id, admit, needs] = [this.ownId(asked), readAdmit(asked[1] as Asked), readNeeds(asked[2])]
    const address = admit && (parseAddress(admit[5]) ?? UNKNOWN_ADDRESS)
    if (id === null || this.calls.has(id)) return this.lie('a call that is not its own')
    if (!admit || !address || !needs) return this.lie('a claim that cannot be read')
    const { recovery, decisions, clock } = this.parts
    const kept = recovery.takeKept(id)
    const wasCharged = kept ? null : await recovery.wasCharged(id)
    if (wasCharged !== null) return [wasCharged ? 'charged' : 'ended', null] satisfies ClaimAnswer
    const verdict = await decisions.authenticate(this.incoming(id, clock.now(), admit, address))
    const call = served(verdict)
    const refusal = kept ? this.adopt(call, kept) : await this.holdAgain(call, needs)
    if (refusal !== null) {
      if (kept) await recovery.settleKept(kept)
      return [
        'ended',
        uncharged('service_unavailable', `${INTERRUPTED} ${refusal.message}`, RETRY),
      ] satisfies ClaimAnswer
    }
    if (this.isOver) await this.settle(call)
    else this.calls.set(id, call)
    return ['open', null] satisfies ClaimAnswer
  }

  /** Goes on with the durable hold of a stream. Returns why it may not. */
  private adopt(call: ServedCall, kept: DurableHold): Failure | null {
    const { verdict } = call
    if ('failure' in verdict) return verdict.failure
    const { caller } = verdict
    const isItsOwn =
      caller.kind !== 'anonymous' &&
      caller.account.id === kept.hold.account &&
      countedOn(caller).poolId === kept.hold.pool
    if (!isItsOwn) return failure('invalid_request', 'Another key began it.')
    const begun = this.parts.decisions.adopt(verdict, kept)
    if (!begun.ok) return begun.error.failure
    call.allowance = begun.value
    call.holds = kept.hold.amount
    call.kept = rowOf(kept.call)
    return null
  }

  /** Holds again, for a call whose hold is lost. Returns why it may not. */
  private async holdAgain(call: ServedCall, needs: HoldNeeds): Promise<Failure | null> {
    const { verdict } = call
    if ('failure' in verdict) return verdict.failure
    const full = this.begin(call)
    if (full) return full[0]
    if (call.allowance === null) return REFUSED
    const wanted = wantedOf(needs, verdict, this.parts)
    const refused = wanted.ok ? await call.allowance.hold(wanted.value, NEVER) : { failure: wanted.error }
    if (refused === null) call.holds = needs.maxCost
    else await call.allowance.release(0)
    return refused?.failure ?? null
  }

  private async abandoned(asked: Asked): Promise<Answer> {
    const id = this.ownId(asked)
    if (id === null) return this.lie('a call that is not its own')
    await this.calls.get(id)?.allowance?.release(0)
    this.calls.delete(id)
    return [await this.parts.recovery.reverse(id)] satisfies AbandonedAnswer
  }

  /** The id of a call that this worker was given, in whichever session. */
  private ownId(asked: Asked): RequestId | null {
    const id = readId(asked)
    return id?.endsWith(this.parts.tag) ? id : null
  }

  private hold(asked: Asked): Answering {
    const call = this.callOf(asked)
    const needs = readNeeds(asked[1])
    if (!call) return []
    const { verdict } = call
    if (!needs || call.holds !== null || call.isReleased || 'failure' in verdict)
      return this.lie('a hold that it may not have')
    if (call.allowance === null) this.begin(call)
    const { allowance } = call
    if (allowance === null) return this.lie('a hold without a slot')
    const wanted = wantedOf(needs, verdict, this.parts)
    if (!wanted.ok) return [wanted.error, false, null, null] satisfies HoldAnswer
    const work = wanted.value
    const holding = allowance.hold(work, NEVER)
    if (holding !== null) return this.heldLater(call, { verdict, allowance, work }, holding)
    call.holds = needs.maxCost
    return heldBy(allowance)
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

  private async keep(asked: Asked): Promise<Answer> {
    const call = this.callOf(asked)
    const row = readRow(asked[1])
    if (!call) return []
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
    // What the gateway bears is the worker's word, so it is bounded by what the call may cost at all.
    const borne = micros(Math.min(overrun, call.holds))
    if (borne > 0) this.parts.onOverrun(String(id), row.model ?? row.operation, borne)
    call.isEnding = true
    const record = this.record(call, row)
    const captured = await call.allowance.capture({ amount, record, overrun: borne, tokens, answer: undefined })
    call.isEnding = false
    if (!captured.ok) return [captured.error, call.allowance.readings() ?? null] satisfies CaptureAnswer
    this.calls.delete(id as RequestId)
    this.ended(record)
    return [null, call.allowance.readings() ?? null] satisfies CaptureAnswer
  }

  private release(asked: Asked): Answering {
    const call = this.callOf(asked)
    const tokens = isCount(asked[1]) ? asked[1] : 0
    if (!call) return []
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

  private async recall(asked: Asked): Promise<Answer> {
    const call = this.callOf(asked)
    const ids = readIds(asked[1])
    if (!call) return []
    if (!ids || 'failure' in call.verdict) return this.lie('items that it may not have')
    return [...(await this.parts.items.recall(call.verdict, ids))]
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

const NEVER = new AbortController().signal

const RETRY = { retryAfterSeconds: 1 }
const INTERRUPTED = 'The gateway started again while it served this call, and may not charge it now.'

/** Of a call that its worker refuses itself. */
const REFUSED = failure('invalid_request', 'The worker refuses it.')
const REFUSED_THERE: Route = { kind: 'unmatched', failure: REFUSED }

function heldBy(allowance: Allowance): Answer {
  return [null, allowance.isCredit, allowance.readings() ?? null, null] satisfies HoldAnswer
}

function served(verdict: Verdict): ServedCall {
  return {
    verdict,
    since: verdict.incoming.at,
    allowance: null,
    holds: null,
    kept: null,
    isEnding: false,
    isReleased: false,
    isNoted: false,
  }
}

function alone({ allowance }: ServedCall, upstream: unknown): void {
  if (upstream === null) allowance?.drain?.begin()
  else if (typeof upstream === 'string') allowance?.drain?.at(upstream)
}
