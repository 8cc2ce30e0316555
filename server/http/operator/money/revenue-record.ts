import type { Static } from '@sinclair/typebox'
import type { ParameterTable } from '../../../core/catalog/parameters'
import { REVENUE_GROUPINGS } from '../../../core/ledger/revenue'
import { listOf, microsUsd, oneOf, orNull, record, text, whole } from '../../openapi/json-schema'

const DAY_RULE = 'must be a day such as 2026-11-23'

/** Of one report. */
export const MAX_REVENUE_ROWS = 1000

/** A UTC day of a query. */
const DAY = {
  in: 'query',
  kind: 'text',
  min: 10,
  max: 10,
  pattern: { source: /^\d{4}-\d{2}-\d{2}$/, rule: DAY_RULE },
  check: (day: string) => (new Date(`${day}T00:00:00Z`).toJSON()?.startsWith(day) ? null : DAY_RULE),
} as const

export const REVENUE_QUERY = {
  from: { ...DAY, description: 'The first day (UTC). Default: 29 days before the last.', example: '2026-11-01' },
  to: { ...DAY, description: 'The last day (UTC). Default: today.', example: '2026-11-30' },
  group_by: {
    in: 'query',
    kind: 'enum',
    values: REVENUE_GROUPINGS,
    default: 'day',
    description: 'The grouping of rows.',
  },
} as const satisfies ParameterTable

const SUMS = {
  calls: whole('Successful calls.', { minimum: 0 }),
  charged_micros_usd: microsUsd('What was charged for them.'),
  refunded_micros_usd: microsUsd('What operators gave back of charges.'),
  revenue_micros_usd: microsUsd('Charged less refunded.'),
  upstream_cost_micros_usd: orNull(
    microsUsd('What upstreams cost, of the calls where that is known.'),
    'not divided by rails',
  ),
  unknown_cost_calls: whole('Calls whose upstream has no purchase price.', { minimum: 0 }),
  margin_micros_usd: orNull(microsUsd('Revenue less upstream cost.'), 'the cost of some calls is not known'),
}

export const Revenue = record('What calls brought in and cost.', {
  from: text('The first day (UTC).'),
  to: text('The last day (UTC).'),
  group_by: oneOf(REVENUE_GROUPINGS, 'The grouping of rows.'),
  rows: listOf(
    record('The calls of one day, operation, model, account or rail.', {
      name: text(
        'The day, operation, model, id of the account, or rail. Empty where there is none, as for pay-per-request calls.',
      ),
      email: orNull(text('The email address of the account.')),
      ...SUMS,
    }),
    'Days in order, others by revenue, at most 1,000. All of them are in the CSV.',
  ),
  rows_left_out: whole('How many more rows there are.', { minimum: 0 }),
  totals: record('All calls.', SUMS),
  credit: record('Money that was given away.', {
    signup_credit_given_micros_usd: microsUsd('Signup credit.'),
    grants_given_micros_usd: microsUsd('Grants.'),
    debited_micros_usd: microsUsd('Taken back by debits.'),
    used_micros_usd: microsUsd('What calls took from signup credit and grants. It is part of the revenue.'),
  }),
  overruns_micros_usd: microsUsd('What upstreams cost above what calls had held.'),
  owed_to_customers_micros_usd: microsUsd('What customers could spend at the end of the last day.'),
})
export type Revenue = Static<typeof Revenue>
