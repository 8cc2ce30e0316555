import type { AuditEntry } from '../audit'
import type { Clock } from '../clock'
import type { IdempotencyRecord } from '../idempotency/idempotency-record'
import { type AccountId, makeId, type PoolId, type RequestId, type TransactionId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import { type Money, micros, min, minus, plus, ZERO } from '../money'
import { err, ok, type Result } from '../result'
import type { CallRecord } from '../usage/call-record'
import type { Booked, Bookings } from './bookings'
import type { LedgerAccount, LedgerEntry } from './entry'
import type {
  Balance,
  CountedIn,
  FixedHold,
  Hold,
  HoldRefusal,
  HoldRequest,
  HoldStore,
  SettleRefusal,
  Split,
} from './hold'
import {
  type AccountOpening,
  type AppendOutcome,
  appended,
  type DurableHold,
  type GroupFate,
  type Journal,
  type JournalRecord,
  type PoolCharge,
} from './journal'
import {
  type ChargeRefundRequest,
  type CreditRequest,
  type DebitRefusal,
  type DebitRequest,
  MoneyMoves,
  type MoveRefusal,
  type TakeBackRequest,
} from './money-moves'

export interface Settlement {
  readonly request: RequestId
  readonly amount: Money
}

/** `not_durable`: nothing was charged. `outcome_unknown`: if it turns out that it was charged, the ledger reverses it. */
export type CaptureRefusal = SettleRefusal | 'not_durable' | 'outcome_unknown'

/** A charge whose outcome is unknown, so its caller got a 503. */
interface UndecidedCharge {
  readonly account: AccountId
  readonly pool: PoolId | null
  readonly counted: CountedIn | null
  readonly split: Split
  readonly call: CallRecord
  /** When the call began. */
  readonly at: number
}

/** `already_booked`: this charge was refunded before. */
export type ChargeRefundRefusal = MoveRefusal | 'not_charged' | 'more_than_charged'

const PARTS = ['credit', 'paid'] as const

/**
 * Holds, captures and releases money. The counters grant a hold in one step. A capture is durable in the journal before
 * its promise resolves, and only then do the counters change.
 */
export class Ledger {
  private readonly holds: HoldStore
  private readonly journal: Journal
  private readonly clock: Clock
  private readonly onReversalFailure: (request: RequestId, reason: string) => void
  private readonly bookings: Bookings
  private readonly moves: MoneyMoves
  /** Requests whose holds are durable. */
  private readonly durable = new Set<RequestId>()
  /** Requests whose charge may have been written although its caller got a 503. */
  private readonly undecided = new Set<RequestId>()
  /** For each request, either its charge is reversed or its response is given again. */
  private readonly answers = new KeyedMutex()

  constructor(parts: {
    holds: HoldStore
    journal: Journal
    bookings: Bookings
    clock: Clock
    /** An alarm: a caller got a 503 but was charged, and the reversal failed too. */
    onReversalFailure: (request: RequestId, reason: string) => void
  }) {
    this.holds = parts.holds
    this.journal = parts.journal
    this.clock = parts.clock
    this.bookings = parts.bookings
    this.moves = new MoneyMoves(parts)
    this.onReversalFailure = parts.onReversalFailure
  }

  /** Reserves the maximum cost of a call. A granted hold can always be captured. */
  hold(request: HoldRequest): Result<Hold, HoldRefusal> | Promise<Result<Hold, HoldRefusal>> {
    const loading = this.load(request)
    if (loading !== null) return this.holdLater(request, loading)
    const held = this.holds.hold(request)
    return held.ok || held.error !== 'insufficient_balance' ? held : this.holdLater(request, null)
  }

  private async holdLater(request: HoldRequest, loading: Promise<void> | null): Promise<Result<Hold, HoldRefusal>> {
    await loading
    // A scope may have left memory again meanwhile. One that is not there then is one too many.
    await this.load(request)
    const held = this.holds.hold(request)
    if (held.ok || held.error !== 'insufficient_balance') return held
    // Money that was held when a refund arrived may be free now, and pays the debt that the refund left.
    return (await this.moves.offsetDebt(request.account)) ? this.holds.hold(request) : held
  }

  private load({ account, pool, scope, at }: HoldRequest): Promise<void> | null {
    return this.holds.load(account, pool, scope, at)
  }

  /**
   * Makes a stream's hold durable, so that it outlives this process. Call again with a newer `call` to record the progress of the
   * stream. Returns false when it could not be made durable.
   */
  async keep({ hold, call }: DurableHold): Promise<boolean> {
    const first = !this.durable.has(hold.request)
    this.durable.add(hold.request)
    const outcome = await appended(this.journal, { keeps: { hold, call }, entries: [] })
    if (!first) return outcome.kind === 'committed'
    if (outcome.kind !== 'committed') this.durable.delete(hold.request)
    // The stream will not start. If the hold was written after all, the next start would charge for it.
    if (outcome.kind === 'unknown')
      void outcome.fate.then((fate) => (fate === 'committed' ? this.end(hold.request) : undefined))
    return outcome.kind === 'committed'
  }

  /** Charges for a stream of a previous process, as far as it got (spec D4). Its hold must be restored first. */
  async settleDurable({ hold, call }: DurableHold): Promise<boolean> {
    this.adopt({ hold, call })
    const amount = call.charged?.cost ?? ZERO
    return (await this.capture(amount, call)).ok
  }

  /** Takes over the durable hold of a stream that a process before this one began. Its hold must be restored first. */
  adopt({ hold }: DurableHold): void {
    this.durable.add(hold.request)
  }

  /**
   * Reverses the charge of a call whose caller got a 503 before its outcome was known, once. Returns false if that cannot be done yet: try again later.
   * Nothing may capture the call meanwhile.
   */
  async reverse(call: CallRecord, pool: PoolId): Promise<boolean> {
    if (this.undecided.has(call.id)) return false
    const { id, accountId: account, at } = call
    const split = await this.bookings.chargeOf(account, id)
    const isReturned = (await this.bookings.under(chargeRefund(id))).references.length > 0
    if (split === null || isReturned) return true
    await this.holds.load(account, pool)
    return (await this.undo({ account, pool, counted: this.holds.counted(pool, at), split, call, at })) === 'committed'
  }

  /**
   * Turns a hold into a charge, at most once per request. Repeating it with the same amount returns the same result. `overrun`: the
   * cost above the hold, which the gateway bears. `kept`: the response to store in the same commit.
   */
  capture(
    amount: Money,
    call: CallRecord,
    overrun = ZERO,
    answer?: IdempotencyRecord,
  ): Promise<Result<Settlement, CaptureRefusal>> {
    // The group's commit calls back: no frame waits in between.
    return new Promise((resolve, reject) => {
      const fixed = this.holds.fix(call.id, amount)
      if (!fixed.ok) return resolve(fixed)
      if (!fixed.value.first) return resolve(ok({ request: call.id, amount }))
      try {
        this.journal.append(this.charge(fixed.value, call, overrun, answer), (outcome) => {
          try {
            resolve(this.ended(fixed.value, amount, call, outcome))
          } catch (error) {
            reject(error)
          }
        })
      } catch (fault) {
        // Nothing was written. A hold that stayed fixed could never be released.
        this.unwritten(call.id)
        reject(fault)
      }
    })
  }

  private ended(
    { hold, split, counted }: FixedHold,
    amount: Money,
    call: CallRecord,
    outcome: AppendOutcome,
  ): Result<Settlement, CaptureRefusal> {
    if (outcome.kind === 'committed') {
      this.holds.captured(call.id)
      this.durable.delete(call.id)
      return ok({ request: call.id, amount })
    }
    if (outcome.kind === 'refused') {
      this.unwritten(call.id)
      return err('not_durable')
    }
    this.undecided.add(call.id)
    const { account, pool, at } = hold
    void this.endUnknown({ account, pool, counted, at, split, call }, outcome.fate)
    return err('outcome_unknown')
  }

  /** Ends the hold of a charge that is certainly not in the journal. */
  private unwritten(request: RequestId): void {
    this.holds.release(request, true)
    if (this.durable.delete(request)) void this.end(request)
  }

  /** Ends a hold without a charge. Idempotent. Does nothing to a hold that is being captured. Null if there is nothing to wait for. */
  release(request: RequestId): Promise<void> | null {
    return this.holds.release(request) && this.durable.delete(request) ? this.end(request) : null
  }

  /** Removes a durable hold from the journal. */
  private async end(request: RequestId): Promise<void> {
    const outcome = await appended(this.journal, { ends: request, entries: [] })
    const fate = outcome.kind === 'unknown' ? await outcome.fate : outcome.kind
    if (fate !== 'committed')
      this.onReversalFailure(request, 'a durable hold could not be removed; the next start will charge it')
  }

  /** Books incoming money. A payment pays back debt first. Durable when it resolves. */
  credit(request: CreditRequest): Promise<Result<null, MoveRefusal>> {
    return this.moves.credit(request)
  }

  /** Opens an account without money. Any other account opens with its first credit. */
  openAccount(opening: AccountOpening, audit: AuditEntry): Promise<Result<null, MoveRefusal>> {
    return this.moves.openAccount(opening, audit)
  }

  /** Takes back paid money. Money that was already spent becomes debt, which blocks further spending until it is paid back. */
  takeBack(request: TakeBackRequest): Promise<Result<null, MoveRefusal>> {
    return this.moves.takeBack(request)
  }

  /** As `takeBack`, but only what is available; never leaves debt. */
  takeBackAvailable(request: TakeBackRequest): Promise<Result<null, DebitRefusal>> {
    return this.moves.takeBackAvailable(request)
  }

  /** An operator's correction downwards: at most what is available. */
  debit(request: DebitRequest): Promise<Result<null, DebitRefusal>> {
    return this.moves.debit(request)
  }

  /**
   * Gives back what a call was charged, all of it or `amount`, once. Paid money goes back first. Returns what went back, or
   * `not_charged`, or `more_than_charged`.
   */
  async refundCharge(
    refund: Omit<ChargeRefundRequest, 'split' | 'reference'> & { readonly amount: Money | null },
  ): Promise<Result<Money, ChargeRefundRefusal>> {
    const { account, request, amount } = refund
    // Its charge may be about to be reversed, because the caller got a 503.
    if (this.undecided.has(request)) return err('not_durable')
    const charged = await this.bookings.chargeOf(account, request)
    if (!charged) return err('not_charged')
    const all = plus(charged.credit, charged.paid)
    const back = amount ?? all
    if (back > all) return err('more_than_charged')
    const paid = min(back, charged.paid)
    const split = { paid, credit: minus(back, paid) }
    // A refund of all of it needs no amount; the reader of the entry does.
    const audit = { ...refund.audit, detail: { ...refund.audit.detail, amount: back } }
    const booked = await this.moves.refundCharge({ ...refund, audit, split, reference: chargeRefund(request) })
    return booked.ok ? ok(back) : booked
  }

  /**
   * Gives the stored response of a call to a repeat of its request: from then on its charge is final. `mark` writes that down, and resolves to false if the
   * response is gone. `undecided`: the charge may still be reversed, because its caller got a 503.
   */
  giveAgain(request: RequestId, mark: () => Promise<boolean>): Promise<'given' | 'gone' | 'undecided'> {
    return this.answers.take(request, async () => {
      if (this.undecided.has(request)) return 'undecided'
      return (await mark()) ? 'given' : 'gone'
    })
  }

  /** The transactions of incoming or returned money under a reference. */
  booked(reference: string): Promise<Booked> {
    return this.bookings.under(reference)
  }

  balance(account: AccountId): Promise<Balance | null> {
    return this.holds.balance(account)
  }

  /** The total that an account topped up; null if its balance must be read. */
  toppedUp(account: AccountId): Money | null {
    return this.holds.toppedUp(account)
  }

  /** With the current periods of its budgets. */
  pool(pool: PoolId) {
    return this.holds.pool(pool, this.clock.now())
  }

  private charge(
    { hold, split, counted }: FixedHold,
    call: CallRecord,
    overrun: Money,
    answer: IdempotencyRecord | undefined,
  ): JournalRecord {
    const { account, pool } = hold
    const amount = split.credit + split.paid
    const entries = this.entries('charge', account, split, call, call.operation)
    if (overrun > 0) entries.push(this.overrun(account, overrun, call))
    const isMoved = amount > 0
    // Members that are undefined are not in the line of the log.
    return {
      call,
      ends: this.durable.has(call.id) ? call.id : undefined,
      entries,
      change: isMoved ? { accountId: account, credit: -split.credit, paid: -split.paid, toppedUp: 0 } : undefined,
      spent: isMoved && pool ? spentFrom(pool, counted, amount) : undefined,
      kept: answer,
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
      description: `${call.operation}, cost above the hold`,
      reference: null,
    }
  }

  /**
   * The caller gets a 503, so it must not be charged: the hold stays until the outcome is known, and a charge is reversed. An outcome that this process never
   * learns stays undecided here.
   */
  private async endUnknown(charge: UndecidedCharge, outcome: Promise<GroupFate>) {
    const { id } = charge.call
    const wasDurable = this.durable.delete(id)
    const fate = await outcome
    if (fate === 'lost') return
    if (fate === 'refused') {
      if (wasDurable) void this.end(id)
      this.holds.release(id, true)
    } else {
      this.holds.captured(id, true)
      const undone = await this.undo(charge)
      if (undone === 'lost') return
      if (undone === 'refused') this.onReversalFailure(id, 'the reversal was refused')
    }
    this.undecided.delete(id)
  }

  /** Writes the reversal of a charge that is in the database, then gives the money back to the counters. */
  private async undo({ account, pool, counted, at, split, call }: UndecidedCharge): Promise<GroupFate> {
    const amount = micros(split.credit + split.paid)
    const undone = await appended(this.journal, {
      undoes: call,
      entries: this.entries('reversal', account, split, call, `${call.operation}, not delivered`),
      change: { accountId: account, credit: split.credit, paid: split.paid, toppedUp: 0 },
      ...(pool && { spent: spentFrom(pool, counted, -amount) }),
    })
    const fate = undone.kind === 'unknown' ? await undone.fate : undone.kind
    if (fate !== 'committed') return fate
    for (const part of PARTS)
      this.holds.credited({
        account,
        part,
        amount: split[part],
        toppedUp: ZERO,
        ...(pool && { pool, at, scope: call.scope }),
      })
    return fate
  }

  private entries(
    kind: 'charge' | 'reversal',
    account: AccountId,
    split: Split,
    call: CallRecord,
    description: string,
  ): LedgerEntry[] {
    const transaction = this.transaction()
    const at = this.clock.now()
    const entries: LedgerEntry[] = []
    for (const part of PARTS) {
      const amount = split[part]
      if (amount <= 0) continue
      const customer: LedgerAccount = `${account}/${part}`
      entries.push({
        transaction,
        kind,
        accountId: account,
        debit: kind === 'charge' ? customer : 'house/revenue',
        credit: kind === 'charge' ? 'house/revenue' : customer,
        amount,
        at,
        requestId: call.id,
        description,
        reference: null,
      })
    }
    return entries
  }

  private transaction(): TransactionId {
    return makeId('txn', this.clock.now())
  }
}

function spentFrom(poolId: PoolId, counted: CountedIn | null, amount: number): PoolCharge {
  return counted === null ? { poolId, amount } : { poolId, amount, parents: counted.parents, windows: counted.windows }
}

/** The reference under which a charge is given back, so that it is given back once. */
function chargeRefund(request: RequestId): string {
  return `charge_refund:${request}`
}
