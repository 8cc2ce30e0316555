import { type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { LedgerCheck, LedgerProblem } from '../../../../core/ledger/ledger-check'
import { LibsqlAccounting } from './accounting'
import { ClosedDays } from './closed-days'
import { ClosingCheck } from './closing-check'
import { type Charged, UnmatchedCharges } from './unmatched-charges'

const MAX_PROBLEMS = 100
/** After every request id. */
const LAST_ID = 'req~'
/** Into how many parts those calls are divided that were too many. */
const MORE_PARTS = 16
/** Problems that are looked at again per statement. */
const CONFIRMED = 500

/** The batch sizes of a check. */
export interface CheckSizes {
  /** Rows that a statement reads of a table: a few milliseconds, so that others can read in between. */
  readonly rows: number
  /** Calls whose charge was not found yet, or the other way round. */
  readonly unmatched: number
}

const SIZES: CheckSizes = { rows: 500, unmatched: 50_000 }

/**
 * Compares what the tables say twice: balances with closings and the entries since, closed days with their entries, calls with their charges. Reads each table once,
 * in slices and in its own order, so that its memory does not depend on how much there is. May run while the tables are written: what changes meanwhile is no problem.
 */
export function libsqlLedgerCheck(
  db: LibSQLDatabase,
  applied: () => Promise<void>,
  sizes: CheckSizes = SIZES,
): LedgerCheck {
  return async () => {
    await applied()
    for (;;) {
      const before = await archivedCharges(db)
      const problems = await problemsOf(db, sizes)
      // Charges that leave for an archive meanwhile are read twice, or not at all.
      if (problems.length === 0 || (await archivedCharges(db)) === before) return problems
    }
  }
}

async function problemsOf(db: LibSQLDatabase, sizes: CheckSizes): Promise<readonly LedgerProblem[]> {
  const problems: LedgerProblem[] = []
  const days = await ClosedDays.read(db)
  const closings = new ClosingCheck(db, days, sizes)
  const parts = [
    wrongCharges(db, { closings, first: days.firstCall }, sizes),
    closings.problems(),
    wrongBalances(db, days, closings, sizes),
  ]
  for (const part of parts)
    for await (const problem of part) {
      problems.push(problem)
      if (problems.length === MAX_PROBLEMS) return problems
    }
  return problems
}

async function archivedCharges(db: LibSQLDatabase): Promise<number> {
  const [row] = await db.all<{ entries: number }>(sql`SELECT coalesce(sum(entries), 0) AS entries FROM archived_flows`)
  return row?.entries ?? 0
}

/** The dependencies of a walk over calls and charges. */
interface Walk {
  readonly closings: ClosingCheck
  /** The first call that no archive has. */
  readonly first: string
}

const PARTS = ['credit', 'paid', 'debt'] as const

interface StoredBalances extends Readonly<Record<(typeof PARTS)[number], number>> {
  readonly id: string
}

/** Walks the accounts along with the balances of the ledger as of the last entry when the check began: closings, of which the wrong ones are known, and the entries since. */
async function* wrongBalances(
  db: LibSQLDatabase,
  days: ClosedDays,
  { excess }: ClosingCheck,
  { rows, unmatched }: CheckSizes,
): AsyncGenerator<LedgerProblem, void> {
  const accounting = new LibsqlAccounting(db, async () => undefined, {
    entries: rows,
    closings: rows,
    accounts: unmatched,
  })
  const balances = rowsOf(accounting.balances(days.before(0), days.before(Number.MAX_SAFE_INTEGER)))
  let next = await balances.next()
  for (let after = '', isLast = false; !isLast; ) {
    const stored = await db.all<StoredBalances>(balancesAt(days.newest, after, rows))
    after = stored.at(-1)?.id ?? after
    isLast = stored.length < rows
    const sums = new Map<string, number>()
    // `0` comes after `/`.
    for (
      const end = isLast ? 'house/' : `${after}0`;
      !next.done && next.value.account < end;
      next = await balances.next()
    )
      sums.set(next.value.account, next.value.closing - (excess.get(next.value.account) ?? 0))
    for (const row of stored)
      for (const part of PARTS) {
        const account = `${row.id}/${part}`
        const balance = sums.get(account) ?? 0 - (excess.get(account) ?? 0)
        const sum = part === 'debt' ? 0 - balance : balance
        sums.delete(account)
        if (row[part] !== sum) yield balanceProblem(part, row.id, row[part], sum)
      }
    for (const [account, sum] of sums) if (sum !== 0) yield balanceProblem('balance', account, 0, sum)
  }
}

async function* rowsOf<T>(pieces: AsyncIterable<readonly T[]>): AsyncGenerator<T, void> {
  for await (const rows of pieces) yield* rows
}

/** Stored balances without what later entries moved. */
function balancesAt(newest: number, after: string, rows: number): SQL {
  const moved = (part: string) =>
    sql.raw(
      `coalesce(sum(iif(e.credit = a.id || '/${part}', amount, 0) - iif(e.debit = a.id || '/${part}', amount, 0)), 0)`,
    )
  return sql`SELECT a.id AS id, a.credit - ${moved('credit')} AS credit, a.paid - ${moved('paid')} AS paid, a.debt + ${moved('debt')} AS debt
    FROM (SELECT id, credit, paid, debt FROM accounts WHERE id > ${after} ORDER BY id LIMIT ${rows}) a
      LEFT JOIN entries e INDEXED BY entries_account ON e.account_id = a.id AND e.seq > ${newest} GROUP BY a.id ORDER BY a.id`
}

function balanceProblem(part: string, subject: string, one: number, other: number): LedgerProblem {
  return { what: `the ${part} of an account is not the sum of its entries`, subject, one, other }
}

/** From the first call on that no archive has. In one pass, unless the tables are so far out of order that too much waits for its other side: then in as many as it takes, each of a part of the calls. */
async function* wrongCharges(db: LibSQLDatabase, walk: Walk, sizes: CheckSizes): AsyncGenerator<LedgerProblem, void> {
  for (let parts = 1, part = 0; part < parts; ) {
    const unmatched = new UnmatchedCharges(sizes.unmatched, { parts, part })
    const end = await walkCharges(db, walk, unmatched, sizes)
    if (end !== null) {
      yield* confirmed(db, unmatched.list(), end)
      part++
    } else {
      parts *= MORE_PARTS
      part *= MORE_PARTS
    }
  }
}

/**
 * Walks the entries in the order of commits and the calls in the order of their ids, side by side: a call and its charge are near each other in both. Returns the
 * last entry that it read; null if there was too much unmatched. The closings read the same entries, while they are in the cache.
 */
async function walkCharges(
  db: LibSQLDatabase,
  { closings, first }: Walk,
  unmatched: UnmatchedCharges,
  { rows }: CheckSizes,
): Promise<number | null> {
  const [newest] = await db.all<{ last: number }>(sql`SELECT coalesce(max(seq), 0) AS last FROM entries`)
  const end = newest?.last ?? 0
  const add = async (entries: readonly [number, number], calls: readonly [string, string]) => {
    unmatched.add(await db.all<Charged>(chargedIn(first, entries, calls)))
  }
  let [seq, id] = [0, first]
  for (let isRead = false; !isRead; ) {
    const to = Math.min(end, seq + rows)
    const until = to === end ? LAST_ID : await newestCall(db, seq, to)
    let next = await lastOfSlice(db, id, until, rows)
    await add([seq, to], [id, next ?? id])
    await closings.readUntil(to)
    seq = to
    while (next !== null && !unmatched.isFull) {
      id = next
      // The calls may be ahead of their charges; those of a clock that was ahead, very far.
      if (seq < end && unmatched.waiting > rows) break
      next = await lastOfSlice(db, id, until, rows)
      if (next !== null) await add([seq, seq], [id, next])
    }
    if (unmatched.isFull) return null
    isRead = seq === end && next === null
  }
  return end
}

async function newestCall(db: LibSQLDatabase, after: number, to: number): Promise<string> {
  const [row] = await db.all<{ id: string | null }>(
    sql`SELECT max(request_id) AS id FROM entries WHERE seq > ${after} AND seq <= ${to} AND kind = 'charge'`,
  )
  return row?.id ?? ''
}

async function lastOfSlice(db: LibSQLDatabase, after: string, until: string, rows: number): Promise<string | null> {
  const [row] = await db.all<{ id: string | null }>(sql`SELECT max(id) AS id FROM
    (SELECT id FROM requests WHERE id > ${after} AND id <= ${until} ORDER BY id LIMIT ${rows})`)
  return row?.id ?? null
}

/** The calls and charges of two slices that do not match each other. */
function chargedIn(
  first: string,
  [after, to]: readonly [number, number],
  [afterId, toId]: readonly [string, string],
): SQL {
  return sql`SELECT id, account, sum(c) AS cost, sum(e) AS charged FROM (
      SELECT request_id AS id, account_id AS account, 0 AS c, iif(kind = 'charge', amount, -amount) AS e FROM entries
        WHERE seq > ${after} AND seq <= ${to} AND kind IN ('charge', 'reversal') AND request_id >= ${first}
      UNION ALL SELECT id, account_id, cost, 0 FROM requests WHERE id > ${afterId} AND id <= ${toId} AND cost <> 0)
    GROUP BY id, account HAVING sum(c) <> sum(e)`
}

/** Those that do not match as of one moment after the walk: a call may have been charged or given back meanwhile. */
async function* confirmed(
  db: LibSQLDatabase,
  unmatched: readonly Charged[],
  end: number,
): AsyncGenerator<LedgerProblem, void> {
  for (let i = 0; i < unmatched.length; i += CONFIRMED) {
    const some = JSON.stringify(
      unmatched.slice(i, i + CONFIRMED).map(({ id, account, charged }) => [id, account, charged]),
    )
    const rows = await db.all<{ id: string; cost: number; charged: number }>(sql`
      SELECT j.id AS id, coalesce(r.cost, 0) AS cost, j.charged + coalesce(n.charged, 0) AS charged
      FROM (SELECT value->>0 AS id, value->>1 AS account, value->>2 AS charged FROM json_each(${some})) j
      LEFT JOIN requests r ON r.id = j.id AND r.account_id = j.account
      LEFT JOIN (SELECT request_id, account_id, sum(iif(kind = 'charge', amount, -amount)) AS charged FROM entries
        WHERE seq > ${end} AND kind IN ('charge', 'reversal') GROUP BY request_id, account_id) n
        ON n.request_id = j.id AND n.account_id = j.account
      WHERE coalesce(r.cost, 0) <> j.charged + coalesce(n.charged, 0)`)
    for (const { id, cost, charged } of rows)
      yield { what: 'a call was not charged what the log says', subject: id, one: cost, other: charged }
  }
}
