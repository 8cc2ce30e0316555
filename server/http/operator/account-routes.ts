import type { ParameterTable } from '../../core/catalog/parameters'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { PAGE_QUERY, queryOf } from '../middleware/input/list-query'
import { routeGroup } from '../middleware/request-context'
import { answeredBy } from './cells/cell-routing'
import { ACCOUNTS } from './cells/report-joins'
import { OperatorCommands, type OperatorParts } from './operator-commands'
import { operatorGate } from './operator-gate'
import { LimitsChange, MaxKeysForm, NewGrant, type OneOperatorAccount, type OperatorAccountPage } from './record'

const SEARCH_HELP =
  'Part of an email address or name, or an id: of the account, a key, a request or a payment; or the beginning of a key.'

const ACCOUNTS_QUERY = {
  ...PAGE_QUERY,
  search: { in: 'query', kind: 'text', min: 1, max: 200, description: SEARCH_HELP },
} as const satisfies ParameterTable

/** Accounts as an operator sees and changes them (spec-answers 4). Only for operators; every change is audited. */
export function operatorAccountRoutes(parts: OperatorParts & { readonly owners: OwnerSessions }) {
  const orders = new OperatorCommands(parts)
  const { staff, order } = operatorGate(parts.owners)
  return routeGroup({ name: 'operator-accounts', prefix: '/api/operator/accounts' })
    .get(
      '',
      async ({ context }): Promise<OperatorAccountPage> => {
        await staff(context)
        return orders.page(queryOf(ACCOUNTS_QUERY, context))
      },
      answeredBy(ACCOUNTS),
    )
    .post(
      '/:id/grants',
      ({ context, params }): Promise<OneOperatorAccount> =>
        order(context, NewGrant, (actor, form) => orders.grant(actor, { ...form, account: params.id })),
      { parse: 'none', ...answeredBy('account') },
    )
    .post(
      '/:id/limits',
      ({ context, params }): Promise<OneOperatorAccount> =>
        order(context, LimitsChange, (actor, form) => orders.setLimits(actor, { ...form, account: params.id })),
      { parse: 'none', ...answeredBy('account') },
    )
    .post(
      '/:id/max-keys',
      ({ context, params }): Promise<OneOperatorAccount> =>
        order(context, MaxKeysForm, (actor, form) => orders.setMaxKeys(actor, { ...form, account: params.id })),
      { parse: 'none', ...answeredBy('account') },
    )
}
