import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AuditEntry } from '../../../core/audit'
import { type ModelOverride, type PriceOverride, type PriceStore, PriceTable } from '../../../core/catalog/prices'
import type { AccountId } from '../../../core/ids'
import { auditRow } from './audit/audit-trail'
import { auditLog, prices } from './schema/accounts'

/** Price overrides in memory, written through. */
export class LibsqlPrices implements PriceStore {
  private readonly db: LibSQLDatabase
  private readonly current = new PriceTable()

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  /** Reads all overrides; what it returns takes them over. */
  async read(): Promise<() => void> {
    const rows = await this.db.select().from(prices).orderBy(prices.id)
    return () => {
      for (const row of rows) this.current.set(row)
    }
  }

  newest(operation: PriceOverride['operation'], account: AccountId | null): PriceOverride | null {
    return this.current.newest(operation, account)
  }

  modelOverride(model: string, account: AccountId): ModelOverride | null {
    return this.current.modelOverride(model, account)
  }

  async add(override: PriceOverride, audit: AuditEntry): Promise<void> {
    await this.db.batch([this.db.insert(prices).values(override), this.db.insert(auditLog).values(auditRow(audit))])
    this.current.set(override)
  }

  all(): readonly PriceOverride[] {
    return this.current.all()
  }
}
