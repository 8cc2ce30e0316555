import Stripe from 'stripe'
import { type Money, micros } from '../../../core/money'
import type { CardCheckout, CardMessage, CardReturn, CardState } from '../../../core/payments/card-checkout'

export interface StripeOptions {
  readonly secretKey: string
  /** Signs the messages (`whsec_...`). */
  readonly webhookSecret: string
  /** Where Stripe's API is; another one in tests. */
  readonly apiUrl: string
  /** Where the owner comes back to. */
  readonly returnUrl: string
  readonly now: () => number
}

/** A cent is ten thousand micro-USD. */
const MICROS_PER_CENT = 10_000
/** Stripe's shortest life of a page. */
const PAGE_MS = 30 * 60_000
const TIMEOUT_MS = 10_000
/** How old a signed message may be, so that a stolen one is of no use later (Stripe's own default). */
const TOLERANCE_SECONDS = 300

/** Top-ups on Stripe's own pages (Checkout). */
export function stripeCheckout(options: StripeOptions): CardCheckout {
  const api = new URL(options.apiUrl)
  const stripe = new Stripe(options.secretKey, {
    host: api.hostname,
    port: api.port || (api.protocol === 'https:' ? 443 : 80),
    protocol: api.protocol === 'https:' ? 'https' : 'http',
    timeout: TIMEOUT_MS,
    maxNetworkRetries: 1,
    telemetry: false,
  })
  return {
    async open({ id, account, email, amount }) {
      const expiresAt = options.now() + PAGE_MS
      const asking = stripe.checkout.sessions.create(
        {
          mode: 'payment',
          customer_email: email,
          client_reference_id: id,
          metadata: { top_up: id, account },
          payment_intent_data: { metadata: { top_up: id, account } },
          line_items: [
            {
              quantity: 1,
              price_data: { currency: 'usd', unit_amount: cents(amount), product_data: { name: 'Wallet top-up' } },
            },
          ],
          success_url: `${options.returnUrl}?top_up=${id}`,
          cancel_url: options.returnUrl,
          expires_at: Math.ceil(expiresAt / 1000),
        },
        // The same top-up asked for twice, by a lost reply, is one page.
        { idempotencyKey: id },
      )
      const page = await answered(asking)
      if (!page.url) throw new Error('Stripe gave a page without an address')
      return { id: page.id, url: page.url, expiresAt }
    },
    async state(id): Promise<CardState> {
      const page = await answered(stripe.checkout.sessions.retrieve(id))
      return {
        state: page.payment_status === 'paid' ? 'paid' : page.status === 'expired' ? 'expired' : 'open',
        amount: fromCents(page.amount_total ?? 0),
        currency: (page.currency ?? '').toUpperCase(),
        payment: idOf(page.payment_intent),
      }
    },
    async returns(payment): Promise<readonly CardReturn[]> {
      const { data } = await answered(stripe.checkout.sessions.list({ payment_intent: payment, limit: 1 }))
      const page = data[0]?.id
      if (!page) return []
      const [refunds, disputes] = await Promise.all([
        answered(stripe.refunds.list({ payment_intent: payment, limit: 100 })),
        answered(stripe.disputes.list({ payment_intent: payment, limit: 100 })),
      ])
      return [
        ...refunds.data
          .filter(({ status }) => status === 'succeeded')
          .map(({ id, amount }) => ({ kind: 'refund' as const, reference: id, page, amount: fromCents(amount) })),
        // Of a dispute the money is gone at once, and back once it is won. An inquiry (`warning`) takes none.
        ...disputes.data
          .filter(({ status }) => !status.startsWith('warning'))
          .flatMap(({ id, amount, status }) => {
            const taken = { kind: 'dispute' as const, reference: id, page, amount: fromCents(amount) }
            return status === 'won'
              ? [taken, { ...taken, kind: 'dispute_won' as const, reference: `${id}:won` }]
              : [taken]
          }),
      ]
    },
    async message(body, signature): Promise<CardMessage | null> {
      try {
        const event = await stripe.webhooks.constructEventAsync(
          body,
          signature,
          options.webhookSecret,
          TOLERANCE_SECONDS,
          undefined,
          options.now(),
        )
        return subjectOf(event)
      } catch (error) {
        if (error instanceof Stripe.errors.StripeSignatureVerificationError) return null
        throw error
      }
    },
  }
}

/** The processor did not do what it was asked: whoever asked is told to come back, and nothing was written (core/unavailable). */
class CardProcessorUnavailable extends Error {
  readonly unavailable = true
}

async function answered<T>(asking: Promise<T>): Promise<T> {
  try {
    return await asking
  } catch (error) {
    if (!(error instanceof Stripe.errors.StripeError)) throw error
    throw new CardProcessorUnavailable(`Stripe: ${error.type}`, { cause: error })
  }
}

function subjectOf(event: Stripe.Event): CardMessage {
  switch (event.type) {
    case 'checkout.session.completed':
    case 'checkout.session.async_payment_succeeded':
    case 'checkout.session.async_payment_failed':
    case 'checkout.session.expired':
      return { kind: 'page', id: event.data.object.id }
    case 'charge.refunded':
    case 'charge.dispute.created':
    case 'charge.dispute.funds_withdrawn':
    case 'charge.dispute.funds_reinstated':
    case 'charge.dispute.closed': {
      const payment = idOf(event.data.object.payment_intent)
      return payment ? { kind: 'payment', payment } : { kind: 'other' }
    }
    default:
      return { kind: 'other' }
  }
}

function idOf(value: string | { readonly id: string } | null | undefined): string | null {
  return typeof value === 'string' ? value : (value?.id ?? null)
}

function cents(amount: Money): number {
  return amount / MICROS_PER_CENT
}

function fromCents(value: number): Money {
  return micros(value * MICROS_PER_CENT)
}
