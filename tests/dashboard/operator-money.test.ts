import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Dashboard, openDashboard } from '../support/dashboard/browser'
import { fits, heading, left } from '../support/dashboard/page-checks'
import { openStripeDouble, STRIPE_KEY, type StripeDouble, WEBHOOK_SECRET } from '../support/payments/stripe-double'

let stripe: StripeDouble
let dashboard: Dashboard
let operator: Awaited<ReturnType<Dashboard['signedIn']>>
let id: string
let request: string
beforeAll(async () => {
  stripe = openStripeDouble()
  dashboard = await openDashboard({
    env: { STRIPE_SECRET_KEY: STRIPE_KEY, STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET, STRIPE_API_URL: stripe.url },
  })
  operator = await dashboard.signedIn()
  const owner = await dashboard.owner('customer@example.com')
  id = (await (await owner.api('/api/account')).json()).id
  const { secret } = await (await owner.api('/api/keys', { name: 'laptop' })).json()
  const call = await dashboard.as(secret, '/apis/v1/websearch/images/search?q=card')
  request = call.headers.get('x-gateway-request-id') ?? ''
  await owner.api('/api/topups', { amount: '25.00', method: 'card' })
  stripe.pay(stripe.newestPage().id)
  const { body, headers } = stripe.message('checkout.session.completed', { id: stripe.newestPage().id })
  await dashboard.call('/api/webhooks/stripe', { method: 'POST', headers, body })
})
afterAll(async () => {
  await dashboard.close()
  await stripe.close()
})

describe('the money of a customer', () => {
  test('shows spend by day and operation and transactions; a card payment and a call are refunded in dialogs, once', async () => {
    const watched = await dashboard.visit(`/operator/accounts/${id}`)
    const { page } = watched
    await heading(page, 'customer@example.com')
    const spend = page.getByRole('table', { name: 'Spend by operation' })
    await spend.getByRole('row', { name: /Image search 1 0 \$0\.005/ }).waitFor()
    const ledger = page.getByRole('table', { name: 'Ledger entries' })
    await ledger.getByRole('row', { name: /Top-up/ }).waitFor()
    await fits(page, 'operator-account-money')

    const payments = page.getByRole('table', { name: 'Payments, newest first' })
    await payments.getByText('Paid and booked').waitFor()
    await payments.getByRole('button', { name: /^Actions for pay_/ }).click()
    await page.getByRole('menuitem', { name: 'Refund' }).click()
    const refunding = page.getByRole('dialog', { name: 'Refund' })
    await refunding.getByText('Sends up to $25.00 back through the card processor').waitFor()
    await refunding.getByLabel('Amount in USD').fill('ten')
    await refunding.getByRole('button', { name: 'Refund' }).click()
    await refunding.getByText('Enter an amount such as 25 or 0.5.').waitFor()
    await refunding.getByText('Enter a reason. The owner sees it.').waitFor()
    await fits(page, 'operator-refund')
    await refunding.getByLabel('Amount in USD').fill('10')
    await refunding.getByLabel('Reason').fill('Asked by mail')
    await refunding.getByRole('button', { name: 'Refund' }).dblclick()
    const refunds = page.getByRole('table', { name: 'Card refunds, newest first' })
    await refunds.getByRole('row', { name: /Paid out.*Asked by mail.*\$10\.00/ }).waitFor()
    expect(stripe.refunds().map(({ amount }) => amount)).toEqual([1000])

    await page.getByRole('button', { name: 'Actions', exact: true }).click()
    await page.getByRole('menuitem', { name: 'Refund a call' }).click()
    const giving = page.getByRole('dialog', { name: 'Refund a call' })
    await giving.getByRole('button', { name: 'Refund a call' }).click()
    await giving.getByText('Enter the id of a request (req_...).').waitFor()
    await giving.getByLabel('Request ID').fill(request)
    await giving.getByLabel('Reason').fill('It was our fault')
    await giving.getByRole('button', { name: 'Refund a call' }).dblclick()
    await ledger.getByRole('row', { name: /Refund of a call It was our fault \$0\.005/ }).waitFor()
    await page.getByText('$17.00', { exact: true }).first().waitFor()
    expect(await dashboard.core.ledger.balance(id as `acct_${string}`)).toMatchObject({ posted: 17_000_000 })
    await left(watched)
  })
})

describe('Money', () => {
  test('shows revenue by whatever is chosen, books with their files, and what a comparison found and booked', async () => {
    const watched = await dashboard.visit('/operator')
    const { page } = watched
    await page.getByRole('link', { name: 'Money' }).click()
    await heading(page, 'Money')
    const table = (name: string) => page.getByRole('table', { name })
    await table('Revenue by operation')
      .getByRole('row', { name: /Image search 1/ })
      .waitFor()
    await page.getByText('Unknown for 1 of 1 calls').waitFor()
    await fits(page, 'operator-money')
    await page.getByLabel('Group by').selectOption('account')
    await table('Revenue by customer')
      .getByRole('row', { name: /customer@example\.com/ })
      .waitFor()
    expect(await page.getByRole('link', { name: 'Download CSV' }).getAttribute('href')).toContain('group_by=account')

    await page.getByRole('tab', { name: 'Books' }).click()
    await page.getByRole('row', { name: /house\/top_ups/ }).waitFor()
    await fits(page, 'operator-books')
    const file = page.waitForEvent('download')
    await page.getByRole('link', { name: 'Every entry (CSV)' }).click()
    expect((await file).suggestedFilename()).toMatch(/^books-\d{4}-\d\d-entries\.csv$/)

    await page.getByRole('tab', { name: 'Comparison' }).click()
    await page.getByText('No comparisons yet.').waitFor()
    stripe.giveBack('dispute', stripe.newestPage().id, 500)
    await page.getByRole('button', { name: 'Compare now' }).click()
    await page.getByRole('row', { name: /A dispute differs.*\$5\.00/ }).waitFor()
    await fits(page, 'operator-comparison')
    await page.getByRole('button', { name: 'Compare and book missing entries' }).click()
    await page.getByText('1 booked or corrected.').waitFor()
    await page.getByRole('button', { name: 'Compare now' }).click()
    await page.getByText('Everything matches.').waitFor()
    expect(await dashboard.core.ledger.balance(id as `acct_${string}`)).toMatchObject({ posted: 12_000_000 })
    expect(await (await operator.api('/api/operator/reconciliations')).json()).toMatchObject({
      runs: [{ problems: 0 }, { applied: true }, { problems: 1 }],
    })
    await left(watched)
  })
})
