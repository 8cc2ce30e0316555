import { type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { LedgerCheck, LedgerProblem } from '../../../../core/ledger/ledger-check'
import { ClosedDays } from './closed-days'
import { ClosingCheck, type OwnerSlice } from './closing-check'
import { type Charged, UnmatchedCharges } from './unmatched-charges'

const MAX_PROBLEMS = 100
/** After every request id. */
const LAST_ID = 'req~'
/** Into how many parts those calls are divided that were too many. */
const MORE_PARTS = 16
/** Problems that are looked at again per statement. */
const CONFIRMED = 500

/** What a check holds at once. */
export interface CheckSizes {
  /** Rows that a statement reads of a table: a few milliseconds, so that others can read in between. */
  readonly rows: number
  /** Calls whose charge was not found yet, or the other way round. */
  readonly unmatched: number
}

const SIZES: CheckSizes = { rows: 2_000, unmatched: 50_000 }

/**
 * Compares what the tables say twice: balances, closed days and entries, calls and charges. Reads slices of the tables in order, so that its memory does not depend on
 * how much they have. May run while the tables are written: what changes meanwhile is no problem.
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
  const closings = new ClosingCheck(db, days, sizes.rows)
  const parts = [
    wrongBalances(db, sizes, closings),
    balancesWithoutEntries(db, sizes),
    closings.ofDays(),
    wrongCharges(db, days.firstCall, sizes),
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

/** What the charges of an account took that left for an archive. */
function archivedOf(id: string): SQL {
  const part = (name: string) =>
    sql.raw(`-coalesce((SELECT sum(debits) FROM archived_sums WHERE account = ${id} || '/${name}'), 0)`)
  return sql`${part('credit')} AS archivedCredit, ${part('paid')} AS archivedPaid`
}

const PARTS = ['credit', 'paid', 'debt'] as const
type Balances = Readonly<Record<(typeof PARTS)[number], number>>
const NOTHING: Balances = { credit: 0, paid: 0, debt: 0 }

interface Archived {
  readonly archivedCredit: number
  readonly archivedPaid: number
}

interface OwnerSums extends Balances, Archived {
  readonly owner: string
  /** The stored balances, as of the same moment. */
  readonly storedCredit: number
  readonly storedPaid: number
  readonly storedDebt: number
  readonly last: number
  readonly count: number
}

/**
 * Walks the entries by account, and the closings with them. An account with more entries than a slice is summed up over several, and compared in the
 * statement that reads its last one.
 */
async function* wrongBalances(
  db: LibSQLDatabase,
  { rows }: CheckSizes,
  closings: ClosingCheck,
): AsyncGenerator<LedgerProblem, void> {
  const leg = (part: (typeof PARTS)[number]) =>
    sql.raw(`sum(iif(credit = owner || '/${part}', amount, 0) - iif(debit = owner || '/${part}', amount, 0))`)
  const sumsOf = (owners: SQL, which: SQL) => sql`
    WITH slice AS MATERIALIZED (SELECT account_id AS owner, seq, debit, credit, amount FROM entries INDEXED BY entries_account
        WHERE ${which} ORDER BY account_id, seq LIMIT ${rows}),
      sums AS MATERIALIZED (SELECT owner, ${leg('credit')} AS credit, ${leg('paid')} AS paid, -${leg('debt')} AS debt, max(seq) AS last,
        count(*) AS count FROM slice GROUP BY owner)
    SELECT o.owner AS owner, coalesce(s.credit, 0) AS credit, coalesce(s.paid, 0) AS paid, coalesce(s.debt, 0) AS debt,
      coalesce(s.last, 0) AS last, coalesce(s.count, 0) AS count,
      coalesce(a.credit, 0) AS storedCredit, coalesce(a.paid, 0) AS storedPaid, coalesce(a.debt, 0) AS storedDebt,
      ${archivedOf('o.owner')}
    FROM ${owners} o LEFT JOIN sums s ON s.owner = o.owner LEFT JOIN accounts a ON a.id = o.owner ORDER BY 1`
  const nextOwners = (after: string) => sumsOf(sql`(SELECT owner FROM sums)`, sql`account_id > ${after}`)
  const restOf = (owner: string, seq: number) =>
    sumsOf(sql`(SELECT ${owner} AS owner)`, sql`account_id = ${owner} AND seq > ${seq}`)
  let after = ''
  /** Of the account whose entries did not all fit in the last slice. */
  let begun: { readonly seq: number; readonly sums: Balances } | null = null
  for (;;) {
    const read: readonly OwnerSums[] = await db.all<OwnerSums>(begun ? restOf(after, begun.seq) : nextOwners(after))
    const last = read.at(-1)
    const isFull = read.reduce((sum, { count }) => sum + count, 0) === rows
    yield* closings.ofSlice(sliceOf(after, begun?.seq ?? null, { last, isFull }))
    if (!last) return
    for (const row of read) {
      const sums: Balances = added(begun?.sums ?? NOTHING, row)
      begun = null
      if (isFull && row === last) begun = { seq: row.last, sums }
      else yield* balanceProblems(row, withArchived(sums, row))
    }
    after = last.owner
  }
}

/** The same entries, and those that were written meanwhile, with the closings of their accounts. `0` comes after `/`. */
function sliceOf(
  after: string,
  seq: number | null,
  { last, isFull }: { readonly last: OwnerSums | undefined; readonly isFull: boolean },
): OwnerSlice {
  const unfinished = isFull && last ? last : null
  const until = unfinished
    ? sql`account_id <= ${unfinished.owner} AND NOT (account_id = ${unfinished.owner} AND seq > ${unfinished.last})`
    : sql`true`
  const begins = seq === null ? sql`account_id > ${after}` : sql`account_id = ${after} AND seq > ${seq}`
  return {
    which: sql`${begins} AND ${until}`,
    from: seq === null ? `${after}0` : `${after}/`,
    to: unfinished ? `${unfinished.owner}/` : last ? `${last.owner}0` : 'house/',
    unfinished: unfinished?.owner ?? null,
  }
}

function added(a: Balances, b: Balances): Balances {
  return { credit: a.credit + b.credit, paid: a.paid + b.paid, debt: a.debt + b.debt }
}

function withArchived(sums: Balances, { archivedCredit, archivedPaid }: Archived): Balances {
  return added(sums, { credit: archivedCredit, paid: archivedPaid, debt: 0 })
}

function* balanceProblems({ owner, storedCredit, storedPaid, storedDebt }: OwnerSums, sums: Balances) {
  const stored: Balances = { credit: storedCredit, paid: storedPaid, debt: storedDebt }
  for (const part of PARTS) if (stored[part] !== sums[part]) yield balanceProblem(part, owner, stored[part], sums[part])
}

function balanceProblem(part: string, subject: string, one: number, other: number): LedgerProblem {
  return { what: `the ${part} of an account is not the sum of its entries`, subject, one, other }
}

async function* balancesWithoutEntries(db: LibSQLDatabase, { rows }: CheckSizes): AsyncGenerator<LedgerProblem, void> {
  for (let after = ''; ; ) {
    const slice = sql`(SELECT id, credit, paid, debt FROM accounts WHERE id > ${after} ORDER BY id LIMIT ${rows})`
    const [end] = await db.all<{ last: string | null }>(sql`SELECT max(id) AS last FROM ${slice}`)
    const found = await db.all<
      Balances & Archived & { id: string }
    >(sql`SELECT *, ${archivedOf('a.id')} FROM ${slice} AS a
      WHERE NOT EXISTS (SELECT 1 FROM entries WHERE account_id = a.id)`)
    for (const row of found) {
      const sums = withArchived(NOTHING, row)
      for (const part of PARTS) if (row[part] !== sums[part]) yield balanceProblem(part, row.id, row[part], sums[part])
    }
    if (!end?.last) return
    after = end.last
  }
}

/** From the first call on that no archive has. In one pass, unless the tables are so far out of order that too much waits for its other side: then in as many as it takes, each of a part of the calls. */
async function* wrongCharges(
  db: LibSQLDatabase,
  first: string,
  sizes: CheckSizes,
): AsyncGenerator<LedgerProblem, void> {
  for (let parts = 1, part = 0; part < parts; ) {
    const unmatched = new UnmatchedCharges(sizes.unmatched, { parts, part })
    const end = await walkCharges(db, first, unmatched, sizes)
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
 * last entry that it read; null if there was too much unmatched.
 */
async function walkCharges(
  db: LibSQLDatabase,
  first: string,
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
