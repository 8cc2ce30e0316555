import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openApiUpstream } from '../support/api-upstream'
import { becomes, type Dashboard, openDashboard } from '../support/dashboard/browser'
import { fits, heading, left, REFUSED } from '../support/dashboard/page-checks'
import { MERCHANT, openPaymentSandbox } from '../support/payments/payment-sandbox'

let dashboard: Dashboard
let upstream: ReturnType<typeof openApiUpstream>
let sandbox: Awaited<ReturnType<typeof openPaymentSandbox>>
let operator: Awaited<ReturnType<Dashboard['signedIn']>>
beforeAll(async () => {
  sandbox = await openPaymentSandbox()
  dashboard = await openDashboard({
    env: { ...sandbox.env, ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1', CREDIT_BUYS_PAID_PROVIDERS: 'true' },
  })
  await dashboard.gateway.rail.open()
  upstream = openApiUpstream()
  operator = await dashboard.signedIn()
  const price = { mode: 'fixed', usd: '0.02' }
  const made = await operator.api('/api/operator/apis', {
    name: 'weather',
    title: 'Weather of the world',
    base_url: upstream.url,
    auth: 'none',
    operations: [
      {
        id: 'forecast',
        method: 'GET',
        path: '/v1/{city}/forecast',
        title: 'Tidal forecast',
        price,
        description: 'When the tide comes.',
        parameters: [
          { name: 'city', in: 'path', required: true, schema: { type: 'string' }, description: 'A city on a coast.' },
          { name: 'days', in: 'query', schema: { type: 'integer', minimum: 1, maximum: 9 } },
        ],
        examples: [{ title: 'Brest', input: { city: 'Brest', days: 2 } }],
      },
      {
        id: 'report',
        method: 'POST',
        path: '/v1/reports',
        title: 'Report a wave',
        price,
        body: {
          content_type: 'application/json',
          schema: { type: 'object', properties: { height: { type: 'number' } }, required: ['height'] },
        },
      },
      {
        id: 'picture',
        method: 'POST',
        path: '/v1/pictures',
        title: 'Send a picture',
        price,
        effect: 'write',
        body: {
          content_type: 'multipart/form-data',
          schema: {
            type: 'object',
            properties: {
              title: { type: 'string' },
              picture: { type: 'string', contentMediaType: 'application/octet-stream' },
              place: { type: 'object', properties: { bay: { type: 'string' } } },
              boats: { type: 'array', items: { type: 'object', properties: { name: { type: 'string' } } } },
            },
            required: ['title', 'picture'],
          },
        },
      },
      {
        id: 'subscribe',
        method: 'POST',
        path: '/v1/subscribers',
        title: 'Subscribe',
        price,
        effect: 'write',
        body: {
          content_type: 'application/x-www-form-urlencoded',
          schema: { type: 'object', properties: { email: { type: 'string' } }, required: ['email'] },
        },
      },
    ],
  })
  expect(made.status).toBe(201)
})
afterAll(async () => {
  await dashboard.close()
  await upstream.close()
  await sandbox.close()
})

describe('the catalog', () => {
  test('is open to everybody: finds operations by words, shows price, parameters and an example', async () => {
    await dashboard.browser.clearCookies()
    const watched = await dashboard.visit('/catalogue')
    const { page } = watched
    await heading(page, 'Catalog')
    await page.getByRole('heading', { name: 'Weather of the world' }).waitFor()
    await page.getByRole('heading', { name: 'Image search' }).waitFor()
    await fits(page, 'catalog')
    await page.getByRole('searchbox', { name: 'Search the catalog' }).fill('TIDAL')
    await page.keyboard.press('Enter')
    await page.getByText('1 operation', { exact: true }).waitFor()
    await page.waitForURL('**/catalogue?q=TIDAL')
    await page.getByText('$0.02 per call').waitFor()
    await page.getByText('Parameters and example').click()
    await page.getByText('A city on a coast.').waitFor()
    const code = page.getByRole('region', { name: 'The request as code' })
    expect(await code.textContent()).toContain('/apis/v1/weather/v1/Brest/forecast?days=2')
    await page.getByText('Without a key, the gateway responds with 402').waitFor()
    await fits(page, 'catalog-entry')
    await page.getByRole('searchbox').fill('nothing of that kind')
    await page.keyboard.press('Enter')
    await page.getByText('No matching operations.').waitFor()
    await page.getByRole('button', { name: 'Clear search' }).first().click()
    await page.getByRole('heading', { name: 'Image search' }).waitFor()
    await left(watched, [REFUSED])
  })

  test('leads a visitor through sign-in, and an owner directly, to the form of the operation', async () => {
    await dashboard.browser.clearCookies()
    const visiting = await dashboard.visit('/catalogue?q=tidal')
    await visiting.page.getByRole('link', { name: 'Try it: Tidal forecast' }).click()
    await heading(visiting.page, 'Sign in')
    expect(new URL(visiting.page.url()).searchParams.get('to')).toBe('/playground?operation=weather.forecast')
    await left(visiting, [REFUSED])

    const owner = await dashboard.signedIn()
    await owner.api('/api/keys', { name: 'tides', allowed_endpoints: ['weather.forecast', 'weather.report'] })
    const watched = await dashboard.visit('/catalogue?q=tidal')
    const { page } = watched
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Catalog' }).waitFor()
    await page.getByRole('link', { name: 'Try it: Tidal forecast' }).click()
    await page.getByRole('heading', { name: 'Tidal forecast' }).waitFor()
    await page.getByLabel('city', { exact: true }).fill('Saint Malo')
    await page.waitForURL('**Malo**')
    await page.getByRole('button', { name: 'Send request · $0.02 per call' }).click()
    await page.getByText('$0.02 charged').waitFor()
    expect(upstream.calls.at(-1)?.target).toBe('/v1/Saint%20Malo/forecast')

    await page.getByRole('combobox', { name: 'Endpoint' }).fill('Report a wave')
    await page.keyboard.press('Enter')
    await page.getByLabel('height', { exact: true }).fill('2.5')
    await page.getByRole('button', { name: /^Send request/ }).click()
    await becomes(async () => upstream.calls.at(-1)?.body, '{"height":2.5}')
    await page.getByRole('link', { name: 'Usage', exact: true }).click()
    await heading(page, 'Usage')
    await page.getByRole('combobox', { name: 'Endpoint' }).selectOption('weather.forecast')
    await left(watched)
  })

  test('shows what one call costs without a key: the challenge in the playground, once paid, buys that call', async () => {
    await dashboard.signedIn()
    const watched = await dashboard.visit('/playground?operation=weather.forecast')
    const { page } = watched
    await page.getByRole('heading', { name: 'Tidal forecast' }).waitFor()
    await page.getByLabel('city', { exact: true }).fill('Brest')
    await page.getByLabel('No key: show the 402 challenge').check()
    const asked = upstream.calls.length
    await page.getByRole('button', { name: /^Send request/ }).click()
    await page.getByText('Nothing charged').waitFor()
    await page.getByText(/^This request costs 0.02 USD/).waitFor()
    await page.getByRole('tab', { name: 'Headers' }).click()
    const shown = page.getByRole('term').filter({ hasText: 'www-authenticate' }).locator('+ dd')
    const challenge = ((await shown.textContent()) ?? '').trim()
    expect(upstream.calls.length).toBe(asked)

    const unpaid = new Response(null, { status: 402, headers: { 'www-authenticate': challenge } })
    const authorization = await sandbox.payer().createCredential(unpaid)
    const earned = await sandbox.balance(MERCHANT)
    const answer = await fetch(`${dashboard.origin}/apis/v1/weather/v1/Brest/forecast`, { headers: { authorization } })
    expect([answer.status, answer.headers.get('x-cost-micros-usd')]).toEqual([200, '20000'])
    expect((await sandbox.balance(MERCHANT)) - earned).toBe(20_000n)
    expect(upstream.calls.slice(asked).map(({ target }) => target)).toEqual(['/v1/Brest/forecast'])
    await left(watched, [/status of 402/])
  })

  test('sends forms with files from the playground, as its sample code does', async () => {
    const owner = await dashboard.signedIn()
    await owner.api('/api/keys', { name: 'pictures', allowed_endpoints: ['weather.picture', 'weather.subscribe'] })
    const watched = await dashboard.visit('/playground?operation=weather.picture')
    const { page } = watched
    await page.getByRole('heading', { name: 'Send a picture' }).waitFor()
    const sending = page.getByRole('button', { name: /^Send request/ })
    await sending.click()
    await page.getByText('Choose a file.').waitFor()
    await page.getByLabel('title', { exact: true }).fill('Low tide')
    const file = { name: 'tide.png', mimeType: 'image/png', buffer: Buffer.from([137, 80, 78, 71, 0, 255]) }
    await page.getByLabel('picture', { exact: true }).setInputFiles(file)
    await page.getByText('More options (2)').click()
    await page.getByLabel('place', { exact: true }).fill('{"bay": "Biscay"}')
    await page.getByLabel('boats', { exact: true }).fill('[{"name": "Ebb"}, {"name": "Flow"}]')
    const code = page.getByRole('region', { name: 'The request as code' })
    await becomes(async () => (await code.textContent())?.includes('tide.png'), true)
    await sending.click()
    await page.getByText('$0.02 charged').waitFor()
    await fits(page, 'playground-imported')
    const { headers, body } = upstream.calls.at(-1) ?? { headers: null, body: '' }
    expect(headers?.['content-type']).toStartWith('multipart/form-data')
    for (const part of [
      'Low tide',
      'filename="tide.png"',
      'Content-Type: image/png',
      '{"bay":"Biscay"}',
      '{"name":"Ebb"}',
      '{"name":"Flow"}',
    ])
      expect(body).toContain(part)

    await page.getByRole('combobox', { name: 'Endpoint' }).fill('Subscribe')
    await page.keyboard.press('Enter')
    await page.getByLabel('email', { exact: true }).fill('a+b@sea.example')
    await page.getByRole('button', { name: /^Send request/ }).click()
    await becomes(async () => upstream.calls.at(-1)?.body, 'email=a%2Bb%40sea.example')
    await left(watched)
  })
})
