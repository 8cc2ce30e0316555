import { type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { ArchiveMonth } from '../../../../core/archive/archive'
import { DAY_MS } from '../../../../core/clock'
import { idStart } from '../../../../core/ids'
import { ClosedDays, type Rest } from '../ledger/closed-days'
import { closings, entries } from '../schema/ledger'
import { requests } from '../schema/usage'

export type Cell = string | number | null
export type ArchiveRow = Readonly<Record<string, Cell>>

export const ENTRY_COLUMNS = [
  ...['seq', 'transaction_id', 'kind', 'account_id', 'debit', 'credit', 'amount', 'at', 'request_id', 'description'],
  'reference',
] as const
/** All but what says who called: `address`, `client_request_id` and `failure`. So an erasure has nothing to find in an archive. */
export const CALL_COLUMNS = [
  ...['id', 'account_id', 'key_id', 'operation', 'at', 'status', 'code', 'latency_ms', 'input_tokens', 'output_tokens'],
  ...['cache_read_tokens', 'cache_write_tokens', 'cost', 'price_version', 'unit_price', 'units', 'model'],
  ...['usage_source', 'charge_lines', 'provider', 'waiting_ms', 'upstream_ms', 'upstream_cost', 'held', 'repeats'],
] as const
export const CLOSING_COLUMNS = ['account', 'day', 'debits', 'credits'] as const

const ROWS = 2_000

/** The first id of the calls of a month, and the one before which they end. */
export function callIds({ firstDay, lastDay }: ArchiveMonth): readonly [string, string] {
  return [idStart('req', firstDay * DAY_MS), idStart('req', (lastDay + 1) * DAY_MS)]
}

/** The rows of a closed month, a bounded number at a time, each in the order of its key. */
export class ArchiveRows {
  private readonly db: LibSQLDatabase
  private readonly month: ArchiveMonth
  private readonly rows: number
  /** Whether the month is closed; whether its charges may have left. */
  readonly isClosed: boolean
  readonly isArchived: boolean
  private readonly rest: Rest

  private constructor(db: LibSQLDatabase, month: ArchiveMonth, days: ClosedDays, rows: number) {
    this.db = db
    this.month = month
    this.rows = rows
    this.isClosed = days.last.day >= month.lastDay
    this.isArchived = days.archived.some(({ firstDay }) => firstDay === month.firstDay)
    this.rest = days.between(month.firstDay * DAY_MS, (month.lastDay + 1) * DAY_MS)
  }

  static async open(db: LibSQLDatabase, month: ArchiveMonth, rows = ROWS): Promise<ArchiveRows> {
    return new ArchiveRows(db, month, await ClosedDays.read(db), rows)
  }

  /** The charges that were closed, and their sum. */
  async charges(): Promise<{ readonly charges: number; readonly charged: number }> {
    const { firstDay, lastDay } = this.month
    const [row] = await this.db.all<{ charges: number; charged: number }>(
      sql`SELECT coalesce(sum(entries), 0) AS charges, coalesce(sum(amount), 0) AS charged FROM closed_flows
        WHERE kind = 'charge' AND day BETWEEN ${firstDay} AND ${lastDay}`,
    )
    return { charges: row?.charges ?? 0, charged: row?.charged ?? 0 }
  }

  async *entries(columns: SQL = named(ENTRY_COLUMNS)): AsyncGenerator<readonly ArchiveRow[], void> {
    for (let { after } = this.rest; after < this.rest.to; after += this.rows) {
      const to = Math.min(this.rest.to, after + this.rows)
      const found = await this.db.all<ArchiveRow>(sql`SELECT ${columns} FROM ${entries}
        WHERE seq > ${after} AND seq <= ${to} AND ${this.rest.which} ORDER BY seq`)
      if (found.length > 0) yield found
    }
  }

  /** Those with ids of the month, and those that were charged in it although the clock had been set back meanwhile. */
  async *calls(): AsyncGenerator<readonly ArchiveRow[], void> {
    const [first, end] = callIds(this.month)
    const columns = named(CALL_COLUMNS)
    for (let after = first; ; ) {
      const found: readonly ArchiveRow[] = await this.db.all<ArchiveRow>(sql`SELECT ${columns} FROM ${requests}
        WHERE id > ${after} AND id < ${end} ORDER BY id LIMIT ${this.rows}`)
      if (found.length === 0) break
      yield found
      after = String(found.at(-1)?.['id'])
    }
    const late = new Set<string>()
    for await (const found of this.entries(
      sql`iif(kind = 'charge' AND request_id >= ${end}, request_id, NULL) AS late`,
    ))
      for (const row of found) if (row['late']) late.add(String(row['late']))
    if (late.size > 0)
      yield await this.db.all<ArchiveRow>(
        sql`SELECT ${columns} FROM ${requests} WHERE id IN (SELECT value FROM json_each(${JSON.stringify([...late])})) ORDER BY id`,
      )
  }

  async *closings(): AsyncGenerator<readonly ArchiveRow[], void> {
    const { firstDay, lastDay } = this.month
    for (let [account, day] = ['', 0]; ; ) {
      const found: readonly ArchiveRow[] =
        await this.db.all<ArchiveRow>(sql`SELECT ${named(CLOSING_COLUMNS)} FROM ${closings}
        WHERE account >= ${account} AND (account, day) > (${account}, ${day}) AND day BETWEEN ${firstDay} AND ${lastDay}
        ORDER BY account, day LIMIT ${this.rows}`)
      const last = found.at(-1)
      if (!last) return
      yield found
      ;[account, day] = [String(last['account']), Number(last['day'])]
    }
  }
}

function named(columns: readonly string[]): SQL {
  return sql.raw(columns.join())
}
