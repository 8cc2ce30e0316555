interface Violation {
  readonly id: string
  readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary: string }[]
}

/** What a run found, and the kinds of text and of links that it found readable for the first time. */
export interface FoundInPage {
  readonly violations: readonly Violation[]
  readonly readable: readonly string[]
}

interface Rule {
  readonly id: string
  matches(element: Element, ...more: unknown[]): boolean
}

interface Check {
  evaluate(this: { data(found?: object): void }, element: Element, ...more: unknown[]): unknown
}

export interface PageWithAxe {
  readonly axe: {
    readonly _audit: { readonly rules: readonly Rule[]; readonly checks: Readonly<Record<string, Check>> }
    configure(spec: object): void
    run(context: unknown, options: object): Promise<{ violations: Violation[] }>
  }
  readWithAxe(isInAnotherTheme: boolean): Promise<FoundInPage>
}

interface Box {
  readonly left: number
  readonly right: number
  readonly top: number
  readonly bottom: number
}

/**
 * Runs in the page, once in each document, which has nothing of this file. Leaves a function there that reads the page as it is now, and
 * leaves out what is sure to pass:
 *
 * - Colours, of text that has WCAG's contrast with all that is drawn where it is, if every colour of these is opaque.
 * - Colours, of an element whose kind was found readable before: it and all it lies on have the same colours, font and opacity, and so has
 *   whatever else is drawn where it is.
 * - Size of targets, of one that is large enough and shares its place with no other, and of one with as much room around it.
 * - All other rules, where they found nothing in a document of the same elements, values, visibility and styles; and in another theme.
 * - Of a long list of options, all but three and the chosen one: their texts alone differ, and each costs every rule its time.
 * - What an open dialog covers: it is hidden from everybody, and was there before.
 */
export function prepareAxe(known: readonly string[]): void {
  const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']
  /** Every element that axe takes for a target, and some that it does not. */
  const TARGETS = 'a[href], area, button, input, select, textarea, summary, [contenteditable], [role][tabindex]'
  const NO_TARGETS = '[role=region], [role=group], [role=dialog], [role=alertdialog], [role=tabpanel]'
  /** WCAG 2.5.8, in pixels. */
  const TARGET_SIZE = 24
  /** WCAG 1.4.3, of text of any size. */
  const CONTRAST = 4.5
  /** What decides, besides the document, whether and how the rules other than of colours and sizes read an element. */
  const SHAPE = [
    'clip',
    'clip-path',
    'content-visibility',
    'display',
    'float',
    'opacity',
    'overflow',
    'position',
    'visibility',
  ]
  /** Fields that show text. */
  const FIELDS = 'input:not([type=checkbox], [type=radio], [type=range], [type=color], [type=hidden]), select, textarea'
  /** Marks what an open dialog hides from everybody. */
  const COVERED = '[data-aria-hidden=true]'

  const page = globalThis as typeof globalThis & PageWithAxe
  const readable = new Set(known)
  /** Structures of the page, and places of its targets, in which nothing was found. */
  const passed = new Set<string>()
  /** Kinds in which an element was read without a finding, though axe could not tell whether they are readable. */
  const passedAs = new WeakMap<Element, Set<string>>()
  /** What each of these rules reads in this run. */
  let toRead = new Map<string, Map<Element, string>>()
  let newlyReadable: string[] = []

  const limit = (id: string) => {
    const rule = page.axe._audit.rules.find((one) => one.id === id)
    if (!rule) throw new Error(`axe has no rule ${id}`)
    const matches = rule.matches.bind(rule)
    rule.matches = (element, ...more) =>
      (element.getRootNode() !== document || toRead.get(id)?.has(element) === true) && matches(element, ...more)
  }
  /** Keeps the kinds of what passes this check, which then passes what else is of this kind. */
  const remember = (id: string, rule: string, isRead: (found: { readonly bgColor?: string }) => boolean) => {
    const check = page.axe._audit.checks[id]
    if (!check) throw new Error(`axe has no check ${id}`)
    const { evaluate } = check
    check.evaluate = function (element, ...more) {
      const kind = toRead.get(rule)?.get(element)
      if (kind !== undefined && readable.has(kind)) return true
      let found = {}
      const data = (what = {}) => {
        found = what
        this.data(what)
      }
      const result = evaluate.call(Object.create(this, { data: { value: data } }), element, ...more)
      if (result === true && kind !== undefined && isRead(found)) {
        readable.add(kind)
        newlyReadable.push(kind)
      }
      return result
    }
  }
  // A finding names its element by a selector.
  page.axe.configure({ noHtml: true })
  for (const id of ['color-contrast', 'link-in-text-block', 'target-size']) limit(id)
  // Without a background, axe found that the element is hidden.
  remember('color-contrast', 'color-contrast', ({ bgColor }) => bgColor !== undefined)
  remember('link-in-text-block', 'link-in-text-block', () => true)
  remember('link-in-text-block-style', 'link-in-text-block', () => true)

  /** Drawn, and not for screen readers alone. */
  const isSeen = (element: Element) => element.checkVisibility() && getComputedStyle(element).clipPath !== 'inset(50%)'
  const contains = (one: Box, other: Box) =>
    one.left <= other.left && one.right >= other.right && one.top <= other.top && one.bottom >= other.bottom
  const overlap = (one: Box, other: Box) =>
    one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom
  /** A copy, because a browser's rectangle takes a call for each side, and pairs of them are compared. */
  const boxOf = (element: Element): Box => {
    const { left, right, top, bottom } = element.getBoundingClientRect()
    return { left, right, top, bottom }
  }
  const common = (one: Box, other: Box): Box => ({
    left: Math.max(one.left, other.left),
    right: Math.min(one.right, other.right),
    top: Math.max(one.top, other.top),
    bottom: Math.min(one.bottom, other.bottom),
  })
  /** The box, made as large as a target has to be. */
  const atLeastTarget = ({ left, right, top, bottom }: Box): Box => {
    const [x, y] = [Math.max(0, TARGET_SIZE - right + left) / 2, Math.max(0, TARGET_SIZE - bottom + top) / 2]
    return { left: left - x, right: right + x, top: top - y, bottom: bottom + y }
  }

  /** Takes options out of long lists; returns what puts them back. */
  const shortenLists = () => {
    const shortened: { select: HTMLSelectElement; options: HTMLOptionElement[]; value: string }[] = []
    for (const select of document.querySelectorAll('select')) {
      const options = [...select.options]
      if (options.length <= 12 || options.some((option) => option.parentNode !== select)) continue
      shortened.push({ select, options, value: select.value })
      for (const option of options.slice(3)) if (!option.selected) option.remove()
    }
    return () => {
      for (const { select, options, value } of shortened) {
        select.append(...options)
        select.value = value
      }
    }
  }

  /** The element, or what is in it, without what a dialog covers. */
  const rootsOf = (element: Element): Element[] => {
    if (element.matches(COVERED)) return []
    return element.querySelector(COVERED) ? [...element.children].flatMap(rootsOf) : [element]
  }

  /** Everything that the rules other than of colours and sizes read. */
  const structureOf = (elements: readonly Element[]) => {
    const seen: unknown[] = []
    for (const element of elements) {
      seen.push(element.tagName, element.childElementCount)
      for (const { name, value } of element.attributes) seen.push(name, value)
      for (const node of element.childNodes) if (node.nodeType === Node.TEXT_NODE) seen.push(node.nodeValue)
      if ('value' in element) seen.push(element.value)
      if ('checked' in element) seen.push(element.checked)
      // These hide documents of their own, which are not looked into here: such a page is never the same.
      if (element.shadowRoot || element instanceof HTMLIFrameElement) seen.push(performance.now())
      if (!element.checkVisibility()) {
        seen.push('hidden')
        continue
      }
      const style = getComputedStyle(element)
      const { right, bottom, width, height } = element.getBoundingClientRect()
      seen.push(width === 0, height === 0, right + scrollX <= 0, bottom + scrollY <= 0)
      seen.push(element.scrollWidth > element.clientWidth, element.scrollHeight > element.clientHeight)
      for (const property of SHAPE) seen.push(style.getPropertyValue(property))
    }
    return seen.join('\n')
  }

  /** Where each element shows what it contains: all of it, unless it or what it is in scrolls or cuts off. */
  const windowsOf = () => {
    const windows = new Map<Element, Box>()
    const everywhere = { left: -Infinity, right: Infinity, top: -Infinity, bottom: Infinity }
    const windowOf = (element: Element | null): Box => {
      if (!element) return everywhere
      const known = windows.get(element)
      if (known) return known
      const { overflowX, overflowY, position } = getComputedStyle(element)
      const isFree = position === 'absolute' || position === 'fixed'
      const outer = isFree ? everywhere : windowOf(element.parentElement)
      const own = overflowX === 'visible' && overflowY === 'visible' ? outer : common(outer, boxOf(element))
      windows.set(element, own)
      return own
    }
    return windowOf
  }

  /** The targets that axe has to look at, and the place of each target of the page. */
  const targetsOf = (elements: readonly Element[]) => {
    const windowOf = windowsOf()
    const targets = elements
      .filter((element) => element.matches(TARGETS) && !element.matches(NO_TARGETS) && isSeen(element))
      .map((element) => {
        const box = boxOf(element)
        const isFree = ['absolute', 'fixed'].includes(getComputedStyle(element).position)
        const shown = isFree ? box : common(box, windowOf(element.parentElement))
        const isLarge = Math.min(box.right - box.left, box.bottom - box.top) >= TARGET_SIZE
        return { element, box, shown, room: atLeastTarget(shown), isLarge }
      })
    /** The others are scrolled out of sight. */
    const inSight = targets.filter(({ shown }) => shown.left < shown.right && shown.top < shown.bottom)
    const isSure = ({ element, shown, room, isLarge }: (typeof targets)[number]) =>
      !inSight.some(
        (other) =>
          other.element !== element &&
          (isLarge ? overlap(shown, other.shown) && !other.element.contains(element) : overlap(room, other.room)),
      )
    return {
      unsure: new Map(targets.filter((target) => !isSure(target)).map(({ element }) => [element, ''] as const)),
      places: targets.map(({ box }) => [box.left, box.top, box.right, box.bottom].join()).join(' '),
    }
  }

  /** WCAG's relative luminance of a colour; null: it is not opaque, or of another notation. */
  const luminanceOf = (colour: string): number | null => {
    const parts = /^rgb\((\d+), (\d+), (\d+)\)$/.exec(colour)?.slice(1).map(Number)
    if (!parts) return null
    const [red = 0, green = 0, blue = 0] = parts.map((part) =>
      part <= 10 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4,
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const haveContrast = (one: string, other: string) => {
    const [first, second] = [luminanceOf(one), luminanceOf(other)]
    if (first === null || second === null) return false
    return (Math.max(first, second) + 0.05) / (Math.min(first, second) + 0.05) >= CONTRAST
  }

  const ancestorsOf = ({ parentElement }: Element): Element[] =>
    parentElement ? [...ancestorsOf(parentElement), parentElement] : []

  /** The kind of each element whose text is not sure to be readable, and of each link within text. */
  const kindsOf = (roots: readonly Element[], elements: readonly Element[]) => {
    /** The backgrounds behind each element, from the last opaque one to its own, and the element whose background that is. */
    const behind = new Map<Element | null, { looks: string; opaque: Element | null }>()
    const painters: { element: Element; box: Box; look: string }[] = []
    const shown: { element: Element; style: CSSStyleDeclaration; box: Box }[] = []
    for (const element of new Set([...roots.flatMap(ancestorsOf), ...elements])) {
      if (!isSeen(element)) continue
      const style = getComputedStyle(element)
      const { backgroundColor, backgroundImage, opacity, overflowX, overflowY, position, zIndex } = style
      const { looks, opaque } = behind.get(element.parentElement) ?? { looks: '', opaque: null }
      const isGroup = opacity !== '1' || looks.includes('group')
      const hasBackground = backgroundImage !== 'none' || !/^rgba\(.*, 0\)$/.test(backgroundColor)
      const own = [backgroundColor, backgroundImage, isGroup ? `group ${opacity}` : ''].join()
      if (hasBackground && !isGroup && backgroundColor.startsWith('rgb('))
        behind.set(element, { looks: own, opaque: element })
      else if (hasBackground || isGroup)
        behind.set(element, { looks: `${looks}/${own}`, opaque: isGroup ? null : opaque })
      else behind.set(element, { looks, opaque })
      const { left, right, top, bottom } = boxOf(element)
      const { scrollWidth, clientWidth, scrollHeight, clientHeight } = element
      // These are rounded: only what is wider than its own box reaches beyond it, unless the box cuts it off.
      const width = Math.max(right - left, overflowX === 'visible' && scrollWidth > clientWidth ? scrollWidth : 0)
      const height = Math.max(bottom - top, overflowY === 'visible' && scrollHeight > clientHeight ? scrollHeight : 0)
      const box = { left, right: left + width, top, bottom: top + height }
      if (hasBackground) painters.push({ element, box, look: [own, position, zIndex].join() })
      shown.push({ element, style, box })
    }
    /**
     * What is drawn where the element is, but for what nothing can be seen of: it lies behind or beside the opaque background. `colours`:
     * of all that may lie behind its text; null, if these are not all.
     */
    const groundOf = (element: Element, box: Box) => {
      const { looks, opaque } = behind.get(element) ?? { looks: '', opaque: null }
      const within = opaque && contains(boxOf(opaque), box) ? opaque : document.documentElement
      const others = painters.filter(
        (one) => overlap(box, one.box) && !one.element.contains(element) && within.contains(one.element),
      )
      const otherLooks = [...new Set(others.map(({ look }) => look))]
      const grounds = [looks, ...otherLooks].sort()
      for (let at: Element | null = element; others.length > 0 && at && at !== within; at = at.parentElement) {
        const { position, zIndex } = getComputedStyle(at)
        if (position !== 'static' || zIndex !== 'auto') grounds.push(`${position} ${zIndex}`)
      }
      const colours = [looks, ...otherLooks].map((look) => /^(rgb\(.*?\)),none,(,|$)/.exec(look)?.[1] ?? '')
      return { ground: grounds.join('|'), colours: within === opaque ? colours : null }
    }
    const TEXT = ['color', 'background-color', 'background-image', 'font-size', 'font-weight', 'opacity', 'text-shadow']
    const LINK = ['content', 'display', 'border', 'font-family', 'font-style', 'text-decoration']
    const lookOf = (style: CSSStyleDeclaration, properties: readonly string[]) =>
      properties.map((property) => style.getPropertyValue(property)).join()
    const text = new Map<Element, string>()
    const links = new Map<Element, string>()
    for (const { element, style, box } of shown) {
      const hasText = [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.nodeValue?.trim())
      if (hasText || element.matches(FIELDS)) {
        const { ground, colours } = groundOf(element, box)
        const isSure = style.textShadow === 'none' && colours?.every((colour) => haveContrast(style.color, colour))
        if (!isSure) text.set(element, `${lookOf(style, TEXT)}|${ground}`)
      }
      if (!element.matches('a[href], [role=link]') || !style.display.startsWith('inline')) continue
      const looks = [style, getComputedStyle(element, '::before'), getComputedStyle(element, '::after')]
      let block = element.parentElement
      for (; block && getComputedStyle(block).display.startsWith('inline'); block = block.parentElement)
        looks.push(getComputedStyle(block))
      if (!block || block.textContent?.trim() === element.textContent?.trim()) continue
      looks.push(getComputedStyle(block))
      const kinds = looks.map((one) => lookOf(one, [...TEXT, ...LINK]))
      links.set(element, `link|${kinds.join('/')}|${groundOf(element, box).ground}`)
    }
    return { text, links }
  }

  page.readWithAxe = async (isInAnotherTheme) => {
    newlyReadable = []
    const restore = shortenLists()
    const roots = rootsOf(document.documentElement)
    const elements = roots.flatMap((root) => [root, ...root.querySelectorAll('*')])
    const structure = isInAnotherTheme ? '' : structureOf(elements)
    const { unsure, places } = isInAnotherTheme ? { unsure: new Map(), places: '' } : targetsOf(elements)
    const { text, links } = kindsOf(roots, elements)
    const isUnread = ([element, kind]: readonly [Element, string]) =>
      !readable.has(kind) && !passedAs.get(element)?.has(kind)
    const unread = { text: new Map([...text].filter(isUnread)), links: new Map([...links].filter(isUnread)) }
    toRead = new Map([
      ['color-contrast', unread.text],
      ['link-in-text-block', unread.links],
      ['target-size', unsure],
    ])
    const rules = [...toRead].filter(([id, { size }]) => size > 0 && (id !== 'target-size' || !passed.has(places)))
    const isKnown = isInAnotherTheme || passed.has(structure)
    if (isKnown && rules.length === 0) {
      restore()
      return { violations: [], readable: [] }
    }
    const runOnly = isKnown ? { type: 'rule', values: rules.map(([id]) => id) } : { type: 'tag', values: TAGS }
    const { violations } = await page.axe
      .run({ include: roots }, { runOnly, resultTypes: ['violations'] })
      .finally(restore)
    if (violations.length === 0) {
      if (!isInAnotherTheme) passed.add(structure).add(places)
      for (const [element, kind] of [...unread.text, ...unread.links])
        passedAs.set(element, (passedAs.get(element) ?? new Set()).add(kind))
    }
    return { violations, readable: newlyReadable }
  }
}
