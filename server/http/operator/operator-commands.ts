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
import { currentPrice, type PriceStore } from '../../core/catalog/prices'
import { isoTime } from '../../core/clock'
import { type Failure, failure, wrongParameters } from '../../core/failure'
import type { AccountId, LimitRequestId } from '../../core/ids'
import type { Ledger } from '../../core/ledger/ledger'
import { limitsOf, MAX_KEYS, tierOf } from '../../core/limits/tier'
import { formatUsd, type Money, parseUsd, ZERO } from '../../core/money'
import { DEFAULT_ROWS, pageOf } from '../../core/page'
import { err, ok, type Result } from '../../core/result'
import { soldPrice } from '../../pipeline/apis/sold-price'
import { limitRequestRecord } from '../account/limit-request-record'
import { refuseCursor } from '../middleware/input/list-query'
import { readable } from '../middleware/input/validate-body'
import {
  type AccountsAndPrices,
  type ApproveCommand,
  type DeclineCommand,
  type GrantCommand,
  type LimitRequestsCommand,
  type LimitsCommand,
  type ListCommand,
  type MaxKeysCommand,
  type NewPrice,
  type OneOperatorAccount,
  type OneOperatorLimitRequest,
  type OperatorAccount,
  type OperatorAccountPage,
  type OperatorLimitRequest,
  type OperatorLimitRequestPage,
  priceRecord,
  type ResetLink,
  type ResetLinkCommand,
  type ResetSecondFactorCommand,
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

export type CommandResult<T> = Promise<Result<T, Failure>>

/**
 * The operator commands, for the control socket (`bun run gateway operator ...`) and over HTTP for the Operator page. Their bodies
 * have been validated by their schemas; every change is audited with the actor.
 */
export class OperatorCommands {
  private readonly parts: OperatorParts

  constructor(parts: OperatorParts) {
    this.parts = parts
  }

  async list(form: ListCommand): CommandResult<AccountsAndPrices> {
    const page = await this.page(form)
    return ok({ ...page, prices: form.cursor === undefined ? this.parts.prices.all().map(priceRecord) : [] })
  }

  /** A page of accounts: all of them, or those that a text names (see `AccountSearch`). */
  async page({ search, limit = DEFAULT_ROWS, cursor }: ListCommand): Promise<OperatorAccountPage> {
    if (cursor !== undefined && !/^acct_[0-9a-f]{32}$/.test(cursor)) throw refuseCursor(cursor)
    const after = (cursor ?? null) as AccountId | null // any text: it only sorts
    const page = await this.parts.search.page(search, limit, after)
    return { accounts: await Promise.all(page.rows.map((account) => this.describe(account))), next_cursor: page.next }
  }

  async grant(actor: Actor, form: GrantCommand): CommandResult<OneOperatorAccount> {
    const account = await this.find(form.account)
    if (!account.ok) return account
    const { usd, note = 'Grant', reference = crypto.randomUUID() } = form
    const amount = readable(parseUsd(usd))
    const { operator } = this.parts
    return this.described(await operator.grant(actor, account.value.id, amount, note.trim(), reference.trim()))
  }

  async setLimits(actor: Actor, form: LimitsCommand): CommandResult<OneOperatorAccount> {
    const account = await this.find(form.account)
    if (!account.ok) return account
    return this.described(await this.parts.operator.setLimits(actor, account.value.id, form.limits))
  }

  async setMaxKeys(actor: Actor, form: MaxKeysCommand): CommandResult<OneOperatorAccount> {
    const account = await this.find(form.account)
    if (!account.ok) return account
    return this.described(await this.parts.operator.setMaxKeys(actor, account.value.id, form.keys))
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

  async requests({ status = 'pending', ...page }: LimitRequestsCommand): CommandResult<OperatorLimitRequestPage> {
    return ok(await this.requestPage(status, page))
  }

  /** A page of requests for higher limits, of all accounts. */
  async requestPage(
    status: LimitRequest['status'] | null,
    { limit = DEFAULT_ROWS, cursor }: Pick<LimitRequestsCommand, 'limit' | 'cursor'>,
  ): Promise<OperatorLimitRequestPage> {
    const after = (cursor ?? null) as LimitRequestId | null // any text: it only sorts
    const page = pageOf(await this.parts.limitRequests.list({ accountId: null, status }, limit + 1, after), limit)
    return { requests: await this.describeRequests(page.rows), next_cursor: page.next }
  }

  async approve(
    actor: Actor,
    { request, reason = null, limits = null }: ApproveCommand,
  ): CommandResult<OneOperatorLimitRequest> {
    return this.decided(await this.parts.limitRequests.approve(actor, request, reason?.trim() ?? null, limits))
  }

  async decline(actor: Actor, { request, reason }: DeclineCommand): CommandResult<OneOperatorLimitRequest> {
    return this.decided(await this.parts.limitRequests.decline(actor, request, reason.trim()))
  }

  async resetLink(actor: Actor, form: ResetLinkCommand): CommandResult<ResetLink> {
    const account = await this.find(form.account)
    if (!account.ok) return account
    const { identity, operator, baseUrl } = this.parts
    const user = await identity.user(account.value.userId)
    if (user?.email === closedEmail(account.value.id)) return err(NOBODY_SIGNS_IN)
    const token = user && (await identity.resetToken(user.email))
    if (!token) return err(wrongParameters([invalidParameter('account', 'has no user who can sign in', form.account)]))
    await operator.noteResetLink(actor, account.value.id)
    return ok({ email: user.email, link: resetLink(baseUrl, token) })
  }

  /** For an owner who lost their device: the password alone signs in again. */
  async resetSecondFactor(actor: Actor, form: ResetSecondFactorCommand): CommandResult<SecondFactorReset> {
    const account = await this.find(form.account)
    if (!account.ok) return account
    const { identity, operator, tellSecurity } = this.parts
    const user = await identity.user(account.value.userId)
    if (!user || !(await identity.resetSecondFactors(user.id)))
      return err(wrongParameters([invalidParameter('account', 'has no second factor', form.account)]))
    await operator.noteSecondFactorReset(actor, account.value.id)
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

  private find(name: string): CommandResult<Account> {
    return findAccount(this.parts, name)
  }
}

/** An account by its id, or by its confirmed email address: anybody can sign up with another person's address. */
export async function findAccount(
  { accounts, identity }: Pick<OperatorParts, 'accounts' | 'identity'>,
  name: string,
): CommandResult<Account> {
  const byId = await accounts.byId(name as AccountId) // any text: an id that does not exist is found nowhere
  if (byId) return ok(byId)
  const user = name.includes('@') ? await identity.userByEmail(name) : null
  const account = user && (await accounts.byUser(user.id))
  if (!account) return err(noAccount(name))
  if (user.emailConfirmed) return ok(account)
  const rule = 'This email address was never confirmed, so it does not prove whose account this is'
  return err(
    failure('invalid_parameter', `${rule}. If you know that ${account.id} is the right one, use that id.`, {
      param: 'account',
    }),
  )
}

function noAccount(name: string): Failure {
  return failure('resource_not_found', `The account ${name.slice(0, 100)} does not exist.`)
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
