import { formatAddress } from '../core/credentials/address'
import { KEY_DEFAULTS } from '../core/credentials/api-key'
import { type Failure, failure, uncharged } from '../core/failure'
import type { AppGrantId, KeyId, RequestId } from '../core/ids'
import type { Readings } from '../core/limits/limiter'
import { type Money, ZERO } from '../core/money'
import { err, ok, type Result } from '../core/result'
import type { CallRecord } from '../core/usage/call-record'
import {
  type AuthenticatedCall,
  type Caller,
  type IncomingCall,
  type RefusedOutcome,
  takesSlot,
  type Verdict,
} from '../pipeline/call'
import type { Allowance, Capture as Charge, Decisions, Wanted } from '../pipeline/decisions'
import type { Drain } from '../pipeline/drains'
import type { Captured } from '../pipeline/work'
import {
  type Admit,
  type AdmitAnswer,
  type Alone,
  type CallerFacts,
  type Capture,
  type CaptureAnswer,
  type Hold,
  type HoldAnswer,
  type HoldNeeds,
  type Keep,
  type KeepAnswer,
  type Note,
  offWire,
  type Release,
  type ReleaseAnswer,
  rowOf,
} from './messages'

/** The session with the primary, as far as calls use it. */
export interface Primary {
  /** Whether this process may act for callers now. */
  readonly hasLease: boolean
  /** Null if the session ended without an answer. */
  ask(
    kind: 'admit' | 'hold' | 'keep' | 'capture' | 'release' | 'recall',
    payload: readonly unknown[],
  ): Promise<readonly unknown[] | null>
  tell(kind: 'note' | 'alone' | 'items' | 'counters', payload: readonly unknown[]): void
}

/** Lets the primary decide. Nothing is granted from memory. */
export class RemoteDecisions implements Decisions {
  private readonly primary: Primary
  /** What the callers of refused holds could spend, with and without signup credit. */
  private readonly available = new WeakMap<Caller, readonly [Money | null, Money | null]>()

  constructor(primary: Primary) {
    this.primary = primary
  }

  async authenticate(incoming: IncomingCall): Promise<Verdict> {
    const { credential, request, address, clientRequestId } = incoming
    if ((credential.kind !== 'api_key' && credential.kind !== 'oauth_token') || credential.hash === null)
      throw new Error(`a worker was asked about a credential of kind ${credential.kind}`)
    const audience = credential.kind === 'oauth_token' ? credential.audience : ''
    const { method, url } = request
    const admit: Admit = [
      credential.kind,
      credential.hash,
      audience,
      method,
      url,
      formatAddress(address),
      clientRequestId,
      incoming.route.kind === 'unmatched',
    ]
    const answer = (await this.primary.ask('admit', admit)) as AdmitAnswer | null
    if (!answer?.length) return { incoming, caller: NOBODY, failure: NO_PRIMARY, readings: NO_READINGS }
    const [id, at, facts, subjects, readings, refused, full] = answer
    const known = { ...incoming, id, at }
    const caller = facts ? callerOf(facts) : NOBODY
    const { route } = incoming
    const refusal = route.kind === 'unmatched' ? route.failure : refused
    if (refusal) return { incoming: known, caller, failure: refusal, readings }
    return new AdmittedCall({ incoming: known, caller, subjects: subjects.map(offWire), readings }, full)
  }

  begin(call: AuthenticatedCall): Result<Allowance, RefusedOutcome> {
    const hasSlot = takesSlot(call.incoming.route)
    if (hasSlot) {
      if (!(call instanceof AdmittedCall)) throw new Error('the primary did not admit this call')
      if (call.full) return err({ kind: 'refused', failure: call.full[0], readings: call.full[1] ?? undefined })
      call.slot = 'used'
    }
    return ok(new RemoteAllowance(this.primary, call, hasSlot, this.available))
  }

  leave(call: AuthenticatedCall): Promise<void> | null {
    if (!(call instanceof AdmittedCall) || call.slot !== 'unused') return null
    call.slot = 'used'
    return this.giveBack(call.incoming.id)
  }

  /** Waits, so that the caller's next call finds the slot free, whichever worker gets it. */
  private async giveBack(id: RequestId): Promise<void> {
    await this.primary.ask('release', [id, 0] satisfies Release)
  }

  async spendable({ caller }: Pick<AuthenticatedCall, 'caller'>, creditPays: boolean): Promise<Money | null> {
    return this.available.get(caller)?.[creditPays ? 0 : 1] ?? null
  }

  /** The row of a call that was not charged. */
  note(record: CallRecord): void {
    this.primary.tell('note', [record.id, rowOf(record)] satisfies Note)
  }
}

/** A call that the primary admitted. */
class AdmittedCall implements AuthenticatedCall {
  readonly incoming: IncomingCall
  readonly caller: Caller
  readonly subjects: AuthenticatedCall['subjects']
  readonly readings: Readings
  /** Why there is no slot for it. */
  readonly full: AdmitAnswer[6]
  /** Whether it has a slot at the primary, and has begun to use it. */
  slot: 'none' | 'unused' | 'used'

  constructor({ incoming, caller, subjects, readings }: AuthenticatedCall, full: AdmitAnswer[6]) {
    this.incoming = incoming
    this.caller = caller
    this.subjects = subjects
    this.readings = readings
    this.full = full
    this.slot = !takesSlot(incoming.route) ? 'none' : full ? 'used' : 'unused'
  }
}

class RemoteAllowance implements Allowance {
  readonly takesSlot: boolean
  isCredit = false
  drain: Pick<Drain, 'begin' | 'at'> | null = null
  private readonly primary: Primary
  private readonly call: AuthenticatedCall
  private readonly available: WeakMap<Caller, readonly [Money | null, Money | null]>
  private now: Readings | undefined
  private releases: (() => void)[] | null = null
  private isOver: boolean

  constructor(primary: Primary, call: AuthenticatedCall, takesSlot: boolean, available: RemoteAllowance['available']) {
    this.primary = primary
    this.call = call
    this.takesSlot = takesSlot
    this.available = available
    // A call without a slot has taken nothing yet.
    this.isOver = !takesSlot
  }

  get isLost(): boolean {
    return !this.primary.hasLease
  }

  with(release: () => void): void {
    if (this.releases) this.releases.push(release)
    else this.releases = [release]
  }

  async hold(work: Wanted, hangUp: AbortSignal): Promise<RefusedOutcome | null> {
    this.isOver = false
    const { caller, incoming } = this.call
    const answer = (await this.primary.ask('hold', [
      incoming.id,
      needsOf(work, this.call),
    ] satisfies Hold)) as HoldAnswer | null
    if (!answer?.length) return { kind: 'refused', failure: NOT_HELD }
    const [refusal, isCredit, readings, available] = answer
    if (readings) this.now = readings
    if (available) this.available.set(caller, available)
    if (refusal) return { kind: 'refused', failure: refusal, readings: readings ?? undefined }
    this.isCredit = isCredit
    if (work.load) this.drain = new RemoteDrain(this.primary, incoming.id, hangUp)
    return null
  }

  readings(): Readings | undefined {
    return this.takesSlot ? this.now : undefined
  }

  async keep(call: CallRecord): Promise<boolean> {
    const answer = (await this.primary.ask('keep', [call.id, rowOf(call)] satisfies Keep)) as KeepAnswer | null
    return answer?.[0] === true
  }

  async capture({ record, overrun, tokens }: Charge): Promise<Result<Captured, Failure>> {
    const capture: Capture = [record.id, overrun, tokens, rowOf(record)]
    const answer = (await this.primary.ask('capture', capture)) as CaptureAnswer | null
    if (!answer?.length) return err(NOT_KNOWN)
    const [refusal, readings] = answer
    if (readings) this.now = readings
    if (refusal) return err(refusal)
    this.isOver = true
    this.finish()
    return ok({ cost: record.charged?.cost ?? ZERO, receipt: null })
  }

  release(tokens: number): Promise<void> | null {
    this.finish()
    if (this.isOver) return null
    this.isOver = true
    return this.releaseThere(tokens)
  }

  /** Waits, so that the answer to the caller states its windows without this call. */
  private async releaseThere(tokens: number): Promise<void> {
    const answer = (await this.primary.ask('release', [
      this.call.incoming.id,
      tokens,
    ] satisfies Release)) as ReleaseAnswer | null
    if (answer?.[0]) this.now = answer[0]
  }

  private finish(): void {
    const { drain, releases } = this
    this.releases = null
    if (drain instanceof RemoteDrain) drain.end()
    for (const release of releases ?? []) release()
  }
}

/** Tells the primary of a caller's hang-up. It listens for that itself. */
class RemoteDrain implements EventListenerObject, Pick<Drain, 'begin' | 'at'> {
  private readonly primary: Primary
  private readonly id: RequestId
  private readonly hangUp: AbortSignal
  private isAlone = false
  private upstream: string | null = null

  constructor(primary: Primary, id: RequestId, hangUp: AbortSignal) {
    this.primary = primary
    this.id = id
    this.hangUp = hangUp
    hangUp.addEventListener('abort', this, { once: true })
  }

  handleEvent(): void {
    this.begin()
  }

  begin(): void {
    if (this.isAlone) return
    this.isAlone = true
    this.primary.tell('alone', [this.id, null] satisfies Alone)
    if (this.upstream !== null) this.primary.tell('alone', [this.id, this.upstream] satisfies Alone)
  }

  at(upstream: string): void {
    this.upstream = upstream
    if (this.isAlone) this.primary.tell('alone', [this.id, upstream] satisfies Alone)
  }

  end(): void {
    this.isAlone = true
    this.hangUp.removeEventListener('abort', this)
  }
}

function needsOf(work: Wanted, { incoming: { route } }: AuthenticatedCall): HoldNeeds {
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
  }
}

const NOBODY: Caller = { kind: 'anonymous' }

/** A caller, with what works ask about it. The primary has the rest. */
function callerOf({ kind, account: id, credential, pool, allowedModels }: CallerFacts): Caller {
  const account = {
    id,
    userId: '',
    operator: false,
    support: false,
    suspension: null,
    closedAt: null,
    growthApproved: false,
    customLimits: null,
    maxKeys: null,
    createdAt: 0,
  }
  if (kind === 'app') {
    const grant = { id: credential as AppGrantId, poolId: pool } as Extract<Caller, { kind: 'app' }>['grant']
    return { kind, account, grant, scopes: new Set() }
  }
  const key = {
    ...KEY_DEFAULTS,
    name: '',
    id: credential as KeyId,
    accountId: id,
    poolId: pool,
    hash: '',
    prefix: '',
    last4: '',
    createdAt: 0,
    createdBy: null,
    disabledAt: null,
    revokedAt: null,
    stopsAt: null,
    replaces: null,
    replacedBy: null,
    endpointsAt: null,
    allowlist: null,
    allowedModels,
  }
  return { kind, account, key }
}

const NONE = { limit: 0, remaining: 0, reset: 0 }
const NO_READINGS: Readings = { requests: NONE, tokens: NONE, concurrency: { limit: 0, remaining: 0 } }

const RETRY = { retryAfterSeconds: 1 }
const NO_PRIMARY = failure(
  'service_unavailable',
  'The gateway cannot decide about calls at the moment. Try again.',
  RETRY,
)
const NOT_HELD = uncharged('service_unavailable', 'The charge could not be prepared. Try again.', RETRY)
const NOT_KNOWN = failure(
  'service_unavailable',
  'The gateway was interrupted, and it is not known whether this call was charged: GET /v1/usage/{id} with its request id says so.',
  RETRY,
)
