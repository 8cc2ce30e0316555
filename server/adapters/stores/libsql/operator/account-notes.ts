import { and, desc, eq, gte, lt } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AccountFinder, AccountNote, AccountNotes } from '../../../../core/accounts/staff/account-notes'
import type { AuditEntry } from '../../../../core/audit'
import type { AccountId, KeyId, PaymentId, RequestId } from '../../../../core/ids'
import { auditRow } from '../audit/audit-trail'
import { accountNotes, auditLog } from '../schema/accounts'
import { keys } from '../schema/keys'
import { payments } from '../schema/payments'
import { requests } from '../schema/usage'

const MAX_NOTES = 100

/** Notes about accounts, and the ways to find one. Every lookup has an index. */
export class LibsqlAccountNotes implements AccountNotes {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async of(account: AccountId): Promise<readonly AccountNote[]> {
    return this.db
      .select()
      .from(accountNotes)
      .where(eq(accountNotes.accountId, account))
      .orderBy(desc(accountNotes.id))
      .limit(MAX_NOTES)
  }

  async add(note: AccountNote, audit: AuditEntry): Promise<void> {
    await this.db.batch([this.db.insert(accountNotes).values(note), this.db.insert(auditLog).values(auditRow(audit))])
  }
}

export class LibsqlAccountFinder implements AccountFinder {
  private readonly db: LibSQLDatabase
  private readonly applied: () => Promise<void>

  /** `applied` resolves when the tables contain every acknowledged call. */
  constructor(db: LibSQLDatabase, applied: () => Promise<void>) {
    this.db = db
    this.applied = applied
  }

  async ofKeys(prefix: string, last4: string | null, limit: number): Promise<readonly AccountId[]> {
    const rows = await this.db
      .selectDistinct({ id: keys.accountId })
      .from(keys)
      .where(
        and(
          gte(keys.prefix, prefix),
          // Above every character of a key.
          lt(keys.prefix, `${prefix}~`),
          last4 === null ? undefined : eq(keys.last4, last4),
        ),
      )
      .limit(limit)
    return rows.map(({ id }) => id)
  }

  async ofKey(id: string): Promise<AccountId | null> {
    const rows = await this.db
      .select({ account: keys.accountId })
      .from(keys)
      .where(eq(keys.id, id as KeyId)) // any text: an id that does not exist is found nowhere
    return rows[0]?.account ?? null
  }

  async ofRequest(id: string): Promise<AccountId | null> {
    await this.applied()
    const rows = await this.db
      .select({ account: requests.accountId })
      .from(requests)
      .where(eq(requests.id, id as RequestId)) // as above
    return rows[0]?.account ?? null
  }

  async ofPayment(id: string): Promise<AccountId | null> {
    const rows = await this.db
      .select({ account: payments.account })
      .from(payments)
      .where(eq(payments.id, id as PaymentId)) // as above
    return rows[0]?.account ?? null
  }
}
