import type { Static } from '@sinclair/typebox'
import type { PoolBudgets } from '../../core/accounts/pool-budgets'
import { type AccountId, accountPool } from '../../core/ids'
import { BUDGET_WINDOWS, BUDGETS, budgetsRecord } from '../keys/budget-record'
import { form, named, record } from '../openapi/json-schema'

export const BudgetsChange = named('BudgetsChange', form('The budgets of your account.', { budgets: BUDGETS }))

export const AccountBudgets = named(
  'AccountBudgets',
  record('The budgets of your account.', { budgets: BUDGETS, budget_windows: BUDGET_WINDOWS }),
)
export type AccountBudgets = Static<typeof AccountBudgets>

/** The budgets of an account, as its owner sees them. */
export async function accountBudgets(
  poolBudgets: Pick<PoolBudgets, 'of'>,
  accountId: AccountId,
  now: number,
): Promise<AccountBudgets> {
  return budgetsRecord(await poolBudgets.of(accountPool(accountId)), now)
}
