import type { AccountId } from '../../../core/ids'
import { exportResponse } from '../../account/export'
import { type OwnerSessions, SIGNED_IN_JUST_NOW } from '../../middleware/caller/owner-session'
import { PAGE_QUERY, queryOf } from '../../middleware/input/list-query'
import { routeGroup } from '../../middleware/request-context'
import { taken } from '../../middleware/response/failures'
import { UNDOCUMENTED } from '../../openapi/documented'
import { allowed, type Id } from '../../routing/api-access'
import { costing, EXPORT, OVER_ALL } from '../../routing/cost'
import { GROUPED_QUERY, LOG_QUERY } from '../../usage/owner-routes'
import { accountCommand, findAccount, operatorRoles } from '../operator-roles'
import { NoBody } from '../record'
import { CustomerCommands } from './customer-commands'
import { EraseForm, KeyActionForm, NoteForm, RoleForm, SuspendForm } from './customer-record'
import { type CustomerViewParts, CustomerViews } from './customer-views'

export interface CustomerRouteParts extends CustomerViewParts {
  readonly owners: OwnerSessions
}

/** Resolves the account of a path. */
function customerIn(parts: CustomerRouteParts) {
  return async ({ id }: Id): Promise<AccountId> => taken(await findAccount(parts, id)).id
}

/** One customer as operators and support see it (spec D15). */
export function customerRoutes(parts: CustomerRouteParts) {
  const orders = new CustomerCommands(parts)
  const views = new CustomerViews(parts)
  const customer = customerIn(parts)
  const { staff } = operatorRoles(parts.owners)
  return routeGroup({ name: 'operator-customers', prefix: '/api/operator/accounts/:id' })
    .get(
      '',
      ...allowed(staff(), UNDOCUMENTED, async (_call, { id }: Id) =>
        orders.details(taken(await findAccount(parts, id))),
      ),
    )
    .get(
      '/usage',
      ...allowed(staff(), UNDOCUMENTED, async ({ context }, path: Id) =>
        views.usage(await customer(path), queryOf(GROUPED_QUERY, context)),
      ),
    )
    .get(
      '/requests',
      ...allowed(staff(), UNDOCUMENTED, async ({ context }, path: Id) =>
        views.requests(await customer(path), queryOf(LOG_QUERY, context)),
      ),
    )
    .get(
      '/requests/:request',
      ...allowed(staff(), UNDOCUMENTED, async (_call, path: Id & { readonly request: string }) =>
        views.request(await customer(path), path.request),
      ),
    )
    .get(
      '/limits',
      ...allowed(staff(), UNDOCUMENTED, async ({ context }, path: Id) =>
        views.limits(await customer(path), queryOf(PAGE_QUERY, context)),
      ),
    )
}

/** Money, keys and changes of one customer. */
export function customerRecordRoutes(parts: CustomerRouteParts) {
  const views = new CustomerViews(parts)
  const customer = customerIn(parts)
  const { staff } = operatorRoles(parts.owners)
  return routeGroup({ name: 'operator-customer-records', prefix: '/api/operator/accounts/:id' })
    .get(
      '/transactions',
      ...allowed(staff(), UNDOCUMENTED, async ({ context }, path: Id) =>
        views.transactions(await customer(path), queryOf(PAGE_QUERY, context)),
      ),
    )
    .get(
      '/adjustments',
      ...allowed(staff(), UNDOCUMENTED, async ({ context }, path: Id) =>
        views.adjustments(await customer(path), queryOf(PAGE_QUERY, context)),
      ),
    )
    .get(
      '/payments',
      ...allowed(staff(), UNDOCUMENTED, async ({ context }, path: Id) =>
        views.payments(await customer(path), queryOf(PAGE_QUERY, context)),
      ),
    )
    .get(
      '/refunds',
      ...allowed(staff(), UNDOCUMENTED, async ({ context }, path: Id) =>
        views.refunds(await customer(path), queryOf(PAGE_QUERY, context)),
      ),
    )
    .get(
      '/keys',
      ...allowed(staff(), costing(OVER_ALL, UNDOCUMENTED), async (_call, path: Id) => views.keys(await customer(path))),
    )
    .get(
      '/audit',
      ...allowed(staff(), UNDOCUMENTED, async ({ context }, path: Id) =>
        views.audit(await customer(path), queryOf(PAGE_QUERY, context)),
      ),
    )
}

/** The work of operators and support for one customer. Every change is audited. */
export function customerActRoutes(parts: CustomerRouteParts) {
  const orders = new CustomerCommands(parts)
  const { operator, staff } = operatorRoles(parts.owners)
  return routeGroup({ name: 'operator-customer-acts', prefix: '/api/operator/accounts/:id' })
    .post(
      '/suspend',
      ...accountCommand(parts, staff(), SuspendForm, (actor, account, form) => orders.suspend(actor, account, form)),
    )
    .post(
      '/lift',
      ...accountCommand(parts, staff(), SuspendForm, (actor, account, form) => orders.lift(actor, account, form)),
    )
    .post(
      '/notes',
      ...accountCommand(parts, staff(), NoteForm, (actor, account, form) => orders.addNote(actor, account, form)),
    )
    .post(
      '/end-sessions',
      ...accountCommand(parts, staff(), NoBody, (actor, account) => orders.endSessions(actor, account)),
    )
    .post(
      '/keys/:key',
      ...accountCommand(parts, staff(), KeyActionForm, (actor, account, form, { key }: Id & { readonly key: string }) =>
        orders.actOnKey(actor, account, key, form),
      ),
    )
    .post(
      '/role',
      ...accountCommand(parts, operator(SIGNED_IN_JUST_NOW), RoleForm, (actor, account, form) =>
        orders.setRole(actor, account, form),
      ),
    )
    .post(
      '/password-reset',
      ...accountCommand(parts, operator(SIGNED_IN_JUST_NOW), NoBody, (actor, account) =>
        orders.resetPassword(actor, account),
      ),
    )
    .post(
      '/second-factor-reset',
      ...accountCommand(parts, operator(SIGNED_IN_JUST_NOW), NoBody, (actor, account) =>
        orders.resetSecondFactor(actor, account),
      ),
    )
    .post(
      '/erase',
      ...accountCommand(parts, operator(SIGNED_IN_JUST_NOW), EraseForm, (actor, account, form) =>
        orders.erase(actor, account, form),
      ),
    )
    .get(
      '/export',
      ...allowed(operator(), costing(2 * EXPORT, UNDOCUMENTED), async ({ actor }, { id }: Id) =>
        exportResponse(await orders.export(actor, taken(await findAccount(parts, id)))),
      ),
    )
}
