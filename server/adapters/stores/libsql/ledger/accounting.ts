import { and, asc, gt, lte, type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { DAY_MS } from '../../../../core/clock'
import type { Accounting, BookEntry, BookPeriod, Books, Flow, LedgerBalance } from '../../../../core/ledger/accounting'
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

/** A customer's account is of all customers together. */
export function partyOf(side: SQL): SQL {
  return sql`iif(${side} LIKE 'house/%', ${side}, 'customers' || substr(${side}, instr(${side}, '/')))`
}

/** What a ledger account had moved in all by the beginning and by the end of a period. */
interface Closed {
  readonly account: string
  readonly openingDebits: number
  readonly openingCredits: number
  readonly debits: number
  readonly credits: number
}

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

  /** Every ledger account from one moment to another, by its name. */
  async *balances(opening: Before, closing: Before): AsyncGenerator<LedgerBalance, void> {
    for (let from: string | null = ''; from !== null; ) {
      const sums = new LowestSums(from, this.sizes.accounts)
      await this.addRest(closing.rest, sums, 0)
      await this.addRest(opening.rest, sums, 1)
      yield* this.listed(opening, closing, sums, from)
      from = sums.end
    }
  }

  /** Adds what entries moved within the period; with a `sign` of 1, those before it, which are no part of it. */
  private async addRest(rest: Rest | null, sums: LowestSums, sign: 0 | 1): Promise<void> {
    for await (const moves of movesOf(this.db, rest, this.sizes.entries))
      for (const { debit, credit, amount } of moves) {
        const within = sign === 0 ? amount : -amount
        const [from, to] = [sums.of(debit), sums.of(credit)]
        if (from) {
          from.opening -= sign * amount
          from.debits += within
        }
        if (to) {
          to.opening += sign * amount
          to.credits += within
        }
      }
  }

  /** The accounts of a pass with a balance or a movement, in their order: what is closed and the rest. */
  private async *listed(
    opening: Before,
    closing: Before,
    rest: LowestSums,
    from: string,
  ): AsyncGenerator<LedgerBalance, void> {
    const others = [...rest.sorted()].reverse()
    for await (const closed of this.closedBetween(opening, closing, from, rest.end)) {
      for (let next = others.at(-1); next && next[0] < closed.account; next = others.at(-1)) {
        yield* balanceOf(...next)
        others.pop()
      }
      const own = others.at(-1)?.[0] === closed.account ? others.pop()?.[1] : undefined
      const { openingDebits, openingCredits, debits, credits, account } = closed
      yield* balanceOf(account, {
        opening: (own?.opening ?? 0) + openingCredits - openingDebits,
        debits: (own?.debits ?? 0) + debits - openingDebits,
        credits: (own?.credits ?? 0) + credits - openingCredits,
      })
    }
    for (const other of others.reverse()) yield* balanceOf(...other)
  }

  /** By account, from one on and before another. Looks up the last closings of each account, so it does not matter how many there are. */
  private async *closedBetween(
    { closed: { day: first } }: Before,
    { closed: { day: last } }: Before,
    from: string,
    end: string | null,
  ): AsyncGenerator<Closed, void> {
    const lastOf = (day: number) => sql`(SELECT max(day) FROM ${closings} WHERE account = n.account AND day <= ${day})`
    for (let isFirst = true, after = from; ; isFirst = false) {
      const rows: readonly Closed[] = await this.db.all<Closed>(sql`
        WITH RECURSIVE n(account) AS (
          SELECT min(account) FROM ${closings} WHERE ${isFirst ? sql`account >= ${after}` : sql`account > ${after}`}
          UNION ALL SELECT (SELECT min(account) FROM ${closings} WHERE account > n.account) FROM n WHERE account IS NOT NULL
          LIMIT ${this.sizes.closings})
        SELECT n.account AS account, coalesce(o.debits, 0) AS openingDebits, coalesce(o.credits, 0) AS openingCredits,
          coalesce(c.debits, 0) AS debits, coalesce(c.credits, 0) AS credits
        FROM n LEFT JOIN ${closings} o ON o.account = n.account AND o.day = ${lastOf(first)}
          LEFT JOIN ${closings} c ON c.account = n.account AND c.day = ${lastOf(last)}
        WHERE n.account IS NOT NULL`)
      for (const row of rows) {
        if (end !== null && row.account >= end) return
        yield row
      }
      const newest = rows.at(-1)
      if (!newest || rows.length < this.sizes.closings) return
      after = newest.account
    }
  }

  private async flows(opening: Before, closing: Before): Promise<readonly Flow[]> {
    const flows = new Map<string, Flow>()
    const add = (rows: readonly StoredFlow[], sign: 1 | -1 = 1) => {
      for (const { kind, debit, credit, ...row } of rows) {
        const name = `${kind} ${debit} ${credit}`
        const known = flows.get(name)
        flows.set(name, {
          ...{ kind, debit, credit, earlier: micros((known?.earlier ?? 0) + row.earlier) },
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

/** What entries of a range moved between two ledger accounts, a slice of so many entries at a time. */
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

function* balanceOf(account: string, { opening, debits, credits }: AccountSums): Generator<LedgerBalance, void> {
  if (opening === 0 && debits === 0 && credits === 0) return
  yield {
    ...{ account, opening: micros(opening), debits: micros(debits), credits: micros(credits) },
    closing: micros(opening + credits - debits),
  }
}
