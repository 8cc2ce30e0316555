import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { WorkerList } from '../../server/http/operator/record'
import { becomes, type Dashboard, signInCookies } from '../support/dashboard/browser'
import { openModelDashboard } from '../support/dashboard/model-dashboard'
import { fits, left } from '../support/dashboard/page-checks'
import { openAi, type VendorDouble } from '../support/vendor-double'

let vendor: VendorDouble
let dashboard: Dashboard
let close: () => Promise<void>
/** The first account of an install. */
let operator: { cookie: string }
beforeAll(async () => {
  ;({ vendor, dashboard, close } = await openModelDashboard([{ id: 'acme/large', recharge_required: false }]))
  operator = await dashboard.signedIn()
})
afterAll(() => close())

/** An owner with a key. */
async function ownerWithKey() {
  const owner = await dashboard.signedIn()
  const made = await (await owner.api('/api/keys', { name: 'web' })).json()
  const secret: string = made.secret
  const chat = async (model: string) => {
    const answer = await dashboard.as(secret, '/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model, max_tokens: 100, messages: [{ role: 'user', content: 'Hello' }] }),
    })
    return answer.status
  }
  return { owner, secret, chat }
}

describe('usage by model', () => {
  test('shows tokens by kind, the cache and the cost of each model, and leads to its requests', async () => {
    const { secret, chat } = await ownerWithKey()
    expect(await chat('acme/large')).toBe(200)
    expect(await chat('acme/large')).toBe(200)
    expect(await chat('sandbox/echo')).toBe(200)
    await dashboard.as(secret, '/apis/v1/websearch/images/search?q=card')
    const tab = await dashboard.visit('/usage?range=24h')
    const { page } = tab
    await page.getByRole('tab', { name: 'Models' }).click()
    const row = page.getByRole('row').filter({ hasText: 'acme/large' })
    await row.waitFor()
    // Requests, failed, input, cache read, cache write, output, cost, cache share.
    await becomes(() => row.getByRole('cell').allTextContents(), ['2', '0', '200', '120', '0', '80', '$0.00115', '60%'])
    await page.locator('dl > div').filter({ hasText: 'Spend on models' }).getByText('$0.00115').waitFor()
    await page.getByText('Show as table').click()
    const chart = page.getByRole('table', { name: 'Tokens by type' })
    expect(await chart.getByRole('columnheader').allTextContents()).toEqual([
      ...['Time', 'Input', 'Cache read', 'Cache write', 'Output', 'Total'],
    ])
    expect(await chart.getByRole('row').last().textContent()).toContain('120')
    await page.getByText('Show as table').click()
    await page.locator('.recharts-bar-rectangle').first().waitFor()
    await fits(page, 'usage-models')
    await page.getByRole('button', { name: 'Show requests of acme/large' }).click()
    await page.waitForURL('**tab=requests**')
    const log = page.getByRole('table', { name: 'Request log' })
    await log.getByText('acme/large').first().waitFor()
    await becomes(() => log.getByRole('row').count(), 3)
    await becomes(() => page.getByLabel('Model').inputValue(), 'acme/large')
    expect(await page.getByRole('link', { name: 'Download CSV' }).getAttribute('href')).toContain('model=acme%2Flarge')
    await log
      .getByRole('button', { name: /Details of the request/ })
      .first()
      .click()
    const sheet = page.getByRole('dialog', { name: 'Request' })
    await sheet.getByText('60 read from cache, 0 written to cache').waitFor()
    await sheet.getByText('Reported by the provider (exact)').waitFor()
    await left(tab)
  })
})

describe("the operator's page", () => {
  test('shows a failing upstream: its open breaker, since when, and when it is tried again', async () => {
    // One account alone opens a breaker for itself only.
    const owners = [await ownerWithKey(), await ownerWithKey()]
    await dashboard.browser.clearCookies()
    await dashboard.browser.addCookies(signInCookies(operator.cookie, dashboard.origin))
    const tab = await dashboard.visit('/operator')
    const { page } = tab
    const upstreams = page.getByRole('table', { name: 'Status of the model upstreams' })
    const acme = upstreams.getByRole('row').filter({ hasText: 'acme/large' })
    await acme.getByText('Healthy').waitFor()
    await upstreams.getByRole('row').filter({ hasText: 'sandbox/echo' }).getByText('Healthy').waitFor()
    vendor.answer = () => openAi.error(500, {})
    for (let calls = 0; calls < 5; calls++) expect(await owners[calls % 2]?.chat('acme/large')).toBe(502)
    await acme.getByText(/^(Paused|Testing recovery)$/).waitFor()
    await becomes(async () => (await acme.getByRole('cell').allTextContents())[1], '5')
    const health = page.getByRole('region', { name: 'Health' })
    await health.getByText('Ready', { exact: true }).waitFor()
    await health.getByText('No backups are scheduled').waitFor()
    await health.getByText(/^upstream_error: \d+$/).waitFor()
    await health.getByText(/^openai .*: \d+, \d+ failed, \d+ ms on average$/).waitFor()
    await fits(page, 'operator-upstreams')
    await left(tab)
  })

  test('lists the workers with their processes, versions, calls and CPU', async () => {
    await dashboard.browser.clearCookies()
    await dashboard.browser.addCookies(signInCookies(operator.cookie, dashboard.origin))
    const tab = await dashboard.visit('/operator')
    const { page } = tab
    const since = new Date().toISOString()
    const local = { instance: 'a', pid: 4242, version: '1.0.0', cpu_percent: 37, connected: true, since }
    const silent = { instance: 'b', pid: null, version: null, cpu_percent: null, connected: false, since }
    const workers: WorkerList = {
      workers: [
        { name: 'local-1', ...local, open_calls: 12, lag_ms: 3 },
        { name: 'rack-1', ...silent, open_calls: 0, lag_ms: 4000 },
      ],
    }
    await page.route('**/api/operator/workers', (route) => route.fulfill({ json: workers }))
    const table = page.getByRole('table', { name: 'The processes that serve calls' })
    const cells = async (name: string) =>
      (await table.getByRole('row').filter({ hasText: name }).getByRole('cell').allTextContents()).slice(0, 5)
    await becomes(() => cells('local-1'), ['Connected', '4242', '1.0.0', '12', '37 %'])
    await becomes(() => cells('rack-1'), ['Disconnected', '-', '-', '0', '-'])
    await fits(page, 'operator-workers')
    await left(tab)
  })
})
