import { queryOptions } from '@tanstack/react-query'
import type { BudgetForm } from '../../../../server/http/keys/budget-record.ts'
import { api, unwrap } from '../client/client.ts'

/** What the whole workspace may spend. Its query key starts with `billing`, which money events invalidate. */
export const budgetsQuery = queryOptions({
  queryKey: ['billing', 'budgets'],
  queryFn: () => unwrap(api.account.budgets.get()),
})

/** What members may spend who join from now on. */
export const defaultBudgetsQuery = queryOptions({
  queryKey: ['members', 'default-budgets'],
  queryFn: () => unwrap(api.members['default-budgets'].get()),
})

export const setBudgets = (budgets: BudgetForm[]) => unwrap(api.account.budgets.put({ budgets }))

export const setDefaultBudgets = (budgets: BudgetForm[]) => unwrap(api.members['default-budgets'].put({ budgets }))

export const setMemberBudgets = (id: string, budgets: BudgetForm[]) =>
  unwrap(api.members({ id }).budgets.put({ budgets }))
