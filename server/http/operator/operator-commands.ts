import { type Account, closedEmail, staffRole } from '../../core/accounts/account'
import type { Identity } from '../../core/accounts/identity'
import { resetLink, type SecurityChange } from '../../core/accounts/mails/owner-mails'
import type { AccountSearch } from '../../core/accounts/staff/account-search'
import type { LimitRequest } from '../../core/accounts/staff/limit-request'
import type { LimitRequests } from '../../core/accounts/staff/limit-requests'
import type { Operator } from '../../core/accounts/staff/operator'
import type { AccountStore } from '../../core/accounts/store'
import { invalidParameter } from '../../core/accounts/submitted'
import type { SoldOperation } from '../../core/apis/api-routes'
import type { ApiRegistry } from '../../core/apis/api-store'
import { priceProblem } from '../../core/apis/prices/price-rules'
import type { Actor } from '../../core/audit'
import { isImportedName } from '../../core/catalog/operations'
import type { Parameters } from '../../core/catalog/parameters'
import { currentPrice, type PriceStore } from '../../core/catalog/prices'
import { isoTime } from '../../core/clock'
import { type Failure, failure, wrongParameters } from '../../core/failure'
import type { AccountId, LimitRequestId } from '../../core/ids'
import type { Ledger } from '../../core/ledger/ledger'
import { limitsOf, MAX_KEYS, tierOf } from '../../core/limits/tier'
import { formatUsd, type Money, parseUsd, ZERO } from '../../core/money'
import { pageOf } from '../../core/page'
import { err, ok, type Result } from '../../core/result'
import { soldPrice } from '../../pipeline/apis/api-sale'
import { limitRequestRecord } from '../account/limit-request-record'
import { type PAGE_QUERY, refuseCursor } from '../middleware/input/list-query'
import { readable } from '../middleware/input/validate-body'
import { type CommandResult, findAccount } from './operator-roles'
import {
  type Approval,
  type Decline,
  type LimitsChange,
  type MaxKeysForm,
  type ModelPrice,
  modelPriceRecord,
  type NewGrant,
  type NewModelPrice,
  type NewPrice,
  type OneOperatorAccount,
  type OneOperatorLimitRequest,
  type OperatorAccount,
  type OperatorAccountPage,
  type OperatorLimitRequest,
  type OperatorLimitRequestPage,
  priceRecord,
  type ResetLink,
  type SecondFactorReset,
  type SetOperatorPrice,
} from './record'

export const NOBODY_SIGNS_IN = failure('invalid_state', 'This account is closed for good. Nobody can sign in to it.')

export interface OperatorParts {
  readonly operator: Operator
  readonly limitRequests: LimitRequests
  readonly accounts: AccountStore
  readonly ledger: Ledger
  readonly prices: PriceStore
  readonly apis: ApiRegistry
  readonly identity: Identity
  readonly search: AccountSearch
  readonly baseUrl: string
  /** Mails the owner about a change of how they sign in. */
  readonly tellSecurity: (email: string, change: SecurityChange) => void
}

type PageQuery = Parameters<typeof PAGE_QUERY>

/**
 * The commands of operators. Their bodies have been validated by their schemas; every change is audited with the actor.
 */
export class OperatorCommands {
  private readonly parts: OperatorParts

  constructor(parts: OperatorParts) {
    this.parts = parts
  }

  /** A page of accounts: all of them, or those that a text names (see `AccountSearch`). */
  async page({ search, limit, cursor }: PageQuery & { readonly search?: string }): Promise<OperatorAccountPage> {
    if (cursor !== undefined && !/^acct_[0-9a-f]{32}$/.test(cursor)) throw refuseCursor(cursor)
    const after = (cursor ?? null) as AccountId | null // any text: it only sorts
    const page = await this.parts.search.page(search, limit, after)
    return { accounts: await Promise.all(page.rows.map((account) => this.describe(account))), next_cursor: page.next }
  }

  async grant(actor: Actor, { id }: Account, form: NewGrant): CommandResult<OneOperatorAccount> {
    const { usd, note = 'Grant', reference = crypto.randomUUID() } = form
    const amount = readable(parseUsd(usd))
    return this.described(await this.parts.operator.grant(actor, id, amount, note.trim(), reference.trim()))
  }

  async setLimits(actor: Actor, { id }: Account, { limits }: LimitsChange): CommandResult<OneOperatorAccount> {
    return this.described(await this.parts.operator.setLimits(actor, id, limits))
  }

  async setMaxKeys(actor: Actor, { id }: Account, { keys }: MaxKeysForm): CommandResult<OneOperatorAccount> {
    return this.described(await this.parts.operator.setMaxKeys(actor, id, keys))
  }

  async setPrice(actor: Actor, { operation, usd, account: name }: NewPrice): CommandResult<SetOperatorPrice> {
    const found = name === undefined ? ok(null) : await findAccount(this.parts, name)
    if (!found.ok) return found
    const account = found.value?.id ?? null
    const amount = usd === null ? null : readable(parseUsd(usd))
    const { prices, apis } = this.parts
    const imported = apis.routes.byName(operation)
    const problem = imported && amount !== null ? amountProblem(imported, amount) : null
    if (problem !== null) return err(failure('invalid_state', problem))
    const set = await this.parts.operator.setPrice(actor, operation, account, amount)
    if (!set.ok) return set
    const now = isImportedName(operation)
      ? imported && soldAmount(prices, imported, account)
      : currentPrice(prices, operation, account).amount
    return ok({ ...priceRecord(set.value), now_usd: now === null ? null : formatUsd(now) })
  }

  async setModelPrice(
    actor: Actor,
    { account: name, model, percent }: NewModelPrice & { readonly model: string },
  ): CommandResult<ModelPrice> {
    const account = await findAccount(this.parts, name)
    if (!account.ok) return account
    const basisPoints = percent === null ? null : Math.round(percent * 100)
    return ok(modelPriceRecord(await this.parts.operator.setModelPrice(actor, account.value.id, model, basisPoints)))
  }

  /** A page of requests for higher limits, of all accounts. */
  async requestPage(
    status: LimitRequest['status'] | null,
    { limit, cursor }: PageQuery,
  ): Promise<OperatorLimitRequestPage> {
    const after = (cursor ?? null) as LimitRequestId | null // any text: it only sorts
    const page = pageOf(await this.parts.limitRequests.list({ accountId: null, status }, limit + 1, after), limit)
    return { requests: await this.describeRequests(page.rows), next_cursor: page.next }
  }

  async approve(
    actor: Actor,
    request: string,
    { reason = null, limits = null }: Approval,
  ): CommandResult<OneOperatorLimitRequest> {
    return this.decided(await this.parts.limitRequests.approve(actor, request, reason?.trim() ?? null, limits))
  }

  async decline(actor: Actor, request: string, { reason }: Decline): CommandResult<OneOperatorLimitRequest> {
    return this.decided(await this.parts.limitRequests.decline(actor, request, reason.trim()))
  }

  async resetLink(actor: Actor, { id, userId }: Account): CommandResult<ResetLink> {
    const { identity, operator, baseUrl } = this.parts
    const user = await identity.user(userId)
    if (user?.email === closedEmail(id)) return err(NOBODY_SIGNS_IN)
    const token = user && (await identity.resetToken(user.email))
    if (!token) return err(wrongParameters([invalidParameter('account', 'has no user who can sign in', id)]))
    await operator.noteResetLink(actor, id)
    return ok({ email: user.email, link: resetLink(baseUrl, token) })
  }

  /** For an owner who lost their device: the password alone signs in again. */
  async resetSecondFactor(actor: Actor, { id, userId }: Account): CommandResult<SecondFactorReset> {
    const { identity, operator, tellSecurity } = this.parts
    const user = await identity.user(userId)
    if (!user || !(await identity.resetSecondFactors(user.id)))
      return err(wrongParameters([invalidParameter('account', 'has no second factor', id)]))
    await operator.noteSecondFactorReset(actor, id)
    tellSecurity(user.email, 'second_factor_reset')
    return ok({ email: user.email, reset: true })
  }

  async describe(account: Account): Promise<OperatorAccount> {
    const { ledger, identity } = this.parts
    const [balance, user] = await Promise.all([ledger.balance(account.id), identity.user(account.userId)])
    const facts = { ...account, toppedUp: balance?.toppedUp ?? ZERO }
    return {
      id: account.id,
      email: user?.email ?? null,
      name: user?.name ?? null,
      operator: account.operator,
      role: staffRole(account),
      suspension: account.suspension && {
        since: isoTime(account.suspension.at),
        reason: account.suspension.reason,
      },
      tier: tierOf(facts),
      limits: limitsOf(facts),
      most_keys: account.maxKeys ?? MAX_KEYS,
      balance_usd: formatUsd(balance?.posted ?? ZERO),
      created_at: isoTime(account.createdAt),
    }
  }

  /** Requests as an operator sees them, with the email address of their account. */
  private describeRequests(requests: readonly LimitRequest[]): Promise<OperatorLimitRequest[]> {
    const { accounts, identity } = this.parts
    return Promise.all(
      requests.map(async (request) => {
        const account = await accounts.byId(request.accountId)
        const user = account && (await identity.user(account.userId))
        return { ...limitRequestRecord(request), email: user?.email ?? null }
      }),
    )
  }

  private async described(changed: Result<Account, Failure>): CommandResult<OneOperatorAccount> {
    return changed.ok ? ok({ account: await this.describe(changed.value) }) : changed
  }

  private async decided(decision: Result<LimitRequest, Failure>): CommandResult<OneOperatorLimitRequest> {
    if (!decision.ok) return decision
    const [request] = await this.describeRequests([decision.value])
    return ok({ request: readable(request ?? null) })
  }
}

/** The amount of an imported operation; null if its upstream reports it. */
function soldAmount(prices: PriceStore, sold: SoldOperation, account: AccountId | null): Money | null {
  const { price } = soldPrice(prices, sold, account)
  return price.mode === 'reported' ? null : price.amount
}

/** Why an operator cannot set this amount for an imported operation, or null. */
function amountProblem({ api, operation }: SoldOperation, amount: Money): string | null {
  const { name, price } = operation
  if (price.mode === 'reported') return `${name} costs what its upstream reports. Change its multiplier instead.`
  const problem = priceProblem({ ...operation, price: { ...price, amount } }, api)
  return problem === null ? null : `The price of ${name} ${problem}.`
}
