import Stripe from 'stripe'
import { MINUTE_MS } from '../../../core/clock'
import type { AccountId, PaymentId } from '../../../core/ids'
import { type Money, micros, ZERO } from '../../../core/money'
import type { CardCheckout, CardMessage, CardReturn, CardState } from '../../../core/payments/card-checkout'
import { openStripe, type StripeAccess } from './stripe-access'

export interface StripeOptions extends StripeAccess {
  /** The webhook signing secret (`whsec_...`). */
  readonly webhookSecret: string
  /** The URL to which the owner returns. */
  readonly returnUrl: string
  readonly now: () => number
}

/** One cent is 10,000 micro-USD. */
const MICROS_PER_CENT = 10_000
/** Stripe's shortest lifetime of a checkout page. */
const PAGE_MS = 30 * MINUTE_MS
/** How old a signed webhook may be, so that a stolen one cannot be replayed later (Stripe's default). */
const TOLERANCE_SECONDS = 300
/** Items per request of a list. */
const PAGE = 100
/** The maximum length of any list. */
const MAX_LISTED = 100_000

/** Top-ups with Stripe Checkout. */
export function stripeCheckout(options: StripeOptions): CardCheckout {
  const stripe = openStripe(options)
  return {
    open: (topUp) => openPage(stripe, options, topUp),
    async state(id): Promise<CardState> {
      return askStripe(async () => stateOf(await stripe.checkout.sessions.retrieve(id)))
    },
    async *pagesBetween(from, to) {
      for await (const page of listed(stripe.checkout.sessions.list({ created: secondsOf(from, to), limit: PAGE }))) {
        const { topUp, ...state } = stateOf(page)
        if (topUp) yield { ...state, topUp, id: page.id }
      }
    },
    async *returnedBetween(from, to) {
      const created = secondsOf(from, to)
      for (const list of [
        stripe.refunds.list({ created, limit: PAGE }),
        stripe.disputes.list({ created, limit: PAGE }),
      ])
        for await (const { payment_intent } of listed<Stripe.Refund | Stripe.Dispute>(list)) {
          const payment = idOf(payment_intent)
          if (payment) yield payment
        }
    },
    topUpOn: (id) => readTopUp(stripe, id),
    async pageOf(payment) {
      return askStripe(async () => {
        const { data } = await stripe.checkout.sessions.list({ payment_intent: payment, limit: 1 })
        return data[0]?.id ?? null
      })
    },
    async returns(payment): Promise<readonly CardReturn[]> {
      const of = { payment_intent: payment, limit: PAGE }
      const found: CardReturn[] = []
      for await (const refund of listed(stripe.refunds.list(of))) found.push(refundReturn(refund, payment))
      for await (const dispute of listed(stripe.disputes.list(of))) found.push(disputeReturn(dispute, payment))
      return found
    },
    refund: (refund) => sendRefund(stripe, refund),
    message: (body, signature) => readMessage(stripe, options, body, signature),
  }
}

async function openPage(
  stripe: Stripe,
  { now, returnUrl }: StripeOptions,
  { id, account, email, amount }: Parameters<CardCheckout['open']>[0],
): ReturnType<CardCheckout['open']> {
  const expiresAt = now() + PAGE_MS
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
      success_url: `${returnUrl}?top_up=${id}`,
      cancel_url: returnUrl,
      expires_at: Math.ceil(expiresAt / 1000),
    },
    // Retrying a top-up whose response was lost returns the same page.
    { idempotencyKey: id },
  )
  const page = await askStripe(() => asking)
  if (!page.url) throw new Error('Stripe returned a checkout page without a URL')
  return { id: page.id, url: page.url, expiresAt }
}

/** The subject of a webhook; null if it is not signed by Stripe, too old, or about nothing of ours. */
async function readMessage(
  stripe: Stripe,
  { now, webhookSecret }: StripeOptions,
  body: Parameters<CardCheckout['message']>[0],
  signature: string,
): Promise<CardMessage | null> {
  const text = exactText(body)
  if (text === null || isFromTheFuture(signature, now())) return null
  try {
    const event = await stripe.webhooks.constructEventAsync(
      text,
      signature,
      webhookSecret,
      TOLERANCE_SECONDS,
      undefined,
      now(),
    )
    return subjectOf(event)
  } catch (error) {
    if (error instanceof Stripe.errors.StripeSignatureVerificationError) return null
    throw error
  }
}

function stateOf(page: Stripe.Checkout.Session): CardState {
  return {
    state: page.payment_status === 'paid' ? 'paid' : page.status === 'expired' ? 'expired' : 'open',
    ...amountOf(page.amount_total, page.currency),
    payment: idOf(page.payment_intent),
    topUp: topUpOf(page.metadata),
  }
}

function secondsOf(from: number, to: number): Stripe.RangeQueryParam {
  return { gte: Math.floor(from / 1000), lt: Math.ceil(to / 1000) }
}

/** All items of a list, fetched page by page. A list that comes back to where it was would never end. */
async function* listed<T extends { readonly id: string }>(list: AsyncIterable<T>): AsyncGenerator<T, void> {
  const seen = new Set<string>()
  const items = list[Symbol.asyncIterator]()
  for (;;) {
    const { value, done } = await askStripe(async () => {
      const next = await items.next()
      if (!next.done && typeof next.value.id !== 'string') throw new TypeError('an item of a list has no id')
      return next
    })
    if (done) return
    if (seen.has(value.id) || seen.size === MAX_LISTED)
      throw new CardProcessorUnavailable(`Stripe: a list has ${value.id} twice, or does not end`)
    seen.add(value.id)
    yield value
  }
}

async function readTopUp(stripe: Stripe, page: string): Promise<CardState['topUp']> {
  return askStripe(async () => {
    try {
      return topUpOf((await stripe.checkout.sessions.retrieve(page)).metadata)
    } catch (error) {
      if (error instanceof Stripe.errors.StripeInvalidRequestError && error.code === 'resource_missing') return null
      throw error
    }
  })
}

function topUpOf(metadata: Stripe.Metadata | null): CardState['topUp'] {
  const { top_up: id, account } = metadata ?? {}
  if (!/^pay_[0-9a-f]{32}$/.test(id ?? '') || !/^acct_[0-9a-f]{32}$/.test(account ?? '')) return null
  return { id: id as PaymentId, account: account as AccountId } // their forms were just checked
}

async function sendRefund(
  stripe: Stripe,
  { id, payment, amount }: Parameters<CardCheckout['refund']>[0],
): ReturnType<CardCheckout['refund']> {
  try {
    const params = { payment_intent: payment, amount: cents(amount), metadata: { refund: id } }
    const made = await stripe.refunds.create(params, { idempotencyKey: id })
    return { kind: 'accepted', refund: refundReturn(made, payment) }
  } catch (error) {
    // Only these say that nothing was sent. After any other failure, money may be on its way.
    if (error instanceof Stripe.errors.StripeInvalidRequestError) return { kind: 'refused', reason: error.message }
    throw unavailable(error)
  }
}

function refundReturn(refund: Stripe.Refund, payment: string): CardReturn {
  const { id, amount, currency, status, metadata } = refund
  const state =
    status === 'succeeded' ? 'succeeded' : status === 'failed' || status === 'canceled' ? 'failed' : 'pending'
  const ours = metadata?.['refund'] ?? null
  const isTaken = state === 'succeeded' || (ours !== null && state === 'pending')
  const read = amountOf(amount, currency)
  return {
    kind: 'refund',
    id,
    amount: isTaken ? read.amount : ZERO,
    ours,
    state,
    ...doubt(read.currency, refund.payment_intent, payment),
  }
}

function disputeReturn(dispute: Stripe.Dispute, payment: string): CardReturn {
  const { id, amount, currency, status } = dispute
  const takes = takesMoney(status)
  const read = amountOf(amount, currency)
  return {
    kind: 'dispute',
    id,
    amount: takes ? read.amount : ZERO,
    ours: null,
    state: takes ? 'succeeded' : 'failed',
    ...doubt(read.currency, dispute.payment_intent, payment),
  }
}

/** An amount that is not in USD, or of another payment than was asked for, must not move money here. */
function doubt(currency: string, of: Stripe.Refund['payment_intent'], payment: string): { isDoubtful?: true } {
  return currency === 'USD' && idOf(of) === payment ? {} : { isDoubtful: true }
}

/** Decodes the exact bytes that are signed: no replacement characters, and no byte order mark removed. */
function exactText(body: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body)
  } catch {
    return null
  }
}

/** The library refuses only signatures that are too old. Like the library, we use the last `t` as the signing time. */
function isFromTheFuture(signature: string, now: number): boolean {
  const times = signature.split(',').filter((part) => part.startsWith('t='))
  return Number.parseInt(times.at(-1)?.slice(2) ?? '', 10) > now / 1000 + TOLERANCE_SECONDS
}

/** A dispute withdraws the money immediately and returns it if won. An inquiry (`warning_...`) withdraws none. */
function takesMoney(status: string): boolean {
  return status !== 'won' && status !== 'prevented' && !status.startsWith('warning_')
}

/** The processor could not complete the request: the caller should retry, and nothing was written (core/unavailable). */
class CardProcessorUnavailable extends Error {
  readonly unavailable = true
}

/** Any failure while the processor is asked and its response read is the processor's, also a response of another form. */
async function askStripe<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    throw unavailable(error)
  }
}

function unavailable(error: unknown): CardProcessorUnavailable {
  const what =
    error instanceof Stripe.errors.StripeError
      ? error.type
      : `an unreadable response (${error instanceof Error ? error.name : 'unknown'})`
  return new CardProcessorUnavailable(`Stripe: ${what}`, { cause: error })
}

/** Any event about a checkout page, or about a payment's charge, refund or dispute. */
function subjectOf({ type, data }: Stripe.Event): CardMessage {
  const subject = data.object as { object?: string; id?: string; payment_intent?: string | { id: string } | null }
  if (type.startsWith('checkout.session.')) return subject.id ? { kind: 'page', id: subject.id } : { kind: 'other' }
  const payment = subject.object === 'payment_intent' ? (subject.id ?? null) : idOf(subject.payment_intent)
  return payment ? { kind: 'payment', payment } : { kind: 'other' }
}

function idOf(value: string | { readonly id: string } | null | undefined): string | null {
  return typeof value === 'string' ? value : (value?.id ?? null)
}

function cents(amount: Money): number {
  return amount / MICROS_PER_CENT
}

/** An amount of a response. Anything else is zero, without a currency. */
function amountOf(value: number | null, currency: string | null): { amount: Money; currency: string } {
  const isAmount =
    Number.isInteger(value) && Number(value) >= 0 && Number.isSafeInteger(Number(value) * MICROS_PER_CENT)
  return isAmount
    ? { amount: micros(Number(value) * MICROS_PER_CENT), currency: String(currency ?? '').toUpperCase() }
    : { amount: ZERO, currency: '' }
}
