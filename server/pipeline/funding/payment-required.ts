import { failure } from '../../core/failure'
import { formatUsd } from '../../core/money'
import { err } from '../../core/result'
import type { Funding } from './funding'

/** Refuses every call with a 402 that names the price. Where payment methods are offered, `offering` adds their challenges. */
export const paymentRequired: Funding = {
  async reserve({ quote: { maxCost, fixed } }) {
    return err(
      failure(
        'payment_required',
        `This request costs ${fixed ? '' : 'at most '}${formatUsd(maxCost)} USD. Send an API key (Authorization: Bearer <API_KEY>) that draws on a prepaid balance.`,
        fixed ? { price: maxCost } : {},
      ),
    )
  },
}
