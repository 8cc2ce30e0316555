import type { ParameterTable } from '../../core/catalog/parameters'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { PAGE_QUERY, queryOf } from '../middleware/input/list-query'
import { routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed, type Id } from '../routing/api-access'
import { OperatorCommands, type OperatorParts } from './operator-commands'
import { command, operatorRoles } from './operator-roles'
import { LimitsChange, MaxKeysForm, NewGrant } from './record'

const SEARCH_HELP =
  'Part of an email address or name, or an id: of the account, a key, a request or a payment; or the beginning of a key.'

const ACCOUNTS_QUERY = {
  ...PAGE_QUERY,
  search: { in: 'query', kind: 'text', min: 1, max: 200, description: SEARCH_HELP },
} as const satisfies ParameterTable

/** Accounts as an operator sees and changes them (spec D4). Only for operators; every change is audited. */
export function operatorAccountRoutes(parts: OperatorParts & { readonly owners: OwnerSessions }) {
  const orders = new OperatorCommands(parts)
  const { operator, staff } = operatorRoles(parts.owners)
  return routeGroup({ name: 'operator-accounts', prefix: '/api/operator/accounts' })
    .get('', ...allowed(staff(), UNDOCUMENTED, ({ context }) => orders.page(queryOf(ACCOUNTS_QUERY, context))))
    .post(
      '/:id/grants',
      ...command(operator(), NewGrant, (actor, form, { id }: Id) => orders.grant(actor, { ...form, account: id })),
    )
    .post(
      '/:id/limits',
      ...command(operator(), LimitsChange, (actor, form, { id }: Id) =>
        orders.setLimits(actor, { ...form, account: id }),
      ),
    )
    .post(
      '/:id/max-keys',
      ...command(operator(), MaxKeysForm, (actor, form, { id }: Id) =>
        orders.setMaxKeys(actor, { ...form, account: id }),
      ),
    )
}
