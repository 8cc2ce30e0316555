import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { openApiUpstream } from '../support/api-upstream'
import { becomes, type Dashboard, openDashboard } from '../support/dashboard/browser'
import { fits, heading, REFUSED, SharedTab } from '../support/dashboard/page-checks'

const SECRET = 'vendor-secret-7431'
const LONG_NAME = 'An unusually long name of a weather service that nobody would shorten for a narrow screen, whatever'

let dashboard: Dashboard
let upstream: ReturnType<typeof openApiUpstream>
let operator: Awaited<ReturnType<Dashboard['signedIn']>>
const tab = new SharedTab()
beforeAll(async () => {
  dashboard = await openDashboard({
    env: { ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1', CREDIT_BUYS_PAID_PROVIDERS: 'true' },
  })
  upstream = openApiUpstream(forecast)
  operator = await dashboard.signedIn()
})
afterAll(async () => {
  await dashboard.close()
  await upstream.close()
})

/** The upstream's answer, unless a test says otherwise. */
const forecast = () => Response.json({ data: Array.from({ length: 37 }, (_, i) => ({ day: i })) })
const QUERY = (name: string, schema: object, required = false) => ({ name, in: 'query', required, schema })

/** A document of the upstream; `more` adds paths or replaces them. */
function openApi(more: Record<string, unknown> = {}, title = 'Weather API') {
  return JSON.stringify({
    openapi: '3.1.0',
    info: { title, version: '1' },
    servers: [{ url: upstream.url }],
    paths: {
      '/v1/forecast': {
        get: {
          operationId: 'getForecast',
          summary: 'Forecast',
          description: 'The forecast of the next days.',
          parameters: [
            QUERY('city', { type: 'string' }, true),
            QUERY('days', { type: 'integer', minimum: 1, maximum: 10 }),
          ],
          responses: { 200: { description: 'The forecast.' } },
        },
      },
      '/v1/cities/{city}': {
        get: {
          operationId: 'getCity',
          summary: 'City',
          parameters: [{ name: 'city', in: 'path', required: true, schema: { type: 'string' } }],
          responses: { 200: { description: 'The city.' } },
        },
      },
      '/v1/session': {
        get: {
          operationId: 'getSession',
          parameters: [{ name: 'sid', in: 'cookie', required: true, schema: { type: 'string' } }],
          responses: { 200: { description: 'The session.' } },
        },
      },
      ...more,
    },
  })
}

/** Puts an API on sale without the dashboard. */
async function sell(name: string, document = openApi(), more: Record<string, unknown> = {}) {
  const form = { name, base_url: upstream.url, auth: 'none', document, price: { mode: 'fixed', usd: '0.01' }, ...more }
  const answer = await operator.api('/api/operator/apis/import', form)
  expect(answer.status).toBe(200)
}

async function stored(name: string) {
  const answer = await operator.api(`/api/operator/apis/${name}`)
  return answer.status === 200 ? (await answer.json()).api : null
}

async function paste(page: Page, document: string): Promise<void> {
  await page.getByRole('radio', { name: 'Paste' }).check()
  await page.getByLabel('Document', { exact: true }).fill(document)
  await page.getByLabel('Document', { exact: true }).blur()
}

describe("the operator's APIs page", () => {
  test('imports a pasted document: errors, what would be sold and what cannot be, a price per operation', async () => {
    const watched = await tab.at(dashboard, '/operator/apis')
    const { page } = watched
    await heading(page, 'APIs')
    await page.getByText('No APIs yet. Import an OpenAPI document to put one on sale.').waitFor()
    await fits(page, 'apis-empty')
    await page.getByRole('link', { name: 'Import API' }).first().click()
    await heading(page, 'Import API')
    await page.getByRole('button', { name: 'Check document' }).click()
    await page.getByText('Add the document.').waitFor()
    await page.getByText('Enter up to 40 lower-case letters, digits and inner hyphens.').waitFor()
    await paste(page, openApi())
    expect(await page.getByLabel('Name', { exact: true }).inputValue()).toBe('weather')
    expect(await page.getByLabel('Base URL').inputValue()).toBe(upstream.url)
    await page.getByLabel('Authentication to the upstream').selectOption('header')
    await page.getByLabel('Header name').fill('x-vendor-key')
    await page.getByLabel('Secret', { exact: true }).fill(SECRET)
    await page.getByText('Each successful call costs $0.01. 1,000 calls bring in $10.00.').waitFor()
    await fits(page, 'apis-import')

    await page.getByRole('button', { name: 'Check document' }).click()
    await page.getByText('2 of 2 selected').waitFor()
    expect(await stored('weather')).toBeNull()
    const refused = page.getByRole('region', { name: '1 part cannot be sold' })
    await refused.getByText('GET /v1/session').waitFor()
    await page.getByRole('button', { name: 'Set price: Forecast' }).click()
    const pricing = page.getByRole('dialog', { name: 'Set price' })
    await pricing.getByRole('radio', { name: 'Per unit, counted in the response' }).check()
    await pricing.getByRole('button', { name: 'Set price' }).click()
    await pricing.getByText('Enter a path that starts with /.').waitFor()
    await pricing.getByLabel('USD per block').fill('0.001')
    await pricing.getByLabel('JSON Pointer').fill('/data')
    await pricing.getByLabel('Units per block').fill('10')
    await pricing.getByLabel('Maximum units').fill('100')
    await pricing.getByText('4 blocks of 10 = $0.004').waitFor()
    await fits(page, 'apis-price')
    await pricing.getByRole('button', { name: 'Set price' }).click()
    await page.getByText('$0.001 per 10 entries of /data, at most $0.01').waitFor()
    await fits(page, 'apis-plan')
    await page.getByRole('checkbox', { name: 'Sell City' }).uncheck()
    await page.getByRole('button', { name: 'Import 1 operation' }).click()
    await heading(page, 'Weather API')
    const api = await stored('weather')
    expect(api).toMatchObject({ enabled: false, auth: 'header:x-vendor-key=sealed', base_url: upstream.url })
    expect(api.operations).toMatchObject([
      { id: 'getForecast', price: { mode: 'units', usd: '0.001', count: '/data', block: 10, maximum: 100 } },
    ])
    expect(await page.content()).not.toContain(SECRET)
    expect(await page.evaluate(() => location.href + JSON.stringify({ ...localStorage }))).not.toContain(SECRET)
    tab.rest(watched)
  })

  test('tries an operation before it is on sale, puts it on sale, and shows its revenue', async () => {
    const watched = await tab.at(dashboard, '/operator/apis/weather')
    const { page } = watched
    await page.getByText('This API is not on sale yet.').waitFor()
    const calls = upstream.calls.length
    await page.getByRole('button', { name: 'Try: Forecast' }).click()
    const trial = page.getByRole('dialog', { name: 'Try Forecast' })
    await trial.getByRole('button', { name: 'Send to upstream' }).click()
    await trial.getByText('Enter a value.').waitFor()
    await trial.getByLabel('city').fill('Paris')
    await trial.getByRole('button', { name: 'Send to upstream' }).click()
    const result = trial.getByRole('region', { name: 'Upstream response' })
    await result.getByText('$0.004', { exact: true }).waitFor()
    await result.getByText('37 units, in blocks of 10').waitFor()
    expect(upstream.calls.slice(calls)).toMatchObject([
      { target: '/v1/forecast?city=Paris', headers: { 'x-vendor-key': SECRET } },
    ])
    await fits(page, 'apis-try')
    await page.keyboard.press('Escape')
    await trial.waitFor({ state: 'detached' })

    const { secret } = await (await operator.api('/api/keys', { name: 'seller' })).json()
    const path = '/apis/v1/weather/v1/forecast?city=Paris'
    expect((await dashboard.as(secret, path)).status).toBe(404)
    await page.getByRole('button', { name: 'Put on sale', exact: true }).click()
    await page.getByText('Weather API is on sale.').waitFor()
    expect((await dashboard.as(secret, path)).status).toBe(200)

    await page.getByRole('button', { name: 'Actions for Forecast' }).click()
    await page.getByRole('menuitem', { name: 'Set price' }).click()
    const pricing = page.getByRole('dialog', { name: 'Set price' })
    await pricing.getByLabel('Upstream cost in USD per call').fill('0.0015')
    await pricing.getByRole('button', { name: 'Set price' }).click()
    await pricing.waitFor({ state: 'detached' })
    await page.reload()
    const figure = (name: string) => page.locator('dl > div').filter({ hasText: name }).first()
    await figure('Revenue').getByText('$0.004', { exact: true }).waitFor()
    await figure('Upstream cost').getByText('$0.0015', { exact: true }).waitFor()
    await figure('Margin').getByText('$0.0025', { exact: true }).waitFor()
    await fits(page, 'apis-details')

    await page.getByRole('button', { name: 'Actions for Forecast' }).click()
    await page.getByRole('menuitem', { name: 'Take off sale' }).click()
    await page.getByText('getForecast is off sale.').waitFor()
    expect((await dashboard.as(secret, path)).status).toBe(404)
    tab.rest(watched)
  })

  test('fetches a document by URL, and shows why it cannot', async () => {
    upstream.answers(({ target }) =>
      target === '/openapi.json' ? new Response(openApi({}, LONG_NAME)) : new Response('', { status: 404 }),
    )
    const watched = await tab.at(dashboard, '/operator/apis/import/new')
    const { page } = watched
    await page.getByRole('radio', { name: 'URL', exact: true }).check()
    await page.getByLabel('URL of the document').fill(`${upstream.url}/missing`)
    await page.getByRole('button', { name: 'Check document' }).click()
    await page.getByText('answered with status 404').waitFor()
    await page.getByLabel('URL of the document').fill(`${upstream.url}/openapi.json`)
    await page.getByRole('button', { name: 'Check document' }).click()
    await page.getByText('2 of 2 selected').waitFor()
    await page.getByRole('button', { name: 'Select none' }).click()
    await page.getByRole('button', { name: 'Import 0 operations' }).click()
    await page.getByText('Select at least one operation.').waitFor()
    await page.getByRole('button', { name: 'Select all' }).click()
    await page.getByRole('button', { name: 'Import 2 operations' }).click()
    await heading(page, LONG_NAME)
    await page.getByRole('link', { name: 'All APIs' }).click()
    await page.getByRole('link', { name: LONG_NAME }).waitFor()
    await fits(page, 'apis-list')
    tab.rest(watched, [REFUSED])
  })

  test('re-imports: new operations only if selected, prices stay, and nothing changes before confirmation', async () => {
    await sell('again')
    const next = openApi({
      '/v1/cities/{city}': undefined,
      '/v1/forecast': {
        get: {
          operationId: 'getForecast',
          summary: 'Better forecast',
          parameters: [QUERY('city', { type: 'string' }, true)],
          responses: { 200: { description: 'The forecast.' } },
        },
      },
      '/v1/alerts': {
        post: { operationId: 'getAlerts', summary: 'Alerts', responses: { 200: { description: 'Alerts.' } } },
      },
    })
    const before = await stored('again')
    const watched = await tab.at(dashboard, '/operator/apis/again')
    const { page } = watched
    await page.getByRole('link', { name: 'Import again' }).click()
    await heading(page, 'Import again again')
    await paste(page, next)
    await page.locator('[name=usd]').fill('0.5')
    await page.getByRole('button', { name: 'Check document' }).click()
    await page.getByText('1 of 2 selected').waitFor()
    await page.getByText('1 operation is no longer in the document and will be removed').waitFor()
    await page.getByText('$0.01 per call').waitFor()
    await page.getByText('Changed: text, parameters').waitFor()
    await page.getByRole('checkbox', { name: 'Sell Alerts' }).check()
    expect(await page.getByText('Changes data').count()).toBe(1)
    await fits(page, 'apis-again')
    await page.getByRole('button', { name: 'Review changes' }).click()
    const confirming = page.getByRole('dialog', { name: 'Change again?' })
    await confirming.getByText('getForecast (text, parameters)').waitFor()
    await confirming.getByText('getAlerts').waitFor()
    await confirming.getByText('getCity').waitFor()
    await fits(page, 'apis-confirm')
    expect(await stored('again')).toEqual(before)
    await confirming.getByRole('button', { name: 'Apply changes' }).click()
    await page.getByText('again updated.').waitFor()
    await page.getByRole('row', { name: /Alerts.*Changes data/ }).waitFor()
    const { operations } = await stored('again')
    expect(operations.map(({ id, price }: { id: string; price: { usd: string } }) => [id, price.usd]).sort()).toEqual([
      ['getAlerts', '0.5'],
      ['getForecast', '0.01'],
    ])
    tab.rest(watched)
  })

  test('changes settings, never shows the secret, and drops it when the host changes', async () => {
    await sell('settings', openApi(), { auth: `bearer:secret:${SECRET}` })
    const watched = await tab.at(dashboard, '/operator/apis/settings')
    const { page } = watched
    await page.getByText('bearer:sealed').waitFor()
    await page.getByRole('button', { name: 'Edit settings' }).click()
    const editing = page.getByRole('dialog', { name: 'Edit settings' })
    await editing.getByLabel('Timeout in seconds').fill('0')
    await editing.getByRole('button', { name: 'Edit settings' }).click()
    await editing.getByText('Enter a number from 0.1 to 600.').waitFor()
    await editing.getByLabel('Timeout in seconds').fill('2.5')
    await editing.getByLabel('Title').fill('Renamed')
    await fits(page, 'apis-settings')
    await editing.getByRole('button', { name: 'Edit settings' }).click()
    await heading(page, 'Renamed')
    expect(await stored('settings')).toMatchObject({ timeout_ms: 2500, auth: 'bearer:sealed' })
    await page.getByRole('button', { name: 'Edit settings' }).click()
    await editing.getByLabel('Base URL').fill('https://elsewhere.example')
    await editing.getByRole('button', { name: 'Edit settings' }).click()
    await editing.waitFor({ state: 'detached' })
    await page.getByText('The secret was dropped').waitFor()
    expect(await stored('settings')).toMatchObject({ base_url: 'https://elsewhere.example', auth: 'none' })
    expect(await page.content()).not.toContain(SECRET)
    tab.rest(watched)
  })

  test('removes an API only when its name is typed', async () => {
    await sell('doomed')
    const watched = await tab.at(dashboard, '/operator/apis/doomed')
    const { page } = watched
    await page.getByRole('button', { name: 'Remove API' }).click()
    const removing = page.getByRole('alertdialog', { name: 'Remove doomed?' })
    await removing.getByLabel('Name of the API').fill('doom')
    // Pressed although it says that it is disabled.
    await removing.getByRole('button', { name: 'Remove API' }).click({ force: true })
    expect(await stored('doomed')).not.toBeNull()
    await fits(page, 'apis-remove')
    await removing.getByLabel('Name of the API').fill('doomed')
    await removing.getByRole('button', { name: 'Remove API' }).click()
    await heading(page, 'APIs')
    await becomes(() => page.getByRole('link', { name: 'doomed' }).count(), 0)
    expect(await stored('doomed')).toBeNull()
    tab.rest(watched, [REFUSED])
  })
})
