import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { runAxe } from '../support/dashboard/axe'
import {
  becomes,
  type Dashboard,
  DESK,
  follow,
  openDashboard,
  PHONE,
  screenshot,
  scrolledSideways,
  signInCookies,
} from '../support/dashboard/browser'
import { largeAccount } from '../support/dashboard/large-account'
import { heading, left } from '../support/dashboard/page-checks'
import { IS_LONG } from '../support/long'

/** `bun run pictures` takes pictures of three accounts, of which this has 501 keys; `bun run long` has more than one page of each list. */
const PICTURES = process.env['SCREENSHOTS'] !== undefined
const SIZE = PICTURES ? { keys: 493, calls: 10_000 } : IS_LONG ? { keys: 45, calls: 120 } : { keys: 3, calls: 20 }
const THEMES = ['light', 'dark'] as const
type Theme = (typeof THEMES)[number]
/** The narrowest window of three layouts, phone, tablet and desk, where axe reads: what fits there fits into wider ones. */
const WIDTHS = PICTURES
  ? [1440, PHONE.width, 320, 768, DESK.width]
  : IS_LONG
    ? [320, 768, DESK.width]
    : [320, DESK.width]
/** With the rail, a tablet has no more room than a phone. */
const HAVE_CARDS = [768, PHONE.width, 320]
/** Longer than any page whose lists show at most 100 rows before "Load more". */
const MAX_HEIGHT = 6_500

let dashboard: Dashboard
let filled: Awaited<ReturnType<typeof largeAccount>>
beforeAll(async () => {
  dashboard = await openDashboard()
  filled = await largeAccount(dashboard, SIZE)
})
afterAll(() => dashboard.close())

/** The same page twice in a row would not be opened anew. */
const PAGES = [
  ...['/keys', '/', '/usage', '/playground', '/usage?tab=requests', '/catalogue', '/usage?tab=latency', '/billing'],
  ...[
    '/limits',
    '/social',
    '/apps',
    '/webhooks',
    '/notices',
    '/audit',
    '/members',
    '/settings',
    '/operator',
    '/operator/apis',
  ],
  ...['/operator/models', '/operator/money', '/operator/audit'],
]

/** Waits until nothing is on its way, so that what is measured is what stays. */
async function settled(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle')
  await becomes(() => page.getByText('Loading…', { exact: true }).count(), 0)
}

/** Sets the size of the window, and waits until the page is drawn for it. */
async function resize(page: Page, size: { width: number; height: number }): Promise<void> {
  await page.setViewportSize(size)
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
}

/** Every page of the signed-in user, followed in one tab: those that scroll sideways, are endless, or fail axe. A picture of each. */
async function walk(account: string, paths: readonly string[]): Promise<string[]> {
  const watched = await dashboard.visit('/')
  const { page } = watched
  await heading(page, 'Overview')
  const found: string[] = []
  for (const [at, path] of paths.entries()) {
    await follow(page, path)
    await settled(page)
    // Each page begins at the width at which the last one ended.
    for (const width of at % 2 === 0 ? WIDTHS : WIDTHS.toReversed()) {
      if (width !== page.viewportSize()?.width) await resize(page, { width, height: DESK.height })
      const scroll = await scrolledSideways(page)
      if (scroll > 0) found.push(`${path} at ${width} px scrolls by ${scroll}: ${await widest(page)}`)
      const tables = HAVE_CARDS.includes(width) ? await page.locator('main table:visible').count() : 0
      if (tables > 0) found.push(`${path} at ${width} px has ${tables} tables that are no cards`)
      for (const colorScheme of PICTURES ? THEMES : []) {
        await page.emulateMedia({ colorScheme })
        await screenshot(page, `${account}${path.replaceAll(/[/?=]/g, '-')}-${width}-${colorScheme}`)
      }
      if (width === DESK.width)
        found.push(...(await readOnDesk(page, path, IS_LONG ? THEMES : [at % 3 === 0 ? 'dark' : 'light'])))
    }
  }
  await left(watched)
  return found
}

/** The pages that are endless, or fail axe. */
async function readOnDesk(page: Page, path: string, themes: readonly Theme[]): Promise<string[]> {
  const found: string[] = []
  const height = await page.evaluate(() => document.documentElement.scrollHeight)
  if (height > MAX_HEIGHT) found.push(`${path} is ${height} px high`)
  for (const colorScheme of themes) {
    await page.emulateMedia({ colorScheme })
    found.push(...(await runAxe(page)).map((finding) => `${path} ${colorScheme}: ${finding}`))
  }
  return found
}

/** The element that reaches furthest beyond the window. */
function widest(page: Page): Promise<string> {
  return page.evaluate(() => {
    const right = (element: Element) => element.getBoundingClientRect().right
    const [first] = [...document.querySelectorAll('main *')].sort((one, other) => right(other) - right(one))
    return `${first?.outerHTML.slice(0, 200)}`
  })
}

describe('an account with more than fits on a page', () => {
  test('no page scrolls sideways or grows without end on a phone, a tablet or a desk, and axe finds nothing in two themes', async () => {
    const ofKey = `/keys/${filled.rotated.id}`
    expect(await walk('large', [...PAGES, ofKey])).toEqual([])
    if (!PICTURES) return
    const small = await largeAccount(dashboard, { keys: 3, calls: 500 })
    expect(await walk('small', [...PAGES, `/keys/${small.rotated.id}`])).toEqual([])
    await dashboard.signedIn()
    expect(await walk('new', PAGES)).toEqual([])
    await dashboard.browser.clearCookies()
    await dashboard.browser.addCookies(signInCookies(filled.owner.cookie, dashboard.origin))
  }, 600_000)
})

describe('a gateway that is away', () => {
  // Somebody new, whose pages are short.
  beforeAll(() => dashboard.signedIn())

  test('leaves the shell, a page that was not loaded yet opens by itself later, and dialogs that were loaded open', async () => {
    const { page } = await dashboard.visit('/favicon.svg')
    await page.route('**/assets/billing-*', (route) => route.abort())
    await page.goto(`${dashboard.origin}/keys`)
    await page.getByText('No keys yet.').waitFor()
    await page.getByRole('link', { name: 'Billing', exact: true }).click()
    await page.getByRole('alert').filter({ hasText: "This page couldn't be loaded" }).waitFor()
    await page.getByRole('navigation', { name: 'Pages' }).waitFor()
    await page.getByRole('link', { name: 'API keys' }).click()
    await page.getByText('No keys yet.').waitFor()
    await page.unroute('**/assets/billing-*')
    await page.getByRole('link', { name: 'Billing', exact: true }).click()
    await heading(page, 'Billing')
    await page.close()
  })
})
