import { asc, count, countDistinct, eq, gt } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AccountId, StuckId } from '../../../../core/ids'
import type { RestorableCounters } from '../../../../core/ledger/hold'
import type { StuckRecord, StuckStore } from '../../../../core/ledger/stuck-record'
import { stuckRecords } from '../schema/ledger'

const ROWS = {
  id: stuckRecords.id,
  at: stuckRecords.at,
  accountId: stuckRecords.accountId,
  requestId: stuckRecords.requestId,
  source: stuckRecords.source,
  reason: stuckRecords.reason,
  record: stuckRecords.record,
}

export class LibsqlStuckRecords implements StuckStore {
  private readonly db: LibSQLDatabase
  private readonly applied: () => Promise<void>
  private readonly counters: Pick<RestorableCounters, 'review'>
  /** Stuck before this process: its counters are read from tables that do not have their money. */
  private readonly restored = new Set<StuckId>()

  constructor(
    db: LibSQLDatabase,
    { applied, counters }: { applied: () => Promise<void>; counters: Pick<RestorableCounters, 'review'> },
  ) {
    this.db = db
    this.applied = applied
    this.counters = counters
  }

  /** Call once, before anything is charged. */
  async restore(): Promise<void> {
    for (const { id } of await this.db.select({ id: stuckRecords.id }).from(stuckRecords)) this.restored.add(id)
    await this.refresh()
  }

  async refresh(): Promise<void> {
    const rows = await this.db.selectDistinct({ account: stuckRecords.accountId }).from(stuckRecords)
    this.counters.review(new Set(rows.flatMap(({ account }): AccountId[] => (account === null ? [] : [account]))))
  }

  async page(limit: number, after: StuckId | null): Promise<readonly StuckRecord[]> {
    await this.applied().catch(() => undefined) // a database that is behind is reported by the applier
    const from = after === null ? undefined : gt(stuckRecords.id, after)
    return this.db.select(ROWS).from(stuckRecords).where(from).orderBy(asc(stuckRecords.id)).limit(limit)
  }

  async byId(id: StuckId): Promise<StuckRecord | null> {
    const [row] = await this.db.select(ROWS).from(stuckRecords).where(eq(stuckRecords.id, id))
    return row ?? null
  }

  async counts(): Promise<{ readonly records: number; readonly accounts: number }> {
    const [row] = await this.db
      .select({ records: count(), accounts: countDistinct(stuckRecords.accountId) })
      .from(stuckRecords)
    return row ?? { records: 0, accounts: 0 }
  }

  isCounted({ id, source }: StuckRecord): boolean {
    return source === 'log' && !this.restored.has(id)
  }
}
