import { expect } from 'bun:test'
import { mkdir, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, chromium, type Page } from 'playwright-core'
import type { OutboundFetch } from '../../../server/core/outbound/outbound-fetch'
import { browserPath } from '../../../tools/browser'
import { openHarness } from '../harness'
import { reconcile } from '../reconcile'
import { freePort } from '../servers/free-port'
import { listenTo } from '../servers/listen-to'
import { runAxe } from './axe'
import { builtDashboard } from './built-dashboard'
import { drawn, openTab } from './tabs'

const ROOT = join(import.meta.dir, '..', '..', '..')
/** Looked at by people, never kept in git. */
const SCREENSHOTS = join(ROOT, 'tests', '.screenshots')
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // One process for all tabs of the dashboard, which keeps what it compiled.
  '--process-per-site',
  // Pages are over before optimized code pays: a tenth of the processor time.
  '--js-flags=--no-turbofan --no-maglev',
]
/** Begins the name of a browser's profile; the id of the process follows. */
const PROFILE = 'gateway-browser-'
/** Longer than anything takes on an idle machine, shorter than a test may. */
const PATIENCE_MS = 30_000

export const DESK = { width: 1280, height: 800 }
export const PHONE = { width: 390, height: 844 }

export interface Watched {
  readonly page: Page
  /** The browser's complaints and foreign requests so far. Every test ends with `toEqual([])` of it. */
  complaints(): string[]
}

export type Dashboard = Awaited<ReturnType<typeof openDashboard>>

/**
 * The built dashboard on a real server over a temporary folder, and Chromium. One per test file; the true clock, for
 * the browser has no other. Close it when done: what a test adds to the browser for all tabs, it takes away itself.
 */
export async function openDashboard(
  options: { env?: Record<string, string>; baseUrl?: (port: number) => string; outbound?: OutboundFetch } = {},
) {
  await builtDashboard()
  // The gateway must know its own address before it listens.
  const port = ports.pop() ?? (await freePort())
  const gateway = await openHarness({
    running: true,
    ...(options.outbound && { outbound: options.outbound }),
    env: { PORT: String(port), ...(options.baseUrl && { BASE_URL: options.baseUrl(port) }), ...options.env },
  })
  const open = () => listenTo(gateway.gateway, (error) => gateway.logged.push(String(error)), gateway.config)
  let web = open()
  shared ??= openBrowser()
  const browser = await shared
  const origin = gateway.config.baseUrl
  return {
    ...gateway,
    origin,
    browser,
    /** A new tab at `path`, watched. */
    visit: (path: string) => visit(browser, origin, path),
    /** Signs somebody new in, in every tab of this browser. */
    async signedIn() {
      await browser.clearCookies()
      // Over the socket: the first account is operator only when it signs up on this machine.
      const owner = await gateway.owner(undefined, (path, init) => fetch(origin + path, init))
      await browser.addCookies(signInCookies(owner.cookie, origin))
      const account: unknown = await (await owner.api('/api/account')).json()
      return { ...owner, accountId: String(Reflect.get(Object(account), 'id')) }
    },
    /** Closes the socket: connected clients are cut off, and no other gets through. */
    cutOff: () => web.stop(0),
    /** Listens again, at the same address. */
    connect() {
      web = open()
    },
    /** Ends with every balance, charge and row of the log agreeing. */
    async close() {
      await forget(browser, origin)
      await web.stop(0)
      ports.push(port)
      await gateway.close(true)
      try {
        const { problems } = await reconcile(gateway.databaseFile)
        if (problems.length > 0) throw new Error(problems.join('\n'))
      } finally {
        await rm(gateway.folder, { recursive: true, force: true })
      }
    },
  }
}

/** A session's cookies as a browser keeps them. */
export function signInCookies(cookie: string, url: string) {
  return cookie.split('; ').map((pair) => {
    const at = pair.indexOf('=')
    return { name: pair.slice(0, at), value: pair.slice(at + 1), url, httpOnly: true, sameSite: 'Lax' as const }
  })
}

let shared: Promise<BrowserContext> | null = null
/**
 * Of gateways that were closed here. The next one has such an address: the browser keeps the files of the dashboard by it, and what it
 * compiled of them.
 */
const ports: number[] = []

/**
 * Chromium. Started once per process: a start costs up to two seconds of processor time. It ends with the process, whose end
 * closes its pipe.
 */
async function openBrowser(): Promise<BrowserContext> {
  await removeOldProfiles()
  const browser = await chromium.launchPersistentContext(join(tmpdir(), `${PROFILE}${process.pid}`), {
    executablePath: browserPath(),
    headless: true,
    viewport: DESK,
    args: FLAGS,
    colorScheme: 'light',
    locale: 'en-GB',
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  browser.setDefaultTimeout(PATIENCE_MS)
  browser.once('close', () => (shared = null))
  return browser
}

/** `bun test` runs nothing when it ends: the next run removes the profiles of the processes that are gone. */
async function removeOldProfiles(): Promise<void> {
  for (const name of await readdir(tmpdir())) {
    if (!name.startsWith(PROFILE) || isRunning(Number(name.slice(PROFILE.length)))) continue
    await rm(join(tmpdir(), name), { recursive: true, force: true })
  }
}

function isRunning(pid: number): boolean {
  try {
    return pid !== process.pid && process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Leaves to the next test file a browser that knows nothing of this one: no page, no cookie, nothing stored at the origin. */
async function forget(browser: BrowserContext, origin: string): Promise<void> {
  await browser.clearCookies()
  const [page = await openTab(browser), ...others] = browser.pages()
  for (const other of others) await other.close()
  await page.goto('about:blank')
  const session = await browser.newCDPSession(page)
  await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' })
  await session.detach()
}

/** A tab whose complaints are kept: console errors, page errors, requests to another origin. */
export async function visit(browser: BrowserContext, origin: string, path: string): Promise<Watched> {
  const page = await openTab(browser)
  const said: string[] = []
  page.on('pageerror', (error) => said.push(`page error: ${error.message}`))
  page.on('console', (message) => {
    if (message.type() === 'error') said.push(`console: ${message.text()} ${message.location().url}`)
  })
  page.on('request', (request) => {
    if (!/^(data|blob):/.test(request.url()) && new URL(request.url()).origin !== origin)
      said.push(`asked ${request.url()}`)
  })
  await page.goto(origin + path)
  return { page, complaints: () => said }
}

/** Every finding of axe on the page as it is now. */
export async function axeFindings(page: Page): Promise<string[]> {
  await drawn(page)
  return runAxe(page)
}

/**
 * Follows a path inside the dashboard, as one of its links does, and waits for the page there. It costs a fifth of the processor time of
 * a load.
 */
export async function follow(page: Page, path: string): Promise<void> {
  // Before the app runs, nothing follows the address.
  await page.locator('h1').first().waitFor()
  await page.evaluate((to) => {
    for (const heading of document.querySelectorAll('h1')) heading.dataset['left'] = 'yes'
    history.pushState({}, '', to)
  }, path)
  await page.locator('h1:not([data-left])').waitFor()
}

/** How far the page lets itself be scrolled sideways, in pixels; the bar is 0 at every width. */
export async function sidewaysScroll(page: Page): Promise<number> {
  await drawn(page)
  return scrolledSideways(page)
}

/** The same of a page that is drawn. */
export function scrolledSideways(page: Page): Promise<number> {
  return page.evaluate(() => {
    const { scrollWidth, clientWidth } = document.documentElement
    // A scroll would draw the page once more.
    if (scrollWidth <= clientWidth) return 0
    window.scrollTo(10_000, window.scrollY)
    const reached = window.scrollX
    window.scrollTo(0, window.scrollY)
    return reached
  })
}

/** How long a page may take to show what it will. */
const SHOWN_MS = 30_000
/** Each reading costs the page some milliseconds of processor time. */
const POLL_MS = 50

/**
 * Waits until a page reads as it should; what React has still to draw is no failure. Where it never does, fails with what it
 * read last.
 */
export async function becomes<T>(read: () => Promise<T>, expected: T): Promise<void> {
  const end = performance.now() + SHOWN_MS
  let seen = await read()
  while (!Bun.deepEquals(seen, expected) && performance.now() < end) {
    await Bun.sleep(POLL_MS)
    seen = await read()
  }
  expect<unknown>(seen).toEqual(expected)
}

/** Keeps a picture of the page, for people who look at them: `SCREENSHOTS=1 bun test tests/dashboard`. */
export async function screenshot(page: Page, name: string): Promise<void> {
  if (!process.env['SCREENSHOTS']) return
  await mkdir(SCREENSHOTS, { recursive: true })
  await page.screenshot({ path: join(SCREENSHOTS, `${name}.png`), fullPage: true })
}

/** Makes a picture of the documents anew: `PICTURES=1 bun test tests/dashboard/usage.test.ts`. */
export async function picture(page: Page, name: string): Promise<void> {
  if (!process.env['PICTURES']) return
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(DESK)
  await drawn(page)
  await page.screenshot({ path: join(ROOT, 'docs', 'images', `${name}.png`) })
}
