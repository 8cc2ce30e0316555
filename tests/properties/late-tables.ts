import type { AccountId, PoolId } from '../../server/core/ids'
import type { PoolSpending, StoredAccount, StoredCounters, StoredPool } from '../../server/core/ledger/hold'
import type { JournalRecord } from '../../server/core/ledger/journal'
import { micros } from '../../server/core/money'
import type { RandomJournal } from './random-journal'

const DAY = 86_400_000
export const MIDNIGHT = Date.UTC(2026, 10, 22)
export const dayOf = (at: number) => Math.floor(at / DAY) * DAY
const atOf = ({ call, undoes }: JournalRecord) => (call ?? undoes)?.at ?? 0

class Away extends Error {
  readonly unavailable = true
}

/** Looks at the tables; delivers what it saw; or fails. */
export interface Read {
  readonly look: () => void
  readonly answer: () => void
  readonly fail: () => void
}

/** Tables that have what the journal committed. What a read finds is of any moment after it was asked, and it arrives at any later one. */
export class LateTables implements StoredCounters {
  readonly limits = new Map<PoolId, number | null>()
  readonly budgets = new Map<PoolId, number | null>()
  readonly accounts: Set<AccountId>
  readonly reads: Read[] = []
  now = MIDNIGHT - 2
  private readonly journal: RandomJournal
  private readonly ownerOf: ReadonlyMap<PoolId, AccountId>

  constructor(journal: RandomJournal, accounts: readonly AccountId[], pools: ReadonlyMap<PoolId, AccountId>) {
    this.journal = journal
    this.accounts = new Set(accounts)
    this.ownerOf = pools
  }

  account(id: AccountId): Promise<StoredAccount | null> {
    return this.late(() => {
      if (!this.accounts.has(id) && !this.journal.committed.some(({ opening }) => opening?.id === id)) return null
      const of = (part: 'credit' | 'paid' | 'debt' | 'toppedUp') => micros(this.journal.counter(id, part))
      return { credit: of('credit'), paid: of('paid'), debt: of('debt'), toppedUp: of('toppedUp') }
    })
  }

  pool(id: PoolId): Promise<StoredPool | null> {
    const { now: at } = this
    return this.late(() => {
      const owner = this.ownerOf.get(id)
      if (!owner) return null
      const [limit, most] = [this.limits.get(id) ?? null, this.budgets.get(id) ?? null]
      const spent = this.spentIn(id, dayOf(at))
      const budget = { budget: budgetOf(most ?? 0), at, spent, spentBefore: this.spentIn(id, dayOf(at) - DAY) }
      return {
        accountId: owner,
        limit: limit === null ? null : micros(limit),
        spent: micros(this.journal.spent(id)),
        budgets: most === null ? [] : [budget],
      }
    })
  }

  scope(): never {
    throw new Error('no pool has a budget for scopes')
  }

  spending(id: PoolId, at: number): PoolSpending {
    return { inPeriod: this.spentIn(id, dayOf(at)), inAll: micros(this.journal.spent(id)) }
  }

  spentIn(id: PoolId, day: number) {
    const ours = this.journal.committed.filter((record) => record.spent?.poolId === id && dayOf(atOf(record)) === day)
    return micros(ours.reduce((sum, { spent }) => sum + (spent?.amount ?? 0), 0))
  }

  private late<T>(find: () => T): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    let found: { readonly value: T } | null = null
    const look = () => {
      found ??= { value: find() }
    }
    const end = (how: () => void) => () => {
      look()
      this.reads.splice(this.reads.indexOf(read), 1)
      how()
    }
    const read: Read = {
      look,
      answer: end(() => found && resolve(found.value)),
      fail: end(() => reject(new Away('away'))),
    }
    this.reads.push(read)
    return promise
  }
}

export function budgetOf(limit: number) {
  return { limit: micros(limit), period: 'day', timezone: 'UTC' } as const
}
