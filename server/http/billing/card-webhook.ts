import type { CardTopUps } from '../../core/accounts/cards/card-top-ups'
import { boundedBytes } from '../../core/bounded-bytes'
import { failure } from '../../core/failure'
import type { CardCheckout } from '../../core/payments/card-checkout'
import { routeGroup } from '../middleware/request-context'
import { Failed, notFound } from '../middleware/response/failures'
import { documented } from '../openapi/documented'
import { ANYBODY, allowed } from '../routing/api-access'
import { costing, READ } from '../routing/cost'
import { BILLING_DOCS } from './docs'

/** Stripe's own messages are a few kilobytes. */
const MAX_BYTES = 256 * 1024

export interface CardMessageParts {
  /** Null if no card processor is configured. */
  readonly cards: { readonly topUps: CardTopUps; readonly checkout: CardCheckout } | null
}

/** Webhooks of the card processor. A message that cannot be processed gets a 5xx, so that the processor sends it again. */
export function cardMessageRoutes({ cards }: CardMessageParts) {
  return routeGroup({ name: 'card-messages' }).post(
    '/api/webhooks/stripe',
    ...allowed(ANYBODY, costing(READ, documented(BILLING_DOCS.stripe)), async ({ context: { request } }) => {
      if (!cards) throw notFound('No card processor is configured.')
      const body = await bodyOf(request)
      const message = await cards.checkout.message(body, request.headers.get('stripe-signature') ?? '')
      if (!message)
        throw new Failed(
          failure('invalid_request', 'The Stripe-Signature header is missing or does not match the body.'),
        )
      await cards.topUps.follow(message)
      return { received: true }
    }),
  )
}

/** The raw bytes, because they are what was signed. The sender is not authenticated yet, so the size is limited. */
async function bodyOf(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  const isDeclaredLarger = Number(request.headers.get('content-length') ?? 0) > MAX_BYTES
  const body = isDeclaredLarger ? null : await boundedBytes(request.body, MAX_BYTES).catch(() => 'cut' as const)
  if (body === 'cut') throw new Failed(failure('invalid_request', 'The body was cut off. Send the request again.'))
  if (!body)
    throw new Failed(failure('payload_too_large', `The body is larger than the maximum of ${MAX_BYTES} bytes.`))
  return body
}
