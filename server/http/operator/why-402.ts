import type { Account } from '../../core/accounts/account'
import { keyState } from '../../core/credentials/api-key'
import type { CredentialStore } from '../../core/credentials/store'
import type { Ledger } from '../../core/ledger/ledger'
import { formatUsd } from '../../core/money'

/** Why paid calls of an account get a 402 now, in words that staff can pass on. Empty when they are served. */
export async function whyPaidCallsFail(
  parts: { readonly ledger: Ledger; readonly credentials: CredentialStore; readonly now: () => number },
  account: Account,
): Promise<readonly string[]> {
  const { ledger, credentials, now } = parts
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
  if (balance && balance.toppedUp === 0)
    reasons.push(
      'Only models that require a first top-up are refused (recharge_required): the account never topped up.',
    )
  for (const key of await credentials.byAccount(account.id)) {
    if (keyState(key, now()) !== 'usable') continue
    const [pool, budget] = await Promise.all([ledger.pool(key.poolId), ledger.budget(key.poolId)])
    if (pool && pool.limit !== null && pool.spent >= pool.limit)
      reasons.push(`Key ${key.name} (${key.id}) reached its spending limit of ${formatUsd(pool.limit)} USD.`)
    if (budget && budget.spent + budget.held >= budget.limit)
      reasons.push(
        `Key ${key.name} (${key.id}) spent its budget of ${formatUsd(budget.limit)} USD; the next period begins at ${new Date(budget.endsAt).toISOString()}.`,
      )
  }
  return reasons
}
