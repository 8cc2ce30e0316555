import type { BrowserContext, Page } from 'playwright-core'

/** Tabs that tests closed. Each shows what it showed until the next test opens a page in it, or `emptyTabs`. */
const closed = new Set<Page>()

/**
 * A tab whose next page finds it as a new one. Its `close` puts back what a test changed in it, and the next caller gets it: opening and
 * closing a real tab costs the browser as much processor time as loading the dashboard in it.
 */
export async function openTab(browser: BrowserContext): Promise<Page> {
  for (const page of closed) {
    closed.delete(page)
    if (page.context() !== browser || page.isClosed()) continue
    // The tab that opened last is in front, and the browser treats the others as hidden.
    await page.bringToFront()
    return page
  }
  const page = await browser.newPage()
  const close = page.close.bind(page)
  const size = page.viewportSize()
  page.close = () =>
    restore(page, size).then(
      () => void closed.add(page),
      () => close(),
    )
  return page
}

/** Tabs that show something, other than those that tests closed. */
export function openTabs(browser: BrowserContext): Page[] {
  return browser.pages().filter((page) => !closed.has(page))
}

/** Ends what closed tabs still show. */
export async function emptyTabs(): Promise<void> {
  for (const page of closed) if (!page.isClosed()) await empty(page)
}

async function empty(page: Page): Promise<void> {
  await page.goto(new URL('/favicon.svg', page.url()).href)
}

/**
 * Waits until the tab shows what it last became, such as another width: it is in front, and two frames were drawn. One behind another
 * tab draws none.
 */
export async function drawn(page: Page): Promise<void> {
  await page.bringToFront()
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
}

/** Puts back all that a test can have changed in the tab. */
async function restore(page: Page, size: ReturnType<Page['viewportSize']>): Promise<void> {
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await page.evaluate(() => sessionStorage.clear())
  for (const event of ['pageerror', 'console', 'request', 'requestfinished', 'requestfailed'] as const)
    page.removeAllListeners(event)
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
  if (size && !Bun.deepEquals(page.viewportSize(), size)) {
    // Drawing the page anew at its old size costs more than this small one.
    await empty(page)
    await page.setViewportSize(size)
  }
  await page.mouse.move(0, 0)
}
