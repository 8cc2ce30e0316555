import type { ShownPayment } from '../../core/payments/method'

/** The payment of an x402 client: of version 2 in `PAYMENT-SIGNATURE`, of version 1 in `X-PAYMENT`. Null if there is none. */
export function x402In(headers: Headers): ShownPayment | null {
  const text = headers.get('payment-signature') ?? headers.get('x-payment')
  return text ? { scheme: 'x402', text } : null
}
