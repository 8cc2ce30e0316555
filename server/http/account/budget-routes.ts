import type { GroupPool, PoolBudgets } from '../../core/accounts/pool-budgets'
import { type AccountId, accountPool } from '../../core/ids'
import { budgetsOf } from '../keys/budget-record'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { readJson } from '../middleware/input/json-body'
import { validateBody } from '../middleware/input/validate-body'
import { routeGroup } from '../middleware/request-context'
import { taken } from '../middleware/response/failures'
import { BODY_FAILURES } from '../openapi/body-failures'
import { documented, type EndpointDocs, requestBody } from '../openapi/documented'
import { allowed, signedIn } from '../routing/api-access'
import { AccountBudgets, accountBudgets, BudgetsChange } from './account-budgets-record'

const DOCS = {
  get: {
    id: 'getBudgets',
    tag: 'Account',
    summary: 'Budgets of your account',
    description: 'What all keys and apps together may spend per day, week or month.',
    answers: { 200: { description: 'The budgets and their current periods.', schema: AccountBudgets } },
    failures: [],
  },
  set: {
    id: 'setBudgets',
    tag: 'Account',
    summary: 'Set the budgets of your account',
    description:
      'Replaces them; an empty list removes them. What the current periods have spent already counts. Applies to the next request: one that does not fit is 429 `quota_exceeded`, whichever key sends it.',
    body: requestBody('The budgets.', BudgetsChange, {
      month: { budgets: [{ limit_usd: 500, period: 'month', timezone: 'Europe/Berlin' }] },
    }),
    answers: { 200: { description: 'The budgets and their current periods.', schema: AccountBudgets } },
    failures: [...BODY_FAILURES],
  },
} as const satisfies Record<string, EndpointDocs>

/** Owners cap what their whole account spends. */
export function budgetRoutes(parts: {
  readonly owners: OwnerSessions
  readonly poolBudgets: PoolBudgets
  readonly now: () => number
}) {
  const { owners, poolBudgets, now } = parts
  const current = (accountId: AccountId) => accountBudgets(poolBudgets, accountId, now())
  return routeGroup({ name: 'budgets', prefix: '/api/account/budgets' })
    .get('', ...allowed(signedIn(owners, 'money:read'), documented(DOCS.get), ({ accountId }) => current(accountId)))
    .put(
      '',
      ...allowed(
        signedIn(owners, 'settings:write'),
        documented(DOCS.set),
        async ({ owner, context }): Promise<AccountBudgets> => {
          const { accountId, actor } = owner
          const sent = validateBody(BudgetsChange, taken(await readJson(context)))
          const all = { budgets: budgetsOf(sent.form.budgets ?? []) }
          const pool: GroupPool = { id: accountPool(accountId), accountId, kind: 'account' }
          taken(await poolBudgets.set(pool, { ...sent, form: all }, actor))
          return current(accountId)
        },
      ),
    )
}
