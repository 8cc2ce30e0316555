import type { AuditEntry } from '../../core/audit'
import { isoTime } from '../../core/clock'
import type { AccountId } from '../../core/ids'
import type { Claim, ClaimStore } from '../../core/payments/claim'
import { exportResponse } from '../account/export'
import { type KeyRecord, keyRecord } from '../keys/record'
import { notFound, taken } from '../middleware/failures'
import { PAGE_QUERY, queryOf, refuseCursor } from '../middleware/list-query'
import type { OwnerSessions } from '../middleware/owner-session'
import { type RequestContext, routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'
import { accountUsage, callFilter, LOG_QUERY } from '../usage/owner-routes'
import type { ExplainedRequest, RequestPage, TransactionPage, UsageReport } from '../usage/record'
import { explainedCall, wireCall, wireTransaction } from '../usage/usage-report'
import { CustomerCommands, type CustomerParts } from './customer-commands'
import {
  type CustomerAudit,
  type CustomerDetails,
  type CustomerKeys,
  type CustomerPayments,
  type ErasedAccount,
  EraseForm,
  KeyActionForm,
  NoteForm,
  type PasswordReset,
  RoleForm,
  SuspendForm,
} from './customer-record'
import { operatorGate } from './operator-gate'
import { NoBody, type OneOperatorAccount, type SecondFactorReset } from './record'

export interface CustomerRouteParts extends CustomerParts {
  readonly owners: OwnerSessions
  readonly claims: ClaimStore
}

/** Resolves the account of a path, for staff only. */
export function customerOf({ accounts, owners }: Pick<CustomerRouteParts, 'accounts' | 'owners'>) {
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
  const { reports, statements, now } = parts
  const orders = new CustomerCommands(parts)
  const accountId = customerOf(parts)
  return routeGroup({ name: 'operator-customers', prefix: '/api/operator/accounts/:id' })
    .get(
      '',
      async ({ context, params }): Promise<CustomerDetails> =>
        taken(await orders.show({ account: await accountId(context, params.id) })),
      UNDOCUMENTED,
    )
    .get(
      '/usage',
      async ({ context, params }): Promise<UsageReport> =>
        accountUsage(parts, await accountId(context, params.id), context, now()),
      UNDOCUMENTED,
    )
    .get(
      '/requests',
      async ({ context, params }): Promise<RequestPage> => {
        const id = await accountId(context, params.id)
        const query = queryOf(LOG_QUERY, context)
        const filter = await callFilter(parts.credentials, id, query)
        const page = await reports.requests(filter, query.limit, query.cursor ?? null)
        if (!page) throw refuseCursor(query.cursor ?? '')
        return { requests: page.rows.map(wireCall), next_cursor: page.next }
      },
      UNDOCUMENTED,
    )
    .get(
      '/requests/:request',
      async ({ context, params }): Promise<ExplainedRequest> => {
        const call = await reports.request(await accountId(context, params.id), null, params.request)
        if (!call) throw notFound('This account made no request with this id.')
        return explainedCall(call)
      },
      UNDOCUMENTED,
    )
    .get(
      '/transactions',
      async ({ context, params }): Promise<TransactionPage> => {
        const id = await accountId(context, params.id)
        const { limit, cursor } = queryOf(PAGE_QUERY, context)
        const page = await statements.transactions(id, limit, cursor ?? null)
        if (!page) throw refuseCursor(cursor ?? '')
        return { transactions: page.rows.map(wireTransaction), next_cursor: page.next }
      },
      UNDOCUMENTED,
    )
}

/** Payments, keys and changes of one customer. */
export function customerRecordRoutes(parts: CustomerRouteParts) {
  const { claims, credentials, audit, now } = parts
  const accountId = customerOf(parts)
  return routeGroup({ name: 'operator-customer-records', prefix: '/api/operator/accounts/:id' })
    .get(
      '/payments',
      async ({ context, params }): Promise<CustomerPayments> => {
        const id = await accountId(context, params.id)
        const { limit, cursor } = queryOf(PAGE_QUERY, context)
        const page = await claims.list({ account: id, purpose: null, state: null }, limit, cursor ?? null)
        if (!page) throw refuseCursor(cursor ?? '')
        return { payments: page.rows.map(customerPayment), next_cursor: page.next }
      },
      UNDOCUMENTED,
    )
    .get(
      '/keys',
      async ({ context, params }): Promise<CustomerKeys> => {
        const keys = await credentials.byAccount(await accountId(context, params.id))
        return { keys: await Promise.all(keys.map((key) => keyRecord(key, { ...parts, now: now() }))) }
      },
      UNDOCUMENTED,
    )
    .get(
      '/audit',
      async ({ context, params }): Promise<CustomerAudit> => {
        const id = await accountId(context, params.id)
        const { limit, cursor } = queryOf(PAGE_QUERY, context)
        const page = await audit.ofAccount(id, limit, cursor ?? null)
        if (!page) throw refuseCursor(cursor ?? '')
        return { changes: page.rows.map(change), next_cursor: page.next }
      },
      UNDOCUMENTED,
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
      { parse: 'none', ...UNDOCUMENTED },
    )
    .post(
      '/lift',
      ({ context, params: { id } }): Promise<OneOperatorAccount> =>
        staffOrder(context, SuspendForm, (actor, form) => orders.lift(actor, { ...form, account: id })),
      { parse: 'none', ...UNDOCUMENTED },
    )
    .post(
      '/notes',
      ({ context, params: { id } }): Promise<CustomerDetails> =>
        staffOrder(context, NoteForm, (actor, form) => orders.addNote(actor, { ...form, account: id })),
      { parse: 'none', ...UNDOCUMENTED },
    )
    .post(
      '/end-sessions',
      ({ context, params: { id } }) =>
        staffOrder(context, NoBody, (actor) => orders.endSessions(actor, { account: id })),
      { parse: 'none', ...UNDOCUMENTED },
    )
    .post(
      '/keys/:key',
      ({ context, params: { id, key } }): Promise<{ readonly key: KeyRecord }> =>
        staffOrder(context, KeyActionForm, (actor, form) => orders.actOnKey(actor, { ...form, account: id, key })),
      { parse: 'none', ...UNDOCUMENTED },
    )
    .post(
      '/role',
      ({ context, params: { id } }): Promise<OneOperatorAccount> =>
        graveOrder(context, RoleForm, (actor, form) => orders.setRole(actor, { ...form, account: id })),
      { parse: 'none', ...UNDOCUMENTED },
    )
    .post(
      '/password-reset',
      ({ context, params: { id } }): Promise<PasswordReset> =>
        graveOrder(context, NoBody, (actor) => orders.resetPassword(actor, { account: id })),
      { parse: 'none', ...UNDOCUMENTED },
    )
    .post(
      '/second-factor-reset',
      ({ context, params: { id } }): Promise<SecondFactorReset> =>
        graveOrder(context, NoBody, (actor) => orders.resetSecondFactor(actor, { account: id })),
      { parse: 'none', ...UNDOCUMENTED },
    )
    .post(
      '/erase',
      ({ context, params: { id } }): Promise<ErasedAccount> =>
        graveOrder(context, EraseForm, (actor, form) => orders.erase(actor, { ...form, account: id })),
      { parse: 'none', ...UNDOCUMENTED },
    )
    .get(
      '/export',
      async ({ context, params: { id } }): Promise<Response> => {
        const actor = await actorOf(context)
        return exportResponse(taken(await orders.export(actor, { account: id })))
      },
      UNDOCUMENTED,
    )
}

function customerPayment(claim: Claim): CustomerPayments['payments'][number] {
  return {
    id: claim.id,
    purpose: claim.purpose,
    state: claim.state,
    method: claim.method,
    amount_micros_usd: claim.amount,
    reference: claim.reference,
    error: claim.lastError,
    created_at: isoTime(claim.createdAt),
    updated_at: isoTime(claim.updatedAt),
  }
}

function change({ id, at, actor, action, keyId, detail }: AuditEntry): CustomerAudit['changes'][number] {
  return {
    ...{ id, at: isoTime(at), action, by: actor.kind, actor: actor.id },
    ...{ ip: actor.address, key: keyId, detail: { ...detail } },
  }
}
