import type { BrowserContext, Page } from 'playwright-core'

/** A new tab that saves data: an idle page then does not load all the others, which takes more than a second of processor time. */
export async function openTab(browser: BrowserContext): Promise<Page> {
  const page = await browser.newPage()
  const devtools = await browser.newCDPSession(page)
  await devtools.send('Emulation.setDataSaverOverride', { dataSaverEnabled: true })
  return page
}

/**
 * Waits until the tab shows what it last became, such as another width: it is in front, and two frames were drawn. One behind another
 * tab draws none.
 */
export async function drawn(page: Page): Promise<void> {
  await page.bringToFront()
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
}
