import type { Ledger } from '../core/ledger/ledger'
import { type Money, min, minus, ZERO } from '../core/money'
import { type AuthenticatedCall, countedOn } from './call'

/** What the caller can spend now: what is left of its own limit or the account's available balance, whichever is lower. */
export async function spendable(
  ledger: Pick<Ledger, 'balance' | 'pool' | 'budget'>,
  { caller }: Pick<AuthenticatedCall, 'caller'>,
): Promise<Money | null> {
  if (caller.kind === 'anonymous') return null
  const { poolId } = countedOn(caller)
  const balance = await ledger.balance(caller.account.id)
  const pool = await ledger.pool(poolId)
  if (!balance || !pool) return null
  const windows = [pool, await ledger.budget(poolId)]
  return windows.reduce((available, window) => {
    if (!window || window.limit === null) return available
    const remaining = minus(minus(window.limit, window.spent), window.held)
    return remaining < 0 ? ZERO : min(remaining, available)
  }, balance.available)
}
