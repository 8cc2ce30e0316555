import { expect } from 'bun:test'
import type { Page } from 'playwright-core'
import { axeFindings, type Dashboard, DESK, follow, PHONE, screenshot, sidewaysScroll, type Watched } from './browser'

/** No finding of axe, and no sideways scroll on a desk or a phone. A picture of each width. The crawl reads every page in both themes. */
export async function fits(page: Page, name?: string): Promise<void> {
  expect(await axeFindings(page)).toEqual([])
  const now = page.viewportSize() ?? DESK
  for (const size of [now, PHONE]) {
    if (!Bun.deepEquals(page.viewportSize(), size)) await page.setViewportSize(size)
    expect(await sidewaysScroll(page), `${name} at ${size.width} px`).toBe(0)
    if (name !== undefined) await screenshot(page, `${name}-${size.width}`)
  }
  await page.setViewportSize(now)
}

/** Waits for the page with this heading. */
export function heading(page: Page, name: string): Promise<void> {
  return page.getByRole('heading', { name, level: 1 }).waitFor()
}

/** Closes the tab: it complained of nothing but of what the test wanted. */
export async function left(watched: Watched, wanted: readonly RegExp[] = []): Promise<void> {
  await watched.page.close()
  saidOnly(watched, wanted)
}

function saidOnly({ complaints }: Watched, wanted: readonly RegExp[]): void {
  expect(complaints().filter((said) => !wanted.some((known) => known.test(said)))).toEqual([])
}

/** One tab for tests of the same person, which follow each other in it: to load the dashboard anew costs five times as much. */
export class SharedTab {
  private tab: Watched | null = null
  private isAtRest = true

  /** The tab at `path`, and its complaints from here on. Loaded by the first test, and after one that failed. */
  async at(dashboard: Dashboard, path: string): Promise<Watched> {
    if (!this.isAtRest) await this.close()
    this.isAtRest = false
    if (this.tab === null) {
      this.tab = await dashboard.visit(path)
      return this.tab
    }
    const { page, complaints } = this.tab
    const before = complaints().length
    await page.bringToFront()
    if (page.url() !== dashboard.origin + path) await follow(page, path)
    return { page, complaints: () => complaints().slice(before) }
  }

  /** Ends a test, whose tab complained of nothing but of what it wanted. */
  rest(watched: Watched, wanted: readonly RegExp[] = []): void {
    saidOnly(watched, wanted)
    this.isAtRest = true
  }

  async close(): Promise<void> {
    await this.tab?.page.close()
    this.tab = null
    this.isAtRest = true
  }
}

/** The browser's own word on an answer that a test wanted refused. */
export const REFUSED = /Failed to load resource: the server responded with a status of (400|401|403|404|409)/
