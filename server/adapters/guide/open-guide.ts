import { readdir, readFile } from 'node:fs/promises'
import { extname, join, posix } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import {
  GUIDE_PATH,
  type Guide,
  type GuideHit,
  type GuidePage,
  type GuideShelf,
  guideAddress,
} from '../../core/guide/guide'
import { markdownHtml, unescaped } from './markdown-html'
import { type GuideSection, SectionIndex } from './section-index'

/** Pages whose path is not their name: the index is the first page. */
const PATHS: Readonly<Record<string, string>> = { 'README.md': 'start', 'docs/README.md': '' }
const DECISIONS = 'docs/adr'
const TYPES: Readonly<Record<string, string>> = {
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
}
/** History and lists of tests answer few questions. */
const LESS: Readonly<Record<string, number>> = {
  changelog: 0.3,
  guarantees: 0.6,
  specification: 0.5,
}
const DECISION_WEIGHT = 0.5
const MAX_HITS = 12
const SNIPPET = 220

/** Reads README.md and docs/ below `root`, renders them and indexes their sections. */
export async function openGuide(root: string): Promise<Guide> {
  const paths = await filePaths(root)
  const pages = new Map<string, GuidePage>()
  const sections: GuideSection[] = []
  const files = new Map<string, { type: string; bytes: Uint8Array<ArrayBuffer> }>()
  const links = new Map(paths.map((path) => [path, guideAddress(below(path))]))
  let index = ''
  for (const path of paths) {
    const content = await readFile(join(root, path))
    if (!path.endsWith('.md')) {
      files.set(below(path), { type: TYPES[extname(path)] ?? '', bytes: new Uint8Array(content) })
      continue
    }
    const markdown = content.toString('utf8')
    if (path === 'docs/README.md') index = markdown
    const page = pageOf(path, markdown, links)
    pages.set(page.path, page)
    sections.push(...sectionsOf(page))
    // Requests come first.
    await setImmediate()
  }
  pages.set('adr', decisions(pages))
  const shelves = shelvesOf(index, links, pages)
  const found = new SectionIndex(sections)
  return {
    page: (path) => pages.get(path) ?? null,
    search: (query) => found.search(query, MAX_HITS).map((section) => hitOf(section, query)),
    shelves: () => shelves,
    file: (path) => files.get(path) ?? null,
  }
}

async function filePaths(root: string): Promise<readonly string[]> {
  const names = await readdir(join(root, 'docs'), { recursive: true }).catch(() => [])
  const wanted = names.filter((name) => name.endsWith('.md') || extname(name) in TYPES)
  return ['README.md', ...wanted.map((name) => `docs/${name}`).sort()]
}

/** `docs/adr/0001-x.md` is `adr/0001-x`; a picture keeps its ending. */
function below(path: string): string {
  return (
    PATHS[path] ??
    path
      .replace(/^docs\//, '')
      .replace(/\.md$/, '')
      .toLowerCase()
  )
}

function pageOf(path: string, markdown: string, links: ReadonlyMap<string, string>): GuidePage {
  const { html, headings } = markdownHtml(markdown, (href) => linkOf(href, path, links))
  return { path: below(path), title: headings[0]?.text ?? path, html, headings }
}

/** Files outside the guide, such as ops/, have no address here. */
function linkOf(href: string, from: string, links: ReadonlyMap<string, string>): string | null {
  const [file = '', hash] = href.split('#')
  const path = posix.join(posix.dirname(from), decodeURIComponent(file)).replace(/\/$/, '')
  const address = path === DECISIONS ? guideAddress('adr') : links.get(path)
  return address === undefined ? null : `${address}${hash === undefined ? '' : `#${hash}`}`
}

function decisions(pages: ReadonlyMap<string, GuidePage>): GuidePage {
  const items = [...pages.values()]
    .filter(({ path }) => path.startsWith('adr/'))
    .map(({ path, title }) => `<li><a href="${guideAddress(path)}">${Bun.escapeHTML(title)}</a></li>`)
  const title = 'Decisions'
  return { path: 'adr', title, html: `<h1 id="decisions">${title}</h1>\n<ul>${items.join('\n')}</ul>\n`, headings: [] }
}

/** Each paragraph of docs/README.md begins with its reader in bold, and links that reader's pages. */
function shelvesOf(
  index: string,
  links: ReadonlyMap<string, string>,
  pages: ReadonlyMap<string, GuidePage>,
): readonly GuideShelf[] {
  return index.split(/\n\n+/).flatMap((paragraph): GuideShelf[] => {
    const [, reader] = /^\*\*([^*]+)\*\*:/.exec(paragraph) ?? []
    if (reader === undefined) return []
    const found = [...paragraph.matchAll(/\[([^\]]+)\]\(([^)]+)\)/g)].flatMap(([, title = '', href = '']) => {
      const path = linkOf(href, 'docs/README.md', links)
        ?.slice(GUIDE_PATH.length + 1)
        .replace(/#.*$/, '')
      return path !== undefined && pages.has(path) ? [{ path, title: sentence(title) }] : []
    })
    return found.length === 0 ? [] : [{ reader, pages: found }]
  })
}

function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

function sectionsOf({ path, title, html, headings }: GuidePage): readonly GuideSection[] {
  const weight = path.startsWith('adr/') ? DECISION_WEIGHT : (LESS[path] ?? 1)
  const parts = html.split(/(?=<h[1-6] id=")/).filter((part) => part.startsWith('<h'))
  return parts.map((part, at) => {
    const { id = '', text: heading = '' } = headings[at] ?? {}
    const text = plain(part.replace(/^<h[\s\S]*?<\/h\d>/, ''))
    return { path, page: title, heading: at === 0 ? '' : heading, id: at === 0 ? '' : id, text, weight }
  })
}

function plain(html: string): string {
  return unescaped(html.replaceAll(/<[^>]*>/g, ' '))
    .replaceAll(/\s+/g, ' ')
    .trim()
}

function hitOf({ path, page, heading, id, text }: GuideSection, query: string): GuideHit {
  return { path, page, heading, id, snippet: snippetOf(text, query) }
}

/** The part of a text around the first word of the query. */
function snippetOf(text: string, query: string): string {
  const lower = text.toLowerCase()
  const positions = query
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word.length > 2)
    .map((word) => lower.indexOf(word))
    .filter((position) => position >= 0)
  const first = positions.length === 0 ? 0 : Math.min(...positions)
  const start = first < SNIPPET / 2 ? 0 : text.indexOf(' ', first - SNIPPET / 2) + 1
  const isCut = start + SNIPPET < text.length
  const end = isCut ? text.lastIndexOf(' ', start + SNIPPET) : text.length
  return `${start > 0 ? '… ' : ''}${text.slice(start, end)}${isCut ? ' …' : ''}`
}
