import { and, asc, desc, eq, gt, lt, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { CardRefund, CardRefundStore } from '../../../../core/accounts/cards/card-refund'
import type { AuditEntry } from '../../../../core/audit'
import type { AccountId, PaymentId, RefundId } from '../../../../core/ids'
import { auditRow } from '../audit/audit-row'
import { auditLog } from '../schema/accounts'
import { cardRefunds } from '../schema/operator-money'

export class LibsqlCardRefunds implements CardRefundStore {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async open(refund: CardRefund, audit: AuditEntry): Promise<boolean> {
    try {
      await this.db.batch([
        this.db.insert(cardRefunds).values(refund),
        this.db.insert(auditLog).values(auditRow(audit)),
      ])
      return true
    } catch (error) {
      if (await this.byReference(refund.reference)) return false
      throw error
    }
  }

  async update({ id, state, processorId, lastError, updatedAt }: CardRefund): Promise<void> {
    await this.db.update(cardRefunds).set({ state, processorId, lastError, updatedAt }).where(eq(cardRefunds.id, id))
  }

  async byReference(reference: string): Promise<CardRefund | null> {
    const [row] = await this.db.select().from(cardRefunds).where(eq(cardRefunds.reference, reference))
    return row ?? null
  }

  ofPayment(payment: PaymentId): Promise<readonly CardRefund[]> {
    return this.db.select().from(cardRefunds).where(eq(cardRefunds.payment, payment))
  }

  ofAccount(account: AccountId, limit: number, after: RefundId | null): Promise<readonly CardRefund[]> {
    return this.db
      .select()
      .from(cardRefunds)
      .where(and(eq(cardRefunds.accountId, account), after === null ? undefined : lt(cardRefunds.id, after)))
      .orderBy(desc(cardRefunds.id))
      .limit(limit)
  }

  unfinished(limit: number, after: RefundId | null): Promise<readonly CardRefund[]> {
    return this.db
      .select()
      .from(cardRefunds)
      .where(
        and(
          // As its partial index says it.
          sql`${cardRefunds.state} IN ('asked', 'sent', 'pending')`,
          after === null ? undefined : gt(cardRefunds.id, after),
        ),
      )
      .orderBy(asc(cardRefunds.id))
      .limit(limit)
  }
}
