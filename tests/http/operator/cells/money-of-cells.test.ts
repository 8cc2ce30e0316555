import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Reconciled } from '../../../../server/http/operator/money/reconcile-record'
import { openTwoCells } from '../../../support/cluster/two-cells'
import {
  openStripeDouble,
  STRIPE_KEY,
  type StripeDouble,
  WEBHOOK_SECRET,
} from '../../../support/payments/stripe-double'
import { type AccountBody, auditRows, closeReconciled, type Owner, read, refusalOf } from '../../owner-bench'

const WEBHOOK = '/api/webhooks/stripe'

let stripe: StripeDouble
let cells: Awaited<ReturnType<typeof openTwoCells>>
let operator: Owner
let here: Owner
let there: Owner
let opened = 0
beforeAll(async () => {
  stripe = openStripeDouble()
  cells = await openTwoCells({
    running: true,
    env: { STRIPE_SECRET_KEY: STRIPE_KEY, STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET, STRIPE_API_URL: stripe.url },
  })
  operator = await cells.main.owner('root@example.com')
  here = await cells.main.owner('here@example.com')
  there = await cells.other.owner('there@example.com')
})
afterEach(() => {
  cells.silent.clear()
  cells.asked.length = 0
})
afterAll(async () => {
  await closeReconciled(cells.main)
  await closeReconciled(cells.other)
  await stripe.close()
})

async function pageOf(owner: Owner): Promise<string> {
  expect((await owner.api('/api/topups', { amount: '50.00', method: 'card' })).status).toBe(201)
  opened++
  return stripe.newestPage().id
}
async function tellMain(type: string, object: object): Promise<number> {
  const { body, headers } = stripe.message(type, object)
  return (await cells.main.call(WEBHOOK, { method: 'POST', headers, body })).status
}
const completed = (page: string) => tellMain('checkout.session.completed', { id: page, object: 'checkout.session' })
const toppedUp = async (owner: Owner) => (await read<AccountBody>(owner.api('/api/account'))).topped_up_micros_usd
const compared = (body: object = {}) => read<Reconciled>(operator.api('/api/operator/reconcile', body))

describe("the card processor's messages, which all come to main", () => {
  test('about a payment or refund of an account of another cell are booked there, once', async () => {
    const page = await pageOf(there)
    stripe.pay(page)
    expect([await completed(page), await completed(page)]).toEqual([200, 200])
    expect(await toppedUp(there)).toBe(50_000_000)
    const id = stripe.giveBack('refund', page, 1500)
    expect(await tellMain('refund.created', { id, object: 'refund', payment_intent: `pi_${page}` })).toBe(200)
    expect(await toppedUp(there)).toBe(35_000_000)
    expect(cells.asked).toEqual([`c2 POST ${WEBHOOK}`, `c2 POST ${WEBHOOK}`, `c2 POST ${WEBHOOK}`])
  })

  test('about an account of main are booked in main, and no other cell is asked', async () => {
    const page = await pageOf(here)
    stripe.pay(page)
    expect(await completed(page)).toBe(200)
    expect(await toppedUp(here)).toBe(50_000_000)
    expect(cells.asked).toEqual([])
  })

  test('are refused without a valid signature, by main and by the other cell', async () => {
    const page = await pageOf(there)
    const { body, headers } = stripe.message(
      'checkout.session.completed',
      { id: page, object: 'checkout.session' },
      Date.now(),
      'whsec_of_somebody_else',
    )
    for (const { call } of [cells.main, cells.other])
      expect((await call(WEBHOOK, { method: 'POST', headers, body })).status).toBe(400)
    expect(cells.asked).toEqual([])
  })

  test('are asked for again by a 503 while the cell does not answer', async () => {
    const page = await pageOf(there)
    const before = await toppedUp(there)
    stripe.pay(page)
    cells.silent.add('c2')
    expect(await completed(page)).toBe(503)
    cells.silent.clear()
    expect(await completed(page)).toBe(200)
    expect(await toppedUp(there)).toBe(before + 50_000_000)
  })

  test('about nothing of this gateway stay in main', async () => {
    expect(await completed('cs_of_another_shop')).toBe(200)
    expect(await tellMain('customer.created', { id: 'cus_1', object: 'customer' })).toBe(200)
    expect(cells.asked).toEqual([])
  })
})

describe('a comparison of the books', () => {
  test('covers the pages of every cell once, and what one cell has is not missing in another', async () => {
    const [mine, theirs] = [await pageOf(here), await pageOf(there)]
    for (const page of [mine, theirs]) {
      stripe.pay(page)
      expect(await completed(page)).toBe(200)
    }
    const run = await compared()
    expect(run).toMatchObject({ problems: 0, ledger: [], missing: [], complete: true })
    expect(run.cards?.compared).toBe(opened)
    expect(cells.asked).toContain('c2 reconcile-cell')
  })

  test('finds and books what another cell missed, and keeps one run in main', async () => {
    const [page, before] = [await pageOf(there), await toppedUp(there)]
    stripe.pay(page)
    expect((await compared()).cards?.differences).toMatchObject([
      { what: 'payment', id: page, at_processor_micros_usd: 50_000_000 },
    ])
    expect(await compared({ apply: true })).toMatchObject({ corrected: 1, applied: true })
    expect(await toppedUp(there)).toBe(before + 50_000_000)
    expect(await compared()).toMatchObject({ problems: 0 })
    const runs = await read<{ runs: object[] }>(operator.api('/api/operator/reconciliations'))
    expect(runs.runs).toHaveLength(4)
    const noted = (of: typeof cells.main) =>
      auditRows(of).then((rows) => rows.filter(({ action }) => action === 'books.reconcile'))
    expect([(await noted(cells.main)).length, (await noted(cells.other)).length]).toEqual([1, 0])
  })

  test('does not run without every cell: nothing is booked anywhere, and no run is kept', async () => {
    const pages = [await pageOf(here), await pageOf(there)]
    for (const page of pages) stripe.pay(page)
    const before = [await toppedUp(here), await toppedUp(there)]
    cells.silent.add('c2')
    expect(await refusalOf(operator.api('/api/operator/reconcile', { apply: true }))).toMatchObject({
      status: 503,
      message: 'The cell c2 does not answer, and books are compared in all cells or in none. Try again.',
    })
    expect([await toppedUp(here), await toppedUp(there)]).toEqual(before)
    cells.silent.clear()
    const runs = await read<{ runs: object[] }>(operator.api('/api/operator/reconciliations'))
    expect(runs.runs).toHaveLength(4)
    for (const page of pages) expect(await completed(page)).toBe(200)
  })
})
