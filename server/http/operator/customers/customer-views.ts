import type { CardRefundStore } from '../../../core/accounts/cards/card-refund'
import type { AuditEntry } from '../../../core/audit'
import type { Parameters } from '../../../core/catalog/parameters'
import { isoTime } from '../../../core/clock'
import { keysAmong } from '../../../core/credentials/key-lists'
import type { AccountId, LimitRequestId, RefundId } from '../../../core/ids'
import type { AccountAdjustment } from '../../../core/ledger/account-statement'
import { limitsOf, MAX_KEYS, tierOf } from '../../../core/limits/tier'
import { ZERO } from '../../../core/money'
import { type Page, pageOf } from '../../../core/page'
import type { Claim, ClaimStore } from '../../../core/payments/claim'
import type { CallRecord } from '../../../core/usage/call-record'
import { limitRequestRecord } from '../../account/limit-request-record'
import { keyRecord } from '../../keys/record'
import { actorEmails } from '../../middleware/caller/actor-email'
import { callersOf } from '../../middleware/caller/callers'
import { type PAGE_QUERY, refuseCursor } from '../../middleware/input/list-query'
import { notFound } from '../../middleware/response/failures'
import { logMeaning } from '../../openapi/failure-meanings'
import { accountUsage, callFilter, type GROUPED_QUERY, type LOG_QUERY } from '../../usage/owner-routes'
import type { ExplainedRequest, TransactionPage, UsageReport } from '../../usage/record'
import { explainedCall, noCall, wireCall, wireTransaction } from '../../usage/usage-report'
import type { CustomerParts } from './customer-commands'
import { type RefundList, refundRecord } from './customer-record'
import type {
  CustomerAdjustment,
  CustomerAdjustments,
  CustomerAudit,
  CustomerKeys,
  CustomerLimits,
  CustomerPayments,
  CustomerRequest,
  CustomerRequests,
} from './customer-view-record'

export interface CustomerViewParts extends CustomerParts {
  readonly claims: ClaimStore
  readonly refundStore: CardRefundStore
}

type PageQuery = Parameters<typeof PAGE_QUERY>

/** One customer as operators and support see it. */
export class CustomerViews {
  private readonly parts: CustomerViewParts

  constructor(parts: CustomerViewParts) {
    this.parts = parts
  }

  usage(account: AccountId, query: Parameters<typeof GROUPED_QUERY>): Promise<UsageReport> {
    return accountUsage(this.parts, { accountId: account }, query, this.parts.now())
  }

  async requests(account: AccountId, query: Parameters<typeof LOG_QUERY>): Promise<CustomerRequests> {
    const { limit, cursor } = query
    const filter = await callFilter(this.parts, { accountId: account }, query)
    const page = known(cursor, await this.parts.reports.requests(filter, limit, cursor ?? null))
    const names = new Map((await callersOf({ accountId: account }, this.parts)).map(({ id, name }) => [id, name]))
    const named = (call: CallRecord) => customerRequest(call, names.get(call.keyId) ?? null)
    return { requests: page.rows.map(named), next_cursor: page.next }
  }

  async request(account: AccountId, id: string): Promise<ExplainedRequest> {
    const call = await this.parts.reports.request(account, null, id)
    if (!call) throw await noCall(this.parts.reports, id, 'This account made no request with this id.')
    return explainedCall(call)
  }

  async transactions(account: AccountId, { limit, cursor }: PageQuery): Promise<TransactionPage> {
    const page = known(cursor, await this.parts.statements.transactions(account, limit, cursor ?? null))
    return { transactions: page.rows.map(wireTransaction), next_cursor: page.next }
  }

  async adjustments(account: AccountId, { limit, cursor }: PageQuery): Promise<CustomerAdjustments> {
    const page = known(cursor, await this.parts.statements.adjustments(account, limit, cursor ?? null))
    const emailOf = actorEmails(this.parts.identity)
    return {
      adjustments: await Promise.all(page.rows.map((row) => customerAdjustment(row, emailOf))),
      next_cursor: page.next,
    }
  }

  async payments(account: AccountId, { limit, cursor }: PageQuery): Promise<CustomerPayments> {
    const filter = { account, purpose: null, state: null }
    const page = known(cursor, await this.parts.claims.list(filter, limit, cursor ?? null))
    return { payments: page.rows.map(customerPayment), next_cursor: page.next }
  }

  /** Refunds of card payments. */
  async refunds(account: AccountId, { limit, cursor }: PageQuery): Promise<RefundList> {
    const after = (cursor ?? null) as RefundId | null // any text: it only sorts
    const page = pageOf(await this.parts.refundStore.ofAccount(account, limit + 1, after), limit)
    return { refunds: page.rows.map(refundRecord), next_cursor: page.next }
  }

  async keys(account: AccountId): Promise<CustomerKeys> {
    const { lists } = this.parts.credentials
    const parts = { ...this.parts, now: this.parts.now() }
    const query = { among: 'revoked', sort: 'created', order: 'desc' } as const
    const revoked = await lists.page(account, query, parts.now, { limit: 200, after: null })
    const keys = [...(revoked?.rows ?? [])]
    for await (const key of keysAmong(lists, account, 'live', parts.now)) keys.push(key)
    const records = await Promise.all(keys.map((key) => keyRecord(key, parts)))
    return { keys: records.sort((one, other) => (one.id < other.id ? 1 : -1)) }
  }

  async limits(id: AccountId, { limit, cursor }: PageQuery): Promise<CustomerLimits> {
    const { accounts, ledger, credentials, limitRequests, now } = this.parts
    const [account, balance, live] = await Promise.all([
      accounts.byId(id),
      ledger.balance(id),
      credentials.liveKeys(id, null, now()),
    ])
    if (!account) throw notFound('This account does not exist.')
    const facts = { ...account, toppedUp: balance?.toppedUp ?? ZERO }
    const after = (cursor ?? null) as LimitRequestId | null // any text: it only sorts
    const asked = pageOf(await limitRequests.list({ accountId: id, status: null }, limit + 1, after), limit)
    return {
      tier: tierOf(facts),
      custom: account.customLimits !== null,
      limits: limitsOf(facts),
      most_keys: account.maxKeys ?? MAX_KEYS,
      live_keys: live.own + live.replaced,
      requests: asked.rows.map(limitRequestRecord),
      next_cursor: asked.next,
    }
  }

  /** Changes to the account and its keys. */
  async audit(account: AccountId, { limit, cursor }: PageQuery): Promise<CustomerAudit> {
    const page = known(cursor, await this.parts.audit.ofAccount(account, limit, cursor ?? null))
    const emailOf = actorEmails(this.parts.identity)
    const changes = page.rows.map(async (row) => change(row, await emailOf(row.actor)))
    return { changes: await Promise.all(changes), next_cursor: page.next }
  }
}

async function customerAdjustment(
  row: AccountAdjustment,
  emailOf: ReturnType<typeof actorEmails>,
): Promise<CustomerAdjustment> {
  const { id, at, kind, amount, description: reason, reference, requestId, actor } = row
  const email = actor === null ? null : await emailOf({ kind: 'operator', id: actor })
  return {
    id,
    at: isoTime(at),
    kind,
    amount_micros_usd: amount,
    reason,
    reference,
    request_id: requestId,
    by: email ?? actor,
  }
}

function known<T>(cursor: string | undefined, page: Page<T> | null): Page<T> {
  if (!page) throw refuseCursor(cursor ?? '')
  return page
}

function customerRequest(call: CallRecord, keyName: string | null): CustomerRequest {
  const { status, code, failure } = call
  return {
    ...wireCall(call),
    key_name: keyName,
    outcome: status < 400 ? 'served' : status < 500 ? 'refused' : 'failed',
    reason: status < 400 ? null : (failure?.message ?? logMeaning(code) ?? code),
  }
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

function change(
  { id, at, actor, action, keyId, detail }: AuditEntry,
  email: string | null,
): CustomerAudit['changes'][number] {
  return {
    id,
    at: isoTime(at),
    action,
    by: actor.kind,
    actor: actor.id,
    actor_email: email,
    ip: actor.address,
    key: keyId,
    detail: { ...detail },
  }
}
