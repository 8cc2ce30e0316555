import { desc, eq, notInArray } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { ReconciliationRun, ReconciliationStore } from '../../../../core/accounts/cards/reconciliation'
import type { BooksReading } from '../../../../core/telemetry/telemetry'
import { reconciliations } from '../schema/operator-money'

const MAX_KEPT = 100

export class LibsqlReconciliations implements ReconciliationStore {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async add(run: ReconciliationRun): Promise<void> {
    const { id } = reconciliations
    const kept = this.db.select({ id }).from(reconciliations).orderBy(desc(id)).limit(MAX_KEPT)
    await this.db.batch([
      this.db.insert(reconciliations).values(run),
      this.db.delete(reconciliations).where(notInArray(id, kept)),
    ])
  }

  /** Null before the first comparison. */
  async reading(): Promise<BooksReading | null> {
    const { endedAt: at, problems, isComplete, id } = reconciliations
    const newest = this.db.select({ at, problems }).from(reconciliations).orderBy(desc(id)).limit(1)
    const complete = this.db.select({ at }).from(reconciliations).where(eq(isComplete, true)).orderBy(desc(id)).limit(1)
    const [[last], [whole]] = await Promise.all([newest, complete])
    return last ? { completeAt: whole?.at ?? null, problems: last.problems } : null
  }

  newest(limit: number): Promise<readonly ReconciliationRun[]> {
    return this.db.select().from(reconciliations).orderBy(desc(reconciliations.id)).limit(limit)
  }
}
