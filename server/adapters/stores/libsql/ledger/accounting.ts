import { and, asc, gt, lte, type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { DAY_MS, isoDay } from '../../../../core/clock'
import {
  type Accounting,
  type BookEntry,
  type BookPeriod,
  type Books,
  type DayBalance,
  type Flow,
  type LedgerBalance,
  OPEN_DAY,
} from '../../../../core/ledger/accounting'
import { micros } from '../../../../core/money'
import { closedFlows, closings, entries } from '../schema/ledger'
import { type Before, ClosedDays, type Rest } from './closed-days'
import { type AccountSums, LowestSums } from './lowest-sums'

/** Rows and accounts that are read and held at once: a few milliseconds and megabytes each, so that a long export leaves room for others. */
export interface AccountingSizes {
  readonly entries: number
  readonly closings: number
  readonly accounts: number
}

const SIZES: AccountingSizes = { entries: 5_000, closings: 500, accounts: 50_000 }

/** The same of a name that was read. */
export function partyOfName(side: string): string {
  return side.startsWith('house/') ? side : `customers${side.slice(side.indexOf('/'))}`
}

/** A customer's account is of all customers together. */
function partyOf(side: SQL): SQL {
  return sql`iif(${side} LIKE 'house/%', ${side}, 'customers' || substr(${side}, instr(${side}, '/')))`
}

/** The total of a ledger account by the end of a day. */
type Closing = readonly [account: string, day: number, debits: number, credits: number]

/** The movement of a ledger account up to the end of a period. */
interface AccountMoves {
  readonly account: string
  /** The closing before the period. */
  readonly before: Closing | null
  /** The closings in it, or only the last. */
  readonly closings: Closing[]
  /** Entries that no closing has; those before the period are in the first closing or in the rest. */
  readonly rest: AccountSums | null
}

const NO_SUMS: AccountSums = { debits: 0, credits: 0, earlierDebits: 0, earlierCredits: 0 }
/** Days of an account that are read together with those of `closings` accounts. */
const DAYS = 31

interface StoredFlow extends Omit<Flow, 'earlier' | 'amount'> {
  readonly earlier: number
  readonly amount: number
}

/** Accounting from the closings of days and the entries of those that are not closed, or are in the period in part. */
export class LibsqlAccounting implements Accounting {
  private readonly db: LibSQLDatabase
  private readonly applied: () => Promise<void>
  private readonly sizes: AccountingSizes

  /** `applied` resolves when the tables contain every acknowledged charge. */
  constructor(db: LibSQLDatabase, applied: () => Promise<void>, sizes = SIZES) {
    this.db = db
    this.applied = applied
    this.sizes = sizes
  }

  async books({ from, to }: BookPeriod): Promise<Books> {
    await this.applied()
    const days = await ClosedDays.read(this.db)
    const [opening, closing] = [days.before(from), days.before(to)]
    return {
      balances: () => this.balances(opening, closing),
      days: () => this.days(opening, closing),
      flows: () => this.flows(opening, closing),
      entries: () => this.entries(days.between(from, to)),
    }
  }

  async archiveOf({ from, to }: BookPeriod, reads: 'entries' | 'sums'): Promise<string | null> {
    const days = await ClosedDays.read(this.db)
    if (reads === 'entries') return days.archiveOf(from, to)?.name ?? null
    const cut = [from, to].find((moment) => moment % DAY_MS !== 0 && days.archiveOf(moment, moment + 1))
    return cut === undefined ? null : (days.archiveOf(cut, cut + 1)?.name ?? null)
  }

  /** Every ledger account from one moment to another, by its name, in pieces. */
  async *balances(opening: Before, closing: Before): AsyncGenerator<readonly LedgerBalance[], void> {
    for await (const moves of this.moves(opening, closing, 1)) yield moves.flatMap(balanceOf)
  }

  private async *days(opening: Before, closing: Before): AsyncGenerator<readonly DayBalance[], void> {
    const days = closing.closed.day - opening.closed.day
    // The rest is a part of a closed day that the period ends in, or is in none.
    const restDay = closing.within ? isoDay(closing.within.day * DAY_MS) : OPEN_DAY
    for await (const moves of this.moves(opening, closing, days)) yield moves.flatMap((one) => daysOf(one, restDay))
  }

  /** By account: closings, of the last day or of `days` days, and the entries that none has. */
  private async *moves(opening: Before, closing: Before, days: number): AsyncGenerator<readonly AccountMoves[], void> {
    for (let from: string | null = ''; from !== null; ) {
      const sums = new LowestSums(from, this.sizes.accounts)
      for await (const moves of movesOf(this.db, closing.rest, this.sizes.entries))
        for (const { debit, credit, amount } of moves) sums.add(debit, credit, amount)
      for await (const moves of movesOf(this.db, opening.rest, this.sizes.entries))
        for (const { debit, credit, amount } of moves) {
          const [debited, credited] = [sums.of(debit), sums.of(credit)]
          if (debited) debited.earlierDebits += amount
          if (credited) credited.earlierCredits += amount
        }
      yield* this.withRest(this.closedOf(opening, closing, { from, days }), sums)
      from = sums.end
    }
  }

  /** The accounts of a pass in their order: those that are closed and the rest. */
  private async *withRest(
    pages: AsyncGenerator<readonly AccountMoves[], void>,
    sums: LowestSums,
  ): AsyncGenerator<readonly AccountMoves[], void> {
    const others = [...sums.sorted()].reverse()
    const restOf = ([account, rest]: readonly [string, AccountSums]) => ({ account, before: null, closings: [], rest })
    for await (const page of pages) {
      const moves: AccountMoves[] = []
      for (const closed of page) {
        if (sums.end !== null && closed.account >= sums.end) break
        for (let next = others.at(-1); next && next[0] < closed.account; next = others.at(-1)) {
          moves.push(restOf(next))
          others.pop()
        }
        moves.push(others.at(-1)?.[0] === closed.account ? { ...closed, rest: others.pop()?.[1] ?? null } : closed)
      }
      yield moves
      if (sums.end !== null && (page.at(-1)?.account ?? '') >= sums.end) break
    }
    yield others.reverse().map(restOf)
  }

  /** By account, from one on. Looks up the closings of each account, so it does not matter how many there are. */
  private async *closedOf(
    { closed: { day: first } }: Before,
    { closed: { day: last } }: Before,
    { from, days }: { readonly from: string; readonly days: number },
  ): AsyncGenerator<readonly AccountMoves[], void> {
    const most = Math.max(1, Math.floor((this.sizes.closings * DAYS) / Math.max(DAYS, days)))
    const lastOf = (day: number) => sql`(SELECT max(day) FROM ${closings} WHERE account = n.account AND day <= ${day})`
    const which =
      days > 1
        ? sql`c.day BETWEEN coalesce(${lastOf(first)}, 0) AND ${last}`
        : sql`c.day IN (${lastOf(first)}, ${lastOf(last)})`
    for (let isFirst = true, after = from; ; isFirst = false) {
      // As one text: rows of their own would take twice the time.
      const [page] = await this.db.all<{ names: number; after: string | null; rows: string }>(sql`
        WITH RECURSIVE n(account) AS (
          SELECT min(account) FROM ${closings} WHERE ${isFirst ? sql`account >= ${after}` : sql`account > ${after}`}
          UNION ALL SELECT (SELECT min(account) FROM ${closings} WHERE account > n.account) FROM n WHERE account IS NOT NULL
          LIMIT ${most})
        SELECT (SELECT count(account) FROM n) AS names, (SELECT max(account) FROM n) AS after,
          (SELECT json_group_array(json_array(account, day, debits, credits)) FROM
            (SELECT c.* FROM n CROSS JOIN ${closings} c ON c.account = n.account AND ${which})) AS rows`)
      if (!page?.after) return
      yield byAccount(JSON.parse(page.rows), first)
      if (page.names < most) return
      after = page.after
    }
  }

  private async flows(opening: Before, closing: Before): Promise<readonly Flow[]> {
    const flows = new Map<string, Flow>()
    const add = (rows: readonly StoredFlow[], sign: 1 | -1 = 1) => {
      for (const { kind, debit, credit, ...row } of rows) {
        const name = `${kind} ${debit} ${credit}`
        const known = flows.get(name)
        flows.set(name, {
          kind,
          debit,
          credit,
          earlier: micros((known?.earlier ?? 0) + row.earlier),
          amount: micros((known?.amount ?? 0) + sign * row.amount),
          entries: (known?.entries ?? 0) + sign * row.entries,
        })
      }
    }
    const isEarlier = sql`day <= ${opening.closed.day}`
    add(
      await this.db.all<StoredFlow>(sql`SELECT kind, debit, credit, sum(iif(${isEarlier}, amount, 0)) AS earlier,
        sum(iif(${isEarlier}, 0, amount)) AS amount, sum(iif(${isEarlier}, 0, entries)) AS entries
        FROM ${closedFlows} WHERE day <= ${closing.closed.day} GROUP BY 1, 2, 3`),
    )
    const sums = (earlier: SQL) =>
      sql`kind, ${partyOf(sql`debit`)} AS debit, ${partyOf(sql`credit`)} AS credit, ${earlier} AS earlier, sum(amount) AS amount, count(*) AS entries`
    for await (const rows of groupsOf<StoredFlow>(this.db, closing.rest, this.sizes.entries, sums(sql`0`))) add(rows)
    for await (const rows of groupsOf<StoredFlow>(this.db, opening.rest, this.sizes.entries, sums(sql`sum(amount)`)))
      add(rows, -1)
    return [...flows.values()].filter(
      ({ earlier, amount, entries: count }) => earlier !== 0 || amount !== 0 || count !== 0,
    )
  }

  private async *entries({ after: before, to, which }: Rest): AsyncGenerator<readonly BookEntry[], void> {
    for (let after = before; after < to; after += this.sizes.entries) {
      const rows: readonly BookEntry[] = await this.db
        .select()
        .from(entries)
        .where(and(gt(entries.seq, after), lte(entries.seq, Math.min(to, after + this.sizes.entries)), which))
        .orderBy(asc(entries.seq))
        .then((found) => found.map(({ transactionId, ...row }) => ({ ...row, transaction: transactionId })))
      if (rows.length > 0) yield rows
    }
  }
}

export interface Move {
  readonly debit: string
  readonly credit: string
  readonly amount: number
}

/** The flows of a range of entries between two ledger accounts, a slice of so many entries at a time. */
export function movesOf(db: LibSQLDatabase, rest: Rest | null, rows: number): AsyncGenerator<readonly Move[], void> {
  return groupsOf<Move>(db, rest, rows, sql`debit, credit, sum(amount) AS amount`)
}

/** Groups by kind, debit and credit, as `columns` name them. */
async function* groupsOf<T>(
  db: LibSQLDatabase,
  rest: Rest | null,
  rows: number,
  columns: SQL,
): AsyncGenerator<readonly T[], void> {
  if (!rest) return
  for (let { after } = rest; after < rest.to; after += rows)
    yield await db.all<T>(sql`SELECT ${columns} FROM ${entries}
      WHERE seq > ${after} AND seq <= ${Math.min(rest.to, after + rows)} AND ${rest.which} GROUP BY kind, debit, credit`)
}

function byAccount(rows: readonly Closing[], first: number): readonly AccountMoves[] {
  const found: AccountMoves[] = []
  for (const row of rows) {
    const isBefore = row[1] <= first
    const own = found.at(-1)
    if (own?.account === row[0]) own.closings.push(row)
    else found.push({ account: row[0], before: isBefore ? row : null, closings: isBefore ? [] : [row], rest: null })
  }
  return found
}

function openingOf({ before, rest }: AccountMoves): number {
  return (before ? before[3] - before[2] : 0) + (rest ? rest.earlierCredits - rest.earlierDebits : 0)
}

/** None if there is neither a balance nor a movement. */
function balanceOf(moves: AccountMoves): LedgerBalance[] {
  const {
    account,
    before,
    closings: [last = before],
    rest,
  } = moves
  const { debits, credits, earlierDebits, earlierCredits } = rest ?? NO_SUMS
  const own = balanced(account, openingOf(moves), {
    debits: debits - earlierDebits + (last?.[2] ?? 0) - (before?.[2] ?? 0),
    credits: credits - earlierCredits + (last?.[3] ?? 0) - (before?.[3] ?? 0),
  })
  return own.opening === 0 && own.debits === 0 && own.credits === 0 ? [] : [own]
}

/** The lines of an account, and the day of what no closing has. */
function daysOf(moves: AccountMoves, restDay: string): readonly DayBalance[] {
  const { account, closings: closed, rest } = moves
  const lines: DayBalance[] = []
  let [before, opening] = [moves.before, openingOf(moves)]
  let { earlierDebits, earlierCredits } = rest ?? NO_SUMS
  const add = (day: string, debits: number, credits: number) => {
    const own = balanced(account, opening, { debits: debits - earlierDebits, credits: credits - earlierCredits })
    ;[opening, earlierDebits, earlierCredits] = [own.closing, 0, 0]
    if (own.debits !== 0 || own.credits !== 0) lines.push({ ...own, day })
  }
  for (const row of closed) {
    add(isoDay(row[1] * DAY_MS), row[2] - (before?.[2] ?? 0), row[3] - (before?.[3] ?? 0))
    before = row
  }
  add(restDay, rest?.debits ?? 0, rest?.credits ?? 0)
  if (lines.length > 0 || opening === 0) return lines
  return [{ ...balanced(account, opening, NO_SUMS), day: '' }]
}

function balanced(
  account: string,
  opening: number,
  { debits, credits }: { readonly debits: number; readonly credits: number },
): LedgerBalance {
  return {
    account,
    opening: micros(opening),
    debits: micros(debits),
    credits: micros(credits),
    closing: micros(opening + credits - debits),
  }
}
