import { eq } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AuditEntry } from '../../../core/audit'
import type { WorkerCredential, WorkerCredentialStore } from '../../../core/credentials/worker-credentials'
import { auditRow } from './audit/audit-trail'
import { auditLog, workerCredentials } from './schema/accounts'

export class LibsqlWorkerCredentials implements WorkerCredentialStore {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  all(): Promise<readonly WorkerCredential[]> {
    return this.db.select().from(workerCredentials)
  }

  async add(credential: WorkerCredential, audit: AuditEntry): Promise<void> {
    const { db } = this
    await db.batch([db.insert(workerCredentials).values(credential), db.insert(auditLog).values(auditRow(audit))])
  }

  async remove(name: string, audit: AuditEntry): Promise<void> {
    const { db } = this
    const removal = db.delete(workerCredentials).where(eq(workerCredentials.name, name))
    await db.batch([removal, db.insert(auditLog).values(auditRow(audit))])
  }
}
