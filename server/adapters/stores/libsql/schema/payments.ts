import { sql } from 'drizzle-orm'
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { AccountId, PaymentId, RequestId } from '../../../../core/ids'
import type { ClaimState, PaymentPurpose } from '../../../../core/payments/claim'
import { instant, money } from '../columns'

/** Payments for one thing each: a row per credential that was presented and valid, also of those that failed (spec 5.3). */
export const payments = sqliteTable(
  'payments',
  {
    id: text().$type<PaymentId>().primaryKey(),
    /** Claimed once, for ever: what makes a replay impossible. */
    key: text().notNull().unique('payments_key'),
    purpose: text().$type<PaymentPurpose>().notNull(),
    operation: text().notNull(),
    account: text('account_id').$type<AccountId>(),
    method: text().notNull(),
    payer: text().notNull(),
    amount: money().notNull(),
    currency: text().notNull(),
    binding: text().notNull(),
    credentialHash: text('credential_hash').notNull(),
    transaction: text('transaction_id').notNull(),
    validBefore: instant('valid_before'),
    requestId: text('request_id').$type<RequestId>().notNull(),
    clientRequestId: text('client_request_id'),
    state: text().$type<ClaimState>().notNull(),
    paid: integer({ mode: 'boolean' }).notNull(),
    leaseUntil: instant('lease_until').notNull(),
    attempts: integer().notNull(),
    reference: text(),
    lastError: text('last_error'),
    /** When the network refused it although its upstream had been called. */
    refusedAt: instant('refused_at'),
    createdAt: instant('created_at').notNull(),
    updatedAt: instant('updated_at').notNull(),
  },
  (table) => [
    check(
      'payment_state',
      sql`${table.state} IN ('working', 'released', 'settling', 'settled', 'served', 'paid_unserved')`,
    ),
    check(
      'payment_served_is_paid',
      sql`${table.paid} = 1 OR ${table.state} NOT IN ('settled', 'served', 'paid_unserved')`,
    ),
    index('payments_account').on(table.account, table.id).where(sql`${table.account} IS NOT NULL`),
    // The few that somebody must still end.
    index('payments_open')
      .on(table.leaseUntil)
      .where(sql`${table.state} IN ('working', 'settling', 'settled', 'paid_unserved')`),
    index('payments_payer').on(table.payer),
  ],
)
