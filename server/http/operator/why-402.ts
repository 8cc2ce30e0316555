import type { Account } from '../../core/accounts/account'
import type { AppGrantStore } from '../../core/accounts/app-grant'
import { OPERATIONS } from '../../core/catalog/operations'
import { isoTime } from '../../core/clock'
import { keyState } from '../../core/credentials/api-key'
import { keysAmong } from '../../core/credentials/key-lists'
import type { CredentialStore } from '../../core/credentials/store'
import type { PoolReading } from '../../core/ledger/hold'
import type { Ledger } from '../../core/ledger/ledger'
import { formatUsd, type Money, minus } from '../../core/money'

/** Below it some call is refused, although something is left. */
const DEAREST = Math.max(...Object.values(OPERATIONS).map(({ price }) => price))

/** Why paid calls of an account get a 402 now, in words that staff can pass on. Empty when they are served. */
export async function whyPaidCallsFail(
  parts: {
    readonly ledger: Ledger
    readonly credentials: CredentialStore
    readonly apps: Pick<AppGrantStore, 'byAccount'>
    readonly now: () => number
  },
  account: Account,
): Promise<readonly string[]> {
  const { ledger, credentials, apps, now } = parts
  const balance = await ledger.balance(account.id)
  const reasons: string[] = []
  if (balance && balance.debt > 0)
    reasons.push(
      `The account owes ${formatUsd(balance.debt)} USD that was refunded or disputed after it was spent. Every paid call is refused until a top-up pays it back.`,
    )
  else if (balance && balance.available === 0)
    reasons.push(
      balance.held > 0
        ? `Nothing is available: ${formatUsd(balance.held)} USD are held by calls in progress.`
        : 'The balance is empty.',
    )
  else if (balance && balance.available < DEAREST)
    reasons.push(`Only ${formatUsd(balance.available)} USD are available. Calls that cost more are refused.`)
  if (balance && balance.toppedUp === 0)
    reasons.push(
      'The account never topped up. What signup credit does not pay for is refused: models that require a first top-up, and providers and APIs that cost money.',
    )
  for await (const key of keysAmong(credentials.lists, account.id, 'live', now())) {
    if (keyState(key, now()) !== 'usable') continue
    const pool = await ledger.pool(key.poolId)
    for (const reached of pool ? reachedBy(pool) : []) reasons.push(`Key ${key.name} (${key.id}) ${reached}`)
  }
  for (const app of await apps.byAccount(account.id)) {
    if (app.disconnectedAt !== null) continue
    const pool = await ledger.pool(app.poolId)
    for (const reached of pool ? reachedBy(pool) : []) reasons.push(`The app ${app.name} (${app.id}) ${reached}`)
  }
  return reasons
}

/** The limit and the budgets of a pool that refuse a call. */
function reachedBy(pool: PoolReading): readonly string[] {
  const limit = limitReached(pool)
  const used = pool.windows.filter((window) => window.spent + window.held >= window.limit)
  return [
    ...(limit === null ? [] : [limit]),
    ...used.map(
      (window) =>
        `spent its budget of ${formatUsd(window.limit)} USD a ${window.period}; the next period begins at ${isoTime(window.endsAt)}.`,
    ),
  ]
}

/** Null while every operation of the catalog fits. */
function limitReached({ limit, spent }: { readonly limit: Money | null; readonly spent: Money }): string | null {
  if (limit === null || limit - spent >= DEAREST) return null
  if (spent >= limit) return `reached its spending limit of ${formatUsd(limit)} USD.`
  return `has ${formatUsd(minus(limit, spent))} USD left of its spending limit of ${formatUsd(limit)} USD. Calls that cost more are refused.`
}
