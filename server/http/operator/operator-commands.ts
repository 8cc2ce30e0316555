import type { Account } from '../../core/accounts/account'
import type { Identity } from '../../core/accounts/identity'
import type { LimitRequest } from '../../core/accounts/limit-request'
import type { LimitRequests } from '../../core/accounts/limit-requests'
import type { Operator } from '../../core/accounts/operator'
import { resetLink } from '../../core/accounts/owner-mails'
import type { AccountStore } from '../../core/accounts/store'
import type { Actor } from '../../core/audit'
import { isPriceName, PRICE_NAMES } from '../../core/catalogue/operations'
import type { PriceStore } from '../../core/catalogue/prices'
import { type Failure, failure } from '../../core/failure'
import type { AccountId } from '../../core/ids'
import type { Ledger } from '../../core/ledger/ledger'
import { type Limits, limitsOf, MAX_KEYS, tierOf } from '../../core/limits/tier'
import { formatUsd, type Money, parseUsd, ZERO } from '../../core/money'
import { isPlainLine } from '../../core/plain-text'
import { err, ok, type Result } from '../../core/result'
import { limitRequestRecord } from '../account/limit-request-record'

const MAX_ACCOUNTS = 1000

export interface OperatorParts {
  readonly operator: Operator
  readonly limitRequests: LimitRequests
  readonly accounts: AccountStore
  readonly ledger: Ledger
  readonly prices: PriceStore
  readonly identity: Identity
  readonly baseUrl: string
}

export type CommandBody = Readonly<Record<string, unknown>>
export type OperatorCommand =
  | 'list'
  | 'grant'
  | 'limits'
  | 'keys'
  | 'price'
  | 'requests'
  | 'approve'
  | 'decline'
  | 'reset-link'
type Answer = Promise<Result<unknown, Failure>>
export type Command = (body: CommandBody) => Answer

const CAPS_RULE = 'limits must be null or {rpm, tpm, concurrency}, whole numbers above 0'

/**
 * What an operator can order, by name: over the control socket (`bun run gateway operator ...`) and over HTTP from the Operator
 * page. Bodies are judged here; every change is audited with the actor.
 */
export function operatorCommands(parts: OperatorParts, actor: Actor): Readonly<Record<OperatorCommand, Command>> {
  return {
    list: (body) => listAccounts(parts, body['search']),
    grant: async (body) => {
      const account = await findAccount(parts, body['account'])
      const amount = typeof body['usd'] === 'string' ? parseUsd(body['usd']) : null
      if (!account.ok) return account
      if (!amount) return wrong('usd must be an amount such as 25 or 0.5', 'usd')
      const { note = 'Grant', reference = crypto.randomUUID() } = body
      if (!isLine(note) || !isLine(reference)) return wrong('note and reference must be text of 1 to 200 characters')
      const granted = await parts.operator.grant(actor, account.value.id, amount, note, reference)
      return granted.ok ? ok(await describeAccount(parts, granted.value)) : granted
    },
    limits: async (body) => {
      const account = await findAccount(parts, body['account'])
      if (!account.ok) return account
      const set = capsIn(body['limits'])
      if (set === undefined) return wrong(CAPS_RULE, 'limits')
      const changed = await parts.operator.setLimits(actor, account.value.id, set)
      return changed.ok ? ok(await describeAccount(parts, changed.value)) : changed
    },
    keys: async (body) => {
      const account = await findAccount(parts, body['account'])
      if (!account.ok) return account
      const { keys } = body
      if (keys !== null && !isCount(keys)) return wrong('keys must be null or a whole number above 0', 'keys')
      const changed = await parts.operator.setMostKeys(actor, account.value.id, keys)
      return changed.ok ? ok(await describeAccount(parts, changed.value)) : changed
    },
    price: (body) => setPrice(parts, actor, body),
    requests: async () => {
      const pending = await parts.limitRequests.list({ accountId: null, status: 'pending' }, MAX_ACCOUNTS, null)
      return ok({ requests: await describeRequests(parts, pending) })
    },
    approve: async (body) => {
      const limits = body['limits'] === undefined ? null : capsIn(body['limits'])
      if (limits === undefined) return wrong(CAPS_RULE, 'limits')
      const decided = await parts.limitRequests.approve(actor, String(body['request']), body['reason'], limits)
      return decided.ok ? ok({ request: (await describeRequests(parts, [decided.value]))[0] }) : decided
    },
    'reset-link': async (body) => {
      const account = await findAccount(parts, body['account'])
      if (!account.ok) return account
      const user = await parts.identity.user(account.value.userId)
      const token = user && (await parts.identity.resetToken(user.email))
      if (!token) return wrong('nobody signs in with this address', 'account')
      await parts.operator.noteResetLink(actor, account.value.id)
      return ok({ email: user.email, link: resetLink(parts.baseUrl, token) })
    },
    decline: async (body) => {
      const decided = await parts.limitRequests.decline(actor, String(body['request']), body['reason'])
      return decided.ok ? ok({ request: (await describeRequests(parts, [decided.value]))[0] }) : decided
    },
  }
}

async function setPrice(parts: OperatorParts, actor: Actor, body: CommandBody): Answer {
  const { operation, usd } = body
  const account = body['account'] === undefined ? ok(null) : await findAccount(parts, body['account'])
  if (!account.ok) return account
  if (typeof operation !== 'string' || !isPriceName(operation))
    return wrong(`operation must be one of ${PRICE_NAMES.join(', ')}`)
  const amount: Money | null = usd === null ? null : parseUsd(String(usd))
  if (usd !== null && amount === null) return wrong('usd must be an amount such as 0.005, or null to take it back')
  const set = await parts.operator.setPrice(actor, operation, account.value?.id ?? null, amount)
  return set.ok
    ? ok({
        operation,
        account: account.value?.id ?? null,
        usd: amount === null ? null : formatUsd(amount),
        version: set.value.id,
      })
    : set
}

/** An account by its id, or by the email address that its owner confirmed: anybody may sign up with the address of another. */
async function findAccount({ accounts, identity }: OperatorParts, name: unknown): Promise<Result<Account, Failure>> {
  const text = String(name ?? '')
  const byId = await accounts.byId(text as AccountId) // any text: an id that does not exist is found nowhere
  if (byId) return ok(byId)
  const user = text.includes('@') ? await identity.userByEmail(text) : null
  const account = user && (await accounts.byUser(user.id))
  if (!account) return err(failure('resource_not_found', `There is no account ${text.slice(0, 100)}.`))
  if (user.emailConfirmed) return ok(account)
  const rule = 'Nobody has confirmed this email address, so it does not show whose account this is'
  return wrong(`${rule}. If you know that ${account.id} is the right one, use that id.`, 'account')
}

async function listAccounts(parts: OperatorParts, search: unknown): Answer {
  if (search !== undefined && !isLine(search)) return wrong('search must be text of 1 to 200 characters', 'search')
  const accounts =
    search === undefined ? await parts.accounts.list(MAX_ACCOUNTS, null) : await searchAccounts(parts, search)
  const prices = parts.prices.all().map(({ operation, accountId, amount, id }) => ({
    operation,
    account: accountId,
    usd: amount === null ? null : formatUsd(amount),
    version: id,
  }))
  return ok({ accounts: await Promise.all(accounts.map((account) => describeAccount(parts, account))), prices })
}

/** The account of that id, or those whose email address or name holds the text. */
export async function searchAccounts({ accounts, identity }: OperatorParts, text: string): Promise<readonly Account[]> {
  const byId = await accounts.byId(text as AccountId) // any text: an id that does not exist is found nowhere
  if (byId) return [byId]
  const users = await identity.search(text, 50)
  return (await Promise.all(users.map((user) => accounts.byUser(user.id)))).filter((account) => account !== null)
}

export async function describeAccount({ ledger, identity }: OperatorParts, account: Account) {
  const [balance, user] = await Promise.all([ledger.balance(account.id), identity.user(account.userId)])
  const facts = { ...account, toppedUp: balance?.toppedUp ?? ZERO }
  return {
    id: account.id,
    email: user?.email ?? null,
    operator: account.operator,
    tier: tierOf(facts),
    limits: limitsOf(facts),
    most_keys: account.mostKeys ?? MAX_KEYS,
    balance_usd: formatUsd(balance?.posted ?? ZERO),
    created_at: new Date(account.createdAt).toISOString(),
  }
}

/** Requests as an operator sees them: with whose they are. */
export function describeRequests({ accounts, identity }: OperatorParts, requests: readonly LimitRequest[]) {
  return Promise.all(
    requests.map(async (request) => {
      const account = await accounts.byId(request.accountId)
      const user = account && (await identity.user(account.userId))
      return { ...limitRequestRecord(request), email: user?.email ?? null }
    }),
  )
}

/** Null takes the limits back; undefined: not readable. */
function capsIn(value: unknown): Limits | null | undefined {
  if (value === null) return null
  const { rpm, tpm, concurrency } = Object(value)
  const caps = [rpm, tpm, concurrency]
  return caps.every(isCount) ? { rpm, tpm, concurrency } : undefined
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) > 0
}

function isLine(value: unknown): value is string {
  return typeof value === 'string' && value.trim() !== '' && value.length <= 200 && isPlainLine(value)
}

function wrong(message: string, param?: string) {
  return err(failure('invalid_parameter', message, param === undefined ? {} : { param }))
}
