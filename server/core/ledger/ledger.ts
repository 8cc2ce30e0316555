import type { Clock } from '../clock'
import type { IdempotencyRecord } from '../idempotency/idempotency-record'
import { type AccountId, makeId, type PoolId, type RequestId, type TransactionId } from '../ids'
import { type Money, micros, ZERO } from '../money'
import { no, ok, type Result } from '../result'
import type { CallRecord } from '../usage/call-record'
import type { Booked, Bookings } from './bookings'
import type { LedgerAccount, LedgerEntry } from './entry'
import type { Balance, BudgetWindow, Hold, HoldRefusal, HoldRequest, HoldStore, SettleRefusal, Split } from './hold'
import type { DurableHold, Journal, JournalRecord } from './journal'
import { type CreditRequest, MoneyMoves, type MoveRefusal, type TakeBackRequest } from './money-moves'

export interface Settlement {
  readonly request: RequestId
  readonly amount: Money
}

/** `not_durable`: nothing was charged. `outcome_unknown`: the ledger ends it by itself; if it was charged, it is reversed. */
export type CaptureRefusal = SettleRefusal | 'not_durable' | 'outcome_unknown'

/**
 * Holds, captures and releases money (design 4). Composed of the counters that decide and the journal that lasts: a hold is
 * granted by the counters in one step, a capture is durable in the journal before its promise resolves, and the counters
 * follow the journal, never the other way round.
 */
export class Ledger {
  private readonly holds: HoldStore
  private readonly journal: Journal
  private readonly clock: Clock
  private readonly onReversalFailure: (request: RequestId, reason: string) => void
  private readonly bookings: Bookings
  private readonly moves: MoneyMoves
  private readonly kept = new Set<RequestId>()

  constructor(parts: {
    holds: HoldStore
    journal: Journal
    bookings: Bookings
    clock: Clock
    /** An alarm: a caller was told 503, was charged, and the way back failed too. */
    onReversalFailure: (request: RequestId, reason: string) => void
  }) {
    this.holds = parts.holds
    this.journal = parts.journal
    this.clock = parts.clock
    this.bookings = parts.bookings
    this.moves = new MoneyMoves(parts)
    this.onReversalFailure = parts.onReversalFailure
  }

  /** Reserves the most that a call can cost. What is granted can always be captured. */
  async hold(request: HoldRequest): Promise<Result<Hold, HoldRefusal>> {
    const held = await this.holds.hold(request)
    if (held.ok || held.error !== 'insufficient_balance') return held
    // Money that was held when a refund came is free now: it pays the debt that the refund left.
    return (await this.moves.offsetDebt(request.account)) ? this.holds.hold(request) : held
  }

  /**
   * Makes a hold outlive this process, for a stream: durable when it resolves to a success. Again with a newer `call` writes
   * down how far the stream has come. False: not durable, and the hold is an ordinary one.
   */
  async keep({ hold, call }: DurableHold): Promise<boolean> {
    const first = !this.kept.has(hold.request)
    this.kept.add(hold.request)
    const outcome = await this.journal.append({ keeps: { hold, call }, entries: [] })
    if (!first) return outcome.kind === 'committed'
    if (outcome.kind !== 'committed') this.kept.delete(hold.request)
    // Nobody waits for it any more: were it written after all, a start would charge for what never began.
    if (outcome.kind === 'unknown')
      void outcome.fate.then((fate) => (fate === 'committed' ? this.end(hold.request) : undefined))
    return outcome.kind === 'committed'
  }

  /** Charges what a stream of a process before us had come to (spec-answers 4). Its hold is restored already. */
  async settleKept({ hold, call }: DurableHold): Promise<boolean> {
    this.kept.add(hold.request)
    const amount = call.charged?.cost ?? ZERO
    return (await this.capture(amount, call)).ok
  }

  /**
   * Turns a hold into a charge, at most once per request; repeating it with the same amount gives the same answer. `overrun`:
   * what the call cost above its hold; the house bears it. `kept`: its answer, written in the same commit.
   */
  async capture(
    amount: Money,
    call: CallRecord,
    overrun = ZERO,
    kept?: IdempotencyRecord,
  ): Promise<Result<Settlement, CaptureRefusal>> {
    const fixed = await this.holds.fix(call.id, amount)
    if (!fixed.ok) return fixed
    if (!fixed.value.first) return ok({ request: call.id, amount })
    const { hold, split } = fixed.value
    const charge = this.charge(hold, split, call, overrun)
    const outcome = await this.journal.append(kept ? { ...charge, kept } : charge)
    if (outcome.kind === 'committed') {
      await this.holds.captured(call.id)
      this.kept.delete(call.id)
      return ok({ request: call.id, amount })
    }
    if (outcome.kind === 'refused') {
      await this.holds.release(call.id, true)
      if (this.kept.delete(call.id)) void this.end(call.id)
      return no('not_durable')
    }
    void this.endUnknown(hold, split, call, outcome.fate)
    return no('outcome_unknown')
  }

  /** Ends a hold without a charge. Free to repeat; a hold that is being captured is left to its capture. */
  async release(request: RequestId): Promise<void> {
    const released = await this.holds.release(request)
    if (released && this.kept.delete(request)) await this.end(request)
  }

  /** Takes back that a hold lasts. */
  private async end(request: RequestId): Promise<void> {
    const outcome = await this.journal.append({ ends: request, entries: [] })
    const end = outcome.kind === 'unknown' ? await outcome.fate : outcome.kind
    if (end !== 'committed') this.onReversalFailure(request, 'a kept hold was not ended; the next start charges it')
  }

  /** Books money that comes in; what is paid in pays debt back first. Durable when it resolves. */
  credit(request: CreditRequest): Promise<Result<null, MoveRefusal>> {
    return this.moves.credit(request)
  }

  /** Takes back money that was paid in. What was spent already becomes debt, which stops spending until it is paid back. */
  takeBack(request: TakeBackRequest): Promise<Result<null, MoveRefusal>> {
    return this.moves.takeBack(request)
  }

  /** What is booked under a reference of money that came in or went back. */
  booked(reference: string): Promise<Booked> {
    return this.bookings.under(reference)
  }

  balance(account: AccountId): Promise<Balance | null> {
    return this.holds.balance(account)
  }

  pool(pool: PoolId) {
    return this.holds.pool(pool)
  }

  /** The period of the pool's budget that runs now; null without a budget. */
  budget(pool: PoolId): Promise<BudgetWindow | null> {
    return this.holds.budget(pool, this.clock.now())
  }

  private charge(hold: Hold, split: Split, call: CallRecord, overrun: Money): JournalRecord {
    const amount = split.credit + split.paid
    return {
      call,
      ...(this.kept.has(call.id) && { ends: call.id }),
      entries: [
        ...this.entries('charge', hold.account, split, call, `${call.operation}`),
        ...(overrun > 0 ? [this.overrun(hold.account, overrun, call)] : []),
      ],
      ...(amount > 0 && {
        change: { accountId: hold.account, credit: -split.credit, paid: -split.paid, toppedUp: 0 },
        ...(hold.pool && { spent: { poolId: hold.pool, amount } }),
      }),
    }
  }

  private overrun(account: AccountId, amount: Money, call: CallRecord): LedgerEntry {
    return {
      transaction: this.transaction(),
      kind: 'overrun',
      accountId: account,
      debit: 'house/overrun',
      credit: 'house/revenue',
      amount,
      at: this.clock.now(),
      requestId: call.id,
      description: `${call.operation}, above its hold`,
      reference: null,
    }
  }

  /** The caller was told 503, so the charge must not stand: the hold stays until the fate is known, then it is undone. */
  private async endUnknown(hold: Hold, split: Split, call: CallRecord, fate: Promise<'committed' | 'refused'>) {
    const wasKept = this.kept.delete(call.id)
    if ((await fate) === 'refused') {
      if (wasKept) void this.end(call.id)
      return void (await this.holds.release(call.id, true))
    }
    await this.holds.captured(call.id, true)
    const amount = micros(split.credit + split.paid)
    const undone = await this.journal.append({
      undoes: call,
      entries: this.entries('reversal', hold.account, split, call, `${call.operation}, not delivered`),
      change: { accountId: hold.account, credit: split.credit, paid: split.paid, toppedUp: 0 },
      ...(hold.pool && { spent: { poolId: hold.pool, amount: -amount } }),
    })
    const kind = undone.kind === 'unknown' ? await undone.fate : undone.kind
    if (kind === 'refused') return this.onReversalFailure(call.id, 'the reversal was refused')
    for (const part of ['credit', 'paid'] as const)
      await this.holds.credited({
        account: hold.account,
        part,
        amount: split[part],
        toppedUp: ZERO,
        ...(hold.pool && { pool: hold.pool, at: hold.at }),
      })
  }

  private entries(
    kind: 'charge' | 'reversal',
    account: AccountId,
    split: Split,
    call: CallRecord,
    description: string,
  ): LedgerEntry[] {
    const transaction = this.transaction()
    return (['credit', 'paid'] as const)
      .filter((part) => split[part] > 0)
      .map((part) => {
        const own: LedgerAccount = `${account}/${part}`
        const [debit, credit]: [LedgerAccount, LedgerAccount] =
          kind === 'charge' ? [own, 'house/revenue'] : ['house/revenue', own]
        const at = this.clock.now()
        const amount = split[part]
        return {
          transaction,
          kind,
          accountId: account,
          debit,
          credit,
          amount,
          at,
          requestId: call.id,
          description,
          reference: null,
        }
      })
  }

  private transaction(): TransactionId {
    return makeId('txn', this.clock.now())
  }
}
