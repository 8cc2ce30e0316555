import { sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { Booked, Bookings } from '../../../core/ledger/bookings'
import { micros } from '../../../core/money'
import { entries } from './schema/ledger'

/** Looks up references in the ledger. Entries with a reference are written to the tables immediately, so none is missing. */
export class LibsqlBookings implements Bookings {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
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
