import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Reconciled } from '../../../server/http/operator/money/reconcile-record'
import { type Harness, openHarness } from '../../support/harness'
import { openStripeDouble, STRIPE_KEY, type StripeDouble, WEBHOOK_SECRET } from '../../support/payments/stripe-double'
import { type AccountBody, closeReconciled, type Owner, read, refusalOf } from '../owner-bench'

/** A card processor that is broken or hostile moves no money that its answers cannot prove. */
let stripe: StripeDouble
let gateway: Harness
let operator: Owner
let owner: Owner
let id: `acct_${string}`

beforeAll(async () => {
  stripe = openStripeDouble()
  gateway = await openHarness({
    running: true,
    env: { STRIPE_SECRET_KEY: STRIPE_KEY, STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET, STRIPE_API_URL: stripe.url },
  })
  operator = await gateway.owner('root@example.com')
})
beforeEach(async () => {
  stripe.setAnswer(null)
  owner = await gateway.owner()
  id = (await read<AccountBody>(owner.api('/api/account'))).id as `acct_${string}`
})
afterAll(async () => {
  await closeReconciled(gateway)
  await stripe.close()
})

const usd = (amount: number) => Math.round(amount * 1_000_000)
const paid = async (account = id) => Number((await gateway.core.ledger.balance(account))?.paid)
const reconcile = (apply: boolean) => read<Reconciled>(operator.api('/api/operator/reconcile', { apply }))
const ofMine = ({ cards }: Reconciled) => cards?.differences.filter(({ account }) => account === id)
const told = (type: string, object: object) => {
  const { body, headers } = stripe.message(type, object)
  return gateway.call('/api/webhooks/stripe', { method: 'POST', headers, body })
}
/** A page of 25 USD, paid as `how` says; no message came. */
const page = async (how: Parameters<StripeDouble['pay']>[1] = {}) => {
  const sent = owner.api('/api/topups', { amount: '25.00', method: 'card' })
  const { topup } = await read<{ topup: { id: string } }>(sent, 201)
  const opened = stripe.newestPage().id
  stripe.pay(opened, how)
  return { opened, topup: topup.id }
}
const forgetHere = (topup: string) => gateway.core.stores.db.run(`DELETE FROM payments WHERE id = '${topup}'`)

describe('refunds and disputes that cannot be right', () => {
  test.each([
    ['in another currency', 500, { currency: 'eur' }],
    ['without a currency', 500, { currency: null }],
    ['of a negative amount', -500, {}],
    ['of half a cent', 0.5, {}],
    ['of an amount beyond counting', 1e300, {}],
  ])(
    '%s are listed and never booked, by message or reconcile --apply; correct ones in the same list are',
    async (_what, amount, more) => {
      const { opened, topup } = await page()
      await told('checkout.session.completed', { id: opened })
      const wrong = [
        stripe.giveBack('refund', opened, amount, 'succeeded', more),
        stripe.giveBack('dispute', opened, amount, 'needs_response', more),
      ]
      stripe.giveBack('refund', opened, 300)
      expect((await told('charge.refunded', { payment_intent: `pi_${opened}` })).status).toBe(200)
      expect(await paid()).toBe(usd(22))
      for (let times = 0; times < 2; times++) {
        const run = await reconcile(true)
        expect(run).toMatchObject({ complete: true, ledger: [] })
        expect(ofMine(run)?.map(({ what, id: there }) => [what, there])).toEqual(wrong.map((one) => ['doubtful', one]))
      }
      expect(await paid()).toBe(usd(22))
      const refund = { payment: topup, usd: '1', note: 'Asked by mail' }
      expect(await refusalOf(operator.api(`/api/operator/accounts/${id}/refunds`, refund))).toMatchObject({
        status: 409,
      })
      for (const one of wrong) stripe.forgetReturn(one)
      expect(ofMine(await reconcile(true))).toEqual([])
    },
  )

  test('of more than was paid are doubtful as refunds; a dispute takes what was paid, and no more, once', async () => {
    const { opened } = await page()
    await told('checkout.session.completed', { id: opened })
    const refund = stripe.giveBack('refund', opened, 2501)
    // As where the bank of the cardholder converted the amount.
    const dispute = stripe.giveBack('dispute', opened, 2540)
    await told('charge.dispute.created', { payment_intent: `pi_${opened}` })
    for (let times = 0; times < 2; times++)
      expect(ofMine(await reconcile(true))).toMatchObject([{ what: 'doubtful', id: refund }])
    expect(await gateway.core.ledger.balance(id)).toMatchObject({ paid: 0, debt: 0, credit: usd(2) })
    stripe.turn(dispute, 'won')
    stripe.forgetReturn(refund)
    expect(ofMine(await reconcile(true))).toMatchObject([{ what: 'dispute', at_processor_micros_usd: 0 }])
    expect(await paid()).toBe(usd(25))
  })

  test("of another's payment, given for this one, are not booked", async () => {
    const { opened } = await page()
    await told('checkout.session.completed', { id: opened })
    const stolen = { id: 're_of_another', object: 'refund', amount: 500, currency: 'usd', status: 'succeeded' }
    stripe.setAnswer(({ pathname }) =>
      pathname === '/v1/refunds'
        ? Response.json({ object: 'list', data: [{ ...stolen, payment_intent: 'pi_of_another' }], has_more: false })
        : null,
    )
    await told('charge.refunded', { payment_intent: `pi_${opened}` })
    expect(ofMine(await reconcile(true))).toMatchObject([{ what: 'doubtful', id: 're_of_another' }])
    expect(await paid()).toBe(usd(25))
  })
})

describe('payment pages that cannot be right', () => {
  test.each([
    ['in another currency', { currency: 'eur' }],
    ['of another amount', { amount_total: 250_000 }],
    ['of a negative amount', { amount_total: -2500 }],
    ['of half a cent', { amount_total: 0.5 }],
  ])('%s are not booked, whether their top-up is known here or lost', async (_what, how) => {
    const [known, lost] = [await page(how), await page(how)]
    await forgetHere(lost.topup)
    await told('checkout.session.completed', { id: known.opened })
    await told('checkout.session.completed', { id: lost.opened })
    const run = await reconcile(true)
    expect(ofMine(run)).toMatchObject([{ what: 'doubtful', payment: known.topup, here_micros_usd: 0 }])
    const isSold = 'amount_total' in how && how.amount_total === 250_000
    expect(run.missing).toMatchObject([{ page: lost.opened, bookable: isSold }])
    // The requested amount is lost with the top-up: the processor's amount in USD is the payment.
    expect(await paid()).toBe(isSold ? usd(2500) : 0)
    stripe.forget(known.opened)
    stripe.forget(lost.opened)
    expect((await reconcile(true)).missing.filter(({ page }) => page === lost.opened)).toHaveLength(isSold ? 0 : 1)
    expect((await reconcile(true)).missing).toEqual([])
  })

  test("two of one top-up, also with another's account on them, are booked once, and hide no page that is right", async () => {
    const thief = await gateway.owner()
    const account = (await read<AccountBody>(thief.api('/api/account'))).id as `acct_${string}`
    const { opened, topup } = await page()
    await told('checkout.session.completed', { id: opened })
    const copies = [
      stripe.copyPage(opened, { payment_intent: 'pi_copy' }),
      stripe.copyPage(opened, { payment_intent: 'pi_thief', metadata: { top_up: topup, account } }),
    ]
    const right = await page()
    await forgetHere(right.topup)
    const twin = stripe.copyPage(right.opened, { payment_intent: 'pi_twin' })
    const runs = await Promise.all([reconcile(true), reconcile(true)])
    expect(runs.map(({ complete, booked }) => [complete, booked]).sort()).toEqual([
      [true, 0],
      [true, 1],
    ])
    expect([await paid(), await paid(account)]).toEqual([usd(50), 0])
    const { missing } = await reconcile(true)
    expect(missing.every(({ bookable }) => !bookable)).toBeTrue()
    const unbooked = missing.map((one) => one.page)
    expect(unbooked).toHaveLength(3)
    expect(unbooked).toEqual(expect.arrayContaining(copies))
    // Of the two it does not matter which.
    expect(unbooked.filter((one) => one === twin || one === right.opened)).toHaveLength(1)
    expect([await paid(), await paid(account)]).toEqual([usd(50), 0])
    for (const one of unbooked) stripe.forget(one)
    expect(await reconcile(true)).toMatchObject({ complete: true })
  })
})

describe('answers that are none', () => {
  const LISTS = ['/v1/checkout/sessions', '/v1/refunds', '/v1/disputes']

  test('lists that never end are given up: the comparison ends and says that it is not complete', async () => {
    const { opened } = await page()
    await told('checkout.session.completed', { id: opened })
    for (const list of LISTS) {
      const item = { ...stripe.newestPage(), amount: 1, status: 'succeeded' }
      const endless = () => Response.json({ object: 'list', data: [item], has_more: true, url: list })
      stripe.setAnswer(({ pathname }) => (pathname === list ? endless() : null))
      expect(await reconcile(true)).toMatchObject({ complete: false, cards: { complete: false } })
      const empty = () => Response.json({ object: 'list', data: [], has_more: true, url: list })
      stripe.setAnswer(({ pathname }) => (pathname === list ? empty() : null))
      await reconcile(true)
    }
    expect(await paid()).toBe(usd(25))
  })

  test.each(['null', '[]', '{}', '{"data":[null]}', '{"data":[{}]}', 'not JSON', ''])(
    '%p in place of every response is a failure of the processor, never one of the gateway, and books nothing',
    async (body) => {
      const { opened } = await page()
      stripe.setAnswer(() => new Response(body, { headers: { 'content-type': 'application/json' } }))
      expect(await reconcile(true)).toMatchObject({ complete: false, booked: 0 })
      expect([200, 503]).toContain((await told('checkout.session.completed', { id: opened })).status)
      expect(await paid()).toBe(0)
      stripe.setAnswer(null)
      await reconcile(true)
      expect(await paid()).toBe(usd(25))
    },
  )

  test('a failure for one unknown page leaves the others to be booked, and the comparison incomplete', async () => {
    const [broken, right] = [await page(), await page()]
    for (const { topup, opened } of [broken, right]) {
      await forgetHere(topup)
      await told('checkout.session.completed', { id: opened })
    }
    const down = () => Response.json({ error: { type: 'api_error', message: 'down' } }, { status: 500 })
    stripe.setAnswer(({ pathname }) => (pathname.endsWith(`/${broken.opened}`) ? down() : null))
    expect(await reconcile(true)).toMatchObject({ complete: false, booked: 1, cards: { complete: false } })
    expect(await paid()).toBe(usd(25))
    stripe.setAnswer(null)
    expect(await reconcile(true)).toMatchObject({ complete: true, booked: 1 })
    expect(await paid()).toBe(usd(50))
  })
})
