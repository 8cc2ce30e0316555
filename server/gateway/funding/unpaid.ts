import { failure } from '../../core/failure'
import { formatUsd } from '../../core/money'
import { no } from '../../core/result'
import type { Funding } from './funding'

/** Nobody pays: the answer is 402, with the price and both ways to pay. The place that payment methods will fill. */
export const unpaid: Funding = {
  async reserve({ most, fixed }) {
    return no(
      failure(
        'payment_required',
        `This request costs ${fixed ? '' : 'at most '}${formatUsd(most)} USD. Send an API key (Authorization: Bearer <API_KEY>) that draws on a prepaid balance, or pay for this one request by answering the payment challenge.`,
        fixed ? { price: most } : {},
      ),
    )
  },
}
