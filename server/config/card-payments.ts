import { ConfigError } from './config-error'

/** Stripe, for top-ups by card. */
export interface CardSettings {
  readonly secretKey: string
  readonly webhookSecret: string
  readonly apiUrl: string
}

/** Null when no card processor is configured: then cards are not offered. */
export function cardSettings(read: (name: string) => string | null, production: boolean): CardSettings | null {
  const secretKey = read('STRIPE_SECRET_KEY')
  const webhookSecret = read('STRIPE_WEBHOOK_SECRET')
  if (!secretKey && !webhookSecret) return null
  if (!secretKey || !webhookSecret)
    throw new ConfigError('STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET belong together: one of them is not set')
  if (production && /^(sk|rk)_test_/.test(secretKey))
    throw new ConfigError(
      'STRIPE_SECRET_KEY is a test key: production would give balance for money that is worth nothing',
    )
  const apiUrl = URL.parse(read('STRIPE_API_URL') ?? 'https://api.stripe.com')
  if (!apiUrl || !['http:', 'https:'].includes(apiUrl.protocol))
    throw new ConfigError('STRIPE_API_URL must be an http or https address')
  return { secretKey, webhookSecret, apiUrl: apiUrl.origin }
}
