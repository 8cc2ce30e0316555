import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { openStripeDouble, STRIPE_KEY, type StripeDouble, WEBHOOK_SECRET } from '../../support/payments/stripe-double'
import { endAndReconcile } from '../wire'

describe('top-ups by card (Stripe Checkout)', () => {
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

  /** Opens a page for 25 USD; gives its id at Stripe. */
  async function opened(): Promise<string> {
    const answer = await owner.api('/api/topups', { amount: '25.00', method: 'card' })
    const body = (await answer.json()) as { topup: { state: string }; url: string }
    expect([answer.status, body.topup.state, body.url]).toEqual([201, 'pending', stripe.newestPage().url])
    return stripe.newestPage().id
  }
  const tell = async (type: string, object: Record<string, unknown>, ...signed: [number?, string?]) => {
    const { body, headers } = stripe.message(type, object, ...signed)
    return (await gateway.call('/api/webhooks/stripe', { method: 'POST', headers, body })).status
  }
  const billing = async () =>
    (await (await owner.api('/api/billing')).json()) as {
      paid_micros_usd: number
      tier: string
      debt_micros_usd: number
      balance_micros_usd: number
    }
  const states = async () => {
    const { topups } = (await (await owner.api('/api/topups')).json()) as { topups: { state: string }[] }
    return topups.map(({ state }) => state)
  }

  test('the page charges the amount in cents; once Stripe reports paid, the balance follows and the account is Starter', async () => {
    const page = await opened()
    expect(stripe.newestPage()).toMatchObject({ amount_total: 2500, currency: 'usd' })
    stripe.pay(page)
    expect(await tell('checkout.session.completed', { id: page })).toBe(200)
    expect(await billing()).toMatchObject({ paid_micros_usd: 25_000_000, tier: 'starter' })
    expect(await states()).toEqual(['paid'])
  })

  test('the same message many times, concurrently, books once', async () => {
    const page = await opened()
    stripe.pay(page)
    const answers = await Promise.all(Array.from({ length: 5 }, () => tell('checkout.session.completed', { id: page })))
    expect(new Set(answers)).toEqual(new Set([200]))
    expect(await tell('checkout.session.async_payment_succeeded', { id: page })).toBe(200)
    expect((await billing()).paid_micros_usd).toBe(25_000_000)
  })

  test('a message is never trusted: amount, currency and state are read again from Stripe', async () => {
    const page = await opened()
    expect(await tell('checkout.session.completed', { id: page, payment_status: 'paid', amount_total: 2500 })).toBe(200)
    expect((await billing()).paid_micros_usd).toBe(0)
    stripe.pay(page, { amount_total: 100 })
    await tell('checkout.session.completed', { id: page, amount_total: 2500 })
    stripe.pay(page, { amount_total: 2500, currency: 'jpy' })
    await tell('checkout.session.completed', { id: page, amount_total: 2500 })
    expect([(await billing()).paid_micros_usd, await states()]).toEqual([0, ['pending']])
    expect(gateway.logged.join('\n')).toContain('a different amount or currency')
  })

  test('a message with a wrong signature, or an old one, is ignored', async () => {
    const page = await opened()
    stripe.pay(page)
    expect(await tell('checkout.session.completed', { id: page }, Date.now(), 'whsec_of_somebody_else')).toBe(400)
    expect(await tell('checkout.session.completed', { id: page }, Date.now() - 600_000)).toBe(400)
    expect((await gateway.call('/api/webhooks/stripe', { method: 'POST', body: '{}' })).status).toBe(400)
    expect((await billing()).paid_micros_usd).toBe(0)
  })

  test('a page that expires is a failed top-up; an unknown page is ignored', async () => {
    const page = await opened()
    stripe.expire(page)
    expect(await tell('checkout.session.expired', { id: page })).toBe(200)
    expect(await states()).toEqual(['failed'])
    expect(await tell('checkout.session.completed', { id: 'cs_test_foreign' })).toBe(200)
    expect(await tell('customer.created', { id: 'cus_1' })).toBe(200)
  })

  test('the job makes up for a message that never arrives', async () => {
    const page = await opened()
    stripe.pay(page)
    gateway.clock.advance(40 * 60_000)
    const { rail, topUps } = gateway.gateway
    await rail.payments.finishOpen((claim) => topUps.credit(claim))
    gateway.clock.advance(-40 * 60_000)
    expect((await billing()).paid_micros_usd).toBe(25_000_000)
  })

  test('while Stripe does not respond, nothing is written, and a message is refused so that it is sent again', async () => {
    const page = await opened()
    stripe.pay(page)
    stripe.setDown(true)
    const refused = await owner.api('/api/topups', { amount: '25.00', method: 'card' })
    expect([refused.status, refused.headers.has('retry-after')]).toEqual([503, true])
    expect(await tell('checkout.session.completed', { id: page })).toBe(503)
    stripe.setDown(false)
    expect(await tell('checkout.session.completed', { id: page })).toBe(200)
    expect([await states(), (await billing()).paid_micros_usd]).toEqual([['paid'], 25_000_000])
  })

  test('a refund and a dispute are deducted once each; what was already spent is a debt', async () => {
    const page = await opened()
    stripe.pay(page)
    await tell('checkout.session.completed', { id: page })
    stripe.giveBack('refund', page, 500)
    stripe.giveBack('refund', page, 700, 'pending')
    const charge = { id: 'ch_1', object: 'charge', payment_intent: `pi_${page}` }
    expect(await tell('charge.refunded', charge)).toBe(200)
    expect(await tell('charge.refunded', charge)).toBe(200)
    expect((await billing()).paid_micros_usd).toBe(20_000_000)
    stripe.giveBack('dispute', page, 2500)
    expect(await tell('charge.dispute.created', { id: 'dp_1', object: 'dispute', payment_intent: `pi_${page}` })).toBe(
      200,
    )
    expect(await billing()).toMatchObject({
      paid_micros_usd: 0,
      debt_micros_usd: 5_000_000,
      balance_micros_usd: -3_000_000,
    })
  })

  test.each([
    ['charge.dispute.funds_reinstated', 'won', 25_000_000],
    ['charge.dispute.closed', 'won', 25_000_000],
    ['charge.dispute.closed', 'lost', 0],
  ] as const)('%s of a dispute that was %s: the balance is %d, booked once', async (type, status, left) => {
    const page = await opened()
    stripe.pay(page)
    await tell('checkout.session.completed', { id: page })
    const dispute = { id: 'dp_1', object: 'dispute', payment_intent: `pi_${page}` }
    const given = stripe.giveBack('dispute', page, 2500)
    await tell('charge.dispute.created', dispute)
    expect(await billing()).toMatchObject({ paid_micros_usd: 0, topped_up_micros_usd: 0 })
    stripe.turn(given, status)
    for (let times = 0; times < 3; times++) expect(await tell(type, dispute)).toBe(200)
    expect(await billing()).toMatchObject({ paid_micros_usd: left, topped_up_micros_usd: left, debt_micros_usd: 0 })
  })

  test('a won dispute repays the debt that it caused', async () => {
    const page = await opened()
    stripe.pay(page)
    await tell('checkout.session.completed', { id: page })
    stripe.giveBack('refund', page, 500)
    const dispute = { id: 'dp_1', object: 'dispute', payment_intent: `pi_${page}` }
    const given = stripe.giveBack('dispute', page, 2500)
    await tell('charge.dispute.created', dispute)
    expect(await billing()).toMatchObject({ paid_micros_usd: 0, debt_micros_usd: 5_000_000 })
    stripe.turn(given, 'won')
    await tell('charge.dispute.closed', dispute)
    expect(await billing()).toMatchObject({ paid_micros_usd: 20_000_000, debt_micros_usd: 0 })
  })
})
