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
  created: number
  client_reference_id: string | null
  metadata: Record<string, string>
}
interface Return {
  readonly id: string
  readonly object: 'refund' | 'dispute'
  readonly amount: number
  readonly currency: string | null
  readonly charge: string
  readonly payment_intent: string
  readonly created: number
  readonly metadata?: Record<string, string>
  status: string
}
type RefundStatus = 'pending' | 'requires_action' | 'succeeded' | 'failed' | 'canceled'
type DisputeStatus =
  | 'warning_needs_response'
  | 'warning_closed'
  | 'needs_response'
  | 'under_review'
  | 'won'
  | 'lost'
  | 'prevented'

export const WEBHOOK_SECRET = 'whsec_only_tests_know_this'
export const STRIPE_KEY = 'sk_test_only_tests_know_this'

export type StripeDouble = ReturnType<typeof openStripeDouble>

/**
 * Stripe as its documents describe it, as far as top-ups need it: Checkout sessions, refunds, disputes, idempotency keys, errors,
 * and messages with its own signature scheme (`t=...,v1=HMAC-SHA256`). It speaks the wire; the real library talks to it.
 */
export function openStripeDouble(now: () => number = () => Date.now()) {
  const pages = new Map<string, Page>()
  const returns: Return[] = []
  const forgotten = new Map<string, Page>()
  const byKey = new Map<string, Page>()
  let isDown = false
  let made = 0
  const asked: string[] = []
  /** Answers in place of the double. */
  let answer: ((url: URL) => Response | null) | null = null
  /** A page of a list as Stripe gives it: the newest first, on from `starting_after`. */
  const list = (all: readonly { readonly id: string }[], { pathname, searchParams }: URL) => {
    const newestFirst = [...all].reverse()
    const after = searchParams.get('starting_after')
    const from = after === null ? 0 : newestFirst.findIndex(({ id }) => id === after) + 1
    const data = newestFirst.slice(from, from + Number(searchParams.get('limit') ?? 10))
    const has_more = from + data.length < newestFirst.length
    return Response.json({ object: 'list', data, has_more, url: pathname })
  }
  const refundsByKey = new Map<string, Return>()
  /** How refunds go: `lost` makes them, and answers 500. */
  let refunding: 'succeeded' | 'pending' | 'lost' = 'succeeded'
  const refunded = async (request: Request): Promise<Response> => {
    const key = request.headers.get('idempotency-key') ?? ''
    const known = refundsByKey.get(key)
    const lost = () => Response.json({ error: { type: 'api_error', message: 'lost' } }, { status: 500 })
    if (known) return refunding === 'lost' ? lost() : Response.json(known)
    const form = new URLSearchParams(await request.text())
    const [payment, amount] = [form.get('payment_intent') ?? '', Number(form.get('amount'))]
    const paid = [...pages.values()].find((page) => page.payment_intent === payment)?.amount_total ?? 0
    const gone = returns
      .filter((one) => one.object === 'refund' && one.payment_intent === payment && one.status !== 'failed')
      .reduce((sum, one) => sum + one.amount, 0)
    if (gone + amount > paid) {
      const message = `Refund amount (${amount}) is greater than unrefunded amount on charge (${paid - gone})`
      return Response.json({ error: { type: 'invalid_request_error', message } }, { status: 400 })
    }
    const refund: Return = {
      id: `re_${++made}`,
      object: 'refund',
      amount,
      currency: 'usd',
      charge: 'ch_1',
      payment_intent: payment,
      created: Math.floor(now() / 1000),
      metadata: { refund: form.get('metadata[refund]') ?? '' },
      status: refunding === 'pending' ? 'pending' : 'succeeded',
    }
    returns.push(refund)
    refundsByKey.set(key, refund)
    return refunding === 'lost' ? lost() : Response.json(refund)
  }
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      if (isDown) return Response.json({ error: { type: 'api_error', message: 'down' } }, { status: 500 })
      if (request.headers.get('authorization') !== `Bearer ${STRIPE_KEY}`)
        return Response.json({ error: { type: 'invalid_request_error', message: 'Invalid API Key' } }, { status: 401 })
      const url = new URL(request.url)
      const { pathname, searchParams } = url
      asked.push(`${request.method} ${pathname}${url.search}`)
      const answered = answer?.(url)
      if (answered) return answered
      const payment = searchParams.get('payment_intent')
      const since = Number(searchParams.get('created[gte]') ?? 0)
      const before = Number(searchParams.get('created[lt]') ?? Number.POSITIVE_INFINITY)
      const isAskedFor = ({ payment_intent, created }: Page | Return) =>
        (payment === null || payment_intent === payment) && created >= since && created < before
      const returned = (object: Return['object']) =>
        returns.filter((given) => given.object === object && isAskedFor(given))
      if (pathname === '/v1/balance') return Response.json({ object: 'balance', available: [], pending: [] })
      if (pathname === '/v1/refunds' && request.method === 'POST') return refunded(request)
      if (pathname === '/v1/refunds') return list(returned('refund'), url)
      if (pathname === '/v1/disputes') return list(returned('dispute'), url)
      if (pathname === '/v1/checkout/sessions' && request.method === 'GET')
        return list([...pages.values()].filter(isAskedFor), url)
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
          created: Math.floor(now() / 1000),
          client_reference_id: form.get('client_reference_id'),
          metadata: { top_up: form.get('metadata[top_up]') ?? '', account: form.get('metadata[account]') ?? '' },
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
    /** The answer of a broken or hostile processor; null where it answers well. */
    setAnswer(next: typeof answer) {
      answer = next
    },
    /** The same page once more under another id, with something else about it. */
    copyPage(id: string, more: Partial<Page>): string {
      const copy = { ...page(id), id: `cs_test_${++made}`, ...more }
      pages.set(copy.id, copy)
      return copy.id
    },
    setRefunding(how: typeof refunding) {
      refunding = how
    },
    refunds: () => returns.filter(({ object }) => object === 'refund'),
    newestPage: () => [...pages.values()].at(-1)!,
    pay(id: string, more: Partial<Page> = {}) {
      Object.assign(page(id), { status: 'complete', payment_status: 'paid', payment_intent: `pi_${id}`, ...more })
    },
    /** The page is not there any more, as after a change of the account at the processor. */
    forget(id: string) {
      forgotten.set(id, page(id))
      pages.delete(id)
    },
    remember(id: string) {
      const found = forgotten.get(id)
      if (found) pages.set(id, found)
    },
    expire(id: string) {
      Object.assign(page(id), { status: 'expired' })
    },
    /** A refund or a dispute of a page's payment; gives its id. */
    giveBack(
      object: Return['object'],
      page: string,
      amount: number,
      status: RefundStatus | DisputeStatus = object === 'refund' ? 'succeeded' : 'needs_response',
      more: Partial<Return> = {},
    ): string {
      const id = `${object === 'refund' ? 're' : 'dp'}_${++made}`
      const payment = { charge: `ch_${page}`, payment_intent: `pi_${page}` }
      returns.push({
        id,
        object,
        amount,
        currency: 'usd',
        ...payment,
        created: Math.floor(now() / 1000),
        status,
        ...more,
      })
      return id
    },
    /** Forgets which requests it had, as Stripe does after a day. */
    forgetKeys() {
      refundsByKey.clear()
      byKey.clear()
    },
    /** Takes a refund or dispute away, as if it had never been. */
    forgetReturn(id: string) {
      returns.splice(
        returns.findIndex((one) => one.id === id),
        1,
      )
    },
    /** The outcome of a refund or a dispute. */
    turn(id: string, status: RefundStatus | DisputeStatus) {
      const given = returns.find((one) => one.id === id)
      if (!given) throw new Error(`no refund or dispute ${id}`)
      given.status = status
    },
    /** What Stripe was asked. */
    asked,
    /** A message as Stripe sends it: the body, and the signature over time and body. */
    message(type: string, object: object, signedAt = Date.now(), secret = WEBHOOK_SECRET) {
      const event = {
        id: `evt_${++made}`,
        object: 'event',
        api_version: '2026-01-01',
        created: 1,
        type,
        data: { object },
      }
      const body = JSON.stringify(event)
      return { body, headers: signed(body, signedAt, secret) }
    },
    close: () => server.stop(true),
  }
}

/** The headers of a message with this body. */
export function signed(body: string, at = Date.now(), secret = WEBHOOK_SECRET): Record<string, string> {
  const time = Math.floor(at / 1000)
  const signature = createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')
  return { 'stripe-signature': `t=${time},v1=${signature}`, 'content-type': 'application/json' }
}
