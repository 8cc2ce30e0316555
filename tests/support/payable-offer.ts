import type { Offer, PaymentMethod, Terms } from '../../server/core/payments/method'

/** An offer of a method that can be paid by now. */
export async function offered(method: PaymentMethod, terms: Terms): Promise<Offer> {
  const offer = await method.offer(terms)
  if (!offer) throw new Error(`nothing can be paid by ${method.name} now`)
  return offer
}
