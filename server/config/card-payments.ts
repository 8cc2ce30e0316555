import { ConfigError } from './config-error'

/** The Stripe account for top-ups by card. */
export interface CardSettings {
  readonly secretKey: string
  readonly webhookSecret: string
  readonly apiUrl: string
}

/** Reads the card settings. Null when no card processor is configured, so that cards are not offered. */
export function cardSettings(read: (name: string) => string | null, production: boolean): CardSettings | null {
  const secretKey = read('STRIPE_SECRET_KEY')
  const webhookSecret = read('STRIPE_WEBHOOK_SECRET')
  if (!secretKey && !webhookSecret) return null
  if (!secretKey || !webhookSecret)
    throw new ConfigError(
      `${secretKey ? 'STRIPE_WEBHOOK_SECRET' : 'STRIPE_SECRET_KEY'} is not set. Cards need both STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET`,
    )
  if (production && /^(sk|rk)_test_/.test(secretKey))
    throw new ConfigError(
      'STRIPE_SECRET_KEY is a test key, which would add balance without real money. Use a live key (sk_live_...) in production',
    )
  const apiUrl = URL.parse(read('STRIPE_API_URL') ?? 'https://api.stripe.com')
  if (!apiUrl || !['http:', 'https:'].includes(apiUrl.protocol))
    throw new ConfigError('STRIPE_API_URL must be an http or https URL such as https://api.stripe.com')
  return { secretKey, webhookSecret, apiUrl: apiUrl.origin }
}
