import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { runAxe } from '../support/dashboard/axe'
import {
  axeFindings,
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
import { savesData } from '../support/dashboard/tabs'

/** `bun run pictures` takes pictures of three accounts, of which this has 501 keys. Two pages of each list are enough to test. */
const PICTURES = process.env['SCREENSHOTS'] !== undefined
const SIZE = PICTURES ? { keys: 493, calls: 10_000 } : { keys: 45, calls: 120 }
const THEMES = ['light', 'dark'] as const
/** The narrowest window of three layouts, phone, tablet and desk, where axe reads: what fits there fits into wider ones. */
const WIDTHS = PICTURES ? [1440, PHONE.width, 320, 768, DESK.width] : [320, 768, DESK.width]
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
  ...['/limits', '/social', '/apps', '/webhooks', '/notices', '/audit', '/settings', '/operator', '/operator/apis'],
  ...['/operator/money', '/operator/audit'],
]

/** Pages that this account makes long, and those that no other test reads with axe in both themes. */
const READ_BY_AXE = [
  ...['/keys', '/', '/usage', '/usage?tab=requests', '/limits', '/social', '/apps', '/audit', '/operator/audit'],
]

/** Waits until nothing is on its way, so that what is measured is what stays. */
async function settled(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle')
  await becomes(() => page.getByText('Loading…', { exact: true }).count(), 0)
}

async function choose(page: Page, name: string, action: string) {
  await page
    .getByRole('button', { name: `Actions for ${name}` })
    .first()
    .click()
  await page.getByRole('menuitem', { name: action, exact: true }).click()
}

/** Sets the size of the window, and waits until the page is drawn for it. */
async function resize(page: Page, size: { width: number; height: number }): Promise<void> {
  await page.setViewportSize(size)
  await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))))
}

/** Every page of whoever is signed in, followed in one tab: what scrolls sideways, is endless, or fails axe. A picture of each. */
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
      if (width === DESK.width) found.push(...(await readOnDesk(page, path)))
    }
  }
  await left(watched)
  return found
}

/** What is endless, or fails axe. */
async function readOnDesk(page: Page, path: string): Promise<string[]> {
  const found: string[] = []
  const height = await page.evaluate(() => document.documentElement.scrollHeight)
  if (height > MAX_HEIGHT) found.push(`${path} is ${height} px high`)
  for (const colorScheme of READ_BY_AXE.includes(path) ? THEMES : []) {
    await page.emulateMedia({ colorScheme })
    found.push(...(await runAxe(page, colorScheme === 'dark')).map((finding) => `${path} ${colorScheme}: ${finding}`))
  }
  return found
}

/** What reaches beyond the window furthest. */
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

  test('keys keep their names beside a rotated pair, and one with a limit below a cent can be renamed', async () => {
    const watched = await dashboard.visit('/keys')
    const { page } = watched
    const table = page.getByRole('region', { name: 'API keys' })
    await table.getByText('Stops in 22 h').waitFor()
    for (const width of [1440, DESK.width]) {
      await resize(page, { width, height: 900 })
      const name = await table.getByRole('columnheader', { name: 'Name' }).boundingBox()
      expect(name?.width).toBeGreaterThanOrEqual(176)
      expect(await table.evaluate((region) => region.scrollWidth - region.clientWidth)).toBe(0)
    }
    await choose(page, 'tiny', 'Edit key')
    const form = page.getByRole('dialog', { name: 'Edit key' })
    expect(await form.getByLabel('Amount in USD').inputValue()).toBe('0.007')
    await form.getByLabel('Name').fill('tiny renamed')
    await form.getByRole('button', { name: 'Save changes' }).click()
    await table.getByRole('link', { name: 'tiny renamed' }).waitFor()
    await left(watched)
  })

  test('long lists have pages and a search, and long selects are searched', async () => {
    const watched = await dashboard.visit('/limits')
    const { page } = watched
    const rows = (name: string) => page.getByRole('region', { name, exact: true }).locator('tbody tr')
    await rows('Usage of each key in the current minute').first().waitFor()
    expect(await rows('Usage of each key in the current minute').count()).toBe(25)
    await page.getByText('25 shown', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Load more' }).click()
    await becomes(() => rows('Usage of each key in the current minute').count(), 50)
    await page.getByRole('searchbox', { name: 'Search keys' }).fill('worker 1')
    await becomes(() => rows('Usage of each key in the current minute').count(), PICTURES ? 25 : 11)
    expect(await axeFindings(page)).toEqual([])
    await follow(page, `/operator/accounts/${filled.owner.accountId}`)
    const keys = page.getByRole('region', { name: 'API keys', exact: true }).first()
    await keys.getByText(/^25 of \d\d+ shown$/).waitFor()
    await keys.getByRole('button', { name: 'Load more' }).click()
    await keys.getByText(/^50 of \d\d+ shown$/).waitFor()
    await keys.getByRole('searchbox').fill('tiny')
    await keys.getByText('1 of 1 shown').waitFor()
    await keys.getByRole('searchbox').fill('nothing of this name')
    await keys.getByText('No match. Try another word.').waitFor()
    await follow(page, '/usage?range=24h')
    // A plain select until the keys have been read.
    const filter = page.getByRole('combobox', { name: 'Key or app' }).and(page.locator('input'))
    await filter.click()
    await page.getByRole('listbox', { name: 'Key or app' }).waitFor()
    expect(await axeFindings(page)).toEqual([])
    await filter.fill('switched')
    await page.keyboard.press('Enter')
    await page.waitForURL(/key=key_/)
    await becomes(() => filter.inputValue(), 'switched off')
    await filter.fill('nothing of this name')
    await page.getByText('No match. Try another word.').waitFor()
    await page.keyboard.press('Escape')
    await becomes(() => filter.inputValue(), 'switched off')
    await follow(page, '/playground')
    const payer = page.getByRole('combobox', { name: /key/i }).last()
    await payer.waitFor()
    // The newest key may not be used from this computer.
    expect(await payer.inputValue()).not.toContain('elsewhere')
    await left(watched)
  })
})

describe('the chart of an account with many keys', () => {
  test('has bars of a chosen width, keeps colours, opens Other, and compares with the period before', async () => {
    const watched = await dashboard.visit('/usage')
    const { page } = watched
    const chart = page.getByRole('region', { name: 'Spend by key or app', exact: true })
    await chart.getByText('Show as table').click()
    const bars = chart.locator('tbody tr')
    await becomes(() => bars.count(), 7)
    const legend = chart.getByRole('list', { name: 'Legend' })
    const colours = () =>
      legend
        .getByRole('button', { pressed: true })
        .evaluateAll((buttons) =>
          Object.fromEntries(buttons.map((one) => [one.textContent, one.querySelector('span')?.getAttribute('style')])),
        )
    const before = await colours()
    expect(new Set(Object.values(before)).size).toBe(Object.keys(before).length)
    await chart.getByRole('combobox', { name: 'Bars' }).selectOption('1h')
    await becomes(() => bars.count(), 168)
    await page.getByLabel('Period', { exact: true }).selectOption('24h')
    await becomes(() => bars.count(), 24)
    await becomes(colours, before)
    await chart.getByRole('checkbox', { name: 'Compare with previous' }).check()
    await chart.getByText('The dashed line is the total of the previous period.').waitFor()
    await chart.locator('th').filter({ hasText: 'Previous' }).waitFor({ state: 'attached' })
    expect(await axeFindings(page)).toEqual([])
    await page.getByLabel('Group by').selectOption('key')
    await page.getByLabel('Measure').selectOption('requests')
    await chart
      .or(page.getByRole('region', { name: 'Requests by key or app', exact: true }))
      .last()
      .waitFor()
    await page.getByRole('button', { name: 'Show what "Other" contains' }).click()
    const other = page.getByRole('dialog', { name: 'Other, by key or app' })
    await other.locator('tbody tr').first().waitFor()
    expect(await axeFindings(page)).toEqual([])
    await page.keyboard.press('Escape')
    await other.waitFor({ state: 'detached' })
    await page.goBack()
    await becomes(() => page.getByLabel('Measure').inputValue(), 'spend')
    await heading(page, 'Usage')
    await left(watched)
  })
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
    expect(await axeFindings(page)).toEqual([])
    await page.getByRole('link', { name: 'API keys' }).click()
    await page.getByText('No keys yet.').waitFor()
    await page.unroute('**/assets/billing-*')
    await page.getByRole('link', { name: 'Billing', exact: true }).click()
    await heading(page, 'Billing')
    await page.close()
  })

  test('right after the first paint keeps the app, and offers to try again what could not be loaded', async () => {
    const { page } = await dashboard.visit('/favicon.svg')
    await savesData(page, false)
    let refused = 0
    await page.route(/assets\/(menu-list|toaster|key-dialogs)-/, (route) => {
      if (route.request().url().includes('key-dialogs')) refused++
      return route.abort()
    })
    await page.goto(`${dashboard.origin}/keys`)
    await page.getByText('No keys yet.').waitFor()
    await page.getByRole('button', { name: 'Create key' }).first().click()
    const failed = page.getByRole('alert').filter({ hasText: "A part of this page couldn't be loaded" })
    await failed.waitFor()
    expect(await axeFindings(page)).toEqual([])
    // Once for the click, and twice when the idle page loads the rest: for this page, and for that of a key.
    await becomes(async () => refused, 3)
    await page.unroute(/assets\/(menu-list|toaster|key-dialogs)-/)
    await failed.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('dialog', { name: 'Create key' }).waitFor()
    await page.close()
  })
})
