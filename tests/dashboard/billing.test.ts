import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { AccountId } from '../../server/core/ids'
import { appended } from '../../server/core/ledger/journal'
import { micros } from '../../server/core/money'
import { axeFindings, type Dashboard, openDashboard, screenshot } from '../support/dashboard/browser'
import { fits } from '../support/dashboard/page-checks'
import { call, charge } from '../support/ledger-parts'

const DAY_MS = 86_400_000

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard({ env: { SANDBOX_TOPUPS: 'true' } })
})
afterAll(() => dashboard.close())

describe('billing', () => {
  test('a top-up from the dialog shows in balance, receipts and ledger, and makes the account Starter', async () => {
    const owner = await dashboard.signedIn()
    const { page, complaints } = await dashboard.visit('/billing')
    await page.getByText('No top-ups yet.').waitFor()
    expect(await axeFindings(page)).toEqual([])
    await page.getByRole('main').getByRole('button', { name: 'Top up' }).click()
    const form = page.getByRole('dialog', { name: 'Top up' })
    await form.getByLabel('Amount in USD').fill('0.5')
    await form.getByRole('button', { name: 'Top up' }).click()
    await form.getByText('Enter an amount from 1 to 10,000, such as 10 or 25.50.').waitFor()
    expect(await axeFindings(page)).toEqual([])
    await screenshot(page, 'billing-dialog')
    await form.getByLabel('Amount in USD').fill('25')
    await form.getByRole('button', { name: 'Top up' }).click()
    const receipts = page.getByRole('table', { name: 'Top-ups' })
    await receipts.getByText('Paid', { exact: true }).waitFor()
    await receipts.getByText('$25.00').waitFor()
    await page
      .getByRole('table', { name: 'Ledger entries' })
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

  test('shows how long the balance lasts, once there are three days of usage', async () => {
    const owner = await dashboard.signedIn()
    const made = (await (await owner.api('/api/keys', { name: 'laptop' })).json()) as { secret: string }
    const { page } = await dashboard.visit('/billing')
    await page.getByText('No spend in the last 7 days').waitFor()
    await dashboard.as(made.secret, '/apis/v1/websearch/images/search?q=card')
    await page.getByText('Available after 3 days of use').waitFor()
    await page.getByText('$0.005 spent so far').waitFor()
    await dashboard.as(made.secret, '/apis/v1/websearch/images/search?q=card')
    await page.getByRole('table', { name: 'Ledger entries' }).getByRole('link', { name: '2 requests' }).click()
    await page.getByRole('table', { name: 'Request log' }).waitFor()
    expect(await page.getByRole('table', { name: 'Request log' }).getByRole('rowheader').count()).toBe(2)
    await page.close()
    // 0.40 USD four days ago and 0.01 today: 0.1025 a day, of 1.99 USD.
    const account = owner.accountId as AccountId
    const at = Date.now() - 4 * DAY_MS
    await appended(dashboard.core.journal, charge(account, 400_000, { call: call(account, 400_000, { at }) }))
    const later = (await dashboard.visit('/billing')).page
    await later.getByText(/^At \$0\.10\d* a day, your average of the last 4 days$/).waitFor()
    const end = await later.getByText('Balance lasts until').locator('..').locator('dd').first().textContent()
    const days = (Date.parse(`${end} 00:00 UTC`) - Date.now()) / DAY_MS
    expect(days).toBeGreaterThan(17)
    expect(days).toBeLessThan(21)
    await later.getByRole('link', { name: 'Overview' }).click()
    await later.getByText(`At this pace, it lasts until ${end}.`).waitFor()
    await later.close()
  })

  test('a low balance shows on every page to owners who ever topped up, until dismissed; after a top-up it can return', async () => {
    const owner = await dashboard.signedIn()
    const made = (await (await owner.api('/api/keys', { name: 'laptop' })).json()) as { secret: string }
    const account = owner.accountId as AccountId
    const operator = { kind: 'operator', id: 'test', address: null } as const
    const spend = async (amount: number) => {
      await dashboard.core.operator.setPrice(operator, 'image-search', account, micros(amount))
      expect((await dashboard.as(made.secret, '/apis/v1/websearch/images/search?q=card')).status).toBe(200)
    }
    await spend(1_300_000)
    const { page, complaints } = await dashboard.visit('/webhooks')
    const notice = page.getByText(/^Your balance is down to/)
    const shown = (balance: string) => page.getByText(balance).filter({ visible: true }).first()
    // Signup credit is there to be used up.
    await shown('$0.70').waitFor()
    expect(await notice.count()).toBe(0)
    await owner.api('/api/topups', { amount: '1.00', method: 'sandbox' })
    await shown('$1.70').waitFor()
    await spend(800_000)
    await notice.filter({ hasText: '$0.90' }).waitFor()
    await fits(page, 'low-balance')
    expect(await page.getByRole('main').getByRole('link', { name: 'Top up' }).getAttribute('href')).toBe('/billing')
    await page.getByRole('main').getByRole('link', { name: 'Top up' }).click()
    await page.getByRole('heading', { level: 1, name: 'Billing' }).waitFor()
    // There the page itself says it, once.
    await notice.filter({ hasText: '$0.90' }).waitFor()
    expect(await notice.count()).toBe(1)
    await page.goBack()
    await page.getByRole('button', { name: 'Hide' }).click()
    await notice.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('heading', { level: 1 }).waitFor()
    await shown('$0.90').waitFor()
    expect(await notice.count()).toBe(0)
    await owner.api('/api/topups', { amount: '1.00', method: 'sandbox' })
    await shown('$1.90').waitFor()
    await spend(1_200_000)
    await notice.filter({ hasText: '$0.70' }).waitFor()
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('caps the whole workspace, whichever key spends', async () => {
    const owner = await dashboard.signedIn()
    const { secret } = (await (await owner.api('/api/keys', { name: 'laptop' })).json()) as { secret: string }
    const call = async () => (await dashboard.as(secret, '/apis/v1/websearch/images/search?q=card')).status
    const { page, complaints } = await dashboard.visit('/billing')
    const card = page.getByRole('region', { name: 'Budgets of the workspace' })
    await card.getByText('No budget').waitFor()
    await card.getByRole('button', { name: 'Change budgets' }).click()
    const form = page.getByRole('dialog', { name: 'Budgets of the workspace' })
    await form.getByLabel('Per day', { exact: true }).fill('0.005')
    await form.getByLabel('Per month', { exact: true }).fill('20')
    await form.getByRole('button', { name: 'Save budgets' }).click()
    await card.getByText('$0.00 of $0.005 today').waitFor()
    expect([await call(), await call()]).toEqual([200, 429])
    await card.getByText('$0.005 of $0.005 today').waitFor()
    await card.getByText('$0.005 of $20.00 this month').waitFor()
    await fits(page, 'billing-budgets')
    await page.close()
    expect(complaints()).toEqual([])
  })
})
