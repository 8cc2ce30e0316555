import { createHmac } from 'node:crypto'

interface Page {
  id: string
  object: 'checkout.session'
  amount_total: number
  currency: string
  status: 'open' | 'complete' | 'expired'
  payment_status: 'paid' | 'unpaid'
  payment_intent: string | null
  url: string
  expires_at: number
  client_reference_id: string | null
  metadata: Record<string, string>
}
interface Return {
  readonly id: string
  readonly object: 'refund' | 'dispute'
  readonly amount: number
  readonly payment_intent: string
  readonly status: string
}

export const WEBHOOK_SECRET = 'whsec_only_tests_know_this'
export const STRIPE_KEY = 'sk_test_only_tests_know_this'

export type StripeDouble = ReturnType<typeof openStripeDouble>

/**
 * Stripe as its documents describe it, as far as top-ups need it: Checkout sessions, refunds, disputes, idempotency keys, errors,
 * and messages with its own signature scheme (`t=...,v1=HMAC-SHA256`). It speaks the wire; the real library talks to it.
 */
export function openStripeDouble() {
  const pages = new Map<string, Page>()
  const returns: Return[] = []
  const byKey = new Map<string, Page>()
  let isDown = false
  let made = 0
  const list = (data: unknown[], url: string) => Response.json({ object: 'list', data, has_more: false, url })
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      if (isDown) return Response.json({ error: { type: 'api_error', message: 'down' } }, { status: 500 })
      if (request.headers.get('authorization') !== `Bearer ${STRIPE_KEY}`)
        return Response.json({ error: { type: 'invalid_request_error', message: 'Invalid API Key' } }, { status: 401 })
      const { pathname, searchParams } = new URL(request.url)
      const payment = searchParams.get('payment_intent')
      if (pathname === '/v1/refunds')
        return list(
          returns.filter((r) => r.object === 'refund' && r.payment_intent === payment),
          pathname,
        )
      if (pathname === '/v1/disputes')
        return list(
          returns.filter((r) => r.object === 'dispute' && r.payment_intent === payment),
          pathname,
        )
      if (pathname === '/v1/checkout/sessions' && request.method === 'GET')
        return list(
          [...pages.values()].filter((page) => page.payment_intent === payment),
          pathname,
        )
      if (pathname === '/v1/checkout/sessions') {
        const key = request.headers.get('idempotency-key') ?? ''
        const known = byKey.get(key)
        if (known) return Response.json(known)
        const form = new URLSearchParams(await request.text())
        const id = `cs_test_${++made}`
        const page: Page = {
          id,
          object: 'checkout.session',
          amount_total: Number(form.get('line_items[0][price_data][unit_amount]')),
          currency: form.get('line_items[0][price_data][currency]') ?? '',
          status: 'open',
          payment_status: 'unpaid',
          payment_intent: null,
          url: `https://checkout.stripe.test/${id}`,
          expires_at: Number(form.get('expires_at')),
          client_reference_id: form.get('client_reference_id'),
          metadata: { top_up: form.get('metadata[top_up]') ?? '' },
        }
        pages.set(id, page)
        byKey.set(key, page)
        return Response.json(page)
      }
      const page = pages.get(pathname.split('/').at(-1) ?? '')
      if (!page)
        return Response.json(
          { error: { type: 'invalid_request_error', code: 'resource_missing', message: 'No such checkout session' } },
          { status: 404 },
        )
      return Response.json(page)
    },
  })
  const page = (id: string) => {
    const found = pages.get(id)
    if (!found) throw new Error(`no page ${id}`)
    return found
  }
  return {
    url: `http://127.0.0.1:${server.port}`,
    setDown(down: boolean) {
      isDown = down
    },
    newestPage: () => [...pages.values()].at(-1)!,
    pay(id: string, more: Partial<Page> = {}) {
      Object.assign(page(id), { status: 'complete', payment_status: 'paid', payment_intent: `pi_${id}`, ...more })
    },
    expire(id: string) {
      Object.assign(page(id), { status: 'expired' })
    },
    giveBack(
      object: 'refund' | 'dispute',
      id: string,
      amount: number,
      status = object === 'refund' ? 'succeeded' : 'needs_response',
    ) {
      returns.push({
        id: `${object === 'refund' ? 're' : 'dp'}_${++made}`,
        object,
        amount,
        payment_intent: `pi_${id}`,
        status,
      })
    },
    /** A dispute is decided: the status that Stripe then tells of it. */
    decide(status: 'won' | 'lost') {
      const newest = returns.findLast(({ object }) => object === 'dispute')
      if (newest) Object.assign(newest, { status })
    },
    /** A message as Stripe sends it: the body, and the signature over time and body. */
    message(type: string, object: Record<string, unknown>, signedAt = Date.now(), secret = WEBHOOK_SECRET) {
      const event = {
        id: `evt_${++made}`,
        object: 'event',
        api_version: '2026-01-01',
        created: 1,
        type,
        data: { object },
      }
      const body = JSON.stringify(event)
      const time = Math.floor(signedAt / 1000)
      const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
      return { body, headers: { 'stripe-signature': `t=${time},v1=${signature}`, 'content-type': 'application/json' } }
    },
    close: () => server.stop(true),
  }
}
