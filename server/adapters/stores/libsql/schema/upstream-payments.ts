import { index, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import type { PaymentState } from '../../../../core/apis/payments/upstream-payment'
import type { AccountId, RequestId } from '../../../../core/ids'
import { ZERO } from '../../../../core/money'
import { instant, money } from '../driver/columns'

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
