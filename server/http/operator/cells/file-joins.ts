import { file } from './cell-routing'
import { type Cells, type FileJoin, joinedTable, merged, microsIn, withAmounts, withCounts } from './files'
import { byRevenue } from './report-joins'

/** How the lines of each file are joined. */

/** Newest first; what several cells read from the control database is there once. */
export const AUDIT_CSV = file(
  'csv',
  newestFirst(([, id = '']) => id),
)
export const AUDIT_LINES = file(
  'lines',
  newestFirst(([line = '']) => (JSON.parse(line) as { readonly id: string }).id),
)

function newestFirst(idOf: (cells: Cells) => string): FileJoin {
  return merged(
    (cells) => [idOf(cells)],
    (a) => a,
    'falling',
  )
}

/** Columns: account, opening_usd, debits_usd, credits_usd, closing_usd. */
export const STATEMENT_CSV = file(
  'csv',
  merged(
    ([account = '']) => [account === 'total' ? 1 : 0, ...placeOf(account)],
    (a, b) => withAmounts(a, b, [1, 2, 3, 4]),
  ),
)

const SECTIONS = ['opening', 'entry', 'closing', 'total']

/** Columns: account, day_utc and amounts, with a line for each cell of the gateway's own accounts; or of entries: row, time_utc, entry, transaction_id, kind, account, debit, credit, amount_usd, request_id, description, reference. */
export const BOOKS_CSV = file(
  'csv',
  merged(
    ([row = '', time = '', , , , account = '', , ...more]) =>
      more.length === 0
        ? [row === 'total' ? 1 : 0, ...placeOf(row), time]
        : [SECTIONS.indexOf(row), ...(row === 'entry' ? [time] : placeOf(account))],
    (a, b) => {
      if (a.length === 6) return a[0] === 'total' ? withAmounts(a, b, [2, 3, 4, 5]) : null
      if (a[0] === 'entry') return null
      const joined = withAmounts(a, b, [8])
      return a[0] === 'total'
        ? joined.with(10, `${Number.parseInt(a[10] ?? '', 10) + Number.parseInt(b[10] ?? '', 10)} entries`)
        : joined
    },
  ),
)

/** Ledger accounts in the order of a file: customers by id, then the gateway's own. */
function placeOf(account: string): readonly (string | number)[] {
  return [account.startsWith('house/') ? 2 : account.startsWith('acct_') ? 1 : 0, account]
}

/** Columns: name, calls, charged_usd, refunded_usd, revenue_usd, upstream_cost_usd, unknown_cost_calls, margin_usd. */
export const REVENUE_CSV = file(
  'csv',
  joinedTable(
    ([name = '']) => name,
    (a, b) => withCounts(withAmounts(a, b, [2, 3, 4, 5, 7]), b, [1, 6]),
    (asked) =>
      byRevenue((asked('group_by') ?? 'day') === 'day', ([name = '', , , , revenue = '']) => [name, microsIn(revenue)]),
  ),
)
