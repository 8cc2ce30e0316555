import { eq } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AuditEntry } from '../../../core/audit'
import type { Model } from '../../../core/models/model'
import type { ModelStore } from '../../../core/models/model-catalog'
import { parseModelEntry } from '../../../core/models/model-entry'
import { auditRow } from './audit/audit-trail'
import { auditLog, models } from './schema/accounts'

/** Operators' models in memory, written through. */
export class LibsqlModels implements ModelStore {
  private readonly db: LibSQLDatabase
  private current: readonly Model[] = []
  private entries = new Map<string, unknown>()

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  /** Reads all models; what it returns takes them over. An entry that an older version accepted and this one does not is reported and skipped. */
  async read(onTrouble: (what: string, reason: string) => void): Promise<() => void> {
    const restored: Model[] = []
    const entries: [string, unknown][] = []
    for (const row of await this.db.select().from(models)) {
      const model = parseModelEntry(row.entry, { created: row.created, priceVersion: () => row.priceVersion })
      if (model.ok) {
        restored.push(model.value)
        entries.push([row.id, row.entry])
      } else onTrouble('model', model.error)
    }
    return () => {
      this.entries = new Map(entries)
      this.current = restored
    }
  }

  all(): readonly Model[] {
    return this.current
  }

  entryOf(id: string): unknown {
    return this.entries.get(id)
  }

  async put(model: Model, entry: unknown, audit: AuditEntry): Promise<void> {
    const row = { id: model.id, entry, priceVersion: model.priceVersion, created: model.created }
    await this.db.batch([
      this.db.insert(models).values(row).onConflictDoUpdate({ target: models.id, set: row }),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
    this.entries.set(model.id, entry)
    this.current = [...this.current.filter(({ id }) => id !== model.id), model]
  }

  async remove(id: string, audit: AuditEntry): Promise<boolean> {
    if (!this.current.some((model) => model.id === id)) return false
    await this.db.batch([
      this.db.delete(models).where(eq(models.id, id)),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
    this.entries.delete(id)
    this.current = this.current.filter((model) => model.id !== id)
    return true
  }
}
