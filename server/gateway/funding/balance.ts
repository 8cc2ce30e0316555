import { failure } from '../../core/failure'
import type { HoldRefusal } from '../../core/ledger/hold'
import type { Ledger } from '../../core/ledger/ledger'
import { formatUsd } from '../../core/money'
import { no, ok } from '../../core/result'
import type { Quote } from '../quote'
import type { Funding } from './funding'

/** Pays out of the prepaid balance, under the key's spending limit. */
export function balanceFunding(ledger: Ledger, creditPays: boolean): Funding {
  return {
    async reserve(quote, { caller, presented }) {
      if (caller.kind !== 'key') throw new Error('the balance pays for keys only')
      const { key, account } = caller
      const request = presented.id
      const held = await ledger.hold({
        request,
        account: account.id,
        pool: key.poolId,
        amount: quote.most,
        creditPays,
      })
      if (!held.ok) return no(refusal(held.error, quote))
      return ok({
        async capture(amount, call) {
          const captured = await ledger.capture(amount, call)
          if (captured.ok) return ok(amount)
          return no(
            failure('service_unavailable', 'The charge could not be recorded. You were not charged.', {
              retryAfterSeconds: 1,
            }),
          )
        },
        release: () => ledger.release(request),
      })
    },
  }
}

function refusal(reason: HoldRefusal, { most, fixed }: Quote) {
  const cost = `This request costs ${fixed ? '' : 'at most '}${formatUsd(most)} USD`
  const price = fixed ? { price: most } : {}
  switch (reason) {
    case 'pool_exhausted':
      return failure('insufficient_api_key_balance', `${cost}; the key's spending limit leaves less than that.`, price)
    case 'insufficient_balance':
      return failure('insufficient_balance', `${cost}; the account balance is below that.`, price)
    case 'insufficient_paid_balance':
      return failure('insufficient_balance', `${cost}; signup credit does not pay for it. Top up the balance.`, price)
  }
}
