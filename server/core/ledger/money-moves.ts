import type { AuditEntry } from '../audit'
import type { Clock } from '../clock'
import { type AccountId, makeId, type RequestId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import { type Money, min, minus, plus, ZERO } from '../money'
import { err, ok, type Result } from '../result'
import { isUnavailable } from '../unavailable'
import type { Bookings } from './bookings'
import type { BalancePart, EntryKind, LedgerAccount, LedgerEntry } from './entry'
import type { HoldStore, SetAside, Split } from './hold'
import { type AccountOpening, type AppendOutcome, appended, type Journal } from './journal'

/** `already_booked`: there is an entry with this reference. `not_durable`: nothing was booked. */
export type MoveRefusal = 'already_booked' | 'not_durable' | 'outcome_unknown'

/** `insufficient`: less than the amount is available, and nothing was booked. */
export type DebitRefusal = MoveRefusal | 'insufficient'

interface Move {
  readonly account: AccountId
  readonly amount: Money
  readonly description: string
  /** A second move with the same reference is refused as `already_booked`. */
  readonly reference: string
}

export interface CreditRequest extends Move {
  readonly part: BalancePart
  /** `refund`, `dispute`: money that returns because the refund failed or the dispute was won. */
  readonly kind: Extract<EntryKind, 'signup_credit' | 'grant' | 'top_up' | 'refund' | 'dispute'>
  /** Opens the account in the same commit. */
  readonly opening?: AccountOpening
  readonly audit?: AuditEntry
}

export interface TakeBackRequest extends Move {
  readonly kind: Extract<EntryKind, 'refund' | 'dispute'>
}

export interface DebitRequest extends Move {
  readonly audit: AuditEntry
}

export interface ChargeRefundRequest extends Omit<Move, 'amount'> {
  readonly request: RequestId
  /** The refund to each part of the balance. */
  readonly split: Split
  readonly audit: AuditEntry
}

const SOURCE: Record<CreditRequest['kind'], LedgerAccount> = {
  signup_credit: 'house/signup_credit',
  grant: 'house/grants',
  top_up: 'house/top_ups',
  refund: 'house/top_ups',
  dispute: 'house/top_ups',
}

/**
 * Money that enters or leaves an account other than by a call. Moves of one account run one at a time: each checks its reference
 * and sees the debt that the previous one left, and the counters follow once the journal has it. While the outcome of a move is
 * unknown, further moves of that account are refused, because they would be based on a guess.
 */
export class MoneyMoves {
  private readonly holds: HoldStore
  private readonly journal: Journal
  private readonly bookings: Bookings
  private readonly clock: Clock
  private readonly mutex = new KeyedMutex()
  private readonly undecided = new Set<AccountId>()

  constructor(parts: { holds: HoldStore; journal: Journal; bookings: Bookings; clock: Clock }) {
    this.holds = parts.holds
    this.journal = parts.journal
    this.bookings = parts.bookings
    this.clock = parts.clock
  }

  credit(request: CreditRequest): Promise<Result<null, MoveRefusal>> {
    return this.exclusively(request, async () => {
      const { account, part, kind, amount, opening, audit } = request
      const isPaidIn = SOURCE[kind] === 'house/top_ups'
      const debt = isPaidIn ? ((await this.holds.balance(account))?.debt ?? ZERO) : ZERO
      const repaid = min(amount, debt)
      const remainder = minus(amount, repaid)
      const toppedUp = isPaidIn ? amount : ZERO
      if (opening) await this.holds.openAccount(account)
      const entry = this.entry(request, SOURCE[kind], `${account}/${part}`)
      const outcome = await appended(this.journal, {
        ...(opening && { opening }),
        ...(audit && { audit }),
        entries: splitEntry(
          entry,
          { ...entry, amount: repaid, credit: `${account}/debt` },
          { ...entry, amount: remainder },
        ),
        change: { accountId: account, credit: 0, paid: 0, toppedUp, debt: 0 - repaid, [part]: remainder },
      })
      return this.finish({ account, outcome }, () =>
        this.holds.credited({ account, part, amount: remainder, toppedUp, repaid }),
      )
    })
  }

  /** Opens an account without money. */
  openAccount(opening: AccountOpening, audit: AuditEntry): Promise<Result<null, MoveRefusal>> {
    const { id: account } = opening
    return this.mutex.take(account, async () => {
      if (!(await isAvailable(() => this.holds.openAccount(account)))) return err('not_durable')
      const outcome = await appended(this.journal, { opening, audit, entries: [] })
      return this.finish({ account, outcome }, () => undefined)
    })
  }

  takeBack(request: TakeBackRequest): Promise<Result<null, MoveRefusal>> {
    return this.exclusively(request, async () => {
      const { account, amount } = request
      const taken = this.holds.setAside(account, amount)
      const entry = this.entry(request, `${account}/paid`, 'house/top_ups')
      const owed = { ...entry, amount: taken.debt, debit: `${account}/debt` as const }
      const entries = splitEntry(entry, { ...entry, amount: taken.paid }, owed)
      return this.take({ account, toppedUp: amount }, entries, taken)
    })
  }

  /** As `takeBack`, but only what is there: nothing is booked and no debt arises when less is available. */
  takeBackAvailable(request: TakeBackRequest): Promise<Result<null, DebitRefusal>> {
    return this.exclusively<DebitRefusal>(request, async () => {
      const { account, amount } = request
      const taken = this.holds.setAside(account, amount)
      if (taken.debt > 0) {
        this.holds.putBack(account, taken)
        return err('insufficient')
      }
      const entry = this.entry(request, `${account}/paid`, 'house/top_ups')
      return this.take({ account, toppedUp: amount }, [entry], taken)
    })
  }

  /** Takes money out of what is available, credit first. Never below zero, and never what calls in progress hold. */
  debit(request: DebitRequest): Promise<Result<null, DebitRefusal>> {
    return this.exclusively<DebitRefusal>(request, async () => {
      const { account, amount, audit } = request
      const taken = this.holds.reserve(account, amount)
      if (!taken) return err('insufficient')
      const entry = this.entry({ ...request, kind: 'debit' }, `${account}/credit`, 'house/grants')
      const outcome = await appended(this.journal, {
        audit,
        entries: splitEntry(
          entry,
          { ...entry, amount: taken.credit },
          { ...entry, amount: taken.paid, debit: `${account}/paid`, credit: 'house/adjustments' },
        ),
        change: { accountId: account, credit: 0 - taken.credit, paid: 0 - taken.paid, toppedUp: 0 },
      })
      return this.finish(
        { account, outcome },
        () => this.holds.debited(account, taken),
        () => this.holds.undebited(account, taken),
      )
    })
  }

  /** Refunds the charge of a call. The key's spending and the log of calls stay: the call was made. */
  refundCharge(refund: ChargeRefundRequest): Promise<Result<null, MoveRefusal>> {
    return this.exclusively(refund, async () => {
      const { account, split, audit, request } = refund
      const amount = plus(split.credit, split.paid)
      const from = { ...refund, kind: 'charge_refund' as const, amount }
      const entry = { ...this.entry(from, 'house/revenue', `${account}/credit`), requestId: request }
      const outcome = await appended(this.journal, {
        audit,
        entries: splitEntry(
          entry,
          { ...entry, amount: split.credit },
          { ...entry, amount: split.paid, credit: `${account}/paid` },
        ),
        change: { accountId: account, credit: split.credit, paid: split.paid, toppedUp: 0 },
      })
      return this.finish({ account, outcome }, () => {
        for (const part of ['credit', 'paid'] as const)
          this.holds.credited({ account, part, amount: split[part], toppedUp: ZERO })
      })
    })
  }

  /** Pays debt from paid balance that is not held. Returns false when there was no debt, or none of it could be paid. */
  async offsetDebt(account: AccountId): Promise<boolean> {
    const before = await this.holds.balance(account)
    if (!before || before.debt === 0 || before.paid === 0) return false
    const reference = `offset:${makeId('txn', this.clock.now())}`
    const move = { account, kind: 'offset' as const, description: 'Debt paid out of the balance', reference }
    const done = await this.exclusively(move, async () => {
      const debt = (await this.holds.balance(account))?.debt ?? ZERO
      // Another call paid it while this one waited.
      if (debt === 0) return ok(null)
      const { paid } = this.holds.setAside(account, debt)
      if (paid === 0) return err('not_durable')
      const entry = this.entry({ ...move, amount: paid }, `${account}/paid`, `${account}/debt`)
      return this.take({ account, toppedUp: ZERO }, [entry], { paid, debt: minus(ZERO, paid) })
    })
    return done.ok
  }

  private exclusively<E extends DebitRefusal = MoveRefusal>(
    { account, reference }: Pick<Move, 'account' | 'reference'>,
    move: () => Promise<Result<null, E | MoveRefusal>>,
  ): Promise<Result<null, E | MoveRefusal>> {
    return this.mutex.take(account, async () => {
      const refusal = await this.refusalOf(account, reference)
      return refusal ? err(refusal) : move()
    })
  }

  private async refusalOf(account: AccountId, reference: string): Promise<MoveRefusal | null> {
    if (this.undecided.has(account)) return 'not_durable'
    let isBooked = false
    const isAnswered = await isAvailable(async () => {
      isBooked = (await this.bookings.under(reference)).references.includes(reference)
      await this.holds.load(account)
    })
    if (!isAnswered) return 'not_durable'
    return isBooked ? 'already_booked' : null
  }

  private async take(
    { account, toppedUp }: { account: AccountId; toppedUp: Money },
    entries: readonly LedgerEntry[],
    taken: SetAside,
  ): Promise<Result<null, MoveRefusal>> {
    const change = { accountId: account, credit: 0, paid: 0 - taken.paid, toppedUp: 0 - toppedUp, debt: taken.debt }
    const outcome = await appended(this.journal, { entries, change })
    return this.finish(
      { account, outcome },
      () => this.holds.takenBack(account, taken, toppedUp),
      () => this.holds.putBack(account, taken),
    )
  }

  /** Updates the counters by the outcome of a move, as soon as it is known. */
  private finish(
    { account, outcome }: { account: AccountId; outcome: AppendOutcome },
    onCommitted: () => void,
    onRefused: () => void = () => undefined,
  ): Result<null, MoveRefusal> {
    if (outcome.kind === 'committed') {
      onCommitted()
      return ok(null)
    }
    if (outcome.kind === 'refused') {
      onRefused()
      return err(outcome.constraint === 'reference' ? 'already_booked' : 'not_durable')
    }
    this.undecided.add(account)
    void outcome.fate
      .then((fate) => {
        if (fate === 'committed') onCommitted()
        else if (fate === 'refused') onRefused()
      })
      .finally(() => this.undecided.delete(account))
    return err('outcome_unknown')
  }

  private entry(
    { account, kind, amount, description, reference }: Move & { readonly kind: EntryKind },
    debit: LedgerAccount,
    credit: LedgerAccount,
  ): LedgerEntry {
    const at = this.clock.now()
    const transaction = makeId('txn', at)
    return { transaction, kind, accountId: account, debit, credit, amount, at, requestId: null, description, reference }
  }
}

/** Asks the database. False if it is unavailable: then nothing can be booked either. */
async function isAvailable(ask: () => Promise<void>): Promise<boolean> {
  try {
    await ask()
    return true
  } catch (error) {
    if (!isUnavailable(error)) throw error
    return false
  }
}

/** Splits a move into up to two entries. Only the first one has the reference, because references are unique. */
function splitEntry({ reference }: LedgerEntry, ...parts: readonly LedgerEntry[]): readonly LedgerEntry[] {
  return parts
    .filter(({ amount }) => amount > 0)
    .map((entry, index) => ({ ...entry, reference: index === 0 ? reference : null }))
}
