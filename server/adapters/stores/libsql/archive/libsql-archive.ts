import { sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import {
  type Archive,
  type ArchiveMonth,
  ArchiveProblem,
  archiveMonth,
  monthOfDay,
  type RemovalStep,
  type RemovedMonth,
} from '../../../../core/archive/archive'
import type { AuditEntry } from '../../../../core/audit'
import { DAY_MS } from '../../../../core/clock'
import { micros } from '../../../../core/money'
import { auditRow } from '../audit/audit-trail'
import { databaseError } from '../driver/worker/worker-connection'
import { ClosedDays } from '../ledger/closed-days'
import { auditLog } from '../schema/accounts'
import { archivedFlows, archivedMonths, closedFlows, entries, IS_REFUND } from '../schema/ledger'
import { pruned, requests } from '../schema/usage'
import { callIds } from './archive-rows'

/** Calls, and charges, per commit: some 30 ms. */
const ROWS = 500
/** The errors of triggers about a month that may not go. */
const REFUSALS =
  /this month is not closed|an earlier month has .* archived|the archive has other charges than were closed/
const FIRST = 'req_'

export class LibsqlArchive implements Archive {
  private readonly db: LibSQLDatabase
  private readonly rows: number
  /** Up to which entry a month has no charge left. It never gets one. */
  private readonly reached = new Map<number, number>()

  constructor(db: LibSQLDatabase, rows = ROWS) {
    this.db = db
    this.rows = rows
  }

  async begin({ month, ...archive }: RemovedMonth, at: number, audit: AuditEntry): Promise<void> {
    const known = (await this.months()).find((one) => one.month.firstDay === month.firstDay)
    if (known?.manifest === archive.manifest) return
    if (known) throw new ArchiveProblem(`${month.text} has begun to leave for ${known.location}/${known.name}`)
    const { firstDay, lastDay } = month
    const before = (lastDay + 1) * DAY_MS
    const row = { ...archive, firstDay, lastDay, charged: micros(archive.charged), archivedAt: at }
    try {
      await this.db.batch([
        this.db.insert(archivedMonths).values(row),
        // Reports read whole quarters of an hour where the log has gaps.
        this.db
          .insert(pruned)
          .values({ name: 'requests', before, cursor: FIRST })
          .onConflictDoUpdate({ target: pruned.name, set: { before: sql`max(before, excluded.before)` } }),
        this.db.insert(auditLog).values(auditRow(audit)),
      ])
    } catch (error) {
      const reason = REFUSALS.exec(databaseError(error).message)?.[0]
      throw reason === undefined ? error : new ArchiveProblem(`${month.text} cannot leave: ${reason}`)
    }
  }

  async remove(month: ArchiveMonth): Promise<RemovalStep> {
    const { rest, last } = await this.nextCharges(month)
    const [first, end] = callIds(month)
    const from = this.reached.get(month.firstDay) ?? rest.after
    const seq = last ?? from
    const chosen = sql`seq > ${from} AND seq <= ${seq} AND ${rest.which} AND kind = 'charge'`
    // Revenue by operation reads the calls of refunds.
    const refunded = sql`SELECT request_id FROM ${entries} WHERE ${IS_REFUND} AND request_id IS NOT NULL`
    const [calls, , charges] = await this.db.batch([
      this.db.delete(requests).where(sql`id IN (SELECT id FROM ${requests} WHERE id >= ${first} AND id < ${end}
        AND id NOT IN (${refunded}) ORDER BY id LIMIT ${this.rows})`),
      // A call whose id is of a later month, because the clock was set back before its charge: both go together.
      this.db
        .delete(requests)
        .where(sql`id IN (SELECT request_id FROM ${entries} WHERE ${chosen} AND request_id >= ${end})
        AND id NOT IN (${refunded})`),
      this.db.delete(entries).where(chosen),
    ])
    this.reached.set(month.firstDay, seq)
    const done = calls.rowsAffected === 0 && last === null
    if (done) await this.assertWhole(month)
    return { calls: calls.rowsAffected, charges: charges.rowsAffected, done }
  }

  /** Throws unless what left in all is what was closed, day by day. */
  private async assertWhole({ text, firstDay, lastDay }: ArchiveMonth): Promise<void> {
    const charges = (table: typeof closedFlows | typeof archivedFlows) =>
      sql`SELECT day, debit, credit, amount, entries FROM ${table} WHERE kind = 'charge' AND day BETWEEN ${firstDay} AND ${lastDay}`
    const wrong = await this.db.all(sql`${charges(closedFlows)} EXCEPT ${charges(archivedFlows)} LIMIT 1`)
    if (wrong.length > 0) throw new ArchiveProblem(`the charges that left in ${text} are not those that were closed`)
  }

  /** The last of the charges that go next; null if there are none. */
  private async nextCharges({ firstDay, lastDay }: ArchiveMonth) {
    const days = await ClosedDays.read(this.db)
    if (!days.archived.some((one) => one.firstDay === firstDay)) throw new ArchiveProblem('no archive has this month')
    const rest = days.between(firstDay * DAY_MS, (lastDay + 1) * DAY_MS)
    const from = this.reached.get(firstDay) ?? rest.after
    const [row] = await this.db.all<{
      last: number | null
    }>(sql`SELECT max(seq) AS last FROM (SELECT seq FROM ${entries}
      WHERE seq > ${from} AND seq <= ${rest.to} AND ${rest.which} AND kind = 'charge' ORDER BY seq LIMIT ${this.rows})`)
    return { rest, last: row?.last ?? null }
  }

  async months(): Promise<readonly RemovedMonth[]> {
    const rows = await this.db.select().from(archivedMonths).orderBy(archivedMonths.firstDay)
    return rows.flatMap(({ firstDay, name, location, manifest, charges, charged }) => {
      const month = archiveMonth(monthOfDay(firstDay))
      return month ? [{ month, name, location, manifest, charges, charged }] : []
    })
  }
}
