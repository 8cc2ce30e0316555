import type { ApiReport } from '../../apis/report-record'
import type { OperatorAuditPage } from '../../audit/record'
import type { BookStatement } from '../money/books-record'
import { MAX_REVENUE_ROWS, type Revenue } from '../money/revenue-record'
import type { StuckPage } from '../money/stuck-record'
import type { Health } from '../nodes/health-record'
import type { OperatorAccountPage, OperatorLimitRequestPage, Upstream, UpstreamList } from '../record'
import { pagedReport, report } from './cell-routing'
import { all, eachFigure, every, first, ifAny, known, most, type Rule, rows, same, some, sum } from './figures'

/** How the figures of each report are joined. A figure of a report that is missing here does not compile. */

export const ACCOUNTS = pagedReport<OperatorAccountPage>('accounts', 'newest first')
export const LIMIT_REQUESTS = pagedReport<OperatorLimitRequestPage>('requests', 'newest first')
export const STUCK = pagedReport<StuckPage>('records', 'oldest first')
export const AUDIT = pagedReport<OperatorAuditPage>('entries', 'newest first')

export const STATEMENT = report(
  eachFigure<BookStatement>({
    from: same,
    to: same,
    accounts: rows(
      ({ account }) => account,
      eachFigure<BookStatement['accounts'][number]>({
        account: same,
        opening_micros_usd: sum,
        debits_micros_usd: sum,
        credits_micros_usd: sum,
        closing_micros_usd: sum,
      }),
      (a, b) => (a.account < b.account ? -1 : 1),
    ),
    kinds: rows(
      ({ kind }) => kind,
      eachFigure<BookStatement['kinds'][number]>({ kind: same, entries: sum, amount_micros_usd: sum }),
    ),
    entries: sum,
    owed_to_customers_micros_usd: sum,
  }),
)

type Sums = Revenue['totals']
type RevenueRow = Revenue['rows'][number]

const SUMS: { readonly [K in keyof Sums]: Rule<Sums[K]> } = {
  calls: sum,
  charged_micros_usd: sum,
  refunded_micros_usd: sum,
  revenue_micros_usd: sum,
  upstream_cost_micros_usd: known(sum),
  unknown_cost_calls: sum,
  // Revenue less a cost that all cells know: the sum of their margins.
  margin_micros_usd: known(sum),
}

export const REVENUE = report<Revenue>((values) => {
  const joined = ALL_REVENUE(values)
  const shown = joined.rows.slice(0, MAX_REVENUE_ROWS)
  return { ...joined, rows: shown, rows_left_out: joined.rows_left_out + joined.rows.length - shown.length }
})

const ALL_REVENUE: Rule<Revenue> = (values) =>
  eachFigure<Revenue>({
    from: same,
    to: same,
    group_by: same,
    rows: rows(
      ({ name }) => name,
      eachFigure<RevenueRow>({ name: same, email: ifAny(first), ...SUMS }),
      byRevenue(values[0]?.group_by === 'day', (row) => [row.name, row.revenue_micros_usd]),
    ),
    rows_left_out: sum,
    totals: eachFigure<Sums>(SUMS),
    credit: eachFigure<Revenue['credit']>({
      signup_credit_given_micros_usd: sum,
      grants_given_micros_usd: sum,
      debited_micros_usd: sum,
      used_micros_usd: sum,
    }),
    overruns_micros_usd: sum,
    owed_to_customers_micros_usd: sum,
  })(values)

/** Days in order, others by revenue. */
export function byRevenue<T>(isByDay: boolean, of: (row: T) => readonly [string, number]) {
  return (a: T, b: T): number => {
    const [[name, revenue], [otherName, otherRevenue]] = [of(a), of(b)]
    return (isByDay ? 0 : otherRevenue - revenue) || (name < otherName ? -1 : 1)
  }
}

type Figures = Omit<ApiReport['apis'][number], 'operations' | 'upstream_payments'>

const FIGURES: { readonly [K in keyof Figures]: Rule<Figures[K]> } = {
  name: same,
  calls: sum,
  served: sum,
  failed: sum,
  revenue_micros_usd: sum,
  upstream_cost_micros_usd: known(sum),
  recent_calls: sum,
  recent_failed: sum,
}

export const API_REPORT = report(
  eachFigure<ApiReport>({
    days: same,
    // Each cell has its share of the daily maximum.
    wallet: ifAny(
      eachFigure<NonNullable<ApiReport['wallet']>>({
        address: same,
        signed_micros_usd: sum,
        daily_maximum_micros_usd: sum,
      }),
    ),
    apis: rows(
      ({ name }) => name,
      eachFigure<ApiReport['apis'][number]>({
        ...FIGURES,
        operations: rows(({ name }) => name, eachFigure<Figures>(FIGURES)),
        upstream_payments: rows(
          ({ state }) => state,
          eachFigure<ApiReport['apis'][number]['upstream_payments'][number]>({
            state: same,
            payments: sum,
            cost_micros_usd: sum,
          }),
        ),
      }),
    ),
  }),
)

/** Each problem says in which cell it is. */
export const HEALTH = report<Health>((answers, cells) =>
  JOINED_HEALTH(
    answers.map((answer, at) => ({
      ...answer,
      problems: answer.problems.map(({ part, reason }) => ({ part: `${part} of ${cells[at]}`, reason })),
    })),
  ),
)

const JOINED_HEALTH: Rule<Health> = eachFigure<Health>({
  ready: every,
  problems: all,
  seconds: most,
  calls: sum,
  codes: rows(
    ({ code }) => code,
    eachFigure<Health['codes'][number]>({ code: same, calls: sum }),
    (a, b) => b.calls - a.calls,
  ),
  upstreams: rows(
    ({ name }) => name,
    (values) => ({
      name: same(values).name,
      requests: sum(values.map(({ requests }) => requests)),
      failures: sum(values.map(({ failures }) => failures)),
      average_ms: average(values),
    }),
    (a, b) => b.requests - a.requests,
  ),
  commit_wait_ms: most,
  tables_behind_ms: most,
  tables_behind_bytes: sum,
  tables_reject: some,
  // A copy is as old as its oldest part.
  backups: eachFigure<Health['backups']>({ scheduled: every, newest_at: known(first), failing: some }),
  nodes: same,
})

function average(values: readonly Health['upstreams'][number][]): number {
  const requests = sum(values.map((value) => value.requests))
  return requests === 0 ? 0 : Math.round(sum(values.map((value) => value.average_ms * value.requests)) / requests)
}

/** Each cell tests an upstream for itself: what is shown is the state of the cell for which it is worst. */
export const UPSTREAMS = report(
  eachFigure<UpstreamList>({
    upstreams: rows(
      ({ name }) => name,
      eachFigure<Upstream>({
        name: same,
        models: same,
        breaker: (values) => (['open', 'probing'] as const).find((state) => values.includes(state)) ?? 'closed',
        failures: most,
        failing_since: ifAny(first),
        next_try_at: ifAny(first),
        under_way: sum,
      }),
    ),
  }),
)
