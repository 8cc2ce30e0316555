import type { Closings } from '../core/apis/closings'
import { isoTime } from '../core/clock'
import { type Failure, type FailureCode, failure, uncharged } from '../core/failure'
import type { AccountId } from '../core/ids'
import {
  type Exhausted,
  type Hold,
  type HoldRefusal,
  type HoldRequest,
  MAX_SCOPES,
  type PoolKind,
} from '../core/ledger/hold'
import type { DurableHold } from '../core/ledger/journal'
import type { Ledger } from '../core/ledger/ledger'
import type { Readings, Ticket } from '../core/limits/limiter'
import { formatUsd, type Money, ZERO } from '../core/money'
import { err, ok, type Result } from '../core/result'
import type { CallRecord } from '../core/usage/call-record'
import { type AuthDeps, authenticate, limitFailure } from './auth/authenticate'
import {
  type AuthenticatedCall,
  countedOn,
  type IncomingCall,
  type Quote,
  type RefusedOutcome,
  refusedOutcome,
  takesSlot,
  type Verdict,
} from './call'
import { type ChargeState, chargeProblem } from './chargeable'
import type { Allowance, Capture, Decisions, Wanted } from './decisions'
import type { Drain, Drains } from './drains'
import { accountOf } from './record-call'
import { spendable } from './spendable'
import type { Captured, Load } from './work'

interface Deciding extends AuthDeps {
  readonly apiClosings: Pick<Closings, 'isClosed' | 'close'>
  readonly drains: Drains
  readonly charges: ChargeState
}

/** Decides in this process, which owns the data. */
export class LocalDecisions implements Decisions {
  private readonly parts: Deciding

  constructor(parts: Deciding) {
    this.parts = parts
  }

  authenticate(incoming: IncomingCall): Verdict | Promise<Verdict> {
    return authenticate(this.parts, incoming)
  }

  begin(call: AuthenticatedCall): Result<Allowance, RefusedOutcome> {
    if (!takesSlot(call.incoming.route)) return ok(new LocalAllowance(this.parts, call, null))
    const entered = this.parts.limiter.enter(call.subjects)
    if (entered.ok) return ok(new LocalAllowance(this.parts, call, entered.value))
    return err(refusedOutcome(limitFailure(entered.error, call.caller), entered.error.readings))
  }

  /** Begins a call that holds money already, since before this process. */
  adopt(call: AuthenticatedCall, durable: DurableHold): Result<Allowance, RefusedOutcome> {
    const begun = this.begin(call)
    if (begun.ok) (begun.value as LocalAllowance).adopt(durable)
    return begun
  }

  /** For calls that are open already, so that they may take whole limits while new ones may not. */
  forOpenCalls(): LocalDecisions {
    return new LocalDecisions({ ...this.parts, limiter: this.parts.limiter.whole() })
  }

  leave(): null {
    return null
  }

  spendable(call: Pick<AuthenticatedCall, 'caller'>, creditPays: boolean): Promise<Money | null> {
    return spendable(this.parts.ledger, call, creditPays)
  }
}

class LocalAllowance implements Allowance {
  readonly isLost = false
  isCredit = false
  drain: Drain | null = null
  private readonly parts: Deciding
  private readonly call: AuthenticatedCall
  private readonly slot: Ticket | null
  private load: Load | undefined
  /** The hold to release or capture. */
  private held: Hold | null = null

  constructor(parts: Deciding, call: AuthenticatedCall, slot: Ticket | null) {
    this.parts = parts
    this.call = call
    this.slot = slot
  }

  get takesSlot(): boolean {
    return this.slot !== null
  }

  with(release: () => void): void {
    this.slot?.with(release)
  }

  adopt(durable: DurableHold): void {
    this.held = durable.hold
    this.parts.ledger.adopt(durable)
  }

  hold(work: Wanted, hangUp: AbortSignal | null): RefusedOutcome | null | Promise<RefusedOutcome | null> {
    const { incoming, caller } = this.call
    incoming.trace?.step('admit')
    if (this.isClosed()) return this.refused(CLOSED)
    const overLimit = work.load ? this.take(work.load, hangUp) : null
    if (overLimit) return overLimit
    incoming.trace?.step('hold')
    if (caller.kind === 'anonymous') throw new Error('an anonymous caller has no balance')
    const { ledger, charges } = this.parts
    const isDoubtful =
      charges.isFailing || (work.needsTopUp !== undefined && (ledger.toppedUp(caller.account.id) ?? ZERO) === 0)
    const { poolId } = countedOn(caller)
    const { id: request, at, budgetScope: scope } = incoming
    const amount = work.quote.maxCost
    const wanted = {
      request,
      account: caller.account.id,
      pool: poolId,
      amount,
      creditPays: work.credit === 'all',
      at,
      scope,
    }
    const holding = isDoubtful ? null : ledger.hold(wanted)
    if (holding === null || holding instanceof Promise || !holding.ok) return this.holdLater(wanted, work, holding)
    this.held = holding.value
    return null
  }

  readings(): Readings | undefined {
    return this.slot ? this.parts.limiter.read(this.load?.subjects ?? this.call.subjects) : undefined
  }

  keep(call: CallRecord): Promise<boolean> {
    const { held } = this
    if (held === null) throw new Error('only a call that holds money can be kept')
    return this.parts.ledger.keep({ hold: held, call })
  }

  capture(charge: Capture): Promise<Result<Captured, Failure>> {
    // Durable before the call is charged.
    return charge.overrun > 0 ? this.closing().then(() => this.charge(charge)) : this.charge(charge)
  }

  private charge({ amount, record, overrun, tokens, answer }: Capture): Promise<Result<Captured, Failure>> {
    return this.parts.ledger.capture(amount, record, overrun, answer).then((captured) => {
      if (!captured.ok) return err(NOT_RECORDED)
      this.held = null
      this.finish(tokens)
      return ok({ cost: amount, receipt: null })
    })
  }

  release(tokens: number): Promise<void> | null {
    const { held } = this
    this.held = null
    const released = held === null ? null : this.parts.ledger.release(held.request)
    this.finish(tokens)
    return released
  }

  /** Whether the upstream of an imported operation claimed more than its maximum of this account. */
  private isClosed(): boolean {
    const { caller, incoming } = this.call
    if (incoming.route.kind !== 'priced' || !incoming.route.match || caller.kind === 'anonymous') return false
    return this.parts.apiClosings.isClosed(incoming.route.match.operation, caller.account.id)
  }

  private async closing(): Promise<void> {
    const { caller, incoming } = this.call
    if (incoming.route.kind !== 'priced' || !incoming.route.match || caller.kind === 'anonymous') return
    await this.parts.apiClosings.close(incoming.route.match.operation, caller.account.id, this.parts.clock.now())
  }

  /**
   * A request of the work's own window, its likely tokens, and its place among calls without callers. Refuses an account that has too many calls
   * running after their callers hung up.
   */
  private take(load: Load, hangUp: AbortSignal | null): RefusedOutcome | null {
    const { slot, call } = this
    if (slot === null) return null
    const { limiter, drains } = this.parts
    const refusal = load.window && limiter.countRequest([load.window])
    if (refusal) return refusedOutcome(limitFailure(refusal, call.caller), limiter.read(load.subjects))
    const account = accountOf(call)
    const problem = drains.refusal(account, call.subjects[0]?.limits.concurrency ?? 1, load)
    if (problem) return refusedOutcome(problem, limiter.read(load.subjects))
    const full = slot.reserve(load.subjects, load.tokens)
    if (full) return refusedOutcome(limitFailure(full, call.caller), full.readings)
    const drain = drains.open(account, load, hangUp)
    this.drain = drain
    this.load = load
    return null
  }

  /** A hold that waits for its counters, for a repayment or for the log, or is refused. */
  private async holdLater(
    wanted: HoldRequest,
    work: Wanted,
    holding: ReturnType<Ledger['hold']> | null,
  ): Promise<RefusedOutcome | null> {
    const { ledger } = this.parts
    if (holding === null) {
      const problem = await this.doubtful(wanted.account, work)
      if (problem) return this.refused(problem)
    }
    const first = await (holding ?? ledger.hold(wanted))
    this.isCredit = work.credit === 'part' && !first.ok && first.error === 'insufficient_paid_balance'
    const held = this.isCredit ? await ledger.hold({ ...wanted, creditPays: true }) : first
    if (held.ok) {
      this.held = held.value
      return null
    }
    return this.refused(refusal(held.error, work.quote, this.call))
  }

  /** Why nothing may be held, if charges failed before or the account must have topped up. */
  private async doubtful(account: AccountId, { needsTopUp }: Wanted): Promise<Failure | null> {
    const { charges, ledger } = this.parts
    const unable = await chargeProblem(charges)
    if (unable) return unable
    if (needsTopUp === undefined || ((await ledger.balance(account))?.toppedUp ?? ZERO) > 0) return null
    return failure(
      'recharge_required',
      `${needsTopUp} requires a first top-up. Signup credit pays only for models with "recharge_required": false.`,
    )
  }

  private finish(tokens: number): void {
    this.drain?.end()
    this.slot?.finish(tokens)
  }

  private refused(problem: Failure): RefusedOutcome {
    this.finish(0)
    return refusedOutcome(problem, this.readings())
  }
}

const CLOSED = failure(
  'upstream_unavailable',
  'The upstream charged more than its maximum price. The operation is closed until the operator has checked it.',
)

const NOT_RECORDED = uncharged('service_unavailable', 'The charge could not be recorded. Try again.', {
  retryAfterSeconds: 1,
})

/** The period may be as long as a month. Idle names leave sooner. */
const SCOPES_SECONDS = 3600

/** A person decides, so a call in the same minute is hardly worth it. */
const REVIEW_SECONDS = 60

function costOf({ maxCost, fixed }: Quote): string {
  return `This request costs ${fixed ? '' : 'at most '}${formatUsd(maxCost)} USD`
}

/** A limit is a 402, because the next period does not help. A budget is a 429 until it ends. */
function usedUp({ pool, kind, window }: Exhausted, quote: Quote, { caller, incoming }: AuthenticatedCall) {
  const isOwn = kind !== 'scope' && caller.kind !== 'anonymous' && countedOn(caller).poolId === pool
  const whose = isOwn ? `this ${caller.kind}` : kind === 'scope' ? `scope ${incoming.budgetScope}` : WHOSE[kind]
  if (window === null)
    return failure(
      'insufficient_api_key_balance',
      `${costOf(quote)}; the spending limit of ${whose} has less than that left. Raise ${isOwn ? 'the' : 'that'} limit.`,
      quote.fixed ? { price: quote.maxCost } : {},
    )
  const { period, limit, endsAt } = window
  return failure(
    'quota_exceeded',
    `${costOf(quote)}; the budget of ${whose}, ${formatUsd(limit)} USD a ${period}, leaves less than that until ${isoTime(endsAt)}.`,
    {
      retryAfterSeconds: Math.max(1, Math.ceil((endsAt - incoming.at) / 1000)),
      limitSource: kind === 'app' ? kind : kind === 'key' || kind === 'scope' ? 'key' : 'account',
    },
  )
}

/** An ancestor of the caller's own pool. */
const WHOSE: Readonly<Record<Exclude<PoolKind, 'scope'>, string>> = {
  key: 'this key',
  app: 'the app that created this key',
  member: 'the member who made this key or connected this app',
  account: 'this workspace',
}

function refusal(reason: HoldRefusal, quote: Quote, call: AuthenticatedCall) {
  if (typeof reason === 'object') return usedUp(reason, quote, call)
  const { maxCost, fixed } = quote
  const lacks = (code: FailureCode, what: string) =>
    failure(code, `${costOf(quote)}; ${what}`, fixed ? { price: maxCost } : {})
  switch (reason) {
    case 'too_many_scopes':
      return failure(
        'quota_exceeded',
        `This key has named ${MAX_SCOPES.toLocaleString('en-US')} scopes in this period, the most that its scope budget counts. Use one of them, or none.`,
        { retryAfterSeconds: SCOPES_SECONDS, limitSource: 'key' },
      )
    case 'insufficient_balance':
      return lacks('insufficient_balance', 'the account balance is lower than that. Top up the balance.')
    case 'insufficient_paid_balance':
      return lacks('insufficient_balance', 'signup credit cannot be used for it. Top up the balance.')
    case 'account_under_review':
      return uncharged(
        'account_under_review',
        'An earlier charge of this account could not be booked, and the operator of this gateway has to decide about it. Until then its calls are refused.',
        { retryAfterSeconds: REVIEW_SECONDS },
      )
  }
}
