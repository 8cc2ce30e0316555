import type { AccountId } from '../../../core/ids'
import { exportResponse } from '../../account/export'
import type { KeyRecord } from '../../keys/record'
import type { OwnerSessions } from '../../middleware/caller/owner-session'
import { PAGE_QUERY, queryOf } from '../../middleware/input/list-query'
import { type RequestContext, routeGroup } from '../../middleware/request-context'
import { notFound, taken } from '../../middleware/response/failures'
import { GROUPED_QUERY, LOG_QUERY } from '../../usage/owner-routes'
import type { ExplainedRequest, TransactionPage, UsageReport } from '../../usage/record'
import { answeredBy } from '../cells/cell-routing'
import { operatorGate } from '../operator-gate'
import { NoBody, type OneOperatorAccount, type SecondFactorReset } from '../record'
import { CustomerCommands } from './customer-commands'
import {
  type CustomerDetails,
  type ErasedAccount,
  EraseForm,
  KeyActionForm,
  NoteForm,
  type PasswordReset,
  type RefundList,
  RoleForm,
  SuspendForm,
} from './customer-record'
import type {
  CustomerAdjustments,
  CustomerAudit,
  CustomerKeys,
  CustomerLimits,
  CustomerPayments,
  CustomerRequests,
} from './customer-view-record'
import { type CustomerViewParts, CustomerViews } from './customer-views'

export interface CustomerRouteParts extends CustomerViewParts {
  readonly owners: OwnerSessions
}

/** Resolves the account of a path, for staff only. */
function customerOf({ accounts, owners }: Pick<CustomerRouteParts, 'accounts' | 'owners'>) {
  const { staff } = operatorGate(owners)
  return async (context: RequestContext, id: string): Promise<AccountId> => {
    await staff(context)
    const account = await accounts.byId(id as AccountId) // any text: an id that does not exist is found nowhere
    if (!account) throw notFound('This account does not exist.')
    return account.id
  }
}

/** What operators and support see of one customer (spec-answers 15). */
export function customerRoutes(parts: CustomerRouteParts) {
  const orders = new CustomerCommands(parts)
  const views = new CustomerViews(parts)
  const accountId = customerOf(parts)
  return routeGroup({ name: 'operator-customers', prefix: '/api/operator/accounts/:id' })
    .get(
      '',
      async ({ context, params }): Promise<CustomerDetails> =>
        taken(await orders.show({ account: await accountId(context, params.id) })),
      answeredBy('account'),
    )
    .get(
      '/usage',
      async ({ context, params }): Promise<UsageReport> =>
        views.usage(await accountId(context, params.id), queryOf(GROUPED_QUERY, context)),
      answeredBy('account'),
    )
    .get(
      '/requests',
      async ({ context, params }): Promise<CustomerRequests> =>
        views.requests(await accountId(context, params.id), queryOf(LOG_QUERY, context)),
      answeredBy('account'),
    )
    .get(
      '/requests/:request',
      async ({ context, params }): Promise<ExplainedRequest> =>
        views.request(await accountId(context, params.id), params.request),
      answeredBy('account'),
    )
    .get(
      '/limits',
      async ({ context, params }): Promise<CustomerLimits> =>
        views.limits(await accountId(context, params.id), queryOf(PAGE_QUERY, context)),
      answeredBy('account'),
    )
}

/** Money, keys and changes of one customer. */
export function customerRecordRoutes(parts: CustomerRouteParts) {
  const views = new CustomerViews(parts)
  const accountId = customerOf(parts)
  return routeGroup({ name: 'operator-customer-records', prefix: '/api/operator/accounts/:id' })
    .get(
      '/transactions',
      async ({ context, params }): Promise<TransactionPage> =>
        views.transactions(await accountId(context, params.id), queryOf(PAGE_QUERY, context)),
      answeredBy('account'),
    )
    .get(
      '/adjustments',
      async ({ context, params }): Promise<CustomerAdjustments> =>
        views.adjustments(await accountId(context, params.id), queryOf(PAGE_QUERY, context)),
      answeredBy('account'),
    )
    .get(
      '/payments',
      async ({ context, params }): Promise<CustomerPayments> =>
        views.payments(await accountId(context, params.id), queryOf(PAGE_QUERY, context)),
      answeredBy('account'),
    )
    .get(
      '/refunds',
      async ({ context, params }): Promise<RefundList> =>
        views.refunds(await accountId(context, params.id), queryOf(PAGE_QUERY, context)),
      answeredBy('account'),
    )
    .get(
      '/keys',
      async ({ context, params }): Promise<CustomerKeys> => views.keys(await accountId(context, params.id)),
      answeredBy('account'),
    )
    .get(
      '/audit',
      async ({ context, params }): Promise<CustomerAudit> =>
        views.audit(await accountId(context, params.id), queryOf(PAGE_QUERY, context)),
      answeredBy('account'),
    )
}

/** What operators and support do for one customer. Every change is audited. */
export function customerActRoutes(parts: CustomerRouteParts) {
  const orders = new CustomerCommands(parts)
  const { actorOf, staffOrder, graveOrder } = operatorGate(parts.owners)
  return routeGroup({ name: 'operator-customer-acts', prefix: '/api/operator/accounts/:id' })
    .post(
      '/suspend',
      ({ context, params: { id } }): Promise<OneOperatorAccount> =>
        staffOrder(context, SuspendForm, (actor, form) => orders.suspend(actor, { ...form, account: id })),
      { parse: 'none', ...answeredBy('account') },
    )
    .post(
      '/lift',
      ({ context, params: { id } }): Promise<OneOperatorAccount> =>
        staffOrder(context, SuspendForm, (actor, form) => orders.lift(actor, { ...form, account: id })),
      { parse: 'none', ...answeredBy('account') },
    )
    .post(
      '/notes',
      ({ context, params: { id } }): Promise<CustomerDetails> =>
        staffOrder(context, NoteForm, (actor, form) => orders.addNote(actor, { ...form, account: id })),
      { parse: 'none', ...answeredBy('account') },
    )
    .post(
      '/end-sessions',
      ({ context, params: { id } }) =>
        staffOrder(context, NoBody, (actor) => orders.endSessions(actor, { account: id })),
      { parse: 'none', ...answeredBy('account') },
    )
    .post(
      '/keys/:key',
      ({ context, params: { id, key } }): Promise<{ readonly key: KeyRecord }> =>
        staffOrder(context, KeyActionForm, (actor, form) => orders.actOnKey(actor, { ...form, account: id, key })),
      { parse: 'none', ...answeredBy('account') },
    )
    .post(
      '/role',
      ({ context, params: { id } }): Promise<OneOperatorAccount> =>
        graveOrder(context, RoleForm, (actor, form) => orders.setRole(actor, { ...form, account: id })),
      { parse: 'none', ...answeredBy('account') },
    )
    .post(
      '/password-reset',
      ({ context, params: { id } }): Promise<PasswordReset> =>
        graveOrder(context, NoBody, (actor) => orders.resetPassword(actor, { account: id })),
      { parse: 'none', ...answeredBy('account') },
    )
    .post(
      '/second-factor-reset',
      ({ context, params: { id } }): Promise<SecondFactorReset> =>
        graveOrder(context, NoBody, (actor) => orders.resetSecondFactor(actor, { account: id })),
      { parse: 'none', ...answeredBy('account') },
    )
    .post(
      '/erase',
      ({ context, params: { id } }): Promise<ErasedAccount> =>
        graveOrder(context, EraseForm, (actor, form) => orders.erase(actor, { ...form, account: id })),
      { parse: 'none', ...answeredBy('account') },
    )
    .get(
      '/export',
      async ({ context, params: { id } }): Promise<Response> => {
        const actor = await actorOf(context)
        return exportResponse(taken(await orders.export(actor, { account: id })))
      },
      answeredBy('account'),
    )
}
