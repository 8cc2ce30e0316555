import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApiUpstream } from '../support/api-upstream'
import { type Harness, openHarness } from '../support/harness'
import { type Owner, read } from './owner-bench'

const BRAND = {
  BRAND_NAME: 'Acme <Data>',
  BRAND_SENTENCE: 'Weather & more for robots.',
  BRAND_ACCENT: '#FFCC00',
  SUPPORT_ADDRESS: 'help@acme.example',
  TERMS_URL: 'https://acme.example/terms',
}

let folder: string
let gateway: Harness
let operator: Owner
let upstream: ReturnType<typeof openApiUpstream>
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'storefront-'))
  const logo = join(folder, 'logo.svg')
  await writeFile(logo, '<svg xmlns="http://www.w3.org/2000/svg"/>')
  upstream = openApiUpstream()
  gateway = await openHarness({ env: { ...BRAND, BRAND_LOGO: logo, ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1' } })
  operator = await gateway.owner()
  const operations = [
    { id: 'now', method: 'GET', path: '/now', title: 'Now & later', price: { mode: 'fixed', usd: '0.01' } },
    { id: 'hidden', method: 'GET', path: '/hidden', price: { mode: 'fixed', usd: '0.02' }, enabled: false },
  ]
  const api = { name: 'weather', title: 'Weather', base_url: upstream.url, auth: 'none', operations }
  await read(operator.api('/api/operator/apis', api), 201)
})
afterAll(async () => {
  await upstream.close()
  await gateway.close()
  await rm(folder, { recursive: true })
})

const get = (path: string, headers: Record<string, string> = {}) => gateway.call(path, { headers })

describe('the page for strangers', () => {
  test('says who sells what at which price, and how to call it, without a script and in less than 60 KB', async () => {
    const answer = await get('/')
    const html = await answer.text()
    expect(answer.status).toBe(200)
    expect(html.length).toBeLessThan(60_000)
    for (const part of [
      '<title>Acme &lt;Data&gt;</title>',
      '<h1>Weather &amp; more for robots.</h1>',
      '<meta property="og:title" content="Acme &lt;Data&gt;">',
      'Image search</span><span class="price">$0.005',
      'Now &amp; later</span><span class="price">$0.01',
      '<code>sandbox/echo</code>',
      'Authorization: Bearer YOUR_KEY',
      '402 Payment Required',
      'href="/sign-up"',
      'href="mailto:help@acme.example"',
      'href="https://acme.example/terms"',
      '<img src="/brand/logo"',
      '--accent:#ffcc00;--on-accent:#000',
    ])
      expect(html).toContain(part)
    expect(html).not.toContain('<script')
    expect(html).not.toContain('hidden')
    const policy = answer.headers.get('content-security-policy') ?? ''
    const style = /<style>([\s\S]*?)<\/style>/.exec(html)?.[1] ?? ''
    expect(policy).toContain(`'sha256-${new Bun.CryptoHasher('sha256').update(style).digest('base64')}'`)
    expect(policy).toContain("default-src 'none'")
    const head = await gateway.call('/', { method: 'HEAD' })
    expect([head.status, await head.text()]).toEqual([200, ''])
  })

  test('is the dashboard for who is signed in, and where STOREFRONT is off', async () => {
    const { cookie } = await gateway.owner()
    const page = async (html: Promise<Response>) => (await (await html).text()).includes('id="root"')
    expect(await page(get('/', { cookie }))).toBe(true)
    expect(await page(get('/', { cookie: 'theme=dark' }))).toBe(false)
    const closed = await openHarness({ env: { STOREFRONT: 'off' } })
    expect(await page(closed.call('/'))).toBe(true)
    expect(await (await closed.call('/robots.txt')).text()).toBe('User-agent: *\nDisallow: /\n')
    expect((await closed.call('/sitemap.xml', { headers: { accept: 'text/html' } })).status).toBe(404)
    await closed.close()
  })

  test('has a page per API with its operations, and 404 for another', async () => {
    const page = await (await get('/catalogue/weather')).text()
    expect(page).toContain('<code>GET /apis/v1/weather/now</code>')
    expect(page).toContain('<link rel="canonical" href="http://127.0.0.1:3000/catalogue/weather">')
    for (const path of ['/catalogue/none', '/catalogue/%3Cscript%3E', '/catalogue/__proto__']) {
      const missing = await get(path)
      expect([missing.status, (await missing.text()).includes('<script')]).toEqual([404, false])
    }
  })

  test('shows a new price within seconds', async () => {
    expect(await (await get('/')).text()).toContain('$0.01<')
    await read(operator.api('/api/operator/prices', { operation: 'weather.now', usd: '0.03' }))
    gateway.clock.advance(5_000)
    expect(await (await get('/')).text()).toContain('$0.03<')
  })
})

test('the name is in the documents too', async () => {
  const { info } = (await (await get('/openapi.json')).json()) as { info: { title: string; summary: string } }
  expect([info.title, info.summary]).toEqual(['Acme <Data>', BRAND.BRAND_SENTENCE])
  const resource = await (await get('/.well-known/oauth-protected-resource/mcp')).json()
  expect(resource).toMatchObject({ resource_name: 'Acme <Data> /mcp' })
})

test('search engines and browsers find what they ask for', async () => {
  expect(await (await get('/robots.txt')).text()).toContain('Disallow: /api/\n')
  const map = await get('/sitemap.xml')
  expect(map.headers.get('content-type')).toContain('application/xml')
  expect(await map.text()).toContain('<loc>http://127.0.0.1:3000/catalogue/weather</loc>')
  const icon = await get('/favicon.ico')
  expect([icon.status, icon.headers.get('location')]).toEqual([302, '/brand/logo'])
  const logo = await get('/brand/logo')
  expect([logo.status, logo.headers.get('content-type')]).toEqual([200, 'image/svg+xml'])
  expect(logo.headers.get('content-security-policy')).toContain('sandbox')
})
