import type { ParameterTable } from '../../core/catalog/parameters'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { PAGE_QUERY, queryOf } from '../middleware/input/list-query'
import { routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed } from '../routing/api-access'
import { OperatorCommands, type OperatorParts } from './operator-commands'
import { accountCommand, CONSOLE_ONLY, operatorRoles } from './operator-roles'
import { LimitsChange, MaxKeysForm, NewGrant, NoBody } from './record'

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
      ...accountCommand(parts, operator(), NewGrant, (actor, account, form) => orders.grant(actor, account, form)),
    )
    .post(
      '/:id/limits',
      ...accountCommand(parts, operator(), LimitsChange, (actor, account, form) =>
        orders.setLimits(actor, account, form),
      ),
    )
    .post(
      '/:id/max-keys',
      ...accountCommand(parts, operator(), MaxKeysForm, (actor, account, form) =>
        orders.setMaxKeys(actor, account, form),
      ),
    )
    .post(
      '/:id/reset-link',
      ...accountCommand(parts, CONSOLE_ONLY, NoBody, (actor, account) => orders.resetLink(actor, account)),
    )
}
