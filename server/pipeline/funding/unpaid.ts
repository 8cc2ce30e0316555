import { failure } from '../../core/failure'
import { formatUsd } from '../../core/money'
import { err } from '../../core/result'
import type { Funding } from './funding'

/** Nobody pays: the answer is 402, with the price. Where payment methods are offered, `offering` adds their challenges. */
export const unpaid: Funding = {
  async reserve({ quote: { most, fixed } }) {
    return err(
      failure(
        'payment_required',
        `This request costs ${fixed ? '' : 'at most '}${formatUsd(most)} USD. Send an API key (Authorization: Bearer <API_KEY>) that draws on a prepaid balance.`,
        fixed ? { price: most } : {},
      ),
    )
  },
}
