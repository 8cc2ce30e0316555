import { isLoopbackHost } from '../../core/credentials/address'
import { ConfigError } from '../config-error'
import { group, httpUrl, type Read, text } from '../schema/setting'

/** The Stripe account for top-ups by card. */
export interface CardSettings {
  readonly secretKey: string
  readonly webhookSecret: string
  readonly apiUrl: string
}

export const CARDS = group('Card top-ups', 'Set the first two or none.', {
  STRIPE_SECRET_KEY: text({
    secret: true,
    is: /^(sk|rk)_(test|live)_\w{8,}$/,
    rule: "a secret or restricted key of Stripe, such as sk_live_... or rk_live_... (not the publishable key pk_...); copy it from the Stripe Dashboard's page of API keys",
    example: 'sk_live_...',
    doc: "Card top-ups on Stripe's pages",
  }),
  STRIPE_WEBHOOK_SECRET: text({
    secret: true,
    is: /^whsec_[\w+/=-]{4,}$/,
    rule: "the signing secret of your webhook endpoint at Stripe, such as whsec_... (not its id we_...); copy it from the endpoint's page in the Stripe Dashboard",
    example: 'whsec_...',
    doc: "Send Stripe's webhooks to `BASE_URL/api/webhooks/stripe`: `checkout.session.*`, `charge.refunded`, `charge.dispute.*`, `refund.*`",
  }),
  STRIPE_API_URL: httpUrl({
    default: 'https://api.stripe.com',
    example: 'https://api.stripe.com',
    doc: "Base URL of Stripe's API. Must be https, except on this machine outside production",
  }),
})

/** Reads the card settings. Null when no card processor is configured, so that cards are not offered. */
export function cardSettings(read: Read, production: boolean): CardSettings | null {
  const secretKey = CARDS.settings.STRIPE_SECRET_KEY.of(read)
  const webhookSecret = CARDS.settings.STRIPE_WEBHOOK_SECRET.of(read)
  if (!secretKey && !webhookSecret) return null
  if (!secretKey || !webhookSecret)
    throw new ConfigError(
      `${secretKey ? 'STRIPE_WEBHOOK_SECRET' : 'STRIPE_SECRET_KEY'} is not set. Cards need both STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET`,
    )
  if (production && /^(sk|rk)_test_/.test(secretKey))
    throw new ConfigError(
      'STRIPE_SECRET_KEY is a test key, which would add balance without real money. Use a live key (sk_live_...) in production',
    )
  return { secretKey, webhookSecret, apiUrl: apiOrigin(CARDS.settings.STRIPE_API_URL.of(read), production) }
}

/** The key is sent there, so it must not cross a network in the clear. */
function apiOrigin(given: string, production: boolean): string {
  const url = new URL(given)
  if (url.protocol !== 'https:' && (production || !isLoopbackHost(url.hostname)))
    throw new ConfigError(
      'STRIPE_API_URL must be an https URL such as https://api.stripe.com, because the secret key is sent to it',
    )
  return url.origin
}
