import { SECOND_MS } from '../core/clock'
import { type Failure, failure, uncharged } from '../core/failure'
import type { RequestId } from '../core/ids'
import type { Readings } from '../core/limits/limiter'
import { ZERO } from '../core/money'
import { err, ok, type Result } from '../core/result'
import type { CallRecord } from '../core/usage/call-record'
import {
  type AuthenticatedCall,
  type Caller,
  type IncomingCall,
  type RefusedOutcome,
  takesSlot,
} from '../pipeline/call'
import type { Allowance, Capture as Charge, Wanted } from '../pipeline/decisions'
import type { Drain } from '../pipeline/drains'
import type { Captured } from '../pipeline/work'
import {
  type Admit,
  type AdmitAnswer,
  type Alone,
  type Capture,
  type CaptureAnswer,
  type Claim,
  type ClaimAnswer,
  type Hold,
  type HoldAnswer,
  type HoldNeeds,
  type Keep,
  type KeepAnswer,
  type Release,
  type ReleaseAnswer,
  rowOf,
} from './messages'

/** The session with the primary, as far as calls use it. */
export interface Primary {
  /** Whether this process may act for callers now. */
  readonly hasLease: boolean
  /** Another number: the primary no longer knows what it was told under the one before. */
  readonly sessionNumber: number
  /** Resolves to true at once in a session, or as soon as there is one; to false after `maxMs`, or if there will be none. */
  back(maxMs: number): Promise<boolean>
  /** Null if the session ended without an answer. */
  ask(
    kind: 'admit' | 'hold' | 'keep' | 'capture' | 'release' | 'recall' | 'claim' | 'abandoned',
    payload: readonly unknown[],
  ): Promise<readonly unknown[] | null>
  tell(kind: 'note' | 'alone' | 'items' | 'counters', payload: readonly unknown[]): void
}

/** What the calls of a worker share. */
export interface OpenCalls {
  /** Those that hold money. */
  readonly open: Set<RemoteAllowance>
  /** The caller of this call gets a 503 while its charge is on its way: it is to be reversed. */
  abandon(id: RequestId): void
}

/** A caller waits so long for a primary to come back. */
const PATIENCE_MS = 10 * SECOND_MS

/** Whether the primary of now knows a call: as it was admitted, or claimed, in this session. */
export function isKnown({ sessionNumber }: Pick<Primary, 'sessionNumber'>, call: AuthenticatedCall): boolean {
  return call instanceof AdmittedCall && call.session === sessionNumber
}

/** A call that the primary admitted. */
export class AdmittedCall implements AuthenticatedCall {
  readonly incoming: IncomingCall
  readonly caller: Caller
  readonly subjects: AuthenticatedCall['subjects']
  readonly readings: Readings
  /** Why there is no slot for it. */
  readonly full: AdmitAnswer[6]
  /** Whether it has a slot at the primary, and has begun to use it. */
  slot: 'none' | 'unused' | 'used'
  /** What it was admitted by, and the session in which the primary knows it. */
  readonly admit: Admit
  session: number
  /** What its caller could spend, with and without signup credit, when its hold was refused. */
  available: HoldAnswer[3] = null

  constructor(
    { incoming, caller, subjects, readings }: AuthenticatedCall,
    full: AdmitAnswer[6],
    { admit, session }: { readonly admit: Admit; readonly session: number },
  ) {
    this.admit = admit
    this.session = session
    this.incoming = incoming
    this.caller = caller
    this.subjects = subjects
    this.readings = readings
    this.full = full
    this.slot = !takesSlot(incoming.route) ? 'none' : full ? 'used' : 'unused'
  }
}

export class RemoteAllowance implements Allowance {
  readonly takesSlot: boolean
  isCredit = false
  drain: RemoteDrain | null = null
  /** The primary ended it. */
  private isEnded = false
  private isCapturing = false
  /** Its hold is durable: it is a stream. */
  private isKept = false
  private readonly primary: Primary
  private readonly call: AdmittedCall
  private readonly decisions: OpenCalls
  private needs: HoldNeeds | null = null
  private claiming: Promise<ClaimAnswer | null> | null = null
  private now: Readings | undefined
  private releases: (() => void)[] | null = null
  private isOver: boolean

  constructor(primary: Primary, call: AdmittedCall, decisions: OpenCalls) {
    this.primary = primary
    this.call = call
    this.takesSlot = call.slot !== 'none'
    this.decisions = decisions
    // A call without a slot has taken nothing yet.
    this.isOver = !this.takesSlot
  }

  get isLost(): boolean {
    return this.isEnded || !this.primary.hasLease
  }

  with(release: () => void): void {
    if (this.releases) this.releases.push(release)
    else this.releases = [release]
  }

  async hold(work: Wanted, hangUp: AbortSignal | null): Promise<RefusedOutcome | null> {
    this.isOver = false
    const { incoming } = this.call
    incoming.trace?.step('hold')
    const needs = needsOf(work, this.call)
    this.needs = needs
    const answer = await this.ask<HoldAnswer>('hold', [incoming.id, needs] satisfies Hold)
    if (!answer?.length) return { kind: 'refused', failure: NOT_HELD }
    const [refusal, isCredit, readings, available, isStale] = answer
    if (readings) this.now = readings
    this.call.available = available
    if (refusal)
      return { kind: 'refused', failure: refusal, readings: readings ?? undefined, ...(isStale && { isStale }) }
    this.isCredit = isCredit
    this.decisions.open.add(this)
    if (work.load) this.drain = new RemoteDrain(this.primary, this.call, hangUp)
    return null
  }

  readings(): Readings | undefined {
    return this.takesSlot ? this.now : undefined
  }

  async keep(call: CallRecord): Promise<boolean> {
    const answer = await this.ask<KeepAnswer>('keep', [call.id, rowOf(call)] satisfies Keep)
    const isKept = answer?.[0] === true
    if (isKept) this.isKept = true
    // The stream does not begin, so a hold that was kept after all must go.
    else if (answer === null && !this.isKept) this.abandon()
    return isKept
  }

  /** If the session ends meanwhile, the next primary says whether it was charged, or it is claimed and charged then. */
  async capture({ record, overrun, tokens }: Charge): Promise<Result<Captured, Failure>> {
    this.isCapturing = true
    const capture: Capture = [record.id, overrun, tokens, rowOf(record)]
    const until = performance.now() + PATIENCE_MS
    let answer = await this.ask<CaptureAnswer>('capture', capture)
    while (answer === null && (await this.primary.back(until - performance.now()))) {
      const { session } = this.call
      const claimed = await this.claim()
      if (claimed?.[0] === 'charged') return this.charged(record)
      if (claimed?.[0] === 'ended') {
        this.isOver = true
        return err(claimed[1] ?? NOT_CHARGED)
      }
      // Refused, or it is not for the session that there was no answer.
      if (claimed !== null && session === this.call.session) break
      answer = await this.ask<CaptureAnswer>('capture', capture)
    }
    if (!answer?.length) {
      this.abandon()
      return err(GIVEN_BACK)
    }
    const [refusal, readings] = answer
    if (readings) this.now = readings
    return refusal ? err(refusal) : this.charged(record)
  }

  private abandon(): void {
    this.isOver = true
    this.decisions.open.delete(this)
    this.decisions.abandon(this.call.incoming.id)
  }

  private charged(record: CallRecord): Result<Captured, Failure> {
    this.isOver = true
    this.finish()
    return ok({ cost: record.charged?.cost ?? ZERO, receipt: null })
  }

  /** Claims the call. A stream that may not go on ends; any other call, and a charge that is under way, finds out when it is charged. */
  async goOn(): Promise<void> {
    if (this.isOver) return
    const claimed = await this.claim()
    if (claimed?.[0] === 'open') this.drain?.again()
    else if (claimed !== null && this.isKept && !this.isCapturing) this.isEnded = true
  }

  /** Asks the primary of now to go on with the call. Once at a time. */
  private claim(): Promise<ClaimAnswer | null> {
    this.claiming ??= this.claimNow().finally(() => {
      this.claiming = null
    })
    return this.claiming
  }

  private async claimNow(): Promise<ClaimAnswer | null> {
    const { primary, call, needs } = this
    if (isKnown(primary, call)) return ['open', null]
    if (needs === null) return ['ended', null]
    const session = primary.sessionNumber
    const claim: Claim = [call.incoming.id, call.admit, needs]
    const claimed = (await primary.ask('claim', claim)) as ClaimAnswer | null
    if (claimed?.[0] === 'open') call.session = session
    return claimed
  }

  /** Null if the primary of now does not know the call, and if it does not answer. */
  private async ask<T>(kind: 'hold' | 'keep' | 'capture' | 'release', payload: readonly unknown[]): Promise<T | null> {
    const { primary, call } = this
    return isKnown(primary, call) ? ((await primary.ask(kind, payload)) as T | null) : null
  }

  release(tokens: number): Promise<void> | null {
    this.finish()
    if (this.isOver) return null
    this.isOver = true
    return this.releaseThere(tokens)
  }

  /** Waits, so that the answer to the caller states its windows without this call. */
  private async releaseThere(tokens: number): Promise<void> {
    // What a claim that is under way takes has to go, too.
    if (this.claiming !== null) await this.claiming
    const answer = await this.ask<ReleaseAnswer>('release', [this.call.incoming.id, tokens] satisfies Release)
    if (answer?.[0]) this.now = answer[0]
    // The next primary would charge it as far as it was kept. One that was given up is charged so.
    if (answer === null && this.isKept && !this.isLost) this.abandon()
  }

  private finish(): void {
    const { drain, releases } = this
    this.releases = null
    this.decisions.open.delete(this)
    drain?.end()
    for (const release of releases ?? []) release()
  }
}

/** Tells the primary of a caller's hang-up. It listens for that itself. */
class RemoteDrain implements EventListenerObject, Pick<Drain, 'begin' | 'at'> {
  private readonly primary: Primary
  private readonly call: AdmittedCall
  private readonly hangUp: AbortSignal | null
  private isAlone = false
  private upstream: string | null = null

  constructor(primary: Primary, call: AdmittedCall, hangUp: AbortSignal | null) {
    this.primary = primary
    this.call = call
    this.hangUp = hangUp
    hangUp?.addEventListener('abort', this, { once: true })
  }

  handleEvent(): void {
    this.begin()
  }

  begin(): void {
    if (this.isAlone) return
    this.isAlone = true
    this.again()
  }

  /** Tells it to another primary. */
  again(): void {
    if (!this.isAlone) return
    this.tell(null)
    if (this.upstream !== null) this.tell(this.upstream)
  }

  at(upstream: string): void {
    this.upstream = upstream
    if (this.isAlone) this.tell(upstream)
  }

  private tell(upstream: string | null): void {
    const { primary, call } = this
    if (isKnown(primary, call)) primary.tell('alone', [call.incoming.id, upstream] satisfies Alone)
  }

  end(): void {
    this.isAlone = true
    this.hangUp?.removeEventListener('abort', this)
  }
}

function needsOf(work: Wanted, { incoming: { route, budgetScope } }: AuthenticatedCall): HoldNeeds {
  const { quote, credit, load, needsTopUp = null, operation, timeoutMs, model } = work
  const isPayable = route.kind === 'priced' && route.payable === true
  return {
    operation,
    maxCost: quote.maxCost,
    version: quote.version,
    fixed: quote.fixed,
    minCost: quote.minCost ?? null,
    credit,
    needsTopUp,
    load: load && model !== undefined ? { model, tokens: load.tokens } : null,
    timeoutMs,
    fingerprint: isPayable ? work.fingerprint() : null,
    scope: budgetScope,
  }
}

const RETRY = { retryAfterSeconds: 1 }
const NOT_HELD = uncharged('service_unavailable', 'The charge could not be prepared. Try again.', RETRY)
const NOT_CHARGED = uncharged('service_unavailable', 'The gateway was interrupted while it served this call.', RETRY)
const GIVEN_BACK = failure(
  'service_unavailable',
  'The gateway was interrupted while it charged this call. It will be given back if it was charged.',
  RETRY,
)
