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
