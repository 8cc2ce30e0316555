import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import type { Account } from '../../server/core/accounts/account'
import { becomes, type Dashboard, openDashboard, screenshot } from '../support/dashboard/browser'
import { seedCalls } from '../support/databases/seed-calls'
import type { MadeKey } from '../support/harness'

const DIST = join(import.meta.dir, '..', '..', 'dashboard', 'dist')
const FIRST_LOAD_BYTES = 150 * 1024
const MANY_KEYS = 501

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard.close())

interface Chunk {
  readonly file: string
  readonly css?: readonly string[]
  readonly imports?: readonly string[]
}

/** Every file that must come before a page can be shown: its own, the entry's, and what they import. */
function filesOf(manifest: Record<string, Chunk>, names: readonly string[]): Set<string> {
  const seen = new Set<string>()
  const add = (name: string) => {
    const chunk = manifest[name]
    if (!chunk || seen.has(chunk.file)) return
    seen.add(chunk.file)
    for (const style of chunk.css ?? []) seen.add(style)
    for (const imported of chunk.imports ?? []) add(imported)
  }
  for (const name of names) add(name)
  return seen
}

/** The account of somebody signed in. */
async function newAccount(): Promise<Account> {
  const owner = await dashboard.signedIn()
  const account = await dashboard.core.accounts.byId(owner.accountId as `acct_${string}`)
  if (!account) throw new Error('no account')
  return account
}

/** Keys with short names. */
function makeKeys(account: Account, count: number): Promise<MadeKey[]> {
  return Promise.all(Array.from({ length: count }, (_, at) => dashboard.key(account, { name: `key ${at}` })))
}

/** A call of each key, so that each is in every report, and some that cost. */
async function callWithEach(account: Account, keys: readonly MadeKey[]): Promise<void> {
  await Promise.all(keys.map(({ id }) => seedCalls(dashboard, account, { key: id, count: 1 })))
  for (const { secret } of keys.slice(0, 8)) await dashboard.as(secret, '/apis/v1/websearch/images/search?q=card')
}

describe('the first load', () => {
  test('of every page is below 150 KB of gzip, without the code of charts', async () => {
    const manifest = (await Bun.file(join(DIST, '.vite', 'manifest.json')).json()) as Record<string, Chunk>
    const pages = Object.keys(manifest).filter((name) => name.startsWith('src/pages/'))
    expect(pages.length).toBeGreaterThan(6)
    const sizes = pages.map((page) => {
      const files = [...filesOf(manifest, ['index.html', page])]
      return { page, bytes: files.reduce((sum, file) => sum + Bun.file(join(DIST, `${file}.gz`)).size, 0) }
    })
    const largest = sizes.sort((one, other) => other.bytes - one.bytes)[0]
    console.log(`largest first load: ${largest?.page}, ${((largest?.bytes ?? 0) / 1024).toFixed(1)} KiB gzip`)
    expect(sizes.filter(({ bytes }) => bytes > FIRST_LOAD_BYTES)).toEqual([])
    expect([...filesOf(manifest, ['index.html', ...pages])].filter((file) => file.includes('stacked-bars'))).toEqual([])
  })

  test('paints the frame of a page after two round trips and 20 KB, before any script of the app has run', async () => {
    const html = await Bun.file(join(DIST, 'app.html')).text()
    const blocking = [
      ...html.matchAll(/<script(?![^>]*type="module")[^>]*src="([^"]+)"/g),
      ...html.matchAll(/<link rel="stylesheet"[^>]*href="([^"]+)"/g),
    ].map(([, path = '']) => path)
    // Named by the HTML itself, so all of them are fetched at once: the second round trip.
    expect(blocking).toHaveLength(2)
    expect(await Bun.file(join(DIST, blocking.find((path) => path.endsWith('.css')) ?? '')).text()).not.toContain(
      '@import',
    )
    const bytes = ['app.html', ...blocking].map((path) => Bun.file(join(DIST, `${path}.gz`)).size)
    console.log(`first paint: ${bytes.join(' + ')} bytes of gzip`)
    expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(20_000)

    await dashboard.signedIn()
    // The first load of an operator learns that there is a switch above the pages.
    const { page, complaints } = await dashboard.visit('/keys')
    await page.getByRole('link', { name: 'Operator', exact: true }).waitFor()
    await page.route('**/assets/*.js', async () => undefined)
    await page.goto(`${dashboard.origin}/keys`, { waitUntil: 'commit' })
    await page.locator('nav a', { hasText: 'API keys' }).waitFor({ state: 'visible' })
    await screenshot(page, 'first-paint')
    const placeOf = async () => (await page.locator('nav a', { hasText: 'API keys' }).boundingBox()) ?? null
    const painted = await placeOf()
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.goto(`${dashboard.origin}/keys`)
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor()
    expect(await placeOf()).toEqual(painted)
    await page.close()
    expect(complaints().filter((said) => !/ERR_|Failed to load/.test(said))).toEqual([])
  })

  test('shows the entry of the page whole, in a window that is too low for all entries', async () => {
    await dashboard.signedIn()
    const { page } = await dashboard.visit('/favicon.svg')
    await page.setViewportSize({ width: 1280, height: 480 })
    await page.goto(`${dashboard.origin}/settings`)
    await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor()
    const cut = () =>
      page.locator('nav[aria-label=Pages] a[aria-current=page]').evaluate((entry) => {
        const [own, rail] = [entry, entry.closest('nav') ?? entry].map((element) => element.getBoundingClientRect())
        return own && rail ? Math.max(0, rail.top - own.top, own.bottom - rail.bottom) : null
      })
    await becomes(cut, 0)
    await page.close()
  })

  test('of the guide does not scroll sideways at 320 px', async () => {
    const { page } = await dashboard.visit('/favicon.svg')
    await page.setViewportSize({ width: 320, height: 640 })
    await page.goto(`${dashboard.origin}/docs/guide/operating/monitoring`)
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320)
    await page.close()
  })
})

/** The load of a page on `/api`: its requests, the most that were open at once, and their bytes as they were sent. */
async function apiTraffic(page: Page, act: () => Promise<unknown>) {
  const session = await dashboard.browser.newCDPSession(page)
  await session.send('Network.enable')
  const open = new Set<string>()
  const asked: string[] = []
  let [most, bytes] = [0, 0]
  session.on('Network.requestWillBeSent', ({ requestId, request }) => {
    const path = request.url.slice(dashboard.origin.length)
    if (!path.startsWith('/api/')) return
    asked.push(decodeURIComponent(path))
    open.add(requestId)
    most = Math.max(most, open.size)
  })
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (open.delete(requestId)) bytes += encodedDataLength
  })
  await act()
  await session.detach()
  return { asked, most, bytes }
}

describe('many keys', () => {
  beforeAll(async () => {
    const account = await newAccount()
    await callWithEach(account, await makeKeys(account, MANY_KEYS))
  })

  test('501 keys: Overview and Usage ask at most 3 requests at once, and get at most 30 KB', async () => {
    const { page, complaints } = await dashboard.visit('/favicon.svg')
    for (const [path, shown] of [
      ['/', 'Spend, last 7 days, by key'],
      ['/usage?range=24h', 'Breakdown'],
    ] as const) {
      const traffic = await apiTraffic(page, async () => {
        await page.goto(dashboard.origin + path)
        await page.getByRole('region', { name: shown }).waitFor()
        await page.getByRole('img').or(page.locator('.recharts-surface')).first().waitFor()
        await page.waitForLoadState('networkidle')
      })
      console.log(
        `${path}: ${traffic.asked.length} requests, ${traffic.most} at once, ${traffic.bytes} bytes`,
        traffic.asked,
      )
      expect(traffic.most).toBeLessThanOrEqual(3)
      expect(traffic.bytes).toBeLessThanOrEqual(30_000)
    }
    await page.close()
    expect(complaints()).toEqual([])
  })
})

describe('with the keyboard alone', () => {
  test('Ctrl+K finds pages, keys by name and the most frequent actions', async () => {
    const owner = await dashboard.signedIn()
    await owner.api('/api/keys', { name: 'needle' })
    const { page, complaints } = await dashboard.visit('/')
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await page.keyboard.press('Control+k')
    const box = page.getByRole('combobox', { name: 'Search pages, keys and requests' })
    await box.waitFor()
    await screenshot(page, 'palette')
    await page.keyboard.type('need')
    await page.getByRole('option', { name: 'Key: needle' }).waitFor()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'needle', level: 1 }).waitFor()
    await page.keyboard.press('Control+k')
    await box.fill('create')
    await page.keyboard.press('Enter')
    await page.getByRole('dialog', { name: 'Create key' }).waitFor()
    await becomes(() => page.evaluate(() => document.activeElement?.getAttribute('name')), 'name')
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    expect(page.url()).not.toContain('create')
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('the skip link comes first, menus open and close by keys, and focus returns', async () => {
    const owner = await dashboard.signedIn()
    await owner.api('/api/keys', { name: 'typed' })
    const { page } = await dashboard.visit('/keys')
    const menu = page.getByRole('button', { name: 'Actions for typed' })
    await menu.waitFor()
    await page.keyboard.press('Tab')
    await becomes(() => page.evaluate(() => document.activeElement?.textContent), 'Skip to content')
    await menu.focus()
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: 'Edit key' }).waitFor()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Escape')
    await page.getByRole('menu').waitFor({ state: 'detached' })
    // Focus comes back a moment after the menu is gone.
    await page.waitForFunction(() => document.activeElement?.getAttribute('aria-label') === 'Actions for typed')
    await page.getByRole('link', { name: 'Usage' }).click()
    await page.getByRole('heading', { name: 'Usage', level: 1 }).waitFor()
    await page.waitForFunction(() => document.activeElement?.id === 'main')
    expect(await page.title()).toBe('Usage · Gateway')
    await page.close()
  })
})
