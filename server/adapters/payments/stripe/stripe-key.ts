import Stripe from 'stripe'
import { openStripe, type StripeAccess } from './stripe-access'

/** Why the key cannot be used now; null if Stripe accepts it. Reads the balance, which a restricted key may not. */
export async function stripeKeyProblem(access: StripeAccess): Promise<string | null> {
  try {
    await openStripe(access).balance.retrieve()
    return null
  } catch (error) {
    if (error instanceof Stripe.errors.StripePermissionError) return null
    if (error instanceof Stripe.errors.StripeAuthenticationError)
      return 'the processor refuses STRIPE_SECRET_KEY. Copy the live key of your account again'
    // Its own words can repeat the key.
    return `the processor does not answer (${error instanceof Stripe.errors.StripeError ? error.type : 'unknown'})`
  }
}
