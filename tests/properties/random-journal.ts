import type { AccountId, PoolId } from '../../server/core/ids'
import type { Booked, Bookings } from '../../server/core/ledger/bookings'
import type { Split } from '../../server/core/ledger/hold'
import type { AppendOutcome, Journal, JournalRecord } from '../../server/core/ledger/journal'
import { micros } from '../../server/core/money'

type Fate = 'committed' | 'refused'

/**
 * A journal that answers when and how the test says: commits, refuses, or leaves it unknown and tells later, in any order.
 * It keeps what was committed, as a database would, and throws where a database's rule would be broken.
 */
export class RandomJournal implements Journal, Bookings {
  readonly committed: JournalRecord[] = []
  private readonly waiting: { record: JournalRecord; answer: (outcome: AppendOutcome) => void }[] = []
  private readonly unknown: { record: JournalRecord; decide: (fate: Fate) => void }[] = []
  private readonly references = new Set<string>()

  append(record: JournalRecord, answer: (outcome: AppendOutcome) => void): void {
    this.waiting.push({ record, answer })
  }

  note(): void {}

  get isIdle(): boolean {
    return this.waiting.length + this.unknown.length === 0
  }

  /** Ends one of the appends that wait. A reversal is not refused, for what then: see the test of the alarm. */
  answer(pick: number, how: Fate | 'unknown'): void {
    const [item] = this.waiting.splice(pick % Math.max(1, this.waiting.length), 1)
    if (!item) return
    const { record, answer } = item
    if (how === 'unknown') {
      const fate = new Promise<Fate>((decide) => this.unknown.push({ record, decide }))
      answer({ kind: 'unknown', fate })
    } else if (how === 'refused' && !record.undoes) answer({ kind: 'refused', reason: 'test', constraint: null })
    else if (this.commit(record)) answer({ kind: 'committed' })
    else answer({ kind: 'refused', reason: 'reference', constraint: 'reference' })
  }

  /** Tells the fate of one that was left unknown. */
  tell(pick: number, fate: Fate): void {
    const [item] = this.unknown.splice(pick % Math.max(1, this.unknown.length), 1)
    if (!item) return
    const done = fate === 'refused' && !item.record.undoes ? false : this.commit(item.record)
    item.decide(done ? 'committed' : 'refused')
  }

  async isGivenAgain() {
    return false
  }

  async under(reference: string): Promise<Booked> {
    const mine = this.entries().filter((entry) => entry.reference?.split(':')[0] === reference)
    const taken = this.entries()
      .filter((entry) => mine.some(({ transaction }) => transaction === entry.transaction))
      .reduce((sum, entry) => sum + (entry.credit.startsWith('house/') ? entry.amount : -entry.amount), 0)
    return { references: mine.map((entry) => `${entry.reference}`), takenBack: micros(taken) }
  }

  async chargeOf(account: AccountId, request: string): Promise<Split | null> {
    const part = (name: 'credit' | 'paid') =>
      this.entries()
        .filter((entry) => entry.requestId === request && entry.kind !== 'charge_refund')
        .reduce(
          (sum, entry) =>
            sum +
            (entry.debit === `${account}/${name}` ? entry.amount : 0) -
            (entry.credit === `${account}/${name}` ? entry.amount : 0),
          0,
        )
    const [credit, paid] = [part('credit'), part('paid')]
    return credit + paid > 0 ? { credit: micros(credit), paid: micros(paid) } : null
  }

  /** An operator's refund of a request's charge. */
  refunded(request: string): number {
    return this.entries()
      .filter((entry) => entry.requestId === request && entry.kind === 'charge_refund')
      .reduce((sum, { amount }) => sum + amount, 0)
  }

  /** The sums of the entries. Debt grows by money that leaves its account. */
  posted(account: AccountId, part: 'credit' | 'paid' | 'debt'): number {
    const place = `${account}/${part}`
    const sum = this.entries().reduce(
      (before, entry) =>
        before + (entry.credit === place ? entry.amount : 0) - (entry.debit === place ? entry.amount : 0),
      0,
    )
    return part === 'debt' ? 0 - sum : sum
  }

  counter(account: AccountId, part: 'credit' | 'paid' | 'debt' | 'toppedUp'): number {
    return this.committed.reduce(
      (sum, { change }) => sum + (change?.accountId === account ? (change[part] ?? 0) : 0),
      0,
    )
  }

  spent(pool: PoolId): number {
    return this.committed.reduce((sum, record) => sum + (record.spent?.poolId === pool ? record.spent.amount : 0), 0)
  }

  /** The charge of a request. */
  charged(request: string): number {
    return this.entries()
      .filter((entry) => entry.requestId === request && entry.kind !== 'charge_refund')
      .reduce((sum, entry) => sum + (entry.kind === 'charge' ? entry.amount : -entry.amount), 0)
  }

  private entries() {
    return this.committed.flatMap((record) => record.entries)
  }

  private commit(record: JournalRecord): boolean {
    const references = record.entries.flatMap((entry) => entry.reference ?? [])
    if (references.some((reference) => this.references.has(reference))) return false
    for (const reference of references) this.references.add(reference)
    if (record.call && this.committed.some((other) => other.call?.id === record.call?.id))
      throw new Error(`${record.call.id} is charged twice`)
    this.committed.push(record)
    for (const part of ['credit', 'paid', 'debt'] as const)
      if (record.change && this.counter(record.change.accountId, part) < 0)
        throw new Error(`the ${part} of ${record.change.accountId} is below zero`)
    return true
  }
}
