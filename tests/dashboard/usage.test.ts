import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { AccountId } from '../../server/core/ids'
import { becomes, type Dashboard, follow, openDashboard, picture, screenshot } from '../support/dashboard/browser'
import { fits, heading, left } from '../support/dashboard/page-checks'
import { seedCalls } from '../support/databases/seed-calls'

const SEARCH = '/apis/v1/websearch/images/search?q=card'
const CONTEXT = '/apis/v1/websearch/llm/context?q=card'

type Owner = Awaited<ReturnType<Dashboard['signedIn']>>

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard.close())

async function makeKey(owner: Owner, name: string): Promise<{ id: string; secret: string }> {
  const made = await (await owner.api('/api/keys', { name })).json()
  return { id: made.key.id, secret: made.secret }
}

/** An owner with two keys, five paid calls and a failed one. */
async function busyOwner() {
  const owner = await dashboard.signedIn()
  const [web, worker] = [await makeKey(owner, 'web'), await makeKey(owner, 'worker')]
  for (let calls = 0; calls < 3; calls++) await dashboard.as(web.secret, SEARCH)
  for (let calls = 0; calls < 2; calls++) await dashboard.as(worker.secret, CONTEXT)
  await dashboard.as(worker.secret, '/apis/v1/websearch/images/search')
  return { owner, web, worker }
}

describe('the overview', () => {
  test("shows the balance, today's cost, what needs attention and the last requests, live", async () => {
    const { owner, web } = await busyOwner()
    const { page, complaints } = await dashboard.visit('/')
    const figure = (name: string) => page.locator('dl > div').filter({ hasText: name })
    await figure('Spend today').getByText('$0.025').waitFor()
    await figure('Requests today').getByText('17% failed').waitFor()
    await figure('Active keys').getByText('of 2 total').waitFor()
    await page.getByText('Nothing needs attention.').waitFor()
    await page.getByRole('button', { name: 'worker' }).first().waitFor()
    await dashboard.as(web.secret, SEARCH)
    await figure('Spend today').getByText('$0.03', { exact: true }).waitFor()
    await owner.api(`/api/keys/${web.id}`, { spending_limit: 0.02 }, 'PATCH')
    await page.getByText('"web" has used up its spending limit.', { exact: true }).waitFor()
    await picture(page, 'dashboard')
    await fits(page, 'overview')
    await page.close()
    expect(complaints()).toEqual([])
  })
})

describe('usage', () => {
  test('draws spending by key, for arrow keys too, shows the same as a table, and keeps its view in the address', async () => {
    const { web } = await busyOwner()
    const { page, complaints } = await dashboard.visit('/usage?range=24h')
    const groups = page.getByRole('table', { name: 'Usage by key' })
    await groups.getByRole('row').filter({ hasText: 'web' }).getByText('$0.015').waitFor()
    await groups.getByRole('row').filter({ hasText: 'Total' }).getByText('$0.025').waitFor()
    await page.locator('.recharts-bar-rectangle').first().waitFor()
    await page.getByText('Show as table').click()
    const table = page.getByRole('table', { name: 'Spend by key' })
    await becomes(() => table.getByRole('row').count(), 25)
    expect(await table.getByRole('row').last().textContent()).toContain('$0.025')
    await fits(page, 'usage')
    await page.locator('.recharts-surface').first().focus()
    for (let slot = 0; slot < 24; slot++) await page.keyboard.press('ArrowRight')
    await page.getByText('so far').waitFor()
    const inLegend = page.getByRole('button', { name: 'web', exact: true })
    await inLegend.click()
    await becomes(() => inLegend.getAttribute('aria-pressed'), 'false')
    await page.getByLabel('Group by').selectOption('operation')
    await page.getByRole('table', { name: 'Usage by endpoint' }).getByText('LLM context').waitFor()
    await page.getByLabel('Key').selectOption(web.id)
    await page.waitForURL(`**key=${web.id}**`)
    await page.getByRole('table', { name: 'Usage by endpoint' }).getByText('LLM context').waitFor({ state: 'detached' })
    await page.reload()
    await becomes(() => page.getByLabel('Key').inputValue(), web.id)
    await becomes(() => page.getByLabel('Group by').inputValue(), 'operation')
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('adds up what requests named in X-Budget-Scope', async () => {
    const { web } = await busyOwner()
    for (const scope of ['customer_7', 'customer_7', 'customer_8'])
      await dashboard.as(web.secret, SEARCH, { headers: { 'x-budget-scope': scope } })
    const { page, complaints } = await dashboard.visit('/usage?range=24h&group=scope')
    const groups = page.getByRole('table', { name: 'Usage by scope' })
    await groups.getByRole('row').filter({ hasText: 'customer_7' }).getByText('$0.01').waitFor()
    await groups.getByRole('row').filter({ hasText: 'Total' }).getByText('$0.015').waitFor()
    expect(await groups.getByRole('button', { name: /customer/ }).count()).toBe(0)
    await page.getByText('Show as table').click()
    await page.getByRole('table', { name: 'Spend by scope' }).getByText('All requests').waitFor()
    await fits(page, 'usage-scopes')
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('a group leads to its requests, a request to all its details', async () => {
    const { worker } = await busyOwner()
    const { page, complaints } = await dashboard.visit('/usage?range=24h&group=status')
    await page.getByRole('button', { name: 'Show requests of 400' }).click()
    await page.waitForURL('**tab=requests**')
    const log = page.getByRole('table', { name: 'Request log' })
    await log.getByText('missing_parameter').waitFor()
    await becomes(() => log.getByRole('row').count(), 2)
    await log.getByRole('button', { name: /Details of the request/ }).click()
    const sheet = page.getByRole('dialog', { name: 'Request' })
    await sheet.getByText(/^req_/).waitFor()
    await sheet.getByText('worker').waitFor()
    await screenshot(page, 'request-sheet')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Clear filters' }).first().click()
    await page.getByLabel('Key').selectOption(worker.id)
    await page.getByLabel('Status').selectOption('400')
    await page.getByLabel('Endpoint').selectOption('llm-context')
    await page.getByText('No matching requests.').waitFor()
    await page.close()
    expect(complaints()).toEqual([])
  })
})

describe('the request log', () => {
  test('12,000 requests: endless paging, and everything the filter matches as a streamed file', async () => {
    const owner = await dashboard.signedIn()
    const { id } = await makeKey(owner, '=formula')
    const rows = 12_000
    await seedCalls(dashboard, { id: owner.accountId as AccountId }, { key: id, count: rows })
    const { page, complaints } = await dashboard.visit(`/usage?tab=requests&range=24h&key=${id}`)
    const log = page.getByRole('table', { name: 'Request log' })
    await log.getByText('unknown_endpoint').first().waitFor()
    await becomes(() => log.getByRole('row').count(), 51)
    await page.getByRole('button', { name: 'Load more' }).click()
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 100)
    const begun = performance.now()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download CSV' }).click(),
    ])
    const text = await Bun.file((await download.path()) ?? '').text()
    console.log(`CSV of ${rows} rows: ${Math.round(performance.now() - begun)} ms, ${text.length} bytes`)
    const lines = text.trimEnd().split('\r\n')
    expect(lines.length).toBe(rows + 1)
    expect(lines[0]).toStartWith('time_utc,request_id,key_name')
    expect(lines[1]).toContain("'=formula")
    await page.close()
    expect(complaints()).toEqual([])
  })
})

describe('one request', () => {
  test('is explained on a page of its own, which a link opens: why it failed, its times and its charge', async () => {
    const { owner } = await busyOwner()
    const { requests } = await (await owner.api('/api/requests?status=400')).json()
    const watched = await dashboard.visit('/usage?range=24h&tab=latency')
    const { page } = watched
    const latency = page.getByRole('table', { name: 'Latency by endpoint, provider and model' })
    await latency.getByRole('row').filter({ hasText: 'Image search' }).getByText('fixture').waitFor()
    await fits(page, 'usage-latency')
    await page.getByRole('tab', { name: 'Requests' }).click()
    await page
      .getByRole('button', { name: /Details of the request/ })
      .first()
      .click()
    await page.getByRole('dialog', { name: 'Request' }).getByRole('link', { name: 'Explain this request' }).click()
    await page.waitForURL('**/requests/req_*')
    await page.getByText('Where the time went').waitFor()
    const region = (name: string) => page.getByRole('region', { name })
    await page.goto(`${dashboard.origin}/requests/${requests[0].id}`)
    await region('Why it failed').getByText('q is required', { exact: true }).waitFor()
    await region('Why it failed').getByText('/apis/v1/websearch/images/search').waitFor()
    await region('Charge').getByText('You were not charged for this request.').waitFor()
    await region('Where the time went').getByText('No upstream was asked').waitFor()
    await region('Summary').getByText('GET /apis/v1/websearch/images/search').waitFor()
    await fits(page, 'request-failed')
    const charged = (await (await owner.api('/api/requests?status=200&operation=image-search')).json()).requests
    await page.evaluate((to) => history.pushState({}, '', to), `/requests/${charged[0].id}`)
    await region('Charge').getByText('1 request x 0.005 USD = 0.005 USD').waitFor()
    await region('Where the time went').getByText('Upstream: fixture').waitFor()
    await region('Try it again').getByRole('button', { name: 'Copy as curl' }).click()
    const copied = await page.evaluate(() => navigator.clipboard.readText())
    expect(copied).toBe(
      `curl '${dashboard.origin}/apis/v1/websearch/images/search?q=<q>' \\\n  -H "Authorization: Bearer $GATEWAY_API_KEY"`,
    )
    await fits(page, 'request-charged')
    await region('Try it again').getByRole('link', { name: 'Try again in the playground' }).click()
    await page.waitForURL('**/playground?operation=imageSearch')
    await heading(page, 'Playground')
    await follow(page, '/requests/req_none')
    await page.getByText('You made no request with this id.').waitFor()
    await left(watched, [/404/])
  })

  test('appears in the live tail as it happens, with a pause and the filters, and exact times', async () => {
    const { web, worker } = await busyOwner()
    const watched = await dashboard.visit(`/usage?tab=requests&range=24h&key=${web.id}`)
    const { page } = watched
    await page.getByText('Live', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Live tail' }).click()
    const table = page.getByRole('table', { name: 'Live requests' })
    const details = table.getByRole('button', { name: /Details of the request/ })
    await becomes(() => details.count(), 3)
    await dashboard.as(worker.secret, SEARCH)
    await dashboard.as(web.secret, SEARCH)
    await becomes(() => details.count(), 4)
    await page.getByRole('button', { name: 'Pause' }).click()
    await dashboard.as(web.secret, '/apis/v1/websearch/images/search')
    await page.getByText('Paused. 1 new request waits.').waitFor()
    expect(await details.count()).toBe(4)
    await page.getByRole('button', { name: 'Resume' }).click()
    await table.getByText('missing_parameter').waitFor()
    const time = table.locator('time').first()
    expect(await time.textContent()).toMatch(/^\d\d:\d\d:\d\d$/)
    expect(await time.getAttribute('title')).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC$/)
    await screenshot(page, 'live-tail')
    await page.getByRole('tab', { name: 'Errors' }).click()
    const errors = page.getByRole('table', { name: 'Failed requests by endpoint and reason' })
    await errors.getByText('q is required').waitFor()
    await fits(page, 'usage-errors')
    await errors.getByRole('button', { name: 'missing_parameter' }).click()
    await page.waitForURL('**search=missing_parameter**')
    await becomes(() => page.getByRole('button', { name: /Details of the request/ }).count(), 1)
    await left(watched)
  })
})

describe('the audit log', () => {
  test('shows an owner every change with the values before and after, filtered, on a phone too', async () => {
    const { owner, web } = await busyOwner()
    await owner.api(`/api/keys/${web.id}`, { note: 'a new note' }, 'PATCH')
    const watched = await dashboard.visit('/audit')
    const { page } = watched
    await heading(page, 'Audit log')
    const table = page.getByRole('table', { name: 'Changes, newest first' })
    const row = table.getByRole('row').filter({ hasText: 'Key changed' })
    await row.getByText('note: null').waitFor()
    await row.getByText('note: a new note').waitFor()
    await fits(page, 'audit')
    const kinds = await page.getByLabel('Action').locator('option').allTextContents()
    expect(kinds).toContain('API keys')
    for (const kind of ['Models', 'APIs', 'Books', 'Backups', 'Moves of the database'])
      expect(kinds).not.toContain(kind)
    await page.getByLabel('Action').selectOption('Webhooks')
    await page.getByText('No changes.').waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await row.waitFor()
    const [file] = await Promise.all([page.waitForEvent('download'), page.getByRole('link', { name: 'CSV' }).click()])
    expect(file.suggestedFilename()).toBe('audit.csv')
    await follow(page, '/operator/audit')
    await page.getByRole('heading', { name: 'Gateway audit log' }).waitFor()
    await left(watched)
  })
})
