import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { axeFindings, type Dashboard, DESK, openDashboard, PHONE, screenshot, sidewaysScroll } from '../support/browser'
import '../support/patience'
import { newClaim } from '../support/payment-claim'

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard({ env: { SANDBOX_TOPUPS: 'true' } })
})
afterAll(() => dashboard.close())

describe('billing', () => {
  test('a top-up goes from the dialog into balance, receipts and ledger, and makes the account Starter', async () => {
    const owner = await dashboard.signedIn()
    const { page, complaints } = await dashboard.visit('/billing')
    await page.getByText('No top-ups yet.').waitFor()
    expect(await axeFindings(page)).toEqual([])
    await page.getByRole('main').getByRole('button', { name: 'Top up' }).click()
    const form = page.getByRole('dialog', { name: 'Top up' })
    await form.getByLabel('Amount in USD').fill('0.5')
    await form.getByRole('button', { name: 'Top up' }).click()
    await form.getByText('Enter 1 to 10,000 USD, such as 10 or 25.50.').waitFor()
    expect(await axeFindings(page)).toEqual([])
    await screenshot(page, 'billing-dialog')
    await form.getByLabel('Amount in USD').fill('25')
    await form.getByRole('button', { name: 'Top up' }).click()
    const receipts = page.getByRole('table', { name: 'Money paid in' })
    await receipts.getByText('Paid', { exact: true }).waitFor()
    await receipts.getByText('$25.00').waitFor()
    await page
      .getByRole('table', { name: 'Movements of money' })
      .getByText(/Sandbox top-up, no money moved/)
      .waitFor()
    await page.getByRole('main').getByText('Starter', { exact: true }).waitFor()
    await page.getByRole('definition').filter({ hasText: '$27.00' }).first().waitFor()
    const csv = await (await owner.api('/api/transactions.csv')).text()
    expect(csv.split('\r\n')[0]).toBe(
      'time_utc,transaction_id,kind,description,amount_usd,balance_after_usd,request_id',
    )
    expect(csv).toContain('top_up')
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('a top-up that is paid elsewhere shows by itself', async () => {
    const owner = await dashboard.signedIn()
    const { page } = await dashboard.visit('/billing')
    await page.getByText('No top-ups yet.').waitFor()
    await owner.api('/api/topups', { amount: '3.00', method: 'sandbox' })
    await page.getByRole('table', { name: 'Money paid in' }).getByText('$3.00').waitFor()
    await page.close()
  })

  test('says how long the balance lasts, and when it is low', async () => {
    const owner = await dashboard.signedIn()
    const made = (await (await owner.api('/api/keys', { name: 'laptop' })).json()) as { secret: string }
    for (let i = 0; i < 3; i++) await dashboard.as(made.secret, '/apis/v1/websearch/images/search?q=card')
    const { page } = await dashboard.visit('/billing')
    // 1.985 USD at 0.015 USD in seven days.
    await page.getByText('Lasts over a year').waitFor()
    const account = dashboard.gateway.accounts
    const mine = (await account.list(1, null))[0]
    if (!mine) throw new Error('no account')
    const operator = { kind: 'operator', id: 'test', address: null } as const
    await dashboard.core.operator.setPrice(operator, 'image-search', mine.id, 1_200_000 as never)
    await dashboard.as(made.secret, '/apis/v1/websearch/images/search?q=card')
    await page.getByText('The balance is down to $0.78.', { exact: false }).waitFor()
    await page.getByText('Lasts about 4 days').waitFor()
    await page.close()
  })

  test('payments for one request stand apart, and operators alone see them', async () => {
    const claim = newClaim({ createdAt: Date.now() })
    await dashboard.core.stores.paymentClaims.take(claim, Date.now())
    await dashboard.core.stores.paymentClaims.release(claim.key, 'upstream 502', false, Date.now())
    await dashboard.signedIn()
    const { page } = await dashboard.visit('/billing')
    await page.getByRole('heading', { name: 'Ledger' }).waitFor()
    expect(await page.getByRole('heading', { name: 'Payments for one request' }).count()).toBe(0)
    await page.close()
  })

  test('has no finding in either theme and width, and never scrolls sideways', async () => {
    const owner = await dashboard.signedIn()
    await owner.api('/api/topups', { amount: '12.50', method: 'sandbox' })
    for (const scheme of ['light', 'dark'] as const)
      for (const size of [DESK, PHONE]) {
        const { page, complaints } = await dashboard.visit('/billing')
        await page.emulateMedia({ colorScheme: scheme })
        await page.setViewportSize(size)
        await page.getByText('$12.50').first().waitFor()
        expect(await axeFindings(page)).toEqual([])
        expect(await sidewaysScroll(page)).toBe(0)
        await screenshot(page, `billing-${scheme}-${size.width}`)
        await page.close()
        expect(complaints()).toEqual([])
      }
  })
})
