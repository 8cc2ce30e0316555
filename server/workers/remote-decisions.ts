import { MINUTE_MS, SECOND_MS } from '../core/clock'
import { formatAddress } from '../core/credentials/address'
import { KEY_DEFAULTS } from '../core/credentials/api-key'
import { failure } from '../core/failure'
import type { AppGrantId, KeyId, RequestId } from '../core/ids'
import { inTimeOrNull } from '../core/in-time'
import type { Readings } from '../core/limits/limiter'
import type { Money } from '../core/money'
import { err, ok, type Result } from '../core/result'
import type { CallRecord } from '../core/usage/call-record'
import type { AuthenticatedCall, Caller, IncomingCall, RefusedOutcome, Verdict } from '../pipeline/call'
import type { Allowance, Decisions } from '../pipeline/decisions'
import {
  type Abandoned,
  type AbandonedAnswer,
  type Admit,
  type AdmitAnswer,
  type CallerFacts,
  type Note,
  offWire,
  type Release,
  rowOf,
} from './messages'
import { AdmittedCall, isKnown, type OpenCalls, type Primary, RemoteAllowance } from './remote-allowance'
import type { UnknownCredentials } from './unknown-credentials'

/** Lets the primary decide. Nothing is granted from memory. */
export class RemoteDecisions implements Decisions, OpenCalls {
  private readonly primary: Primary
  /** Those that hold money. */
  readonly open = new Set<RemoteAllowance>()
  private readonly abandoned = new Set<RequestId>()
  private readonly unknown: UnknownCredentials
  private asking: Promise<void> | null = null

  constructor(primary: Primary, unknown: UnknownCredentials) {
    this.primary = primary
    this.unknown = unknown
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
    const asking = this.unknown.ask(credential.hash, address)
    if ('failure' in asking) return { incoming, caller: NOBODY, ...asking }
    const { answer, session } = await this.admit(admit)
    asking.answered(answer?.length ? answer[2] !== null : null)
    if (!answer?.length) return { incoming, caller: NOBODY, failure: NO_PRIMARY, readings: NO_READINGS }
    const [id, at, facts, subjects, readings, refused, full] = answer
    const known = { ...incoming, id, at }
    const caller = facts ? callerOf(facts) : NOBODY
    const { route } = incoming
    const refusal = route.kind === 'unmatched' ? route.failure : refused
    if (refusal) return { incoming: known, caller, failure: refusal, readings }
    return new AdmittedCall({ incoming: known, caller, subjects: subjects.map(offWire), readings }, full, {
      admit,
      session,
    })
  }

  /** Asks again while there is no primary, or it stops: one that takes over is there within seconds. Empty: there is none. */
  private async admit(admit: Admit) {
    const until = performance.now() + ARRIVAL_MS
    for (;;) {
      const session = this.primary.sessionNumber
      const answer = (await this.primary.ask('admit', admit)) as AdmitAnswer | null
      const leftMs = until - performance.now()
      if (answer?.length || leftMs <= 0 || !(await this.primary.back(leftMs))) return { answer, session }
      await Bun.sleep(Math.min(ADMIT_AGAIN_MS, leftMs))
    }
  }

  begin(call: AuthenticatedCall): Result<Allowance, RefusedOutcome> {
    if (!(call instanceof AdmittedCall)) throw new Error('the primary did not admit this call')
    if (call.slot !== 'none') {
      if (call.full) return err({ kind: 'refused', failure: call.full[0], readings: call.full[1] ?? undefined })
      call.slot = 'used'
    }
    return ok(new RemoteAllowance(this.primary, call, this))
  }

  leave(call: AuthenticatedCall): Promise<void> | null {
    if (!(call instanceof AdmittedCall) || call.slot !== 'unused') return null
    call.slot = 'used'
    return isKnown(this.primary, call) ? this.giveBack(call.incoming.id) : null
  }

  /** Waits, so that the caller's next call finds the slot free, whichever worker gets it. */
  private async giveBack(id: RequestId): Promise<void> {
    await this.primary.ask('release', [id, 0] satisfies Release)
  }

  /** Another primary than before is there: it counts in its limits the open calls that may go on. */
  async claimOpen(): Promise<void> {
    const calls = [...this.open]
    for (let at = 0; at < calls.length; at += CLAIMS_AT_ONCE)
      await Promise.all(calls.slice(at, at + CLAIMS_AT_ONCE).map((call) => call.goOn()))
  }

  /** The caller of this call gets a 503 while its charge is on its way: asks until a primary has reversed it, or says that there is none. */
  abandon(id: RequestId): void {
    this.abandoned.add(id)
    if (this.asking === null) this.asking = this.askForReversals()
  }

  /** Resolves once no charge is left to be reversed, or after `maxMs`, to those that are. */
  async settled(maxMs: number): Promise<readonly RequestId[]> {
    if (this.asking !== null) await inTimeOrNull(this.asking, maxMs)
    return [...this.abandoned]
  }

  private async askForReversals(): Promise<void> {
    while (this.abandoned.size > 0) {
      await this.primary.back(MINUTE_MS)
      for (const id of this.abandoned) {
        const answer = (await this.primary.ask('abandoned', [id] satisfies Abandoned)) as AbandonedAnswer | null
        if (answer?.[0] === true) this.abandoned.delete(id)
      }
      if (this.abandoned.size > 0) await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS))
    }
    this.asking = null
  }

  async spendable(call: Pick<AuthenticatedCall, 'caller'>, creditPays: boolean): Promise<Money | null> {
    return call instanceof AdmittedCall ? (call.available?.[creditPays ? 0 : 1] ?? null) : null
  }

  /** The row of a call that was not charged. */
  note(record: CallRecord): void {
    this.primary.tell('note', [record.id, rowOf(record)] satisfies Note)
  }
}

const NOBODY: Caller = { kind: 'anonymous' }

/** A caller, with what works ask about it. The primary has the rest. */
function callerOf({ kind, account: id, credential, pool, tier, allowedModels }: CallerFacts): Caller {
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
    return { kind, account, tier, grant, scopes: new Set(), role: 'viewer' }
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
  return { kind, account, tier, key }
}

/** A new call waits so long for a primary, and a worker is ready so long without one. */
const ARRIVAL_MS = 5 * SECOND_MS
const ADMIT_AGAIN_MS = 100
/** A session has room for these, and for what else goes on. */
const CLAIMS_AT_ONCE = 500
const ASK_AGAIN_MS = SECOND_MS

const NONE = { limit: 0, remaining: 0, reset: 0 }
const NO_READINGS: Readings = { requests: NONE, tokens: NONE, concurrency: { limit: 0, remaining: 0 } }

const RETRY = { retryAfterSeconds: 1 }
const NO_PRIMARY = failure(
  'service_unavailable',
  'The gateway cannot decide about calls at the moment. Try again.',
  RETRY,
)
