import type { Offer, PaymentMethod, Terms } from '../../../server/core/payments/method'

/** An offer of a method that can be paid by now, in the `Payment` scheme as well. */
export async function offered(method: PaymentMethod, terms: Terms): Promise<Challenged> {
  const offer = await method.offer(terms)
  if (!offer?.challenge || !offer.challengeId) throw new Error(`nothing can be paid by ${method.name} now`)
  return { ...offer, challengeId: offer.challengeId, challenge: offer.challenge }
}

/** An offer of the `Payment` scheme. */
export type Challenged = Offer & Required<Pick<Offer, 'challengeId' | 'challenge'>>
