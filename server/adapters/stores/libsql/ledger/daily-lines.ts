import { and, desc, eq, gt, gte, lt, lte, ne, or, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AccountId } from '../../../../core/ids'
import type { StatementLine } from '../../../../core/ledger/account-statement'
import { type Money, micros, minus } from '../../../../core/money'
import type { Page } from '../../../../core/page'
import { periodAround } from '../../../../core/usage/calendar'
import { cursorOf, parseCursor } from '../driver/cursor'
import { accounts } from '../schema/accounts'
import { entries } from '../schema/ledger'

/** A page ends early after so many charges, so that no request reads a whole ledger. */
const MAX_READ = 200_000

/** Where a page begins: the newest entry it has, and the balance after it. */
interface Position {
  readonly seq: number
  readonly balance: Money
}

interface Part extends Omit<StatementLine, 'balanceAfter'> {
  /** The oldest entry of the line. */
  readonly first: number
}

/** The transactions of an account, newest first, with the charges of a day between two others as one line. Null for an unknown cursor. */
export async function dailyLines(
  db: LibSQLDatabase,
  { account, timezone }: { readonly account: AccountId; readonly timezone: string },
  limit: number,
  cursor: string | null,
): Promise<Page<StatementLine> | null> {
  const after = cursor === null ? null : parseCursor(cursor, /^-?\d{1,15}$/)
  if (cursor !== null && !after) return null
  let at: Position = after ? { seq: after.number, balance: micros(Number(after.text)) } : await newest(db, account)
  const lines: StatementLine[] = []
  let read = 0
  while (lines.length < limit && read < MAX_READ) {
    const part = await partAt(db, account, timezone, at.seq)
    if (!part) return { rows: lines, next: null }
    const { first, ...line } = part
    lines.push({ ...line, balanceAfter: at.balance })
    at = { seq: first - 1, balance: minus(at.balance, line.amount) }
    read += line.charges ?? 1
  }
  const [more] = await db
    .select({ seq: entries.seq })
    .from(entries)
    .where(and(statedEntries(account), lte(entries.seq, at.seq)))
    .limit(1)
  return { rows: lines, next: more ? cursorOf(at.seq, String(at.balance)) : null }
}

/** The entries of statements: since the last charge that left for an archive, because earlier balances do not follow from the entries. */
export function statedEntries(account: AccountId) {
  const archived = sql`(SELECT coalesce(max(last), 0) FROM archived_sums WHERE account IN (${`${account}/credit`}, ${`${account}/paid`}))`
  return and(eq(entries.accountId, account), ne(entries.kind, 'overrun'), sql`${entries.seq} > ${archived}`)
}

/** The line that ends with the newest entry up to `seq`. */
async function partAt(db: LibSQLDatabase, account: AccountId, timezone: string, seq: number): Promise<Part | null> {
  // A transaction has at most two adjacent entries per account: one for each part of the balance.
  const [row, other] = await db
    .select()
    .from(entries)
    .where(and(statedEntries(account), lte(entries.seq, seq)))
    .orderBy(desc(entries.seq))
    .limit(2)
  if (!row) return null
  const { transactionId: id, at, kind, description, requestId } = row
  if (kind !== 'charge') {
    const both = other?.transactionId === id ? [row, other] : [row]
    const own = (side: string, amount: number) => (side.startsWith(`${account}/`) ? amount : 0)
    const amount = both.reduce(
      (sum, entry) => sum + own(entry.credit, entry.amount) - own(entry.debit, entry.amount),
      0,
    )
    return {
      id,
      at,
      kind,
      description,
      requestId,
      amount: micros(amount),
      charges: null,
      first: both.at(-1)?.seq ?? seq,
    }
  }
  const { start, end } = periodAround(at, 'day', timezone)
  // Of another day, also a later one: a clock may have been set back.
  const isOther = or(ne(entries.kind, 'charge'), lt(entries.at, start), gte(entries.at, end))
  const [before] = await db
    .select({ seq: entries.seq })
    .from(entries)
    .where(and(statedEntries(account), lt(entries.seq, row.seq), isOther))
    .orderBy(desc(entries.seq))
    .limit(1)
  const [sums] = await db
    .select({
      charges: sql<number>`count(DISTINCT ${entries.transactionId})`,
      spent: sql<number>`sum(${entries.amount})`,
      first: sql<number>`min(${entries.seq})`,
    })
    .from(entries)
    .where(and(statedEntries(account), gt(entries.seq, before?.seq ?? 0), lte(entries.seq, row.seq)))
  const { charges = 1, spent = 0, first = row.seq } = sums ?? {}
  const only = charges === 1
  return {
    id,
    at,
    kind,
    description: only ? description : '',
    requestId: only ? requestId : null,
    amount: micros(-spent),
    charges,
    first,
  }
}

/** Read together, because a charge may come between. */
async function newest(db: LibSQLDatabase, account: AccountId): Promise<Position> {
  const [[last], [balance]] = await db.batch([
    db
      .select({ seq: sql<number>`coalesce(max(${entries.seq}), 0)` })
      .from(entries)
      .where(eq(entries.accountId, account)),
    db
      .select({ posted: sql<number>`${accounts.credit} + ${accounts.paid} - ${accounts.debt}` })
      .from(accounts)
      .where(eq(accounts.id, account)),
  ])
  return { seq: last?.seq ?? 0, balance: micros(balance?.posted ?? 0) }
}
