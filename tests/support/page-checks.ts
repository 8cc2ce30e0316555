import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { axeFindings, DESK, PHONE, screenshot, scrolledSideways, type Watched } from './browser'

/** No finding of axe and no sideways scroll, in both themes and at both widths; a picture of each. */
export async function fitsEverybody(page: Page, name: string): Promise<void> {
  for (const [width, size] of [
    ['desk', DESK],
    ['phone', PHONE],
  ] as const) {
    await page.setViewportSize(size)
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      const where = `${name} ${colorScheme} ${width}`
      expect(await axeFindings(page), where).toEqual([])
      expect(await scrolledSideways(page), where).toBe(0)
      await screenshot(page, `${name}-${colorScheme}-${width}`)
    }
  }
  await page.emulateMedia({ colorScheme: 'light' })
  await page.setViewportSize(DESK)
}

/** Waits for the page with this heading. */
export function heading(page: Page, name: string): Promise<void> {
  return page.getByRole('heading', { name, level: 1 }).waitFor()
}

/** Closes the tab: it complained of nothing but of what the test wanted. */
export async function left({ page, complaints }: Watched, wanted: readonly RegExp[] = []): Promise<void> {
  await page.close()
  expect(complaints().filter((said) => !wanted.some((known) => known.test(said)))).toEqual([])
}

/** The browser's own word on an answer that a test wanted refused. */
export const REFUSED = /Failed to load resource: the server responded with a status of (400|401|403|404|409)/
