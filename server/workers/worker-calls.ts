import { type Clock, MINUTE_MS } from '../core/clock'
import { type Address, parseAddress, UNKNOWN_ADDRESS } from '../core/credentials/address'
import type { Audience } from '../core/credentials/oauth-grant'
import { failure } from '../core/failure'
import { makeId, type RequestId } from '../core/ids'
import type { Journal } from '../core/ledger/journal'
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
import type { UpstreamState } from '../pipeline/models/model-backend'
import { callRecord } from '../pipeline/record-call'
import {
  type AdmitAnswer,
  type CallRow,
  type CaptureAnswer,
  type HoldAnswer,
  isCount,
  type KeepAnswer,
  onWire,
  type ReleaseAnswer,
  readAdmit,
  readId,
  readNeeds,
  readRow,
  upstreamStates,
} from './messages'
import { readIds, readItems } from './remote-items'
import { type OnSale, wantedOf } from './wanted'

/** The calls of one worker that may be open at once. */
const MAX_CALLS = 10_000
/** A call that took nothing for so long was forgotten by its worker. */
const IDLE_MS = 10 * MINUTE_MS

export interface WorkerCallsParts extends OnSale {
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
  /** How the upstreams are, as the worker sees them. */
  readonly onStates: (states: readonly UpstreamState[]) => void
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
        return this.capture(asked)
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
    const call = kind === 'counters' ? null : this.callOf(said)
    if (kind === 'counters' && said[0] === 'ended') this.upstreamEnded(said.slice(1))
    else if (kind === 'counters' && said[0] === 'listening') this.parts.onListening()
    else if (kind === 'counters' && said[0] === 'states') this.parts.onStates(upstreamStates(said[1]))
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
    this.parts.onStates([])
    const all = [...this.calls.values()]
    this.calls.clear()
    await Promise.all(all.map((call) => this.settle(call)))
  }

  private async settle(call: ServedCall): Promise<void> {
    const { allowance, kept } = call
    // A capture that is under way ends by itself.
    if (allowance === null || call.isEnding || call.isReleased) return
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
    const deciding = this.parts.decisions.authenticate(this.incoming(admit, address))
    if (deciding instanceof Promise) return deciding.then((verdict) => this.admitted(verdict))
    return this.admitted(deciding)
  }

  private admitted(verdict: Verdict): Answer {
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
    [kind, hash, audience, method, url, , clientRequestId, isRefused]: NonNullable<ReturnType<typeof readAdmit>>,
    address: Address,
  ): IncomingCall {
    const at = this.parts.clock.now()
    return {
      id: makeId('req', at),
      clientRequestId,
      at,
      credential: kind === 'api_key' ? { kind, hash, problem: null } : { kind, hash, audience: audience as Audience },
      address,
      request: { method, url },
      route: isRefused ? REFUSED_THERE : this.parts.routeOf(method, url),
      trace: null,
    }
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
    if (refused === null) {
      call.holds = work.quote.maxCost
      return heldBy(allowance)
    }
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

/** Of a call that its worker refuses itself. */
const REFUSED_THERE: Route = { kind: 'unmatched', failure: failure('invalid_request', 'The worker refuses it.') }

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
