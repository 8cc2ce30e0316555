import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const SCRIPT = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

interface PageWithAxe {
  readonly axe?: { run(context: Document, options: object): Promise<{ violations: readonly Violation[] }> }
}

/** Every finding of axe on the page as it is now. The page's policy forbids script tags, so axe is evaluated. */
export async function runAxe(page: Page): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(await Bun.file(SCRIPT).text())
  const violations = await page.evaluate(async (values) => {
    const { axe } = globalThis as PageWithAxe
    return (await axe?.run(document, { runOnly: { type: 'tag', values }, resultTypes: ['violations'] }))?.violations
  }, TAGS)
  if (violations === undefined) throw new Error('axe is not in the page')
  return violations.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ target, failureSummary }) => `${target.join(' ')} (${failureSummary})`).join('; ')}`,
  )
}
