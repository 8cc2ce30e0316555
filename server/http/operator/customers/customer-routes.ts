import type { AccountId } from '../../../core/ids'
import { exportResponse } from '../../account/export'
import { type OwnerSessions, SIGNED_IN_JUST_NOW } from '../../middleware/caller/owner-session'
import { PAGE_QUERY, queryOf } from '../../middleware/input/list-query'
import { routeGroup } from '../../middleware/request-context'
import { notFound, taken } from '../../middleware/response/failures'
import { UNDOCUMENTED } from '../../openapi/documented'
import { allowed, type Id } from '../../routing/api-access'
import { costing, EXPORT, OVER_ALL } from '../../routing/cost'
import { GROUPED_QUERY, LOG_QUERY } from '../../usage/owner-routes'
import { command, operatorRoles } from '../operator-roles'
import { NoBody } from '../record'
import { CustomerCommands } from './customer-commands'
import { EraseForm, KeyActionForm, NoteForm, RoleForm, SuspendForm } from './customer-record'
import { type CustomerViewParts, CustomerViews } from './customer-views'

export interface CustomerRouteParts extends CustomerViewParts {
  readonly owners: OwnerSessions
}

/** Resolves the account of a path. */
function customerIn({ accounts }: Pick<CustomerRouteParts, 'accounts'>) {
  return async ({ id }: Id): Promise<AccountId> => {
    const account = await accounts.byId(id as AccountId) // any text: an id that does not exist is found nowhere
    if (!account) throw notFound('This account does not exist.')
    return account.id
  }
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
      ...allowed(staff(), UNDOCUMENTED, async (_call, path: Id) =>
        taken(await orders.show({ account: await customer(path) })),
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
      ...command(staff(), SuspendForm, (actor, form, { id }: Id) => orders.suspend(actor, { ...form, account: id })),
    )
    .post(
      '/lift',
      ...command(staff(), SuspendForm, (actor, form, { id }: Id) => orders.lift(actor, { ...form, account: id })),
    )
    .post(
      '/notes',
      ...command(staff(), NoteForm, (actor, form, { id }: Id) => orders.addNote(actor, { ...form, account: id })),
    )
    .post(
      '/end-sessions',
      ...command(staff(), NoBody, (actor, _form, { id }: Id) => orders.endSessions(actor, { account: id })),
    )
    .post(
      '/keys/:key',
      ...command(staff(), KeyActionForm, (actor, form, { id, key }: Id & { readonly key: string }) =>
        orders.actOnKey(actor, { ...form, account: id, key }),
      ),
    )
    .post(
      '/role',
      ...command(operator(SIGNED_IN_JUST_NOW), RoleForm, (actor, form, { id }: Id) =>
        orders.setRole(actor, { ...form, account: id }),
      ),
    )
    .post(
      '/password-reset',
      ...command(operator(SIGNED_IN_JUST_NOW), NoBody, (actor, _form, { id }: Id) =>
        orders.resetPassword(actor, { account: id }),
      ),
    )
    .post(
      '/second-factor-reset',
      ...command(operator(SIGNED_IN_JUST_NOW), NoBody, (actor, _form, { id }: Id) =>
        orders.resetSecondFactor(actor, { account: id }),
      ),
    )
    .post(
      '/erase',
      ...command(operator(SIGNED_IN_JUST_NOW), EraseForm, (actor, form, { id }: Id) =>
        orders.erase(actor, { ...form, account: id }),
      ),
    )
    .get(
      '/export',
      ...allowed(operator(), costing(2 * EXPORT, UNDOCUMENTED), async ({ actor }, { id }: Id) =>
        exportResponse(taken(await orders.export(actor, { account: id }))),
      ),
    )
}
