import { type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { DAY_MS, isoDay } from '../../../../core/clock'
import type { LedgerProblem } from '../../../../core/ledger/ledger-check'
import { archivedFlows, archivedSums, closedDays, closedFlows, closings, entries } from '../schema/ledger'
import { partyOf } from './accounting'
import type { ClosedDays } from './closed-days'

/** Entries in the order of their accounts, and the names of the ledger accounts whose closings are read with them. */
export interface OwnerSlice {
  readonly which: SQL
  /** The first name, and the one before which they end. */
  readonly from: string
  readonly to: string
  /** The account that has more entries; null if none has. */
  readonly unfinished: string | null
}

/** What the entries of a closed day moved, and what it was closed with. */
interface Sums {
  /** Debits and credits, or the amount and the number of entries. */
  readonly read: readonly [number, number]
  readonly kept: readonly [number, number]
}

interface AccountDay {
  readonly account: string
  readonly day: number
  readonly readDebits: number
  readonly readCredits: number
  readonly keptDebits: number
  readonly keptCredits: number
}

interface DayFlow {
  readonly day: number
  readonly kind: string
  readonly debit: string
  readonly credit: string
  readonly amount: number
  readonly entries: number
}

/** What a ledger account moved on each closed day, from its closings. */
const MOVED = sql`SELECT account, day, debits - lag(debits, 1, 0) OVER own AS debits, credits - lag(credits, 1, 0) OVER own AS credits
  FROM ${closings}`
const OWN = sql`WINDOW own AS (PARTITION BY account ORDER BY day)`

/** Compares closed days with the sums of their entries. */
export class ClosingCheck {
  private readonly db: LibSQLDatabase
  private readonly days: ClosedDays
  private readonly rows: number
  /** Sums that do not agree, or not yet: the rest of the account is still to be read. */
  private readonly open = new Map<string, Sums>()

  constructor(db: LibSQLDatabase, days: ClosedDays, rows: number) {
    this.db = db
    this.days = days
    this.rows = rows
  }

  /** The closings of customers. Call it for all slices, in their order. */
  async *ofSlice({ which, from, to, unfinished }: OwnerSlice): AsyncGenerator<LedgerProblem, void> {
    if (this.days.last.day < 0) return
    const rows = await this.db.all<AccountDay>(sql`
      WITH slice AS MATERIALIZED (SELECT debit, credit, amount, ${this.closedDay()} AS day FROM ${entries} INDEXED BY entries_account WHERE ${which}),
        kept AS (${MOVED} WHERE account >= ${from} AND account < ${to} AND day <= ${this.days.last.day} ${OWN})
      SELECT account, day, sum(rd) AS readDebits, sum(rc) AS readCredits, sum(kd) AS keptDebits, sum(kc) AS keptCredits FROM (
        SELECT debit AS account, day, amount AS rd, 0 AS rc, 0 AS kd, 0 AS kc FROM slice WHERE day IS NOT NULL AND debit NOT LIKE 'house/%'
        UNION ALL SELECT credit, day, 0, amount, 0, 0 FROM slice WHERE day IS NOT NULL AND credit NOT LIKE 'house/%'
        UNION ALL SELECT account, day, debits, 0, 0, 0 FROM ${archivedSums} WHERE account >= ${from} AND account < ${to}
        UNION ALL SELECT account, day, 0, 0, debits, credits FROM kept)
      GROUP BY account, day HAVING sum(rd) <> sum(kd) OR sum(rc) <> sum(kc)`)
    for (const row of rows)
      this.add(`${row.account} ${isoDay(row.day * DAY_MS)}`, {
        read: [row.readDebits, row.readCredits],
        kept: [row.keptDebits, row.keptCredits],
      })
    yield* this.ended((name) => unfinished === null || !name.startsWith(`${unfinished}/`))
  }

  /** The sums of all customers by kind, and the closings of the gateway's own accounts. */
  async *ofDays(): AsyncGenerator<LedgerProblem, void> {
    if (this.days.last.day < 0) return
    const [debit, credit] = [partyOf(sql`debit`), partyOf(sql`credit`)]
    for (let after = 0; after < this.days.newest; after += this.rows)
      this.addFlows(
        'read',
        await this.db.all<DayFlow>(sql`SELECT ${this.closedDay()} AS day, kind, ${debit} AS debit, ${credit} AS credit,
            sum(amount) AS amount, count(*) AS entries FROM ${entries}
          WHERE seq > ${after} AND seq <= ${Math.min(this.days.newest, after + this.rows)} GROUP BY 1, 2, 3, 4 HAVING day IS NOT NULL`),
      )
    this.addFlows('read', await this.db.all<DayFlow>(sql`SELECT * FROM ${archivedFlows}`))
    const flows = await this.db.all<DayFlow>(sql`SELECT * FROM ${closedFlows} WHERE day <= ${this.days.last.day}`)
    this.addFlows('kept', flows)
    const house = await this.db.all<{ account: string; day: number; debits: number; credits: number }>(
      sql`${MOVED} WHERE account >= 'house/' AND day <= ${this.days.last.day} ${OWN}`,
    )
    for (const { account, day, debits, credits } of house)
      this.add(`${account} ${isoDay(day * DAY_MS)}`, { read: [0, 0], kept: [debits, credits] })
    for (const { day, debit: from, credit: to, amount } of flows) {
      const add = (account: string, read: [number, number]) =>
        account.startsWith('house/') && this.add(`${account} ${isoDay(day * DAY_MS)}`, { read, kept: [0, 0] })
      add(from, [amount, 0])
      add(to, [0, amount])
    }
    yield* this.ended(() => true)
  }

  private addFlows(side: 'read' | 'kept', flows: readonly DayFlow[]): void {
    for (const { day, kind, debit, credit, amount, entries: count } of flows)
      this.add(`${kind} ${debit} ${credit} ${isoDay(day * DAY_MS)}`, {
        read: [0, 0],
        kept: [0, 0],
        [side]: [amount, count],
      })
  }

  private add(name: string, { read, kept }: Sums): void {
    const known = this.open.get(name) ?? { read: [0, 0], kept: [0, 0] }
    const sum = (a: Sums['read'], b: Sums['read']) => [a[0] + b[0], a[1] + b[1]] as const
    const sums = { read: sum(known.read, read), kept: sum(known.kept, kept) }
    if (sums.read.join() === sums.kept.join()) this.open.delete(name)
    else this.open.set(name, sums)
  }

  /** The problems of those that have ended. */
  private *ended(has: (name: string) => boolean): Generator<LedgerProblem, void> {
    for (const [subject, { read, kept }] of this.open) {
      if (!has(subject)) continue
      this.open.delete(subject)
      const which = read[0] === kept[0] ? 1 : 0
      yield { what: 'a closed day is not the sum of its entries', subject, one: kept[which], other: read[which] }
    }
  }

  /** The closed day that an entry belongs to; null for an open one. */
  private closedDay(): SQL {
    return sql`(SELECT c.day FROM ${closedDays} c WHERE c.day >= at / ${sql.raw(String(DAY_MS))} AND c.sealed >= seq
      AND c.day <= ${this.days.last.day} ORDER BY c.day LIMIT 1)`
  }
}
