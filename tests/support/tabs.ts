import type { BrowserContext, Page } from 'playwright-core'

/** Tabs that tests closed: empty, and as a new one is. */
const emptied = new Set<Page>()

/**
 * A tab as a new one is. Its `close` empties it, and the next caller gets it: opening and closing a real tab costs the browser as much
 * processor time as loading the dashboard in it.
 */
export async function openTab(browser: BrowserContext): Promise<Page> {
  for (const page of emptied) {
    emptied.delete(page)
    if (page.context() !== browser || page.isClosed()) continue
    // The tab that opened last is in front, and the browser treats the others as hidden.
    await page.bringToFront()
    return page
  }
  const page = await browser.newPage()
  const close = page.close.bind(page)
  const size = page.viewportSize()
  page.close = () =>
    empty(page, size).then(
      () => void emptied.add(page),
      () => close(),
    )
  return page
}

/** Tabs that show something, other than those that tests closed. */
export function openTabs(browser: BrowserContext): Page[] {
  return browser.pages().filter((page) => !emptied.has(page))
}

/**
 * Waits until the tab shows what it last became, such as another width: it is in front, and two frames were drawn. One behind another
 * tab draws none.
 */
export async function drawn(page: Page): Promise<void> {
  await page.bringToFront()
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
}

/**
 * Puts back all that a test can have changed in the tab, and ends what it shows. A page that went on would ask with the cookies of the
 * next test, and the same address opened again would not be loaded.
 */
async function empty(page: Page, size: ReturnType<Page['viewportSize']>): Promise<void> {
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.evaluate(() => sessionStorage.clear())
  for (const event of ['pageerror', 'console', 'request', 'requestfinished', 'requestfailed'] as const)
    page.removeAllListeners(event)
  await page.goto(new URL('/favicon.svg', page.url()).href)
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  if (size && !Bun.deepEquals(page.viewportSize(), size)) await page.setViewportSize(size)
  await page.mouse.move(0, 0)
}
