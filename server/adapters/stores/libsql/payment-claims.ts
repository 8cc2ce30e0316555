import { and, desc, eq, inArray, lt, ne, or, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { makeId } from '../../../core/ids'
import { type Money, micros } from '../../../core/money'
import type { Page } from '../../../core/page'
import type { Claim, ClaimFilter, ClaimState, ClaimStore, NewClaim, Taken } from '../../../core/payments/claim'
import { entries } from './schema/ledger'
import { payments } from './schema/payments'

const UNPAID: readonly ClaimState[] = ['working', 'settling']

/** Claims in the database itself: no memory decides, so that two stores on one database never both win. */
export class LibsqlPaymentClaims implements ClaimStore {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async take(claim: NewClaim, now: number): Promise<Taken> {
    const [row] = await this.db
      .insert(payments)
      .values({ ...claim, state: 'working', paid: false, attempts: 1, updatedAt: now })
      .onConflictDoUpdate({
        target: payments.key,
        set: {
          state: 'working',
          leaseUntil: claim.leaseUntil,
          requestId: claim.requestId,
          attempts: sql`${payments.attempts} + 1`,
          updatedAt: now,
        },
        setWhere: sql`${payments.credentialHash} = ${claim.credentialHash} AND ${payments.binding} = ${claim.binding}
          AND (${payments.state} IN ('released', 'paid_unserved')
            OR (${payments.state} IN ('working', 'settled') AND ${payments.leaseUntil} <= ${now}))`,
      })
      .returning({ paid: payments.paid, attempts: payments.attempts })
    return row ? { kind: row.paid ? 'prepaid' : 'fresh', attempt: row.attempts } : { kind: 'refused' }
  }

  async find(key: string): Promise<Claim | null> {
    const [row] = await this.db.select().from(payments).where(eq(payments.key, key))
    return row ? claimOf(row) : null
  }

  async settling(key: string, attempt: number, now: number): Promise<boolean> {
    const changed = await this.db
      .update(payments)
      .set({ state: 'settling', updatedAt: now })
      .where(and(eq(payments.key, key), eq(payments.state, 'working'), eq(payments.attempts, attempt)))
    return changed.rowsAffected === 1
  }

  async settled(key: string, reference: string, now: number): Promise<void> {
    // Only the statement that changes the state finds it `settling`; the entry's reference makes it once for good.
    const entry = sql`INSERT INTO ${entries} (transaction_id, kind, account_id, debit, credit, amount, at, request_id, description, reference)
      SELECT ${makeId('txn', now)}, 'payment', NULL, 'house/payments', 'house/revenue', amount, ${now}, NULL, operation, 'payment:' || id
      FROM ${payments} WHERE key = ${key} AND paid = 1 AND purpose = 'call' AND amount > 0 ON CONFLICT DO NOTHING`
    await this.db.batch([
      this.db
        .update(payments)
        .set({ state: 'settled', paid: true, reference, lastError: null, updatedAt: now })
        .where(and(eq(payments.key, key), eq(payments.state, 'settling'))),
      this.db.run(entry),
    ])
  }

  async served(key: string, now: number): Promise<void> {
    await this.db
      .update(payments)
      .set({ state: 'served', updatedAt: now })
      .where(and(eq(payments.key, key), eq(payments.paid, true)))
  }

  async release(key: string, reason: string, bySettlement: boolean, now: number): Promise<void> {
    await this.db
      .update(payments)
      .set({
        state: 'released',
        lastError: reason.slice(0, 500),
        updatedAt: now,
        ...(bySettlement && { refusedAt: now }),
      })
      .where(and(eq(payments.key, key), eq(payments.paid, false)))
  }

  async owe(key: string, reason: string, now: number): Promise<void> {
    await this.db
      .update(payments)
      .set({ state: 'paid_unserved', leaseUntil: now, lastError: reason.slice(0, 500), updatedAt: now })
      .where(and(eq(payments.key, key), eq(payments.paid, true), ne(payments.state, 'served')))
  }

  async letGo(key: string, reason: string, now: number): Promise<void> {
    await this.db
      .update(payments)
      .set({ leaseUntil: now, lastError: reason.slice(0, 500), updatedAt: now })
      .where(and(eq(payments.key, key), eq(payments.state, 'settling')))
  }

  async endLeases(now: number): Promise<void> {
    await this.db
      .update(payments)
      .set({ leaseUntil: now })
      .where(and(inArray(payments.state, ['working', 'settling', 'settled']), ne(payments.method, 'card')))
  }

  async openSum(payer: string, except: string): Promise<Money> {
    const [row] = await this.db
      .select({ sum: sql<number>`coalesce(sum(${payments.amount}), 0)` })
      .from(payments)
      .where(
        and(
          eq(payments.payer, payer),
          inArray(payments.state, [...UNPAID]),
          eq(payments.paid, false),
          ne(payments.key, except),
        ),
      )
    return micros(Number(row?.sum ?? 0))
  }

  async settleFailures(payer: string, since: number): Promise<number> {
    const [row] = await this.db
      .select({ count: sql<number>`count(*)` })
      .from(payments)
      .where(and(eq(payments.payer, payer), sql`${payments.refusedAt} >= ${since}`))
    return Number(row?.count ?? 0)
  }

  async unfinished(now: number, limit: number): Promise<readonly Claim[]> {
    const rows = await this.db
      .select()
      .from(payments)
      .where(
        and(
          sql`${payments.leaseUntil} <= ${now}`,
          or(
            inArray(payments.state, ['working', 'settling', 'settled']),
            and(eq(payments.state, 'paid_unserved'), eq(payments.purpose, 'top_up')),
          ),
        ),
      )
      .orderBy(payments.leaseUntil)
      .limit(limit)
    return rows.map(claimOf)
  }

  async list(filter: ClaimFilter, limit: number, cursor: string | null): Promise<Page<Claim> | null> {
    if (cursor !== null && !/^pay_[0-9a-f]{32}$/.test(cursor)) return null
    const rows = await this.db
      .select()
      .from(payments)
      .where(
        and(
          filter.state === null ? undefined : eq(payments.state, filter.state),
          filter.account === null ? undefined : eq(payments.account, filter.account),
          filter.purpose === null ? undefined : eq(payments.purpose, filter.purpose),
          cursor === null ? undefined : lt(payments.id, cursor as Claim['id']), // its form was judged above
        ),
      )
      .orderBy(desc(payments.id))
      .limit(limit + 1)
    const listed = rows.slice(0, limit).map(claimOf)
    return { rows: listed, next: rows.length > limit ? (listed.at(-1)?.id ?? null) : null }
  }
}

function claimOf({ refusedAt: _refusedAt, ...claim }: typeof payments.$inferSelect): Claim {
  return claim
}
