import { createRequire } from 'node:module'
import type { CDPSession, Page } from 'playwright-core'
import { type FoundInPage, type PageWithAxe, prepareAxe } from './axe-in-page'

const SCRIPT = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

/** Kinds of text that axe found readable in some page: pages share one style sheet, so it need not read the same kind again. */
const readable = new Set<string>()
/** One for each tab, never detached: that would take away the passkeys that a test put into its tab. */
const sessions = new WeakMap<Page, CDPSession>()

/**
 * Every finding of axe on the page as it is now. The page's policy forbids script tags, so axe is evaluated.
 *
 * Nothing is read twice: `prepareAxe` says what a run leaves out. `isInAnotherTheme`: the page as it was read last, but for its theme, which
 * decides nothing but colours.
 */
export async function runAxe(page: Page, isInAnotherTheme = false): Promise<string[]> {
  let found = await page.evaluate(readPage, isInAnotherTheme)
  if (found === null) {
    // Half a megabyte, once for each document. As a script of its own it is compiled once for all of them.
    const devtools = sessions.get(page) ?? (await page.context().newCDPSession(page))
    sessions.set(page, devtools)
    await devtools.send('Runtime.evaluate', { expression: await Bun.file(SCRIPT).text() })
    await page.evaluate(prepareAxe, [...readable])
    found = await page.evaluate(readPage, isInAnotherTheme)
  }
  if (found === null) throw new Error('axe is not in the page')
  for (const kind of found.readable) readable.add(kind)
  return found.violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ target, failureSummary }) => `${target.join(' ')} (${failureSummary})`).join('; ')}`,
  )
}

/** In the page. Null: axe is not there. */
async function readPage(isInAnotherTheme: boolean): Promise<FoundInPage | null> {
  return (await (globalThis as typeof globalThis & Partial<PageWithAxe>).readWithAxe?.(isInAnotherTheme)) ?? null
}
