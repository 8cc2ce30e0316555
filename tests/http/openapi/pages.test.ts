import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Elysia } from 'elysia'
import { DEFAULT_BRAND } from '../../../server/core/brand'
import { OPERATIONS } from '../../../server/core/catalog/operations'
import { micros } from '../../../server/core/money'
import { FAILURES } from '../../../server/http/middleware/response/failures'
import { docsRoutes } from '../../../server/http/openapi/routes'
import { loadDashboard } from '../../../server/http/system/dashboard-files'
import { builtDashboard } from '../../support/dashboard/built-dashboard'
import { type Harness, openHarness } from '../../support/harness'

const DIST = join(import.meta.dir, '../../../dashboard/dist')

let gateway: Harness
beforeAll(async () => {
  await builtDashboard()
  gateway = await openHarness()
})
afterAll(() => gateway.close())

describe('/docs', () => {
  test('loads nothing from another origin, and may not', async () => {
    const answer = await gateway.call('/docs')
    const html = await answer.text()
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8')
    const addresses = [...html.matchAll(/(?:src=|href=|"url":)"([^"]*)"/g)].map(([, address]) => address)
    expect(addresses).toContain('/openapi.json')
    for (const address of addresses) expect(address).toMatch(/^\/[^/]/)
    expect(html).not.toMatch(/https?:\/\//)
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toStartWith("default-src 'self'; script-src 'self' 'sha256-")
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval|script-src[^;]*unsafe-inline/)
  })

  test('its script comes from the gateway, compressed and immutable', async () => {
    const html = await (await gateway.call('/docs')).text()
    const [, address = ''] = /<script src="([^"]+)"/.exec(html) ?? []
    expect(address).toMatch(/^\/vendor\/scalar\.js\?v=[\w-]{10,}$/)
    const script = await gateway.call(address, { headers: { 'accept-encoding': 'gzip, br' } })
    expect(script.status).toBe(200)
    expect(script.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
    expect(script.headers.get('content-encoding')).toBe('br')
    expect(script.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect((await script.bytes()).length).toBeLessThan(1_500_000)
  })

  test('without its script says so and links to the document', async () => {
    const dashboard = await loadDashboard(join(DIST, 'nothing-here'))
    const app = new Elysia().use(
      docsRoutes({
        baseUrl: 'http://localhost',
        brand: DEFAULT_BRAND,
        dashboard,
        mounted: [],
        imported: () => ({ version: {}, document: () => ({ paths: {}, schemas: {} }) }),
        payments: { waysFor: async () => [] },
        prices: { all: () => [], newest: () => null },
      }),
    )
    const answer = await app.handle(new Request('http://localhost/docs'))
    const html = await answer.text()
    expect(answer.status).toBe(200)
    expect(html).toContain('href="/openapi.json"')
    expect(html).not.toContain('<script')
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })
})

describe('/llms.txt', () => {
  test('names every operation with its price and parameters, every error code, and links to more', async () => {
    const answer = await gateway.call('/llms.txt')
    expect(answer.headers.get('content-type')).toBe('text/plain; charset=utf-8')
    const text = await answer.text()
    for (const { path, methods, parameters } of Object.values(OPERATIONS)) {
      for (const method of methods) expect(text).toContain(`### ${method} ${path}: `)
      for (const name of Object.keys(parameters)) expect(text).toContain(`\`${name}\``)
    }
    expect(text.match(/, 0\.005 USD per success$/gm)).toHaveLength(3)
    for (const code of Object.keys(FAILURES)) expect(text).toContain(`\`${code}\``)
    for (const word of ['Authorization: Bearer', '/v1/usage', '/api/keys', '/openapi.json', '/docs', 'Retry-After'])
      expect(text).toContain(word)
    expect(text).not.toContain('undefined')
    expect(text).not.toContain('[object')
  })
})

describe("an operator's price", () => {
  test('changes quotes, but not the documents, which call theirs the catalog price', async () => {
    const account = await gateway.account()
    const key = await gateway.key(account)
    const by = { kind: 'operator', id: 'test', address: null } as const
    await gateway.core.operator.setPrice(by, 'image-search', null, micros(7000))
    const quote = await gateway.as(key, '/apis/v1/websearch/images/search?q=card', {
      headers: { 'x-cost-mode': 'quote' },
    })
    expect(await quote.json()).toMatchObject({ quote: { price: { amount: '0.007' } } })
    const document = (await (await gateway.call('/openapi.json')).json()) as {
      info: { description: string }
      paths: Record<string, { get: { description: string; 'x-price': { amount: string } } }>
    }
    const operation = document.paths['/apis/v1/websearch/images/search']!.get
    expect(operation['x-price'].amount).toBe('0.005')
    expect(operation.description).toContain('Catalog price: 0.005 USD')
    for (const text of [
      operation.description,
      document.info.description,
      await (await gateway.call('/llms.txt')).text(),
    ])
      expect(text).toContain('Your account may have different prices')
  })
})
