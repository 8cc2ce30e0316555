import { type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { DAY_MS } from '../../../../core/clock'
import { idStart } from '../../../../core/ids'
import type { archivedMonths, closedDays } from '../schema/ledger'

export type ClosedDay = typeof closedDays.$inferSelect

/** A month whose charges may have left the tables for an archive. */
export type ArchivedMonth = Pick<typeof archivedMonths.$inferSelect, 'firstDay' | 'lastDay' | 'name'>

/** The state before the first closed day. */
const NONE: ClosedDay = { day: -1, sealed: 0, last: 0, openFrom: 1 }

/** The entries of a range that count before a moment and are not in a closed day before it. */
export interface Rest {
  /** From the entry after this one to `to`. */
  readonly after: number
  readonly to: number
  readonly which: SQL
}

/**
 * The entries before a moment: those of the days that are closed by then, and the rest. An entry counts from its own time on, unless the day of that time
 * was closed before it was written: then it counts from the beginning of the next day that is closed with it, or is open.
 */
export interface Before {
  /** The last day that is closed by then. */
  readonly closed: ClosedDay
  readonly rest: Rest | null
  /** The day that is closed and has the moment in it, or ends with it; null for an open one. */
  readonly within: ClosedDay | null
  /** No later entry counts before the moment. */
  readonly sealed: number
}

/** Which days are closed, and the last entry, as of one moment. */
export class ClosedDays {
  /** The number of the last entry. */
  readonly newest: number
  /** The oldest first. */
  readonly archived: readonly ArchivedMonth[]
  private readonly days: readonly ClosedDay[]

  private constructor(newest: number, days: readonly ClosedDay[], archived: readonly ArchivedMonth[]) {
    this.newest = newest
    this.days = days
    this.archived = archived
  }

  static async read(db: LibSQLDatabase): Promise<ClosedDays> {
    const [row] = await db.all<{
      newest: number
      days: string
      archived: string
    }>(sql`SELECT (SELECT coalesce(max(seq), 0) FROM entries) AS newest,
      (SELECT json_group_array(json_array(day, sealed, last, open_from)) FROM (SELECT * FROM closed_days ORDER BY day)) AS days,
      (SELECT json_group_array(json_array(first_day, last_day, name)) FROM (SELECT * FROM archived_months ORDER BY first_day)) AS archived`)
    const days = JSON.parse(row?.days ?? '[]') as [number, number, number, number][]
    const archived = JSON.parse(row?.archived ?? '[]') as [number, number, string][]
    return new ClosedDays(
      row?.newest ?? 0,
      days.map(([day, sealed, last, openFrom]) => ({ day, sealed, last, openFrom })),
      archived.map(([firstDay, lastDay, name]) => ({ firstDay, lastDay, name })),
    )
  }

  /** The last closed day. */
  get last(): ClosedDay {
    return this.days.at(-1) ?? NONE
  }

  /** Before the ids of calls that no archive has. */
  get firstCall(): string {
    const last = this.archived.at(-1)
    return last ? idStart('req', (last.lastDay + 1) * DAY_MS) : ''
  }

  /** The archive of the first month with days in a range that may lack charges; null if there is none. */
  archiveOf(from: number, to: number): ArchivedMonth | null {
    return this.archived.find((one) => one.firstDay * DAY_MS < to && (one.lastDay + 1) * DAY_MS > from) ?? null
  }

  /** The closed day to which entries up to `seq` with times on a UTC day belong; null for an open one. All after the last number that was sealed before belong there. */
  dayOf(day: number, seq: number): number | null {
    return this.days.find((one) => one.day >= day && one.sealed >= seq)?.day ?? null
  }

  /** The last entry from `seq` on that there was when the next days were closed; null after all of those. */
  sealedFrom(seq: number): number | null {
    return this.days.find(({ sealed }) => sealed >= seq)?.sealed ?? null
  }

  before(moment: number): Before {
    const closed = this.days.findLast((one) => endOf(one) <= moment) ?? NONE
    const within = this.days.find((one) => endOf(one) >= moment) ?? null
    const sealed = within?.sealed ?? this.newest
    const rest = {
      after: closed.openFrom - 1,
      to: within?.last ?? this.newest,
      which: sql`at < ${moment} AND seq <= ${sealed} AND ${notIn(closed)}`,
    }
    return { closed, within, sealed, rest: endOf(closed) === moment ? null : rest }
  }

  /** The entries that count from one moment on and before another. */
  between(from: number, to: number): Rest {
    const [first, end] = [this.before(from), this.before(to)]
    const { within } = end
    const closed = this.days.filter(({ day }) => day > first.closed.day && day <= (within?.day ?? 0))
    return {
      after: first.closed.openFrom - 1,
      to: within ? Math.max(0, ...closed.map(({ last }) => last)) : this.newest,
      which: sql`at < ${to} AND seq <= ${end.sealed} AND NOT (at < ${from} AND seq <= ${first.sealed})`,
    }
  }
}

export function endOf({ day }: ClosedDay): number {
  return (day + 1) * DAY_MS
}

/** Entries that are neither in this closed day nor in an earlier one. */
export function notIn(closed: ClosedDay): SQL {
  return sql`NOT (at < ${endOf(closed)} AND seq <= ${closed.sealed})`
}
