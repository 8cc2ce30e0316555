import { sql } from 'drizzle-orm'
import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { CardRefund } from '../../../../core/accounts/cards/card-refund'
import type { ReconciliationResult } from '../../../../core/accounts/cards/reconciliation'
import type { AccountId, PaymentId, ReconciliationId, RefundId } from '../../../../core/ids'
import { instant, money } from '../driver/columns'

/** Refunds of card payments that operators asked for. A row is durable before the processor is asked, and has its outcome. */
export const cardRefunds = sqliteTable(
  'card_refunds',
  {
    id: text().$type<RefundId>().primaryKey(),
    payment: text('payment_id').$type<PaymentId>().notNull(),
    accountId: text('account_id').$type<AccountId>().notNull(),
    amount: money().notNull(),
    reason: text().notNull(),
    /** The operator's own reference: a second refund with the same one is the same refund. */
    reference: text().notNull().unique('card_refunds_reference'),
    state: text().$type<CardRefund['state']>().notNull(),
    /** The processor's id of it, once known. */
    processorId: text('processor_id'),
    lastError: text('last_error'),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  (table) => [
    index('card_refunds_payment').on(table.payment),
    index('card_refunds_account').on(table.accountId, table.id),
    index('card_refunds_open').on(table.id).where(sql`${table.state} IN ('asked', 'sent', 'pending')`),
  ],
)

/** The newest comparisons of the books with themselves, the card processor and the chains. */
export const reconciliations = sqliteTable('reconciliations', {
  id: text().$type<ReconciliationId>().primaryKey(),
  /** `job`, or who asked for it. */
  actor: text().notNull(),
  startedAt: instant('started_at').notNull(),
  endedAt: instant('ended_at').notNull(),
  isApplied: integer('is_applied', { mode: 'boolean' }).notNull(),
  /** False if something did not answer. */
  isComplete: integer('is_complete', { mode: 'boolean' }).notNull(),
  problems: integer().notNull(),
  result: text({ mode: 'json' }).$type<ReconciliationResult>().notNull(),
})

/** Restores of this data from a copy after which an operator looked at it. */
export const restoreChecks = sqliteTable('restore_checks', {
  restoredAt: instant('restored_at').primaryKey(),
  checkedAt: instant('checked_at').notNull(),
  actor: text().notNull(),
})

/** Payment pages that the processor reported and that are unknown here, such as after a restore. Kept until they are resolved. */
export const unknownCheckouts = sqliteTable('unknown_checkouts', {
  page: text().primaryKey(),
  /** The top-up that it is for. */
  payment: text().$type<PaymentId>(),
  messages: integer().notNull().default(1),
  firstAt: instant('first_at').notNull(),
  lastAt: instant('last_at').notNull(),
  resolvedAt: instant('resolved_at'),
})
