import { Elysia } from 'elysia'
import type { CardTopUps } from '../../core/accounts/card-top-ups'
import { failure } from '../../core/failure'
import type { CardCheckout } from '../../core/payments/card-checkout'
import { BILLING_DOCS } from '../docs/billing-docs'
import { documented } from '../docs/documented'
import { Failed, notFound } from '../failures'

const MOST_BYTES = 256 * 1024

export interface CardMessageParts {
  /** Where a card processor is configured. */
  readonly cards: { readonly topUps: CardTopUps; readonly checkout: CardCheckout } | null
}

/** What the card processor tells, signed. A message that could not be followed is answered 5xx, so that it comes again. */
export function cardMessageRoutes({ cards }: CardMessageParts) {
  return new Elysia({ name: 'card-messages' }).post(
    '/api/webhooks/stripe',
    async ({ request }) => {
      if (!cards) throw notFound('No card processor is configured.')
      const body = await request.text()
      const signature = request.headers.get('stripe-signature') ?? ''
      const message = body.length > MOST_BYTES ? null : await cards.checkout.message(body, signature)
      if (!message) throw new Failed(failure('invalid_request', 'The signature of this message is not right.'))
      await cards.topUps.follow(message)
      return { received: true }
    },
    { parse: 'none', ...documented(BILLING_DOCS.stripe) },
  )
}
