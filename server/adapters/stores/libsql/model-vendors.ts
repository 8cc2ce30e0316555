import { and, eq } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AuditEntry } from '../../../core/audit'
import { type ModelVendor, type ModelVendorStore, vendorKeyContext } from '../../../core/models/model-vendors'
import type { SealedText, SealedTexts } from '../../../core/secrets/resealing'
import { auditRow } from './audit/audit-trail'
import { auditLog, modelVendors } from './schema/accounts'

/** The vendors of models in memory, written through; and their sealed keys. */
export class LibsqlModelVendors implements ModelVendorStore {
  private readonly db: LibSQLDatabase
  private current: readonly ModelVendor[] = []
  readonly sealedTexts: SealedTexts

  constructor(db: LibSQLDatabase) {
    this.db = db
    this.sealedTexts = { all: () => this.sealedKeys(), replace: (text, by) => this.replaceKey(text, by) }
  }

  /** Reads all vendors; what it returns takes them over. */
  async read(): Promise<() => void> {
    const rows = await this.db.select().from(modelVendors)
    const vendors = rows.map(({ key, ...vendor }) => ({ ...vendor, sealedKey: key }))
    return () => {
      this.current = vendors
    }
  }

  all(): readonly ModelVendor[] {
    return this.current
  }

  async put(vendor: ModelVendor, audit: AuditEntry): Promise<void> {
    const { sealedKey: key, ...rest } = vendor
    const row = { ...rest, key }
    await this.db.batch([
      this.db.insert(modelVendors).values(row).onConflictDoUpdate({ target: modelVendors.name, set: row }),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
    this.current = [...this.current.filter(({ name }) => name !== vendor.name), vendor]
  }

  async remove(name: string, audit: AuditEntry): Promise<void> {
    await this.db.batch([
      this.db.delete(modelVendors).where(eq(modelVendors.name, name)),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
    this.current = this.current.filter((vendor) => vendor.name !== name)
  }

  private async sealedKeys(): Promise<readonly SealedText[]> {
    const rows = await this.db.select().from(modelVendors)
    return rows.flatMap(({ name, key }) => (key === null ? [] : [{ context: vendorKeyContext(name), sealed: key }]))
  }

  private async replaceKey({ context, sealed }: SealedText, by: string): Promise<void> {
    await this.db
      .update(modelVendors)
      .set({ key: by })
      .where(and(eq(modelVendors.name, context.row), eq(modelVendors.key, sealed)))
  }
}
