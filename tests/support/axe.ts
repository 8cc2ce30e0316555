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
 * that have other colours, another font or another place over the page by now. Of the elements that the other theme's run read, one stands
 * for all whose colours, font and backgrounds are the same in both themes. The other rules read the whole page, unless only colours changed.
 * What an open dialog covers is not read: it is hidden from everybody, and was there before.
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

interface Check {
  evaluate(this: { data(found?: object): void }, element: Element, ...more: unknown[]): unknown
}

/** Runs in the page, which has nothing of this file. Null: axe is not there. */
async function foundInPage({ tags, colourRules, shape }: Rules): Promise<readonly Violation[] | null> {
  if (!('axe' in globalThis)) return null
  const page = globalThis as typeof globalThis & {
    readonly axe: {
      readonly _audit: { readonly rules: readonly Rule[]; readonly checks: Readonly<Record<string, Check>> }
      configure(spec: object): void
      run(context: unknown, options: object): Promise<{ violations: Violation[] }>
    }
    passedShapes?: Set<string>
    passedColours?: Map<boolean, WeakMap<Element, string>>
    /** By theme, whether dark: the background that axe found behind each element that passed, and the colours that passed. */
    passedGrounds?: Map<boolean, WeakMap<Element, string>>
    passedKinds?: Map<boolean, Set<string>>
    /** What the rules of colours read in this run, and the backgrounds that they found. */
    unread?: Set<Element>
    found?: WeakMap<Element, string>
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
    const contrast = page.axe._audit.checks['color-contrast']
    const evaluate = contrast?.evaluate
    if (!contrast || !evaluate) throw new Error('axe has no check of contrast')
    contrast.evaluate = function (element, ...more) {
      const data = (found?: { readonly bgColor?: string }) => {
        page.found?.set(element, found?.bgColor ?? '')
        this.data(found)
      }
      return evaluate.call(Object.create(this, { data: { value: data } }), element, ...more)
    }
  }
  // An open dialog hides the page from everybody: what lies beside the page is read alone.
  const isCovered = document.getElementById('root')?.ariaHidden === 'true'
  const shown = isCovered ? [...document.querySelectorAll('body > :not([aria-hidden=true], script)')] : []
  const elements = isCovered
    ? shown.flatMap((one) => [one, ...one.querySelectorAll('*')])
    : [...document.querySelectorAll('*')]
  const unread = new Set<Element>()
  page.unread = unread
  page.found = new WeakMap()
  const isDark = matchMedia('(prefers-color-scheme: dark)').matches
  page.passedColours ??= new Map()
  const passedBefore = page.passedColours.get(isDark)
  const colours = new Map<Element, string>()
  page.passedGrounds ??= new Map([false, true].map((theme) => [theme, new WeakMap()]))
  page.passedKinds ??= new Map([false, true].map((theme) => [theme, new Set()]))
  const groundsOfOther = page.passedGrounds.get(!isDark)
  const kindsBefore = page.passedKinds.get(isDark)
  const kinds: string[] = []
  /** The colours that each element is drawn on, its own background last. */
  const behind = new WeakMap<Element, string>()
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
      const parent = element.parentElement
      const paints =
        `${backgroundColor} ${backgroundImage}` !== 'rgba(0, 0, 0, 0) none' || opacity !== '1' || position !== 'static'
      const around = (parent && behind.get(parent)) ?? ''
      behind.set(element, paints ? `${around}/${own}` : around)
      const ground = groundsOfOther?.get(element)
      const kind =
        ground === undefined
          ? ''
          : [behind.get(element), own, parent && getComputedStyle(parent).color, ground].join('|')
      if (kind !== '') kinds.push(kind)
      const isChanged = (parent && unread.has(parent)) || passedBefore?.get(element) !== own
      if (isChanged && (kind === '' || !kindsBefore?.has(kind))) unread.add(element)
    }
    // These hide documents of their own, which are not looked into here: such a page is never the same.
    if (element.shadowRoot || element instanceof HTMLIFrameElement) {
      seen.push(performance.now())
      unread.add(element)
    }
    if ('value' in element) seen.push(element.value)
    if ('checked' in element) seen.push(element.checked)
  }
  const text = seen.join('\n')
  page.passedShapes ??= new Set()
  const isKnown = page.passedShapes.has(text)
  if (isKnown && unread.size === 0) {
    restore()
    return []
  }
  const runOnly = isKnown ? { type: 'rule', values: colourRules } : { type: 'tag', values: tags }
  const { violations } = await page.axe
    .run(isCovered ? { include: shown } : document, { runOnly, resultTypes: ['violations'] })
    .finally(restore)
  if (violations.length === 0) {
    page.passedShapes.add(text)
    // What a dialog covers is as it was.
    const passed = (isCovered && passedBefore) || new WeakMap<Element, string>()
    for (const [element, own] of colours) passed.set(element, own)
    page.passedColours.set(isDark, passed)
    for (const element of unread) page.passedGrounds.get(isDark)?.set(element, page.found.get(element) ?? '')
    for (const kind of kinds) kindsBefore?.add(kind)
  }
  return violations
}
