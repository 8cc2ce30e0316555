import { and, asc, gt, gte, lt, lte, type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { Accounting, BookEntry, BookPeriod, Books, Flow, LedgerBalance } from '../../../../core/ledger/accounting'
import { micros, ZERO } from '../../../../core/money'
import { entries } from '../schema/ledger'

/** Entries per statement: a few milliseconds each, so that a long export leaves room for others. */
const CHUNK = 5_000

/** What the entries of one owner moved between two ledger accounts. */
interface Moved {
  readonly owner: string | null
  readonly debit: string
  readonly credit: string
  readonly earlier: number
  readonly within: number
  readonly last: number
  readonly count: number
}

interface Sums {
  opening: number
  debits: number
  credits: number
}

/** Accounting from the ledger entries alone. Reads them by owner for balances and by commit for the journal, never all at once. */
export class LibsqlAccounting implements Accounting {
  private readonly db: LibSQLDatabase
  private readonly applied: () => Promise<void>
  private readonly chunk: number

  /** `applied` resolves when the tables contain every acknowledged charge. */
  constructor(db: LibSQLDatabase, applied: () => Promise<void>, chunk = CHUNK) {
    this.db = db
    this.applied = applied
    this.chunk = chunk
  }

  async books(period: BookPeriod): Promise<Books> {
    await this.applied()
    const [row] = await this.db.all<{ last: number }>(sql`SELECT coalesce(max(seq), 0) AS last FROM ${entries}`)
    const last = row?.last ?? 0
    return {
      balances: () => this.balances(period, last),
      flows: () => this.flows(period, last),
      entries: () => this.entries(period, last),
    }
  }

  private async *balances(period: BookPeriod, last: number): AsyncGenerator<LedgerBalance, void> {
    const house = new Map<string, Sums>()
    let owner: string | null = null
    let own = new Map<string, Sums>()
    for await (const moved of this.moved(period, last)) {
      if (moved.owner !== owner) {
        yield* listed(own)
        own = new Map()
        owner = moved.owner
      }
      for (const side of ['debit', 'credit'] as const) {
        const account = moved[side]
        add(account.startsWith('house/') ? house : own, account, side, moved)
      }
    }
    yield* listed(own)
    yield* listed(house)
  }

  /**
   * The moves of all owners, sorted by owner: first those without one. The index `entries_account` ends with the number of the row, so that
   * the rest of an owner with many entries is found at once.
   */
  private async *moved({ from, to }: BookPeriod, last: number): AsyncGenerator<Moved, void> {
    let after: { readonly owner: string | null; readonly seq: number | null } = { owner: null, seq: 0 }
    for (;;) {
      const { owner, seq } = after
      const rest = seq === null ? sql`account_id > ${owner ?? ''}` : sql`account_id IS ${owner} AND seq > ${seq}`
      const rows: Moved[] = await this.db.all<Moved>(sql`
        SELECT account_id AS owner, debit, credit, sum(iif(at < ${from}, amount, 0)) AS earlier,
          sum(iif(at >= ${from} AND at < ${to}, amount, 0)) AS within, max(seq) AS last, count(*) AS count
        FROM (SELECT account_id, seq, debit, credit, amount, at FROM ${entries} INDEXED BY entries_account
          WHERE ${rest} AND seq <= ${last} ORDER BY account_id, seq LIMIT ${this.chunk})
        GROUP BY account_id, debit, credit ORDER BY account_id`)
      yield* rows
      const isFull = rows.reduce((sum, { count }) => sum + count, 0) === this.chunk
      const end = isFull ? rows.at(-1) : undefined
      if (!end && seq === null) return
      const ofEnd = rows.filter((row) => row.owner === end?.owner)
      after = end ? { owner: end.owner, seq: Math.max(...ofEnd.map((row) => row.last)) } : { owner, seq: null }
    }
  }

  private async flows({ from, to }: BookPeriod, last: number): Promise<readonly Flow[]> {
    const partyOf = (side: SQL) =>
      sql`iif(${side} LIKE 'house/%', ${side}, 'customers' || substr(${side}, instr(${side}, '/')))`
    const flows = new Map<string, Flow>()
    for (let after = 0; after < last; after += this.chunk) {
      const rows = await this.db.all<Omit<Flow, 'earlier' | 'amount'> & { earlier: number; amount: number }>(sql`
        SELECT kind, ${partyOf(sql`debit`)} AS debit, ${partyOf(sql`credit`)} AS credit, sum(iif(at < ${from}, amount, 0)) AS earlier,
          sum(iif(at >= ${from}, amount, 0)) AS amount, sum(at >= ${from}) AS entries
        FROM ${entries} WHERE seq > ${after} AND seq <= ${Math.min(last, after + this.chunk)} AND at < ${to} GROUP BY 1, 2, 3`)
      for (const row of rows) {
        const name = `${row.kind} ${row.debit} ${row.credit}`
        const { earlier = ZERO, amount = ZERO, entries: count = 0 } = flows.get(name) ?? {}
        const sums = { earlier: micros(earlier + row.earlier), amount: micros(amount + row.amount) }
        flows.set(name, { ...row, ...sums, entries: count + row.entries })
      }
    }
    return [...flows.values()]
  }

  private async *entries({ from, to }: BookPeriod, last: number): AsyncGenerator<readonly BookEntry[], void> {
    for (let after = 0; after < last; after += this.chunk) {
      const rows: readonly BookEntry[] = await this.db
        .select()
        .from(entries)
        .where(
          and(
            gt(entries.seq, after),
            lte(entries.seq, Math.min(last, after + this.chunk)),
            gte(entries.at, from),
            lt(entries.at, to),
          ),
        )
        .orderBy(asc(entries.seq))
        .then((found) => found.map(({ transactionId, ...row }) => ({ ...row, transaction: transactionId })))
      if (rows.length > 0) yield rows
    }
  }
}

function add(sums: Map<string, Sums>, account: string, side: 'debit' | 'credit', { earlier, within }: Moved): void {
  const sum = sums.get(account) ?? { opening: 0, debits: 0, credits: 0 }
  sums.set(account, sum)
  sum.opening += side === 'credit' ? earlier : -earlier
  sum[side === 'credit' ? 'credits' : 'debits'] += within
}

function* listed(sums: ReadonlyMap<string, Sums>): Generator<LedgerBalance, void> {
  for (const account of [...sums.keys()].sort()) {
    const { opening = 0, debits = 0, credits = 0 } = sums.get(account) ?? {}
    if (opening === 0 && debits === 0 && credits === 0) continue
    yield {
      ...{ account, opening: micros(opening), debits: micros(debits), credits: micros(credits) },
      closing: micros(opening + credits - debits),
    }
  }
}
