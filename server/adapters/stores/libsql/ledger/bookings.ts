import { sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AccountId, PoolId, RequestId } from '../../../../core/ids'
import type { Booked, Bookings } from '../../../../core/ledger/bookings'
import type { BalancePart } from '../../../../core/ledger/entry'
import type { Split } from '../../../../core/ledger/hold'
import { micros } from '../../../../core/money'
import { connections } from '../schema/connections'
import { keys } from '../schema/keys'
import { entries } from '../schema/ledger'
import { requests } from '../schema/usage'

interface StoredCall {
  readonly account: AccountId
  /** 1 if it was charged, and not reversed. */
  readonly charged: number
  readonly pool: PoolId | null
}

/** Looks up references in the ledger. Entries with a reference are written to the tables immediately, so none is missing. */
export class LibsqlBookings implements Bookings {
  private readonly db: LibSQLDatabase

  private readonly applied: () => Promise<void>

  /** `applied` resolves when the tables contain every acknowledged charge. */
  constructor(db: LibSQLDatabase, applied: () => Promise<void>) {
    this.db = db
    this.applied = applied
  }

  async chargeOf(account: AccountId, request: RequestId): Promise<Split | null> {
    await this.applied()
    const part = (name: BalancePart) => sql<number>`coalesce(sum(
      iif(kind = 'charge' AND debit = ${`${account}/${name}`}, amount, 0) - iif(kind = 'reversal' AND credit = ${`${account}/${name}`}, amount, 0)), 0)`
    const rows = await this.db.all<{ credit: number; paid: number }>(sql`
      SELECT ${part('credit')} AS credit, ${part('paid')} AS paid FROM ${entries}
      WHERE account_id = ${account} AND request_id = ${request} AND kind IN ('charge', 'reversal')`)
    const [row] = rows
    return row && row.credit + row.paid > 0
      ? { credit: micros(Number(row.credit)), paid: micros(Number(row.paid)) }
      : null
  }

  /** Whose a stored call is, and the pool that it spent from; null if there is none. Every acknowledged charge is seen. */
  async callOf(request: RequestId): Promise<StoredCall | null> {
    await this.applied()
    const [row] = await this.db.all<StoredCall>(sql`
      SELECT r.account_id AS account, r.price_version IS NOT NULL AND r.status <> 503 AS charged, coalesce(
        (SELECT pool_id FROM ${keys} WHERE id = r.key_id), (SELECT pool_id FROM ${connections} WHERE id = r.key_id)) AS pool
      FROM ${requests} r WHERE r.id = ${request}`)
    return row ?? null
  }

  async under(reference: string): Promise<Booked> {
    // A transaction has at most two adjacent entries; the first has the reference. `;` sorts after `:`.
    const rows = await this.db.all<{ reference: string; taken: number }>(sql`
      SELECT e.reference AS reference, sum(iif(t.credit LIKE 'house/%', t.amount, 0) - iif(t.debit LIKE 'house/%', t.amount, 0)) AS taken
      FROM ${entries} e JOIN ${entries} t ON t.seq IN (e.seq, e.seq + 1) AND t.transaction_id = e.transaction_id
      WHERE e.reference = ${reference} OR (e.reference > ${`${reference}:`} AND e.reference < ${`${reference};`})
      GROUP BY e.seq`)
    return {
      references: rows.map((row) => row.reference),
      takenBack: micros(rows.reduce((sum, { taken }) => sum + Number(taken), 0)),
    }
  }
}
