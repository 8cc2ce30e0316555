import { and, desc, eq, gt, inArray, lt, lte, ne, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { builtOnce } from '../../../core/built-once'
import { DAY_MS, HOUR_MS } from '../../../core/clock'
import { makeId, type PaymentId } from '../../../core/ids'
import type { Money } from '../../../core/money'
import type { Page } from '../../../core/page'
import {
  ANSWER_RETENTION_MS,
  type Claim,
  type ClaimFilter,
  type ClaimStore,
  type ClaimTaken,
  type Covered,
  MAX_PAID_TRIES,
  MAX_TRIES,
  MAX_UNPAID_CLAIMS,
  type NewClaim,
  type Sending,
  type TakeRefusal,
  type Trouble,
} from '../../../core/payments/claim'
import { entries } from './schema/ledger'
import { IS_UNFINISHED, paymentAnswers, payments } from './schema/payments'

/** How long a claim that was never sent is kept: until its failures no longer count and its challenge has expired. */
const UNSENT_KEPT_MS = 2 * HOUR_MS
/** A claim that was sent is checked with its network for two days. */
const SENT_KEPT_MS = 3 * DAY_MS
/** After this, an unpaid claim is no longer useful as a record. */
const NEVER_PAID_KEPT_MS = 7 * DAY_MS
/** Rows deleted by one statement; other writes can run between statements. */
const PRUNED_AT_ONCE = 5_000

/** Claims, decided by the database and never in memory, so that two stores on one database cannot both win. */
export class LibsqlPaymentClaims implements ClaimStore {
  private readonly db: LibSQLDatabase
  private readonly queries: ReturnType<typeof queries>

  constructor(db: LibSQLDatabase) {
    this.db = db
    this.queries = queries(db)
  }

  async take(claim: NewClaim, now: number, covered?: Covered): Promise<ClaimTaken> {
    const { leaseUntil } = claim
    const row = {
      ...claim,
      state: 'working',
      paid: false,
      attempts: 1,
      nextLookAt: leaseUntil,
      updatedAt: now,
    } as const
    const names = Object.keys(row) as (keyof typeof row)[]
    const columns = sql.join(
      names.map((name) => sql.identifier(payments[name].name)),
      sql`, `,
    )
    const values = sql.join(
      names.map((name) => sql.param(row[name], payments[name])),
      sql`, `,
    )
    const [taken] = await this.db.all<{ paid: number; attempts: number; deliveries: number }>(
      sql`INSERT INTO payments (${columns}) SELECT ${values} WHERE ${covered ? isCovered(claim, covered) : sql`true`}
        ON CONFLICT (key) DO UPDATE SET state = 'working', lease_until = ${leaseUntil}, next_look_at = ${leaseUntil}, looks = 0,
          amount = iif(paid, amount, ${claim.amount}), request_id = ${claim.requestId}, address_group = ${claim.addressGroup}, attempts = attempts + 1, updated_at = ${now}
        WHERE credential_hash = ${claim.credentialHash} AND binding = ${claim.binding}
          AND (attempts < iif(paid, ${MAX_PAID_TRIES}, ${MAX_TRIES}) OR (paid = 1 AND key IN (SELECT key FROM payment_answers)))
          AND (state IN ('released', 'paid_unserved') OR (state IN ('working', 'settled') AND lease_until <= ${now}))
        RETURNING paid, attempts, deliveries`,
    )
    if (!taken) return { kind: 'refused', why: await this.whyRefused(claim, now) }
    const attempt = Number(taken.attempts)
    if (!taken.paid) return { kind: 'fresh', attempt }
    return { kind: 'prepaid', attempt, answer: await this.answer(claim.key, now), isLast: Number(taken.deliveries) > 0 }
  }

  async find(key: string): Promise<Claim | null> {
    const [row] = await this.queries.byKey().all({ key })
    return row ? claimOf(row) : null
  }

  async byId(id: PaymentId): Promise<Claim | null> {
    const [row] = await this.queries.byId().all({ id })
    return row ? claimOf(row) : null
  }

  async findByCredential(hash: string): Promise<Claim | null> {
    const [row] = await this.queries.byCredential().all({ hash })
    return row ? claimOf(row) : null
  }

  async settling(
    key: string,
    attempt: number,
    now: number,
    { leaseUntil = 0, amount }: Sending = {},
  ): Promise<boolean> {
    const lease = sql`max(lease_until, ${leaseUntil})`
    const changed = await this.db
      .update(payments)
      .set({
        state: 'settling',
        sentAt: now,
        ourTrouble: false,
        leaseUntil: lease,
        nextLookAt: lease,
        updatedAt: now,
        ...(amount !== undefined && { amount }),
      })
      .where(and(eq(payments.key, key), eq(payments.state, 'working'), eq(payments.attempts, attempt)))
    return changed.rowsAffected === 1
  }

  async settled(key: string, reference: string, now: number): Promise<void> {
    // Only the statement that changes the state sees the claim as unpaid; the entry's unique reference rules out a second one.
    const entry = sql`INSERT INTO ${entries} (transaction_id, kind, account_id, debit, credit, amount, at, request_id, description, reference)
      SELECT ${makeId('txn', now)}, 'payment', NULL, 'house/payments', 'house/revenue', amount, ${now}, NULL, operation, 'payment:' || id
      FROM ${payments} WHERE key = ${key} AND paid = 1 AND purpose = 'call' AND amount > 0 ON CONFLICT DO NOTHING`
    await this.db.batch([
      this.db
        .update(payments)
        .set({ state: 'settled', paid: true, reference, lastError: null, updatedAt: now })
        .where(
          and(
            eq(payments.key, key),
            sql`(${payments.state} = 'settling' OR (${payments.state} = 'released' AND ${payments.sentAt} IS NOT NULL))`,
          ),
        ),
      this.db.run(entry),
    ])
  }

  async served(key: string, now: number, attempt?: number, upstreamCost?: Money): Promise<boolean> {
    const [changed] = await this.db.batch([
      this.db
        .update(payments)
        .set({
          state: 'served',
          deliveries: sql`${payments.deliveries} + 1`,
          updatedAt: now,
          ...(upstreamCost !== undefined && { upstreamCost }),
        })
        .where(and(eq(payments.key, key), eq(payments.paid, true), isOfTry(attempt))),
      this.db.run(
        sql`DELETE FROM ${paymentAnswers} WHERE key IN (SELECT key FROM ${payments} WHERE key = ${key} AND state = 'served')`,
      ),
    ])
    return changed.rowsAffected === 1
  }

  async undelivered(key: string, attempt: number, answer: string | null, now: number): Promise<void> {
    await this.db.batch([
      this.db
        .update(payments)
        .set({
          state: 'paid_unserved',
          deliveries: sql`max(${payments.deliveries}, 1)`,
          leaseUntil: now,
          lastError: 'the caller had left',
          updatedAt: now,
        })
        .where(and(eq(payments.key, key), eq(payments.paid, true), isOfTry(attempt))),
      this.keep(key, answer, 'paid_unserved', now),
    ])
  }

  async release(key: string, reason: string, bySettlement: boolean, now: number, attempt?: number): Promise<void> {
    await this.db.batch([
      this.db
        .update(payments)
        .set({
          state: 'released',
          lastError: reason.slice(0, 500),
          updatedAt: now,
          ...(bySettlement && { refusedAt: now }),
        })
        .where(and(eq(payments.key, key), eq(payments.paid, false), isOfTry(attempt))),
      this.db.run(
        sql`DELETE FROM ${paymentAnswers} WHERE key IN (SELECT key FROM ${payments} WHERE key = ${key} AND state = 'released')`,
      ),
    ])
  }

  async lost(key: string, reason: string, now: number): Promise<void> {
    await this.db
      .update(payments)
      .set({ state: 'released', paid: false, reference: null, lastError: reason.slice(0, 500), updatedAt: now })
      .where(and(eq(payments.key, key), eq(payments.purpose, 'top_up'), ne(payments.state, 'served')))
  }

  async markUnserved(key: string, reason: string, now: number, attempt?: number): Promise<void> {
    await this.db
      .update(payments)
      .set({
        state: 'paid_unserved',
        leaseUntil: now,
        nextLookAt: now,
        lastError: reason.slice(0, 500),
        updatedAt: now,
      })
      .where(and(eq(payments.key, key), eq(payments.paid, true), ne(payments.state, 'served'), isOfTry(attempt)))
  }

  async endLease(key: string, { reason, isOurs }: Trouble, answer: string | null, now: number): Promise<void> {
    await this.db.batch([
      this.db
        .update(payments)
        .set({ leaseUntil: now, nextLookAt: now, ourTrouble: isOurs, lastError: reason.slice(0, 500), updatedAt: now })
        .where(and(eq(payments.key, key), eq(payments.state, 'settling'))),
      this.keep(key, answer, 'settling', now),
    ])
  }

  async endLeases(now: number): Promise<void> {
    await this.db
      .update(payments)
      .set({
        leaseUntil: now,
        nextLookAt: now,
        ourTrouble: sql`${payments.ourTrouble} OR (${payments.state} = 'settling' AND ${payments.leaseUntil} > ${now})`,
      })
      .where(and(inArray(payments.state, ['working', 'settling', 'settled']), ne(payments.method, 'card')))
  }

  async settleFailures({ payer, addressGroup }: Pick<Claim, 'payer' | 'addressGroup'>, since: number): Promise<number> {
    const [row] = await this.db
      .select({ count: sql<number>`count(*)` })
      .from(payments)
      .where(
        sql`(${payments.payer} = ${payer} AND ${payments.refusedAt} >= ${since})
          OR (${payments.addressGroup} = ${addressGroup} AND ${payments.refusedAt} >= ${since})`,
      )
    return Number(row?.count ?? 0)
  }

  async openUnpaid({ key, payer, addressGroup }: Pick<Claim, 'key' | 'payer' | 'addressGroup'>): Promise<number> {
    const [row] = await this.db
      .select({ count: sql<number>`count(*)` })
      .from(payments)
      .where(
        sql`${payments.state} IN ('working', 'settling') AND ${payments.paid} = 0 AND ${payments.key} <> ${key}
          AND (${payments.payer} = ${payer} OR ${payments.addressGroup} = ${addressGroup})`,
      )
    return Number(row?.count ?? 0)
  }

  async unfinished(now: number, limit: number): Promise<readonly Claim[]> {
    const rows = await this.db
      .select()
      .from(payments)
      .where(and(lte(payments.nextLookAt, now), lte(payments.leaseUntil, now), sql`(${IS_UNFINISHED})`))
      .orderBy(payments.nextLookAt)
      .limit(limit)
    return rows.map(claimOf)
  }

  async postpone(key: string, until: number): Promise<void> {
    await this.db
      .update(payments)
      .set({ nextLookAt: until, looks: sql`${payments.looks} + 1` })
      .where(eq(payments.key, key))
  }

  async sentSince(since: number, limit: number, cursor: string | null): Promise<Page<Claim>> {
    const rows = await this.db
      .select()
      .from(payments)
      .where(
        and(
          sql`${payments.createdAt} >= ${since} AND ${payments.sentAt} IS NOT NULL AND ${payments.state} IN ('released', 'served', 'paid_unserved')`,
          cursor === null ? undefined : lt(payments.id, cursor as Claim['id']), // a cursor from this list
        ),
      )
      .orderBy(desc(payments.id))
      .limit(limit + 1)
    return pageOf(rows, limit)
  }

  async prune(now: number): Promise<void> {
    const neverPaid = sql`state = 'released' AND paid = 0 AND purpose = 'call' AND coalesce(valid_before, 0) <= ${now - UNSENT_KEPT_MS}`
    await this.db.batch([
      this.db.delete(paymentAnswers).where(lte(paymentAnswers.at, now - ANSWER_RETENTION_MS)),
      this.db.run(sql`DELETE FROM ${payments} WHERE id IN (
        SELECT id FROM payments WHERE ${neverPaid} AND updated_at <= ${now - NEVER_PAID_KEPT_MS} LIMIT ${PRUNED_AT_ONCE})`),
      this.db.run(sql`DELETE FROM ${payments} WHERE id IN (
        SELECT id FROM payments WHERE ${neverPaid} AND updated_at <= iif(sent_at IS NULL, ${now - UNSENT_KEPT_MS}, ${now - SENT_KEPT_MS})
        ORDER BY updated_at DESC LIMIT ${PRUNED_AT_ONCE} OFFSET ${MAX_UNPAID_CLAIMS})`),
    ])
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
          cursor === null ? undefined : lt(payments.id, cursor as Claim['id']), // its format was checked above
        ),
      )
      .orderBy(desc(payments.id))
      .limit(limit + 1)
    return pageOf(rows, limit)
  }

  private async answer(key: string, now: number): Promise<string | null> {
    const [row] = await this.db
      .select({ body: paymentAnswers.body })
      .from(paymentAnswers)
      .where(and(eq(paymentAnswers.key, key), gt(paymentAnswers.at, now - ANSWER_RETENTION_MS)))
    return row?.body ?? null
  }

  /** Runs in the same batch as, and after, the statement that put the claim in this state. */
  private keep(key: string, answer: string | null, state: Claim['state'], now: number) {
    return this.db.run(sql`INSERT INTO ${paymentAnswers} (key, body, at)
      SELECT key, ${answer}, ${now} FROM ${payments} WHERE key = ${key} AND state = ${state} AND ${answer} IS NOT NULL
      ON CONFLICT (key) DO UPDATE SET body = excluded.body, at = excluded.at`)
  }

  /** Only for the error message: another attempt may have changed the claim since the statement that refused it. */
  private async whyRefused({ key, credentialHash, binding }: NewClaim, now: number): Promise<TakeRefusal> {
    const found = await this.find(key)
    if (!found) return 'uncovered'
    const { state } = found
    const isFree =
      state === 'released' || state === 'paid_unserved' || (state !== 'settling' && found.leaseUntil <= now)
    if (state === 'served' || !isFree || found.credentialHash !== credentialHash || found.binding !== binding)
      return 'in_use'
    return found.attempts >= (found.paid ? MAX_PAID_TRIES : MAX_TRIES) ? 'worn_out' : 'uncovered'
  }
}

/** Part of the claim's own statement, whatever method the money is paid by: the payer's open payments and those paid since then must fit into `funds`. Paid claims need none. */
function isCovered({ key, payer, currency, amount }: NewClaim, { funds, since }: Covered) {
  const ofPayer = sql`payer = ${payer} AND currency = ${currency} AND key <> ${key}`
  return sql`(EXISTS (SELECT 1 FROM payments WHERE key = ${key} AND paid = 1) OR ${amount}
    + (SELECT coalesce(sum(amount), 0) FROM payments INDEXED BY payments_payer_open WHERE ${ofPayer} AND state IN ('working', 'settling') AND paid = 0)
    + (SELECT coalesce(sum(amount), 0) FROM payments WHERE ${ofPayer} AND paid = 1 AND updated_at >= ${since}) <= ${funds})`
}

function isOfTry(attempt: number | undefined) {
  return attempt === undefined ? undefined : eq(payments.attempts, attempt)
}

type Row = typeof payments.$inferSelect

function pageOf(rows: readonly Row[], limit: number): Page<Claim> {
  const listed = rows.slice(0, limit).map(claimOf)
  return { rows: listed, next: rows.length > limit ? (listed.at(-1)?.id ?? null) : null }
}

function claimOf({ refusedAt: _refusedAt, ...claim }: Row): Claim {
  return claim
}

function queries(db: LibSQLDatabase) {
  const select = () => db.select().from(payments)
  return {
    byKey: builtOnce(() =>
      select()
        .where(eq(payments.key, sql.placeholder('key')))
        .prepare(),
    ),
    byId: builtOnce(() =>
      select()
        .where(eq(payments.id, sql.placeholder('id')))
        .prepare(),
    ),
    byCredential: builtOnce(() =>
      select()
        .where(eq(payments.credentialHash, sql.placeholder('hash')))
        .limit(1)
        .prepare(),
    ),
  }
}
