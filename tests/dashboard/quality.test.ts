import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import type { Account } from '../../server/core/accounts/account'
import {
  axeFindings,
  becomes,
  type Dashboard,
  DESK,
  openDashboard,
  PHONE,
  screenshot,
} from '../support/dashboard/browser'
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
    const { page, complaints } = await dashboard.visit('/favicon.svg')
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

  test('serves a page whose policy allows no foreign or inline script, and no foreign picture', async () => {
    const answer = await fetch(`${dashboard.origin}/keys`, { headers: { accept: 'text/html' } })
    const policy = answer.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'self'")
    expect(policy).toContain("img-src 'self' data:;")
    expect(policy).not.toContain('unsafe-eval')
    expect(policy).not.toMatch(/https?:/)
    expect(await answer.text()).not.toMatch(/<script(?![^>]*src=)/)
  })
})

/** What a page asked of `/api`: its requests, the most that were open at once, and their bytes as they were sent. */
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

  test('501 keys: the first hundred show at once, the rest page by page', async () => {
    const { page, complaints } = await dashboard.visit('/')
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    const session = await dashboard.browser.newCDPSession(page)
    // Processor time, which other processes of a busy machine do not lengthen.
    await session.send('Performance.enable', { timeDomain: 'threadTicks' })
    const script = async () => {
      const { metrics } = await session.send('Performance.getMetrics')
      return (metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? 0) * 1000
    }
    const before = await script()
    await page.getByRole('link', { name: 'API keys' }).click()
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 100)
    const spent = (await script()) - before
    console.log(`100 of ${MANY_KEYS} keys: ${Math.round(spent)} ms of script`)
    expect(spent).toBeLessThan(500)
    expect(await page.getByRole('button', { name: /^All/ }).textContent()).toContain(String(MANY_KEYS))
    await page.getByRole('button', { name: 'Load more' }).click()
    await page.waitForFunction(() => document.querySelectorAll('tbody tr').length === 200)
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
    expect(await axeFindings(page)).toEqual([])
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
    const { page } = await dashboard.load('/keys')
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

describe('a dialog', () => {
  test('fails axe when one of its fields has no name or a colour that is hard to read, over a page that passed', async () => {
    await dashboard.signedIn()
    const { page } = await dashboard.visit('/keys')
    await page.getByText('No keys yet.').waitFor()
    expect(await axeFindings(page)).toEqual([])
    await page.getByRole('button', { name: 'Create key' }).first().click()
    const dialog = page.getByRole('dialog', { name: 'Create key' })
    const title = dialog.getByRole('heading', { name: 'Create key' })
    const label = dialog.getByText('Name', { exact: true })
    await title.waitFor()
    expect(await axeFindings(page)).toEqual([])
    await title.evaluate((heading) => (heading.style.color = '#ddd'))
    expect((await axeFindings(page)).join()).toContain('color-contrast: ')
    await title.evaluate((heading) => (heading.style.color = ''))
    // What the dialog covers is not read.
    await page.locator('h1').evaluate((covered) => (covered.style.color = '#ddd'))
    expect(await axeFindings(page)).toEqual([])
    await label.evaluate((text) => text.setAttribute('for', 'nothing'))
    expect((await axeFindings(page)).join()).toContain('label: ')
    await page.close()
  })
})

describe('axe', () => {
  test('finds what is hard to read over a bar in one theme, where the same text passed over none', async () => {
    await dashboard.browser.clearCookies()
    const { page } = await dashboard.visit('/sign-in')
    await page.getByLabel('Email').waitFor()
    const themes = async () => {
      const found: string[][] = []
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        found.push(await axeFindings(page))
      }
      return found
    }
    await page.evaluate(() => {
      const sheet = new CSSStyleSheet()
      const bar = 'position: absolute; inset: 0; background: #eee'
      const dark = '@media (prefers-color-scheme: dark) { .bar { background: #999 !important } }'
      sheet.replaceSync(`.bar { ${bar} } ${dark} .over, .over span { position: relative; z-index: 1 }`)
      document.adoptedStyleSheets.push(sheet)
      document.querySelector('main')?.insertAdjacentHTML('beforeend', '<p class="over"><span>Words</span></p>')
    })
    expect(await themes()).toEqual([[], []])
    await page.evaluate(() => {
      const bar = '<p class="over"><i class="bar"></i><span>Words</span></p>'
      document.querySelector('main')?.insertAdjacentHTML('beforeend', bar)
    })
    const [light, dark] = await themes()
    expect(light).toEqual([])
    expect(dark?.join()).toContain('color-contrast: ')
    await page.close()
  })

  test('finds on a phone alone what passed on a desk: pale words beside a pale letter, targets, a field without a label', async () => {
    await dashboard.browser.clearCookies()
    const { page } = await dashboard.visit('/sign-in')
    await page.getByLabel('Email').waitFor()
    await page.evaluate(() => {
      const sheet = new CSSStyleSheet()
      const small =
        '.small { width: 12px; height: 12px; min-height: 0; padding: 0; overflow: hidden; display: inline-block }'
      const covered = '.large { position: absolute; width: 50px; height: 50px } .large + .large { margin: 9px }'
      const phone = `.pale { color: #777 } ${small} .small + .small { margin-left: 8px } ${covered}`
      sheet.replaceSync(
        `@media (max-width: 500px) { ${phone} } @media (min-width: 501px) { .on-phone { display: none } }`,
      )
      document.adoptedStyleSheets.push(sheet)
      document.querySelector('main')?.insertAdjacentHTML('beforeend', '<div id="added"></div>')
    })
    for (const [rule, html] of [
      ['color-contrast', '<p class="pale">i</p><p class="pale">Words</p>'],
      ['target-size', '<button class="small">One</button><button class="small">Two</button>'],
      ['target-size', '<button class="large on-phone">One</button><button class="large on-phone">Two</button>'],
      ['label', '<p><input class="on-phone"></p>'],
    ]) {
      await page.locator('#added').evaluate((added, within = '') => (added.innerHTML = within), html)
      await page.setViewportSize(DESK)
      expect(await axeFindings(page)).toEqual([])
      await page.setViewportSize(PHONE)
      expect((await axeFindings(page)).join()).toContain(`${rule}: `)
    }
    await page.close()
  })
})
