import { Readability } from '@mozilla/readability'
import { Parser, Tokenizer } from 'htmlparser2'
import { parseHTML } from 'linkedom'
import { NodeHtmlMarkdown } from 'node-html-markdown'
import type { PagePlace } from './page-place'
import { structuredData } from './structured-data'

/** Adult content: none, of adult themes, or explicit. */
export type AdultLevel = 0 | 1 | 2

/** An HTML page's metadata and main content. All URLs are absolute. */
export interface PageContent {
  readonly title: string
  /** The main content, without navigation and the like; headings, tables and code keep their form. */
  readonly markdown: string
  readonly images: readonly PageImage[]
  /** The page's canonical URL, if it is http or https. */
  readonly canonicalUrl?: string
  readonly siteName?: string
  readonly description?: string
  /** ISO timestamp. */
  readonly published?: string
  /** As the page says, such as `pt-BR`. */
  readonly lang?: string
  readonly favicon?: string
  readonly picture?: string
  readonly adult: AdultLevel
  readonly place?: PagePlace
}

/** HTML beyond this is not read: the reader's time grows with the size of the tree. */
const MAX_HTML_CHARACTERS = 3_000_000

/**
 * Extracts an HTML page's main content and metadata. `url` is where it came from. A page that is designed to keep a
 * reader busy, or is too large, is read as plain text; its metadata is used as far as it could be read.
 */
export function pageContent(html: string, url: string): PageContent {
  const whole = html.slice(0, MAX_HTML_CHARACTERS)
  const end = readablePart(whole)
  const read = end === null ? whole : whole.slice(0, end)
  const document = documentOf(read)
  const base = absolute(document.querySelector('base[href]')?.getAttribute('href'), url) ?? url
  const meta = metaReader(document)
  const data = structuredData(document)
  const rawTitle = meta('og:title') ?? text(document.querySelector('title')) ?? text(document.querySelector('h1'))
  const canonical = absolute(document.querySelector('link[rel~="canonical"]')?.getAttribute('href'), base)
  const favicon = absolute(document.querySelector('link[rel~="icon"]')?.getAttribute('href'), base)
  const picture = absolute(meta('og:image') ?? meta('twitter:image'), base)
  const published = instant(
    meta('article:published_time') ??
      data.published ??
      meta('date') ??
      meta('dc.date') ??
      meta('last-modified') ??
      timeOf(document),
  )
  const lang = document.documentElement?.getAttribute('lang') || meta('og:locale')?.replace('_', '-')
  const description = meta('description') ?? meta('og:description')
  const siteName = meta('og:site_name')
  const place = placeOf(meta, data.place)
  const images = pageImages(document, base)
  return {
    title: rawTitle ?? '',
    adult: adultLevel(meta('rating') ?? ''),
    images,
    ...(canonical ? { canonicalUrl: canonical } : {}),
    ...(favicon ? { favicon } : {}),
    ...(picture ? { picture } : {}),
    ...(published ? { published } : {}),
    ...(lang ? { lang } : {}),
    ...(description ? { description } : {}),
    ...(siteName ? { siteName } : {}),
    ...(place ? { place } : {}),
    // Last: the reader modifies the tree.
    markdown: end === null ? mainContent(document) : plainText(whole),
  }
}

type Meta = (name: string) => string | undefined
type HtmlDocument = ReturnType<typeof parseHTML>['document']

function metaReader(document: HtmlDocument): Meta {
  const found = new Map<string, string>()
  for (const tag of document.querySelectorAll('meta[content]')) {
    const name = (
      tag.getAttribute('property') ??
      tag.getAttribute('name') ??
      tag.getAttribute('http-equiv')
    )?.toLowerCase()
    const content = tag.getAttribute('content')?.trim()
    if (name && content && !found.has(name)) found.set(name, content)
  }
  return (name) => found.get(name)
}

/** The parser gives a document without its root only an empty body. */
function documentOf(html: string): HtmlDocument {
  return parseHTML(/<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`).document
}

function mainContent(document: HtmlDocument): string {
  const body = document.querySelector('body')?.innerHTML ?? ''
  const whole = body.trim() === '' ? (document.documentElement?.innerHTML ?? '') : body
  return NodeHtmlMarkdown.translate(articleOf(document) ?? contentOf(whole), { bulletMarker: '-' }).trim()
}

/** A page without a recognizable article, minus elements that are never content. */
function contentOf(html: string): string {
  const document = documentOf(`<html><body>${html}</body></html>`)
  for (const element of document.querySelectorAll([...NOT_CONTENT].join(','))) element.remove()
  return document.querySelector('body')?.innerHTML ?? ''
}

/** A page's article as HTML; null when there is none, or the tree is too broken to find one. */
function articleOf(document: HtmlDocument): string | null {
  try {
    // Readability wants the DOM of a browser; linkedom is one as far as it asks.
    return new Readability(document as unknown as Document, { keepClasses: true }).parse()?.content ?? null
  } catch {
    return null
  }
}

function text(element: { readonly textContent: string | null } | null): string | undefined {
  return element?.textContent?.replaceAll(/\s+/g, ' ').trim() || undefined
}

function timeOf(document: HtmlDocument): string | undefined {
  return (
    document.querySelector('article time[datetime], time[datetime][pubdate]')?.getAttribute('datetime') ?? undefined
  )
}

function absolute(address: string | null | undefined, base: string): string | undefined {
  const url = address ? URL.parse(address.trim(), base) : null
  return url && /^https?:$/.test(url.protocol) ? url.href : undefined
}

function instant(value: string | undefined): string | undefined {
  if (value === undefined) return undefined
  const at = new Date(value)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}

/** By the `rating` of a page: `adult`, or the RTA label, is explicit; `mature` is of adult themes. */
function adultLevel(rating: string): AdultLevel {
  if (/^adult$|RTA-5042-1996-1400-1577-RTA/i.test(rating)) return 2
  return /^(?:mature|restricted)$/i.test(rating) ? 1 : 0
}

function placeOf(meta: Meta, data: PagePlace | undefined): PagePlace | undefined {
  const [latitude, longitude] = (meta('geo.position') ?? meta('icbm') ?? '')
    .split(/[;,]/)
    .map((part) => Number.parseFloat(part))
  const [country, state] = (meta('geo.region') ?? '').split('-')
  const name = meta('geo.placename')
  const isPoint = Number.isFinite(latitude) && Number.isFinite(longitude)
  if (!isPoint && !name) return data
  return {
    ...data,
    ...(isPoint && latitude !== undefined && longitude !== undefined ? { latitude, longitude } : {}),
    ...(name ? { city: name } : {}),
    ...(country ? { country } : {}),
    ...(state ? { state } : {}),
  }
}

/** A picture of a page. */
interface PageImage {
  /** Absolute. */
  readonly url: string
  /** Its alternative text. */
  readonly alt: string
  /** The words under it. */
  readonly caption: string
  /** As the page says; null when it does not. */
  readonly width: number | null
  readonly height: number | null
}

const MAX_IMAGES = 200

/** The images of a page that have text or a file name to be found by. */
function pageImages(document: ReturnType<typeof parseHTML>['document'], base: string): PageImage[] {
  const found = new Map<string, PageImage>()
  for (const image of document.querySelectorAll('img[src]')) {
    if (found.size >= MAX_IMAGES) break
    const url = URL.parse(image.getAttribute('src') ?? '', base)
    if (!url || !/^https?:$/.test(url.protocol) || found.has(url.href)) continue
    const caption = image.closest('figure')?.querySelector('figcaption')?.textContent ?? ''
    found.set(url.href, {
      url: url.href,
      alt: plain(image.getAttribute('alt') ?? image.getAttribute('title') ?? ''),
      caption: plain(caption),
      width: pixels(image.getAttribute('width')),
      height: pixels(image.getAttribute('height')),
    })
  }
  return [...found.values()]
}

function plain(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, 300).toWellFormed()
}

function pixels(value: string | null): number | null {
  return /^\d{1,5}(?:px)?$/.test(value ?? '') ? Number.parseInt(value ?? '', 10) : null
}

/** Elements that are never content, for pages without a recognizable article. */
const NOT_CONTENT = new Set(['head', 'title', 'script', 'style', 'nav', 'header', 'footer', 'noscript'])
const STARTS_PARAGRAPH = new Set(['p', 'div', 'br', 'li', 'tr', 'pre', 'table', 'ul', 'ol', 'article', 'section'])

/**
 * The text of HTML, with headings and paragraphs separated, without building a tree: for pages that DOM-based readers cannot handle.
 * Takes linear time.
 */
function plainText(html: string): string {
  const parts: string[] = []
  /** The element being skipped, which ends only with its own name, and how deeply it is nested in itself. */
  let skipped: string | null = null
  let inside = 0
  const opened = (name: string): void => {
    if (name === skipped) inside++
    if (skipped !== null) return
    const [, level] = /^h([1-6])$/.exec(name) ?? []
    if (level) parts.push(`\n\n${'#'.repeat(Number(level))} `)
    else parts.push(STARTS_PARAGRAPH.has(name) ? '\n\n' : ' ')
    if (!NOT_CONTENT.has(name)) return
    skipped = name
    inside = 1
  }
  const closed = (name: string): void => {
    if (name === skipped && --inside === 0) skipped = null
    if (skipped === null) parts.push(/^h[1-6]$/.test(name) ? '\n\n' : ' ')
  }
  const nothing = (): void => {}
  const tokenizer = new Tokenizer(
    { decodeEntities: true },
    {
      ontext: (from, to) => skipped === null && parts.push(html.slice(from, to)),
      ontextentity: (codepoint) => skipped === null && parts.push(String.fromCodePoint(codepoint)),
      onopentagname: (from, to) => opened(html.slice(from, to).toLowerCase()),
      onclosetag: (from, to) => closed(html.slice(from, to).toLowerCase()),
      onattribdata: nothing,
      onattribentity: nothing,
      onattribend: nothing,
      onattribname: nothing,
      oncdata: nothing,
      oncomment: nothing,
      ondeclaration: nothing,
      onend: nothing,
      onopentagend: nothing,
      onprocessinginstruction: nothing,
      onselfclosingtag: nothing,
    },
  )
  tokenizer.write(html)
  tokenizer.end()
  return parts
    .join('')
    .replaceAll(/[^\S\n]+/g, ' ')
    .replaceAll(/ ?\n\s*/g, (blank) => (blank.indexOf('\n') === blank.lastIndexOf('\n') ? '\n' : '\n\n'))
    .trim()
}

/** Maximum depth. Real pages have less than half. Readability is worse than quadratic in it: a depth of 500 takes seconds. */
const MAX_DEPTH = 100
/** Maximum number of elements. DOM-based readers take a second for this many. */
const MAX_ELEMENTS = 30_000
/** Maximum number of text nodes: each entity, and each `<` that begins no tag, makes one. */
const MAX_TEXTS = 100_000
/** Maximum number of line breaks in a paragraph. The Markdown writer is quadratic in it: 75,000 take a minute. */
const MAX_BREAKS = 5_000

/**
 * How much of the HTML a DOM-based reader can handle: where to cut, or null when it can handle all. Found without building
 * the tree, in linear time.
 */
function readablePart(html: string): number | null {
  let end: number | null = null
  let depth = 0
  let elements = 0
  let breaks = 0
  let texts = 0
  const stop = (): void => {
    end = parser.startIndex
    parser.pause()
  }
  const parser = new Parser({
    onopentagname(name) {
      depth++
      elements++
      if (name === 'br') breaks++
      if (depth > MAX_DEPTH || elements > MAX_ELEMENTS || breaks > MAX_BREAKS) stop()
    },
    ontext() {
      if (++texts > MAX_TEXTS) stop()
    },
    onclosetag() {
      depth--
    },
  })
  parser.write(html)
  return end
}
