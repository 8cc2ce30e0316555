import type { Clock } from '../core/clock'
import { parseAddress, UNKNOWN_ADDRESS } from '../core/credentials/address'
import type { Audience } from '../core/credentials/oauth-grant'
import { type Failure, failure, uncharged } from '../core/failure'
import type { RequestId } from '../core/ids'
import type { KeyedMutex } from '../core/keyed-mutex'
import type { DurableHold } from '../core/ledger/journal'
import type { Money } from '../core/money'
import type { Result } from '../core/result'
import {
  type AuthenticatedCall,
  countedOn,
  type IncomingCall,
  type RefusedOutcome,
  type Route,
  type Verdict,
} from '../pipeline/call'
import type { Allowance, Decisions } from '../pipeline/decisions'
import { type Admit, type AdmitAnswer, type CallRow, type ClaimAnswer, type HoldNeeds, readId, rowOf } from './messages'
import { type OnSale, wantedOf } from './wanted'

/** Decides in this process. */
export interface Deciding extends Decisions {
  begin(...of: Parameters<Decisions['begin']>): Result<Allowance, RefusedOutcome>
  adopt(call: AuthenticatedCall, kept: DurableHold): Result<Allowance, RefusedOutcome>
  /** The same, for calls that are open already. */
  forOpenCalls(): Deciding
}

/** What the primary knows of calls that are no longer open. */
export interface Recovery {
  /** The durable hold that a stream left to this process, from now on the caller's to end; null if there is none. */
  takeKept(id: RequestId): DurableHold | null
  settleKept(kept: DurableHold): Promise<void>
  /** Ends it without a charge. */
  releaseKept(kept: DurableHold): Promise<void>
  /** Whether it was charged; null if there is no record of it. Sees every acknowledged charge. */
  wasCharged(id: RequestId): Promise<boolean | null>
  /** Reverses its charge if there is one. False: not yet. Idempotent. */
  reverse(id: RequestId): Promise<boolean>
}

export interface ClaimParts extends OnSale {
  /** The end of its calls' ids, by which it is known again after a restart: 6 hex digits. */
  readonly tag: string
  /** Ends and claims one after the other for each call, of all workers: what is asked in the next session must not overtake what goes on in this one. */
  readonly turns: KeyedMutex
  readonly recovery: Recovery
  readonly decisions: Deciding
  readonly clock: Clock
  /** The route of a request; not on sale here: unmatched. */
  readonly routeOf: (method: string, url: string) => Route
}

/** A call that a worker serves, and what it took. */
export interface ServedCall {
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

/** Calls of one worker that earlier sessions began, with this process or one before. */
export class Claims {
  private readonly parts: ClaimParts

  constructor(parts: ClaimParts) {
    this.parts = { ...parts, decisions: parts.decisions.forOpenCalls() }
  }

  /** The id of a call that this worker was given, in whichever session. */
  ownId(asked: readonly unknown[]): RequestId | null {
    const id = readId(asked)
    return id?.endsWith(this.parts.tag) ? id : null
  }

  /** The call, which holds its money; or what became of it. Call it in turn. */
  async claim(id: RequestId, admit: Admit, needs: HoldNeeds): Promise<ServedCall | { readonly answer: ClaimAnswer }> {
    const { recovery, decisions, clock, routeOf } = this.parts
    const kept = recovery.takeKept(id)
    const wasCharged = kept ? null : await recovery.wasCharged(id)
    if (wasCharged !== null) return { answer: [wasCharged ? 'charged' : 'ended', null] }
    const route = routeOf(admit[3], admit[4])
    const call = served(await decisions.authenticate(incomingOf({ id, at: clock.now(), route }, admit)))
    const refusal = kept ? this.adopt(call, kept) : await this.holdAgain(call, needs)
    if (refusal === null) return call
    if (kept === null)
      return { answer: ['ended', uncharged('service_unavailable', INTERRUPTED + refusal.message, RETRY)] }
    await recovery.settleKept(kept)
    return { answer: ['charged', null] }
  }

  /** Gives back what a call held or was charged. False: not yet. Call it in turn. */
  async abandon(id: RequestId): Promise<boolean> {
    const { recovery } = this.parts
    const kept = recovery.takeKept(id)
    if (kept) await recovery.releaseKept(kept)
    return recovery.reverse(id)
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
    verdict.incoming.budgetScope = kept.call.scope ?? null
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
    const full = begin(this.parts.decisions, call)
    if (full) return full[0]
    if (call.allowance === null) return REFUSED
    const wanted = wantedOf(needs, verdict, this.parts)
    const refused = wanted.ok ? await call.allowance.hold(wanted.value, null) : { failure: wanted.error }
    if (refused === null) call.holds = needs.maxCost
    else await call.allowance.release(0)
    return refused?.failure ?? null
  }
}

/** Begins it, in a slot if its route takes one. Returns why there is none. */
export function begin(decisions: Deciding, call: ServedCall): AdmitAnswer[6] {
  if ('failure' in call.verdict) return null
  const begun = decisions.begin(call.verdict)
  if (!begun.ok) return [begun.error.failure, begun.error.readings ?? null]
  call.allowance = begun.value
  return null
}

/** A call as its worker describes it, with what is known here. */
export function incomingOf(
  { id, at, route }: Pick<IncomingCall, 'id' | 'at' | 'route'>,
  [kind, hash, audience, method, url, address, clientRequestId, isRefused]: Admit,
): IncomingCall {
  return {
    id,
    clientRequestId,
    at,
    credential: kind === 'api_key' ? { kind, hash, problem: null } : { kind, hash, audience: audience as Audience },
    address: parseAddress(address) ?? UNKNOWN_ADDRESS,
    request: { method, url },
    route: isRefused ? REFUSED_THERE : route,
    budgetScope: null,
    trace: null,
  }
}

const RETRY = { retryAfterSeconds: 1 }
const INTERRUPTED = 'The gateway started again while it served this call, and may not charge it now. '

/** Of a call that its worker refuses itself. */
const REFUSED = failure('invalid_request', 'The worker refuses it.')
const REFUSED_THERE: Route = { kind: 'unmatched', failure: REFUSED }

export function served(verdict: Verdict): ServedCall {
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
