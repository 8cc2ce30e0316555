import { sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { DAY_MS } from '../../../../core/clock'
import type { DayClosing } from '../../../../core/ledger/day-closing'
import { closedDays, closedFlows, closings, entries } from '../schema/ledger'
import { partyOfName } from './accounting'
import { type ClosedDay, ClosedDays, endOf, notIn } from './closed-days'
import { LowestSums } from './lowest-sums'

/** The batch sizes of a closing. */
export interface ClosingSizes {
  readonly entries: number
  readonly accounts: number
  /** Rows per commit: a few milliseconds. */
  readonly written: number
}

const SIZES: ClosingSizes = { entries: 5_000, accounts: 50_000, written: 500 }

/** Entries from the one after `after` to `to`, and from when to when they count. */
interface Zone {
  readonly after: number
  readonly to: number
  readonly first: number
  readonly last: number
}

type Moved = readonly [kind: string, debit: string, credit: string, amount: number, entries: number]

/** The sums of a slice of entries, and its last entry; 0 without any. */
interface Slice {
  readonly moves: readonly Moved[]
  readonly last: number
}

interface DayFlow {
  readonly kind: string
  readonly debit: string
  readonly credit: string
  amount: number
  entries: number
}

/**
 * Closes days from the entries. A day is closed when its row in `closed_days` is there, which is written last, with its flows: until then no report reads its
 * closings, and a run that was stopped writes them again.
 */
export class LibsqlDayClosings implements DayClosing {
  private readonly db: LibSQLDatabase
  private readonly applied: () => Promise<void>
  private readonly sizes: ClosingSizes

  /** `applied` resolves when the tables contain every acknowledged charge. */
  constructor(db: LibSQLDatabase, applied: () => Promise<void>, sizes = SIZES) {
    this.db = db
    this.applied = applied
    this.sizes = sizes
  }

  async *close(before: number): AsyncGenerator<void, void> {
    await this.applied()
    const days = await ClosedDays.read(this.db)
    const zones = await this.zones(days)
    const first = Math.floor(zones.reduce((least, zone) => Math.min(least, zone.first), before) / DAY_MS)
    let previous = days.last
    for (let day = first; (day + 1) * DAY_MS <= before; day++) {
      const [start, end] = [day * DAY_MS, (day + 1) * DAY_MS]
      const own = zones.filter((zone) => zone.first < end && zone.last >= start)
      const openFrom = (zones.find((zone) => zone.last >= end)?.after ?? days.newest) + 1
      const closed = yield* this.closeDay({ day, sealed: days.newest, last: 0, openFrom }, previous, own)
      previous = closed ?? previous
    }
  }

  /** When the entries count that are in no closed day, so that each day finds its own whatever their order. */
  private async zones(days: ClosedDays): Promise<readonly Zone[]> {
    const { last, newest } = days
    const zones: Zone[] = []
    for (let after = last.openFrom - 1; after < newest; after += this.sizes.entries) {
      const to = Math.min(newest, after + this.sizes.entries)
      const [row] = await this.db.all<{
        first: number | null
        last: number
      }>(sql`SELECT min(at) AS first, max(at) AS last FROM ${entries}
        WHERE seq > ${after} AND seq <= ${to} AND ${notIn(last)}`)
      const counted = (at: number) => Math.max(at, endOf(last))
      if (row && row.first !== null) zones.push({ after, to, first: counted(row.first), last: counted(row.last) })
    }
    return zones
  }

  /** Null if the day has no entries. */
  private async *closeDay(
    day: ClosedDay,
    previous: ClosedDay,
    zones: readonly Zone[],
  ): AsyncGenerator<void, ClosedDay | null> {
    let last = 0
    const flows = new Map<string, DayFlow>()
    for (let from: string | null = ''; from !== null; ) {
      const sums = new LowestSums(from, this.sizes.accounts)
      for await (const slice of this.moves(day, previous, zones)) {
        last = Math.max(last, slice.last)
        for (const [kind, debit, credit, amount, count] of slice.moves) {
          sums.add(debit, credit, amount)
          if (from === '')
            addFlow(flows, { kind, debit: partyOfName(debit), credit: partyOfName(credit), amount, entries: count })
        }
      }
      if (last === 0) return null
      const sorted = sums.sorted()
      for (let i = 0; i < sorted.length; i += this.sizes.written) {
        const rows = sorted
          .slice(i, i + this.sizes.written)
          .map(([account, { debits, credits }]) => [account, debits, credits])
        await this.write(day, previous, JSON.stringify(rows))
        yield
      }
      from = sums.end
    }
    const closed = { ...day, last }
    const rows = Array.from(flows.values(), (flow) => ({ day: day.day, ...flow }) as typeof closedFlows.$inferInsert)
    await this.db.batch([this.db.insert(closedFlows).values(rows), this.db.insert(closedDays).values(closed)])
    yield
    return closed
  }

  private async *moves(day: ClosedDay, previous: ClosedDay, zones: readonly Zone[]): AsyncGenerator<Slice, void> {
    for (const { after, to } of zones) {
      // As one text: rows of their own would take twice the time.
      const [found] = await this.db.all<{ rows: string; last: number }>(
        sql`SELECT json_group_array(json_array(kind, debit, credit, amount, entries)) AS rows, coalesce(max(last), 0) AS last FROM
          (SELECT kind, debit, credit, sum(amount) AS amount, count(*) AS entries, max(seq) AS last FROM ${entries}
            WHERE seq > ${after} AND seq <= ${to} AND at < ${endOf(day)} AND ${notIn(previous)} GROUP BY kind, debit, credit)`,
      )
      yield { moves: JSON.parse(found?.rows ?? '[]'), last: found?.last ?? 0 }
    }
  }

  /** Adds what accounts moved on a day to their last closings before it. */
  private async write(day: ClosedDay, previous: ClosedDay, rows: string): Promise<void> {
    const lastBefore = sql`(SELECT max(day) FROM ${closings} WHERE account = j.account AND day <= ${previous.day})`
    await this.db.run(sql`INSERT INTO ${closings} (account, day, debits, credits)
      SELECT j.account, ${day.day}, j.debits + coalesce(p.debits, 0), j.credits + coalesce(p.credits, 0)
      FROM (SELECT value->>0 AS account, value->>1 AS debits, value->>2 AS credits FROM json_each(${rows})) j
      LEFT JOIN ${closings} p ON p.account = j.account AND p.day = ${lastBefore} WHERE true
      ON CONFLICT (account, day) DO UPDATE SET debits = excluded.debits, credits = excluded.credits`)
  }
}

function addFlow(flows: Map<string, DayFlow>, { kind, debit, credit, amount, entries: count }: DayFlow): void {
  const name = `${kind} ${debit} ${credit}`
  const flow = flows.get(name) ?? { kind, debit, credit, amount: 0, entries: 0 }
  flow.amount += amount
  flow.entries += count
  flows.set(name, flow)
}
