import type { Operator } from '../../../core/accounts/staff/operator'
import { invalidParameter } from '../../../core/accounts/submitted'
import type { Parameters } from '../../../core/catalog/parameters'
import { isoDay, isoTime } from '../../../core/clock'
import { type Failure, failure, wrongParameters } from '../../../core/failure'
import type { Accounting, BookPeriod, Books, Flow, LedgerBalance } from '../../../core/ledger/accounting'
import type { EntryKind } from '../../../core/ledger/entry'
import { type Money, micros, minus, plus, toUsdNumber, ZERO } from '../../../core/money'
import { err, ok, type Result } from '../../../core/result'
import { periodAround } from '../../../core/usage/calendar'
import type { OwnerSessions } from '../../middleware/caller/owner-session'
import { instantOf } from '../../middleware/input/instant-parameter'
import { queryOf } from '../../middleware/input/list-query'
import { type RequestContext, routeGroup } from '../../middleware/request-context'
import { csvLine, csvStream } from '../../middleware/response/csv'
import { Failed, taken } from '../../middleware/response/failures'
import { UNDOCUMENTED } from '../../openapi/documented'
import { allowed } from '../../routing/api-access'
import { costing, EXPORT, OVER_ALL } from '../../routing/cost'
import { operatorRoles } from '../operator-roles'
import { BOOKS_FILE_QUERY, BOOKS_QUERY, type BookStatement } from './books-record'

export interface BooksParts {
  readonly operator: Operator
  readonly accounting: Accounting
}

type BooksQuery = Parameters<typeof BOOKS_QUERY> & Partial<Parameters<typeof BOOKS_FILE_QUERY>>

const DAYS_HEAD = ['account', 'day_utc', 'opening_usd', 'debits_usd', 'credits_usd', 'closing_usd']
const ENTRIES_HEAD = [
  ...['row', 'time_utc', 'entry', 'transaction_id', 'kind', 'account', 'debit', 'credit', 'amount_usd', 'request_id'],
  ...['description', 'reference'],
]
const STATEMENT_HEAD = ['account', 'opening_usd', 'debits_usd', 'credits_usd', 'closing_usd']
/** The movement of each ledger account on each day of a period; or the journal: opening balances, every entry, closing balances. Last a line with the total. */
async function booksFile(
  { accounting }: BooksParts,
  { period, name, entries }: Named,
  context: RequestContext,
): Promise<Response> {
  const books = await booksOf(accounting, period, entries ? 'entries' : 'sums')
  const file = `books-${name}${entries ? '-entries' : ''}.csv`
  return entries
    ? csvStream(context, file, ENTRIES_HEAD, entryLines(books, period))
    : csvStream(context, file, DAYS_HEAD, dayLines(books))
}

async function* dayLines(books: Books): AsyncGenerator<string, void> {
  const line = (account: string, day: string, row: Omit<LedgerBalance, 'account'>) =>
    csvLine([account, day, ...[row.opening, row.debits, row.credits, row.closing].map(toUsdNumber)])
  let total = named('total')
  let last = ''
  for await (const rows of books.days()) {
    for (const row of rows) {
      total = balanced(
        row.account === last ? total.opening : plus(total.opening, row.opening),
        plus(total.debits, row.debits),
        plus(total.credits, row.credits),
        total.account,
      )
      last = row.account
    }
    if (rows.length > 0) yield rows.map((row) => line(row.account, row.day, row)).join('')
  }
  yield line(total.account, '', total)
}

/** Throws if charges that the report reads left for an archive. */
async function booksOf(accounting: Accounting, period: BookPeriod, reads: 'entries' | 'sums'): Promise<Books> {
  const archive = await accounting.archiveOf(period, reads)
  if (archive === null) return accounting.books(period)
  const instead =
    reads === 'entries'
      ? 'It has the entries; the books without entries have their sums by day.'
      : 'Begin and end the period at midnight UTC.'
  throw new Failed(failure('resource_not_found', `Charges of this period are in the archive ${archive}. ${instead}`))
}

async function* entryLines(books: Books, { from, to }: BookPeriod): AsyncGenerator<string, void> {
  const balance = (row: string, at: number, account: string, amount: Money) =>
    csvLine([row, isoTime(at), null, null, null, account, null, null, toUsdNumber(amount), null, null, null])
  yield* joined(books.balances(), ({ account, opening }) => balance('opening', from, account, opening))
  let count = 0
  for await (const entries of books.entries()) {
    count += entries.length
    yield entries
      .map((entry) =>
        csvLine([
          ...['entry', isoTime(entry.at), entry.seq, entry.transaction, entry.kind, null, entry.debit, entry.credit],
          ...[toUsdNumber(entry.amount), entry.requestId, entry.description, entry.reference],
        ]),
      )
      .join('')
  }
  let total = ZERO
  yield* joined(books.balances(), ({ account, closing }) => {
    total = plus(total, closing)
    return balance('closing', to, account, closing)
  })
  yield csvLine([
    ...['total', isoTime(to), null, null, null, null, null, null, toUsdNumber(total), null],
    ...[`${count} entries`, null],
  ])
}

/** Every ledger account of a period, and last their total. */
async function statementFile(
  { accounting }: BooksParts,
  { period, name }: Named,
  context: RequestContext,
): Promise<Response> {
  const books = await booksOf(accounting, period, 'sums')
  return csvStream(context, `statement-${name}.csv`, STATEMENT_HEAD, statementLines(books))
}

async function* statementLines(books: Books): AsyncGenerator<string, void> {
  let total = named('total')
  const line = ({ account, opening, debits, credits, closing }: LedgerBalance) =>
    csvLine([account, ...[opening, debits, credits, closing].map(toUsdNumber)])
  yield* joined(books.balances(), (row) => {
    total = added(total, row)
    return line(row)
  })
  yield line(total)
}

async function statement({ accounting }: BooksParts, { period }: Named): Promise<BookStatement> {
  const flows = await (await booksOf(accounting, period, 'sums')).flows()
  const accounts = new Map<string, LedgerBalance>()
  const kinds = new Map<EntryKind, { entries: number; amount: Money }>()
  for (const { kind, debit, credit, earlier, amount, entries } of flows) {
    const from = accounts.get(debit) ?? named(debit)
    accounts.set(debit, balanced(minus(from.opening, earlier), plus(from.debits, amount), from.credits, debit))
    const to = accounts.get(credit) ?? named(credit)
    accounts.set(credit, balanced(plus(to.opening, earlier), to.debits, plus(to.credits, amount), credit))
    const sum = kinds.get(kind) ?? { entries: 0, amount: ZERO }
    kinds.set(kind, { entries: sum.entries + entries, amount: plus(sum.amount, amount) })
  }
  return {
    from: isoTime(period.from),
    to: isoTime(period.to),
    entries: flows.reduce((sum, flow) => sum + flow.entries, 0),
    accounts: [...accounts.values()]
      .sort((a, b) => (a.account < b.account ? -1 : 1))
      .map(({ account, opening, debits, credits, closing }) => ({
        account,
        opening_micros_usd: opening,
        debits_micros_usd: debits,
        credits_micros_usd: credits,
        closing_micros_usd: closing,
      })),
    kinds: [...kinds]
      .filter(([, sum]) => sum.entries > 0)
      .map(([kind, sum]) => ({ kind, entries: sum.entries, amount_micros_usd: sum.amount })),
    owed_to_customers_micros_usd: owedTo(flows),
  }
}

function balanced(opening: Money, debits: Money, credits: Money, account: string): LedgerBalance {
  return { account, opening, debits, credits, closing: minus(plus(opening, credits), debits) }
}

/** The spendable balance of all customers at the end of the period. */
export function owedTo(flows: readonly Flow[]): Money {
  const sign = (account: string) => (account === 'customers/credit' || account === 'customers/paid' ? 1 : 0)
  return micros(
    flows.reduce((sum, flow) => sum + (flow.earlier + flow.amount) * (sign(flow.credit) - sign(flow.debit)), 0),
  )
}

function named(account: string): LedgerBalance {
  return { account, opening: ZERO, debits: ZERO, credits: ZERO, closing: ZERO }
}

function added(sum: LedgerBalance, { opening, debits, credits, closing }: LedgerBalance): LedgerBalance {
  return {
    account: sum.account,
    opening: plus(sum.opening, opening),
    debits: plus(sum.debits, debits),
    credits: plus(sum.credits, credits),
    closing: plus(sum.closing, closing),
  }
}

async function* joined<T>(pieces: AsyncIterable<readonly T[]>, line: (row: T) => string): AsyncGenerator<string, void> {
  for await (const rows of pieces) if (rows.length > 0) yield rows.map(line).join('')
}

/** The period of a query, and its name for a file. */
interface Named {
  readonly period: BookPeriod
  readonly name: string
  /** Whether every entry is listed. */
  readonly entries: boolean
}

function periodOf({ month, from, to, timezone, entries = false }: BooksQuery): Result<Named, Failure> {
  if (month !== undefined && from === undefined && to === undefined) {
    const [year = 0, number = 1] = month.split('-').map(Number)
    const { start, end } = periodAround(Date.UTC(year, number - 1, 15), 'month', timezone)
    return ok({ period: { from: start, to: end }, name: month, entries })
  }
  const [start, end] = [instantOf(from), instantOf(to)]
  if (month !== undefined || start === null || end === null)
    return err(wrongParameters([invalidParameter('month', 'is needed, or else both from and to', month ?? null)]))
  if (end <= start) return err(wrongParameters([invalidParameter('to', 'must be after from', to ?? null)]))
  return ok({ period: { from: start, to: end }, name: `${isoDay(start)}-${isoDay(end)}`, entries })
}

/** For operators: the books of a month or period. Exports are in the audit log. */
export function bookRoutes(parts: BooksParts & { readonly owners: OwnerSessions }) {
  const { operator } = operatorRoles(parts.owners)
  const exported = (file: typeof booksFile, query = BOOKS_QUERY) =>
    allowed(operator(), costing(EXPORT, UNDOCUMENTED), async ({ actor, context }) => {
      const named = taken(periodOf(queryOf(query, context)))
      const { from, to } = named.period
      await parts.operator.noteBooks(actor, 'books.export', { from: isoTime(from), to: isoTime(to) })
      return file(parts, named, context)
    })
  return routeGroup({ name: 'operator-books', prefix: '/api/operator' })
    .get('/books.csv', ...exported(booksFile, BOOKS_FILE_QUERY))
    .get('/statement.csv', ...exported(statementFile))
    .get(
      '/statement',
      ...allowed(operator(), costing(OVER_ALL, UNDOCUMENTED), ({ context }) =>
        statement(parts, taken(periodOf(queryOf(BOOKS_QUERY, context)))),
      ),
    )
}
