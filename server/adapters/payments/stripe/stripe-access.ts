import Stripe from 'stripe'

/** How to reach Stripe. */
export interface StripeAccess {
  readonly secretKey: string
  /** Stripe's API URL; a test server in tests. */
  readonly apiUrl: string
}

const TIMEOUT_MS = 10_000

export function openStripe({ secretKey, apiUrl }: StripeAccess): Stripe {
  const api = new URL(apiUrl)
  return new Stripe(secretKey, {
    host: api.hostname,
    port: api.port || (api.protocol === 'https:' ? 443 : 80),
    protocol: api.protocol === 'https:' ? 'https' : 'http',
    timeout: TIMEOUT_MS,
    maxNetworkRetries: 1,
    telemetry: false,
  })
}

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
