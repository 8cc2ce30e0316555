import type { Static } from '@sinclair/typebox'
import { parseInstant } from '../../core/accounts/instant'
import { isoTime } from '../../core/clock'
import { type Budget, PERIODS } from '../../core/credentials/api-key'
import type { BudgetWindow } from '../../core/ledger/hold'
import { min, minus } from '../../core/money'
import { readable } from '../middleware/input/validate-body'
import {
  brokenRule,
  checked,
  form,
  instant,
  listOf,
  microsUsd,
  oneOf,
  orNull,
  record,
  timeZone,
  usd,
} from '../openapi/json-schema'

export const BUDGET = form(
  'A spending limit per period, in a time zone.',
  {
    limit_usd: usd('US dollars per period, with at most 6 decimals.'),
    period: oneOf(PERIODS, 'The period.'),
    timezone: timeZone('An IANA time zone.'),
    raise: orNull(
      form('A raise that ends by itself.', {
        usd: usd('US dollars in addition to `limit_usd`.'),
        until: instant('When it ends. Calls that begin before may use it.'),
      }),
      'no raise',
    ),
  },
  ['raise'],
)
export type BudgetForm = Static<typeof BUDGET>

const LIST = listOf(BUDGET, 'Spending limits of different periods, which all hold. If empty, there is none.', {
  maxItems: PERIODS.length,
})

/** A list of budgets, each of another period. */
export const BUDGETS = checked<readonly BudgetForm[]>(LIST, (value) => {
  const broken = brokenRule(LIST, value)
  if (broken !== null) return broken
  const periods = (value as readonly BudgetForm[]).map(({ period }) => period) // it has the form of a list of budgets
  return new Set(periods).size === periods.length ? null : 'must have each of day, week and month at most once'
})

const WINDOW = {
  spent_micros_usd: microsUsd('Spent in this period.', { minimum: 0 }),
  remaining_micros_usd: microsUsd('What is left in this period.', { minimum: 0 }),
  starts_at: instant('When the period starts.'),
  ends_at: instant('When the next period starts.'),
}

export const ONLY_WINDOW = orNull(record('The current period of `budget`; null without one.', WINDOW))

export const BUDGET_WINDOWS = listOf(
  record('The current period of a budget.', { period: oneOf(PERIODS, 'Of which budget.'), ...WINDOW }),
  'The current periods of `budgets`, in their order.',
)

function budgetOf({ limit_usd, period, timezone, raise }: BudgetForm): Budget {
  return {
    limitUsd: limit_usd,
    period,
    timezone,
    ...(raise && { raise: { usd: raise.usd, until: readable(parseInstant(raise.until)) } }),
  }
}

export const SCOPE_BUDGET = form(
  'What each scope may spend per period in UTC that calls of the key name in `X-Budget-Scope`. A key may name 10,000 in one period.',
  { limit_usd: BUDGET.properties.limit_usd, period: BUDGET.properties.period },
)

/** In the order of their lengths. */
export function budgetsOf(forms: readonly BudgetForm[]): readonly Budget[] {
  return PERIODS.flatMap((period) => forms.filter((one) => one.period === period).map(budgetOf))
}

/** A budget as its owner sees it: a raise that is over is not shown. */
export function budgetRecord({ limitUsd, period, timezone, raise }: Budget, now: number): BudgetForm {
  return {
    limit_usd: limitUsd,
    period,
    timezone,
    ...(raise && raise.until > now && { raise: { usd: raise.usd, until: isoTime(raise.until) } }),
  }
}

/** Budgets and their current periods, as their owner sees them. */
export function budgetsRecord(
  { budgets, windows }: { readonly budgets: readonly Budget[]; readonly windows: readonly BudgetWindow[] },
  now: number,
) {
  return {
    budgets: budgets.map((one) => budgetRecord(one, now)),
    budget_windows: windows.map((one) => ({ period: one.period, ...windowRecord(one) })),
  }
}

export function windowRecord({ limit, spent, startsAt, endsAt }: BudgetWindow) {
  return {
    spent_micros_usd: spent,
    remaining_micros_usd: minus(limit, min(spent, limit)),
    starts_at: isoTime(startsAt),
    ends_at: isoTime(endsAt),
  }
}
