import { and, asc, desc, eq, gt, isNull, lt, notInArray, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { CardRefund, CardRefundStore } from '../../../../core/accounts/cards/card-refund'
import type { ReconciliationRun, ReconciliationStore } from '../../../../core/accounts/cards/reconciliation'
import type { AuditEntry } from '../../../../core/audit'
import type { AccountId, PaymentId, RefundId } from '../../../../core/ids'
import type { UnknownCheckout, UnknownCheckoutStore } from '../../../../core/payments/card-checkout'
import type { BooksReading } from '../../../../core/telemetry/telemetry'
import { auditRow } from '../audit/audit-trail'
import { auditLog } from '../schema/accounts'
import { cardRefunds, reconciliations, unknownCheckouts } from '../schema/operator-money'

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

const MAX_LISTED = 1000

export class LibsqlUnknownCheckouts implements UnknownCheckoutStore {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async keep(page: string, payment: PaymentId, now: number): Promise<boolean> {
    const [row] = await this.db
      .insert(unknownCheckouts)
      .values({ page, payment, firstAt: now, lastAt: now })
      .onConflictDoUpdate({
        target: unknownCheckouts.page,
        set: { messages: sql`${unknownCheckouts.messages} + 1`, lastAt: now, payment },
      })
      .returning({ messages: unknownCheckouts.messages })
    return row?.messages === 1
  }

  unresolved(): Promise<readonly UnknownCheckout[]> {
    const { page, payment, messages, firstAt, lastAt, resolvedAt } = unknownCheckouts
    return this.db
      .select({ page, payment, messages, firstAt, lastAt })
      .from(unknownCheckouts)
      .where(isNull(resolvedAt))
      .orderBy(asc(firstAt))
      .limit(MAX_LISTED)
  }

  async resolve(page: string, now: number): Promise<void> {
    await this.db.update(unknownCheckouts).set({ resolvedAt: now }).where(eq(unknownCheckouts.page, page))
  }
}
