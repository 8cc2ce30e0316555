import type { Ledger } from '../core/ledger/ledger'
import { type Money, micros } from '../core/money'
import { type AuthenticatedCall, countedOn } from './call'

/**
 * The caller's spendable money: the rest of its limits and budgets or the account's available balance, whichever is lower. Without `creditPays` no signup
 * credit, as if all holds were on topped-up money.
 */
export async function spendable(
  ledger: Pick<Ledger, 'balance' | 'pool'>,
  { caller }: Pick<AuthenticatedCall, 'caller'>,
  creditPays: boolean,
): Promise<Money | null> {
  if (caller.kind === 'anonymous') return null
  const { poolId } = countedOn(caller)
  const balance = await ledger.balance(caller.account.id)
  const pool = await ledger.pool(poolId)
  if (!balance || !pool) return null
  const paid = creditPays ? Number.POSITIVE_INFINITY : Math.max(0, balance.paid - balance.held)
  return micros(Math.min(balance.available, pool.available ?? Number.POSITIVE_INFINITY, paid))
}
