import { sql } from 'drizzle-orm'
import { check, index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { PaymentState } from '../../../../core/apis/payments/upstream-payment'
import type { AccountId, PaymentId, RequestId } from '../../../../core/ids'
import { ZERO } from '../../../../core/money'
import type { ClaimState, PaymentPurpose } from '../../../../core/payments/claim'
import { instant, money } from '../driver/columns'

/** The few claims that still need settling; a paid call without a response needs nothing more. */
export const IS_UNFINISHED = sql.raw(
  `"state" IN ('working', 'settling', 'settled') OR ("state" = 'paid_unserved' AND "purpose" = 'top_up')`,
)

/** Sales of imported operations. A condition of a partial index: a query that uses it has the same text. */
export const IS_IMPORTED_SALE = sql.raw(`"paid" = 1 AND "purpose" = 'call' AND instr("operation", '.') > 0`)

/** Payments for a single purchase: one row per valid credential presented, including failed ones (spec 5.3). */
export const payments = sqliteTable(
  'payments',
  {
    id: text().$type<PaymentId>().primaryKey(),
    /** Claimed once, forever, which makes a replay impossible. */
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
    /** Hashed. */
    addressGroup: text('address_group'),
    state: text().$type<ClaimState>().notNull(),
    paid: integer({ mode: 'boolean' }).notNull(),
    leaseUntil: instant('lease_until').notNull(),
    attempts: integer().notNull(),
    deliveries: integer().notNull().default(0),
    sentAt: instant('sent_at'),
    ourTrouble: integer('our_trouble', { mode: 'boolean' }).notNull().default(false),
    nextLookAt: instant('next_look_at').notNull().default(0),
    looks: integer().notNull().default(0),
    reference: text(),
    lastError: text('last_error'),
    /** The upstream cost of the call to the operator; null if not known. */
    upstreamCost: money('upstream_cost'),
    /** When the payment network refused it after its upstream had been called. */
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
    index('payments_credential').on(table.credentialHash),
    index('payments_due').on(table.nextLookAt).where(IS_UNFINISHED),
    // A payer's open claims, recent payments and refused payments.
    index('payments_payer_open').on(table.payer).where(sql`${table.state} IN ('working', 'settling')`),
    index('payments_address_open').on(table.addressGroup).where(sql`${table.state} IN ('working', 'settling')`),
    index('payments_payer').on(table.payer, table.updatedAt),
    index('payments_payer_refused').on(table.payer, table.refusedAt).where(sql`${table.refusedAt} IS NOT NULL`),
    index('payments_address_refused')
      .on(table.addressGroup, table.refusedAt)
      .where(sql`${table.refusedAt} IS NOT NULL`),
    // Purchases of imported APIs by callers without a key: few of all, and only their names contain a dot.
    index('payments_imported').on(table.createdAt).where(IS_IMPORTED_SALE),
    index('payments_never_paid').on(table.updatedAt).where(sql`${table.state} = 'released' AND ${table.paid} = 0`),
  ],
)

/** Responses whose payers had disconnected when they were ready; each is delivered once, for its credential. */
export const paymentAnswers = sqliteTable(
  'payment_answers',
  {
    key: text().primaryKey(),
    body: text().notNull(),
    at: instant('at').notNull(),
  },
  (table) => [index('payment_answers_at').on(table.at)],
)

/** Payments to upstreams of imported APIs, each written before it was signed. */
export const upstreamPayments = sqliteTable(
  'upstream_payments',
  {
    request: text().$type<RequestId>().primaryKey(),
    /** Null in rows from before it was stored. */
    account: text().$type<AccountId>(),
    operation: text().notNull(),
    api: text().notNull(),
    chainId: integer('chain_id').notNull(),
    token: text().notNull(),
    payer: text().notNull(),
    payee: text().notNull(),
    amount: text().notNull(),
    cost: money().notNull(),
    fee: money().notNull().default(ZERO),
    nonce: text().notNull().unique('upstream_payments_nonce'),
    validBefore: integer('valid_before').notNull(),
    state: text().$type<PaymentState>().notNull(),
    signedAt: instant('signed_at').notNull(),
    /** When its call ended without an answer, while it is `signed`; later, when its state was set. */
    endedAt: instant('ended_at'),
    /** The transaction that the upstream's receipt names. */
    reference: text(),
  },
  (table) => [
    index('upstream_payments_open').on(table.state, table.validBefore),
    index('upstream_payments_signed').on(table.signedAt),
  ],
)
