import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import {
  openStripeDouble,
  STRIPE_KEY,
  type StripeDouble,
  signed,
  WEBHOOK_SECRET,
} from '../../support/payments/stripe-double'
import { endAndReconcile } from '../wire'

const DAY_MS = 86_400_000

describe('card processor messages, in any order and concurrently', () => {
  let stripe: StripeDouble
  let gateway: Harness
  let owner: Awaited<ReturnType<Harness['owner']>>

  beforeAll(async () => {
    stripe = openStripeDouble()
    gateway = await openHarness({
      running: true,
      env: { STRIPE_SECRET_KEY: STRIPE_KEY, STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET, STRIPE_API_URL: stripe.url },
    })
  })
  beforeEach(async () => {
    stripe.setDown(false)
    owner = await gateway.owner()
  })
  afterAll(async () => {
    await endAndReconcile(gateway)
    await stripe.close()
  })

  async function opened(): Promise<string> {
    expect((await owner.api('/api/topups', { amount: '50.00', method: 'card' })).status).toBe(201)
    return stripe.newestPage().id
  }
  const send = async (body: string | Uint8Array<ArrayBuffer> | ReadableStream, headers: Record<string, string>) =>
    (await gateway.call('/api/webhooks/stripe', { method: 'POST', headers, body })).status
  const tell = async (type: string, object: object) => {
    const { body, headers } = stripe.message(type, object)
    return send(body, headers)
  }
  const about = (page: string, id: string) => ({
    id,
    object: id.startsWith('dp') ? 'dispute' : 'refund',
    payment_intent: `pi_${page}`,
  })
  const completed = (page: string) => tell('checkout.session.completed', { id: page, object: 'checkout.session' })
  const billing = async () =>
    (await (await owner.api('/api/billing')).json()) as {
      paid_micros_usd: number
      debt_micros_usd: number
      topped_up_micros_usd: number
    }
  /** Whole dollars: paid in, owed, and topped up. */
  const dollars = async () => {
    const { paid_micros_usd, debt_micros_usd, topped_up_micros_usd } = await billing()
    return [paid_micros_usd, debt_micros_usd, topped_up_micros_usd].map((micros) => micros / 1_000_000)
  }
  async function paidPage(): Promise<string> {
    const page = await opened()
    stripe.pay(page)
    expect(await completed(page)).toBe(200)
    return page
  }

  test('both messages of a won dispute, and its older ones, eight at once: the balance is what was paid', async () => {
    const page = await paidPage()
    for (let round = 1; round <= 6; round++) {
      const dispute = stripe.giveBack('dispute', page, 5000)
      const kinds = ['charge.dispute.created', 'charge.dispute.funds_withdrawn']
      if (round % 2 === 0) for (const kind of kinds) await tell(kind, about(page, dispute))
      stripe.turn(dispute, 'won')
      const told = ['charge.dispute.funds_reinstated', 'charge.dispute.closed', ...kinds].flatMap((kind) => [
        tell(kind, about(page, dispute)),
        tell(kind, about(page, dispute)),
      ])
      expect(new Set(await Promise.all(told))).toEqual(new Set([200]))
      expect(await dollars()).toEqual([50, 0, 50])
    }
  })

  test('a page that expired here and is paid anyway is booked', async () => {
    const page = await opened()
    stripe.expire(page)
    expect(await tell('checkout.session.expired', { id: page, object: 'checkout.session' })).toBe(200)
    expect(await dollars()).toEqual([0, 0, 0])
    stripe.pay(page)
    expect(await completed(page)).toBe(200)
    expect(await completed(page)).toBe(200)
    expect(await dollars()).toEqual([50, 0, 50])
  })

  test("disputes that open, are won and are lost in racing messages: Stripe's last state wins", async () => {
    const page = await paidPage()
    const [first, second] = [stripe.giveBack('dispute', page, 2000), stripe.giveBack('dispute', page, 1000)]
    const told: Promise<number>[] = []
    for (const [id, status] of [
      [first, 'under_review'],
      [second, 'lost'],
      [first, 'won'],
      [first, 'lost'],
      [first, 'won'],
    ] as const) {
      stripe.turn(id, status)
      told.push(tell('charge.dispute.updated', about(page, id)), tell('charge.dispute.closed', about(page, id)))
      await Promise.race(told)
    }
    expect(new Set(await Promise.all(told))).toEqual(new Set([200]))
    expect(await dollars()).toEqual([40, 0, 40])
  })

  test('a refund reported before its payment is booked after it, once', async () => {
    const page = await opened()
    stripe.pay(page)
    const refund = stripe.giveBack('refund', page, 1500)
    expect(await tell('refund.created', about(page, refund))).toBe(200)
    expect(await dollars()).toEqual([35, 0, 35])
    expect([await completed(page), await completed(page)]).toEqual([200, 200])
    expect(await dollars()).toEqual([35, 0, 35])
  })

  test('a refund and a dispute of an unknown payment book nothing', async () => {
    const page = await opened()
    stripe.pay(page, { payment_status: 'unpaid' })
    const refund = stripe.giveBack('refund', page, 1500)
    const dispute = stripe.giveBack('dispute', page, 1500)
    expect(await tell('charge.refunded', { id: 'ch_1', object: 'charge', payment_intent: `pi_${page}` })).toBe(200)
    expect([await tell('refund.updated', about(page, refund)), await completed(page)]).toEqual([200, 200])
    expect(await tell('charge.dispute.created', about(page, dispute))).toBe(200)
    expect(await dollars()).toEqual([0, 0, 0])
  })

  test('a refund counts once it succeeded, and is reversed if it fails later', async () => {
    const page = await paidPage()
    const refund = stripe.giveBack('refund', page, 5000, 'pending')
    expect(await tell('refund.created', about(page, refund))).toBe(200)
    expect(await dollars()).toEqual([50, 0, 50])
    stripe.turn(refund, 'succeeded')
    expect(await tell('charge.refund.updated', about(page, refund))).toBe(200)
    expect(await dollars()).toEqual([0, 0, 0])
    stripe.turn(refund, 'failed')
    for (let times = 0; times < 3; times++) expect(await tell('refund.failed', about(page, refund))).toBe(200)
    expect(await dollars()).toEqual([50, 0, 50])
    stripe.turn(refund, 'succeeded')
    expect(await tell('refund.updated', about(page, refund))).toBe(200)
    expect(await dollars()).toEqual([0, 0, 0])
  })

  test('partial refunds, more than one page of them, and an inquiry that takes no money', async () => {
    const page = await paidPage()
    for (let refunds = 0; refunds < 103; refunds++) stripe.giveBack('refund', page, 10)
    stripe.giveBack('dispute', page, 5000, 'warning_needs_response')
    stripe.giveBack('dispute', page, 5000, 'prevented')
    expect(await tell('charge.updated', { id: 'ch_1', object: 'charge', payment_intent: `pi_${page}` })).toBe(200)
    expect((await billing()).paid_micros_usd).toBe(50_000_000 - 103 * 100_000)
  })

  test('a payment without a message is found by the daily comparison, for 120 days; a failed one is retried', async () => {
    const pages: string[] = []
    for (let page = 0; page < 5; page++) pages.push(await paidPage())
    for (const page of pages) stripe.giveBack('refund', page, 2000)
    const { cards } = gateway.gateway
    if (!cards) throw new Error('no cards')
    stripe.setDown(true)
    expect(await cards.compareAll(() => undefined)).toMatchObject({ corrected: 0, complete: false, failed: 5 })
    expect(gateway.logged.join('\n')).toContain('could not be compared with the card processor')
    stripe.setDown(false)
    expect(await cards.compareAll(() => undefined)).toMatchObject({ corrected: 5, complete: true, failed: 0 })
    expect(await dollars()).toEqual([150, 0, 150])
    expect(await cards.compareAll(() => undefined)).toMatchObject({ corrected: 0, complete: true })
    gateway.clock.advance(121 * DAY_MS)
    stripe.asked.length = 0
    expect(await cards.compareAll(() => undefined)).toEqual({ compared: 0, corrected: 0, failed: 0, complete: true })
    expect(stripe.asked).toEqual([])
    gateway.clock.advance(-121 * DAY_MS)
  })

  test('a message signed for the future is refused, like one of the past', async () => {
    const page = await opened()
    stripe.pay(page)
    for (const [ahead, status] of [
      [-301_000, 400],
      [302_000, 400],
      [DAY_MS, 400],
      [290_000, 200],
    ] as const) {
      const { body, headers } = stripe.message('checkout.session.completed', { id: page }, Date.now() + ahead)
      expect(await send(body, headers)).toBe(status)
    }
  })

  test('the signature covers the bytes as received: none is replaced or left out before the check', async () => {
    const text = JSON.stringify({ id: 'evt_1', object: 'event', type: 'x', data: { object: { id: '\ufffd' } } })
    const headers = signed(text)
    const bytes = Buffer.from(text)
    expect(await send(bytes, headers)).toBe(200)
    expect(await send(Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes]), headers)).toBe(400)
    const at = bytes.indexOf(Buffer.from('\ufffd'))
    const other = Buffer.concat([bytes.subarray(0, at), Buffer.from([0xff]), bytes.subarray(at + 3)])
    expect(await send(other, headers)).toBe(400)
    // Written once a minute, however many come.
    expect(gateway.logged.filter((line) => line.includes('its signature is missing or wrong'))).toHaveLength(1)
  })

  test('a body is read up to 256 KiB and no further, whatever its declared length', async () => {
    let given = 0
    const endless = new ReadableStream({
      pull(controller) {
        given += 64 * 1024
        controller.enqueue(new Uint8Array(64 * 1024))
      },
    })
    expect(await send(endless, signed('x'))).toBe(413)
    expect(given).toBeLessThan(1024 * 1024)
    expect(await send('{}', { ...signed('{}'), 'content-length': '300000' })).toBe(413)
  })
})
