import type { Identity } from '../../../core/accounts/identity'
import type { AccountStore } from '../../../core/accounts/store'
import { invalidParameter } from '../../../core/accounts/submitted'
import type { Parameters } from '../../../core/catalog/parameters'
import { DAY_MS, isoDay } from '../../../core/clock'
import { type Failure, wrongParameters } from '../../../core/failure'
import type { AccountId } from '../../../core/ids'
import type { Accounting, Flow } from '../../../core/ledger/accounting'
import {
  addedRevenue,
  chargedFrom,
  givingsOf,
  NO_REVENUE,
  type RevenueGrouping,
  type RevenueReports,
  type RevenueRow,
  type RevenueSums,
  revenueOf,
} from '../../../core/ledger/revenue'
import { type Money, minus, plus, toUsdNumber } from '../../../core/money'
import { err, ok, type Result } from '../../../core/result'
import type { OwnerSessions } from '../../middleware/caller/owner-session'
import { queryOf } from '../../middleware/input/list-query'
import { type RequestContext, routeGroup } from '../../middleware/request-context'
import { csvLine, csvStream } from '../../middleware/response/csv'
import { taken } from '../../middleware/response/failures'
import { UNDOCUMENTED } from '../../openapi/documented'
import { allowed } from '../../routing/api-access'
import { costing, EXPORT, OVER_ALL } from '../../routing/cost'
import { operatorRoles } from '../operator-roles'
import { owedTo } from './books'
import { MAX_REVENUE_ROWS, REVENUE_QUERY, type Revenue } from './revenue-record'

export interface RevenueParts {
  readonly revenue: RevenueReports
  readonly accounting: Accounting
  readonly accounts: AccountStore
  readonly identity: Identity
  readonly now: () => number
}

/** Which days, as numbers since 1970, `end` exclusive. */
interface Asked {
  readonly first: number
  readonly end: number
  readonly grouping: RevenueGrouping
}

const DEFAULT_DAYS = 30
const HEAD = [
  ...['name', 'calls', 'charged_usd', 'refunded_usd', 'revenue_usd'],
  ...['upstream_cost_usd', 'unknown_cost_calls', 'margin_usd'],
]

async function report(parts: RevenueParts, asked: Asked): Promise<Revenue> {
  const { first, end, grouping } = asked
  const flows = await flowsOf(parts, asked)
  const rows = await rowsOf(parts, asked, flows)
  const totals = grouping === 'rail' ? await parts.revenue.rows({ first, end, grouping: null }) : rows
  const given = givingsOf(flows)
  const shown = rows.slice(0, MAX_REVENUE_ROWS)
  return {
    from: dateOf(first),
    to: dateOf(end - 1),
    group_by: grouping,
    rows: await Promise.all(
      shown.map(async (row) => ({
        name: row.name,
        email: grouping === 'account' ? await emailOf(parts, row.name) : null,
        ...wireSums(row, grouping !== 'rail'),
      })),
    ),
    rows_left_out: rows.length - shown.length,
    totals: wireSums(totals.reduce(addedRevenue, NO_REVENUE), true),
    credit: {
      signup_credit_given_micros_usd: given.signupCredit,
      grants_given_micros_usd: given.grants,
      debited_micros_usd: given.debits,
      used_micros_usd: given.creditUsed,
    },
    overruns_micros_usd: given.overruns,
    owed_to_customers_micros_usd: owedTo(flows),
  }
}

/** The same rows as a file, all of them. */
async function revenueFile(parts: RevenueParts, asked: Asked, context: RequestContext): Promise<Response> {
  const rows = await rowsOf(parts, asked, asked.grouping === 'rail' ? await flowsOf(parts, asked) : [])
  const { first, end, grouping } = asked
  const name = `revenue-by-${grouping}-${dateOf(first)}-${dateOf(end - 1)}.csv`
  return csvStream(context, name, HEAD, linesOf(rows, grouping !== 'rail'))
}

async function* linesOf(rows: readonly RevenueRow[], hasCost: boolean): AsyncGenerator<string, void> {
  for (const row of rows) {
    const sums = wireSums(row, hasCost)
    const usd = (amount: Money | null) => amount && toUsdNumber(amount)
    yield csvLine([
      ...[row.name, row.calls, usd(row.charged), usd(row.refunded), usd(sums.revenue_micros_usd)],
      ...[usd(sums.upstream_cost_micros_usd), row.unknownCostCalls, usd(sums.margin_micros_usd)],
    ])
  }
}

async function flowsOf({ accounting }: RevenueParts, { first, end }: Asked): Promise<readonly Flow[]> {
  return (await accounting.books({ from: first * DAY_MS, to: end * DAY_MS })).flows()
}

async function rowsOf({ revenue }: RevenueParts, { first, end, grouping }: Asked, flows: readonly Flow[]) {
  const rows =
    grouping === 'rail' ? await railsOf(revenue, { first, end }, flows) : await revenue.rows({ first, end, grouping })
  const order = (a: RevenueRow, b: RevenueRow) =>
    (grouping === 'day' ? 0 : revenueOf(b) - revenueOf(a)) || (a.name < b.name ? -1 : 1)
  return [...rows].sort(order)
}

/** Payments from balances, and by each method of payment per request. */
async function railsOf(
  revenue: RevenueReports,
  days: Pick<Asked, 'first' | 'end'>,
  flows: readonly Flow[],
): Promise<readonly RevenueRow[]> {
  const balances = (['credit', 'paid'] as const).map((part): RevenueRow => {
    const { calls, amount, refunded } = chargedFrom(flows, `customers/${part}`)
    return { ...NO_REVENUE, name: `balance/${part}`, calls, charged: plus(amount, refunded), refunded }
  })
  const sales = await revenue.sales(days)
  return [...balances, ...sales.map(({ method, ...sums }) => ({ name: method, ...sums }))].filter(
    ({ charged, refunded }) => charged !== 0 || refunded !== 0,
  )
}

function wireSums(sums: RevenueSums, hasCost: boolean) {
  const revenue = revenueOf(sums)
  return {
    calls: sums.calls,
    charged_micros_usd: sums.charged,
    refunded_micros_usd: sums.refunded,
    revenue_micros_usd: revenue,
    upstream_cost_micros_usd: hasCost ? sums.upstreamCost : null,
    unknown_cost_calls: sums.unknownCostCalls,
    margin_micros_usd: hasCost && sums.unknownCostCalls === 0 ? minus(revenue, sums.upstreamCost) : null,
  }
}

async function emailOf({ accounts, identity }: RevenueParts, name: string): Promise<string | null> {
  const account = name === '' ? null : await accounts.byId(name as AccountId) // pay-per-request calls have none
  return (account && (await identity.user(account.userId))?.email) ?? null
}

function dateOf(day: number): string {
  return isoDay(day * DAY_MS)
}

function askedOf(
  { from, to, group_by: grouping }: Parameters<typeof REVENUE_QUERY>,
  now: number,
): Result<Asked, Failure> {
  const dayOf = (date: string) => Date.parse(`${date}T00:00:00Z`) / DAY_MS
  const end = (to === undefined ? Math.floor(now / DAY_MS) : dayOf(to)) + 1
  const first = from === undefined ? end - DEFAULT_DAYS : dayOf(from)
  return first < end
    ? ok({ first, end, grouping })
    : err(wrongParameters([invalidParameter('from', 'must not be after to', from ?? null)]))
}

/** For operators: revenue, cost and margin. */
export function revenueRoutes(parts: RevenueParts & { readonly owners: OwnerSessions }) {
  const { operator } = operatorRoles(parts.owners)
  const asked = (context: RequestContext) => taken(askedOf(queryOf(REVENUE_QUERY, context), parts.now()))
  return routeGroup({ name: 'operator-revenue', prefix: '/api/operator' })
    .get(
      '/revenue',
      ...allowed(operator(), costing(OVER_ALL, UNDOCUMENTED), ({ context }) => report(parts, asked(context))),
    )
    .get(
      '/revenue.csv',
      ...allowed(operator(), costing(EXPORT, UNDOCUMENTED), ({ context }) =>
        revenueFile(parts, asked(context), context),
      ),
    )
}
