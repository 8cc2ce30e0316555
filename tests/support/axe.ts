import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'

const SCRIPT = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
/** The rules that read colours. All others read the document, and what `SHAPE` names: where elements are drawn, and whether. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block']
/** Every computed property that axe-core 4.14 reads, but for colours. */
const SHAPE = [
  ...['clip', 'clip-path', 'contain', 'content', 'content-visibility', 'direction', 'display', 'filter', 'float'],
  ...['font-family', 'font-size', 'font-style', 'font-weight', 'isolation', 'mask', 'mix-blend-mode', 'opacity'],
  ...['overflow', 'perspective', 'pointer-events', 'position', 'text-decoration-line', 'text-indent', 'transform'],
  ...['transform-style', 'visibility', 'white-space', 'will-change', 'z-index'],
]

interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

/**
 * Every finding of axe on the page as it is now. The page's policy forbids script tags, so axe is evaluated.
 *
 * Nothing is read twice: after a run that found nothing, the rules of colours read those elements alone that no run in this theme saw, or
 * that have other colours, another font or another place over the page by now. The other rules read the whole page, unless only colours
 * changed. Behind an open dialog nothing is read: it is hidden from everybody, and was there before.
 */
export async function runAxe(page: Page): Promise<string[]> {
  const rules = { tags: TAGS, colourRules: COLOUR_RULES, shape: SHAPE }
  let found = await page.evaluate(foundInPage, rules)
  if (found === null) {
    // Half a megabyte, once for each document.
    await page.evaluate(await Bun.file(SCRIPT).text())
    found = (await page.evaluate(foundInPage, rules)) ?? []
  }
  return found.map(
    ({ id, nodes }) =>
      `${id}: ${nodes.map(({ target, failureSummary }) => `${target.join(' ')} (${failureSummary})`).join('; ')}`,
  )
}

interface Rules {
  readonly tags: readonly string[]
  readonly colourRules: readonly string[]
  readonly shape: readonly string[]
}

interface Rule {
  readonly id: string
  matches(element: Element, ...more: unknown[]): boolean
}

/** Runs in the page, which has nothing of this file. Null: axe is not there. */
async function foundInPage({ tags, colourRules, shape }: Rules): Promise<readonly Violation[] | null> {
  if (!('axe' in globalThis)) return null
  const page = globalThis as typeof globalThis & {
    readonly axe: {
      readonly _audit: { readonly rules: readonly Rule[] }
      configure(spec: object): void
      run(context: unknown, options: object): Promise<{ violations: Violation[] }>
    }
    passedShapes?: Set<string>
    passedColours?: Map<boolean, WeakMap<Element, string>>
    /** What the rules of colours read in this run. */
    unread?: WeakSet<Element>
  }
  if (!page.unread) {
    // A finding names its element by a selector.
    page.axe.configure({ noHtml: true })
    for (const rule of page.axe._audit.rules) {
      if (!colourRules.includes(rule.id)) continue
      const matches = rule.matches.bind(rule)
      const isRead = (element: Element) => page.unread?.has(element) === false && element.getRootNode() === document
      rule.matches = (element, ...more) => !isRead(element) && matches(element, ...more)
    }
  }
  // A dialog hides the page behind it from everybody. What is around the page then is read alone.
  const isCovered = document.getElementById('root')?.ariaHidden === 'true'
  const shown = isCovered ? [...document.querySelectorAll('body > :not([aria-hidden=true], script)')] : []
  const elements = isCovered
    ? shown.flatMap((one) => [one, ...one.querySelectorAll('*')])
    : [...document.querySelectorAll('*')]
  const unread = new WeakSet<Element>()
  page.unread = unread
  let isUnread = false
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches
  page.passedColours ??= new Map()
  const passedBefore = page.passedColours.get(isDark)
  const colours = new WeakMap<Element, string>()
  // Of a long list of options, three and the chosen one stand for all: their texts alone differ, and each costs every rule its time.
  const shortened: { select: HTMLSelectElement; options: HTMLOptionElement[]; value: string }[] = []
  for (const select of document.querySelectorAll('select')) {
    const options = [...select.options]
    if (options.length <= 12 || options.some((option) => option.parentNode !== select)) continue
    shortened.push({ select, options, value: select.value })
    for (const option of options.slice(3)) if (!option.selected) option.remove()
  }
  const restore = () => {
    for (const { select, options, value } of shortened) {
      select.append(...options)
      select.value = value
    }
  }
  const read = isCovered ? shown : [document.documentElement]
  const seen: unknown[] = [innerWidth, innerHeight, scrollX, scrollY, ...read.map((one) => one.outerHTML)]
  for (const element of elements) {
    const { x, y, width, height } = element.getBoundingClientRect()
    const style = getComputedStyle(element)
    seen.push(x, y, width, height, element.scrollWidth, element.scrollHeight)
    for (const property of shape) seen.push(style.getPropertyValue(property))
    if (element.checkVisibility()) {
      const { color, backgroundColor, backgroundImage, fontSize, fontWeight, opacity, position } = style
      // What does not flow with the page may lie over something else in another window.
      const place = /static|relative/.test(position) ? position : [position, innerWidth, innerHeight]
      const own = [color, backgroundColor, backgroundImage, fontSize, fontWeight, opacity, place].join()
      colours.set(element, own)
      const isWithinUnread = element.parentElement !== null && unread.has(element.parentElement)
      if (isWithinUnread || passedBefore?.get(element) !== own) {
        unread.add(element)
        isUnread = true
      }
    }
    // These hide documents of their own, which are not looked into here: such a page is never the same.
    if (element.shadowRoot || element instanceof HTMLIFrameElement) {
      seen.push(performance.now())
      isUnread = true
    }
    if ('value' in element) seen.push(element.value)
    if ('checked' in element) seen.push(element.checked)
  }
  const text = seen.join('\n')
  page.passedShapes ??= new Set()
  const isKnown = page.passedShapes.has(text)
  if (isKnown && !isUnread) {
    restore()
    return []
  }
  const runOnly = isKnown ? { type: 'rule', values: colourRules } : { type: 'tag', values: tags }
  const { violations } = await page.axe
    .run(isCovered ? { include: shown } : document, { runOnly, resultTypes: ['violations'] })
    .finally(restore)
  if (violations.length === 0) {
    page.passedShapes.add(text)
    page.passedColours.set(isDark, colours)
  }
  return violations
}
