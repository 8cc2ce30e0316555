import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium } from 'playwright-core'
import { browserPath } from '../../../server/setup/browser'
import { axeFindings, DESK, PHONE, screenshot, sidewaysScroll, visit } from '../../support/dashboard/browser'
import { type Harness, openHarness } from '../../support/harness'

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

let gateway: Harness
let server: Bun.Server<undefined>
let profile: string
let browser: BrowserContext
beforeAll(async () => {
  // The document names the gateway's own address, so that is where it has to listen.
  const probe = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: () => new Response() })
  const port = probe.port ?? 0
  await probe.stop(true)
  gateway = await openHarness({ env: { PORT: String(port) } })
  server = Bun.serve({ hostname: '127.0.0.1', port, fetch: (request) => gateway.gateway.app.fetch(request) })
  profile = await mkdtemp(join(tmpdir(), 'docs-browser-'))
  browser = await chromium.launchPersistentContext(profile, {
    executablePath: browserPath(),
    headless: true,
    args: FLAGS,
  })
})
afterAll(async () => {
  await browser.close()
  await server.stop(true)
  await gateway.close()
  await rm(profile, { recursive: true, force: true })
})

test('/docs shows the operations, logs nothing to the console, and requests nothing from another origin', async () => {
  const { baseUrl } = gateway.config
  const page = await browser.newPage()
  const said: string[] = []
  const foreign: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'error') said.push(message.text())
  })
  page.on('pageerror', (error) => said.push(error.message))
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== baseUrl) foreign.push(request.url())
  })
  await page.goto(`${baseUrl}/docs`)
  for (const words of ['Paid data API gateway', 'Image search', 'LLM context search', 'Usage', 'Keys'])
    await page.getByText(words, { exact: true }).first().waitFor()
  await page.getByText('Image search', { exact: true }).first().click()
  await page.getByText('The search query.').first().waitFor()
  const text = (await page.locator('main').textContent()) ?? ''
  expect(text).toContain('Catalog price: 0.005 USD')
  expect(text).not.toMatch(/Ask AI|Deploy|Share/)
  const screenshot = Bun.env['DOCS_SCREENSHOT']
  if (screenshot) await page.screenshot({ path: screenshot })
  expect(said).toEqual([])
  expect(foreign).toEqual([])
})

test('/docs/guide is read and searched on a desk and on a phone, in light and dark', async () => {
  const { page, complaints } = await visit(browser, gateway.config.baseUrl, '/docs/guide/configuration')
  for (const size of [DESK, PHONE]) {
    await page.setViewportSize(size)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      expect(await axeFindings(page)).toEqual([])
      await screenshot(page, `guide-${colorScheme}-${size.width}`)
    }
    expect(await sidewaysScroll(page)).toBe(0)
  }
  await page.getByLabel('Search the guide').fill('who is operator')
  await page.keyboard.press('Enter')
  await page.locator('.hit a').first().click()
  expect(page.url()).toEndWith('/docs/guide/operating#who-is-operator')
  await page.getByRole('link', { name: 'Pages', exact: true }).click()
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Configuration' }).click()
  await page.getByRole('heading', { level: 1, name: 'Configuration' }).waitFor()
  expect(complaints()).toEqual([])
})
