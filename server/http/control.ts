import type { Account } from '../core/accounts/account'
import type { Identity } from '../core/accounts/identity'
import type { Operator } from '../core/accounts/operator'
import type { AccountStore } from '../core/accounts/store'
import type { Actor } from '../core/audit'
import { isOperationName, OPERATIONS } from '../core/catalogue/operations'
import type { PriceStore } from '../core/catalogue/prices'
import { type Failure, failure } from '../core/failure'
import type { AccountId } from '../core/ids'
import type { Ledger } from '../core/ledger/ledger'
import { limitsOf, tierOf } from '../core/limits/tier'
import { formatUsd, type Money, parseUsd, ZERO } from '../core/money'
import { no, ok, type Result } from '../core/result'
import { FAILURES } from './failures'
import { readJson } from './json-body'

/** The file of a data folder that operators' commands speak to: only who may read the folder is an operator here. */
export const CONTROL_SOCKET = 'control.sock'

const CONSOLE: Actor = { kind: 'operator', id: 'console', address: null }
const MOST_ACCOUNTS = 1000

interface ControlParts {
  readonly operator: Operator
  readonly accounts: AccountStore
  readonly ledger: Ledger
  readonly prices: PriceStore
  readonly identity: Identity
}

type Answer = Promise<Result<unknown, Failure>>

/** Answers the operator's commands (`bun run gateway operator ...`), which reach the running server over its control socket. */
export function controlDesk(parts: ControlParts): (request: Request) => Promise<Response> {
  const commands: Readonly<Record<string, (body: Readonly<Record<string, unknown>>) => Answer>> = {
    list: () => listAccounts(parts),
    grant: async (body) => {
      const account = await findAccount(parts, body['account'])
      const amount = typeof body['usd'] === 'string' ? parseUsd(body['usd']) : null
      if (!account.ok) return account
      if (!amount) return wrong('usd must be an amount such as 25 or 0.5')
      const { note = 'Grant', reference = crypto.randomUUID() } = body
      if (typeof note !== 'string' || typeof reference !== 'string') return wrong('note and reference must be text')
      const granted = await parts.operator.grant(CONSOLE, account.value.id, amount, note, reference)
      return granted.ok ? ok(await describe(parts, granted.value)) : granted
    },
    limits: async (body) => {
      const account = await findAccount(parts, body['account'])
      if (!account.ok) return account
      const limits = body['limits']
      const set = limits === null ? null : capsOf(limits)
      if (set === undefined) return wrong('limits must be null or {rpm, tpm, concurrency}, whole numbers above 0')
      const changed = await parts.operator.setLimits(CONSOLE, account.value.id, set)
      return changed.ok ? ok(await describe(parts, changed.value)) : changed
    },
    price: async (body) => {
      const { operation, usd } = body
      const account = body['account'] === undefined ? ok(null) : await findAccount(parts, body['account'])
      if (!account.ok) return account
      if (typeof operation !== 'string' || !isOperationName(operation))
        return wrong(`operation must be one of ${Object.keys(OPERATIONS).join(', ')}`)
      const amount: Money | null = usd === null ? null : parseUsd(String(usd))
      if (usd !== null && amount === null) return wrong('usd must be an amount such as 0.005, or null to take it back')
      const set = await parts.operator.setPrice(CONSOLE, operation, account.value?.id ?? null, amount)
      return set.ok
        ? ok({
            operation,
            account: account.value?.id ?? null,
            usd: amount === null ? null : formatUsd(amount),
            version: set.value.id,
          })
        : set
    },
  }
  return async (request) => {
    const name = new URL(request.url).pathname.slice(1)
    const command = Object.hasOwn(commands, name) ? commands[name] : undefined
    const body = await readJson(request)
    const outcome = !command
      ? no(failure('unknown_endpoint', `There is no operator command "${name}".`))
      : body.ok
        ? await command(Object(body.value ?? {}))
        : body
    if (outcome.ok) return Response.json(outcome.value)
    const { code, message } = outcome.error
    return Response.json({ error: { code, message } }, { status: FAILURES[code].status })
  }
}

/** An account by its id or by its owner's e-mail address. */
async function findAccount({ accounts, identity }: ControlParts, name: unknown): Promise<Result<Account, Failure>> {
  const text = String(name ?? '')
  const byId = await accounts.byId(text as AccountId) // any text: an id that does not exist is found nowhere
  if (byId) return ok(byId)
  for (const account of text.includes('@') ? await accounts.list(MOST_ACCOUNTS, null) : [])
    if ((await identity.user(account.userId))?.email === text.toLowerCase()) return ok(account)
  return no(failure('resource_not_found', `No account ${text.slice(0, 100)}.`))
}

async function listAccounts(parts: ControlParts): Answer {
  const accounts = await parts.accounts.list(MOST_ACCOUNTS, null)
  const prices = parts.prices.all().map(({ operation, accountId, amount, id }) => ({
    operation,
    account: accountId,
    usd: amount === null ? null : formatUsd(amount),
    version: id,
  }))
  return ok({ accounts: await Promise.all(accounts.map((account) => describe(parts, account))), prices })
}

async function describe({ ledger, identity }: ControlParts, account: Account) {
  const [balance, user] = await Promise.all([ledger.balance(account.id), identity.user(account.userId)])
  const facts = { ...account, toppedUp: balance?.toppedUp ?? ZERO }
  return {
    id: account.id,
    email: user?.email ?? null,
    operator: account.operator,
    tier: tierOf(facts),
    limits: limitsOf(facts),
    balance_usd: formatUsd(balance?.posted ?? ZERO),
    created_at: new Date(account.createdAt).toISOString(),
  }
}

function capsOf(value: unknown): { rpm: number; tpm: number; concurrency: number } | undefined {
  const { rpm, tpm, concurrency } = Object(value)
  const caps = [rpm, tpm, concurrency]
  return caps.every((cap) => Number.isSafeInteger(cap) && cap > 0) ? { rpm, tpm, concurrency } : undefined
}

function wrong(message: string) {
  return no(failure('invalid_parameter', message))
}
