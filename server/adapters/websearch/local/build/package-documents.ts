import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isoDay } from '../../../../core/clock'
import { parseMarkdown, type Section } from '../../passages/markdown-sections'
import type { IndexDocument } from './index-document'
import { type InstalledPackage, registryPage } from './installed-packages'

/** A document in sections, ready to be split into passages and written. */
export interface SectionedDocument {
  readonly document: Omit<IndexDocument, 'markdown'>
  readonly sections: readonly Section[]
}

/** Bounds per package, so that none fills the index. */
const MAX_MARKDOWN_FILE_BYTES = 400_000
const MAX_MARKDOWN_BYTES = 3_000_000
const MAX_DEPTH = 6
const SKIPPED_FOLDER = /^(?:node_modules|\.|tests?$|__tests__$|fixtures?$|examples?$|bench)/
const DOC_FOLDER = /^(?:docs?|documentation|guides?)\//i

/** The documentation of an installed package: README, docs folder and, if wanted, its changelog. */
export async function packageDocuments(
  installed: InstalledPackage,
  withChangelog: boolean,
): Promise<SectionedDocument[]> {
  const files = await filesUnder(installed.folder)
  const changelogs = files.filter((path) => /^changelog[^/]*\.mdx?$/i.test(path))
  const published = await lastRelease(installed, changelogs)
  const shared = { siteName: installed.name, ...(published ? { published } : {}) }
  const pages = await markdownDocuments(installed, files.filter(isPage), shared)
  if (!withChangelog) return pages
  return [...pages, ...(await markdownDocuments(installed, changelogs.slice(0, 1), shared))]
}

/** The newest date in the headings of a changelog, `YYYY-MM-DD`; null if no heading has one. */
export function lastDatedHeading(markdown: string): string | null {
  const headings = markdown.match(/^(?:#{1,6} .*|.{1,120}(?=\n[=-]{3,}$))/gm) ?? []
  const dates = headings.flatMap((heading) => {
    const [iso] = /\b\d{4}-\d{2}-\d{2}\b/.exec(heading) ?? []
    const [english] = /\b[A-Z][a-z]{2,8}\.? \d{1,2}, \d{4}\b/.exec(heading) ?? []
    const at = iso ? Date.parse(`${iso}T00:00:00Z`) : english ? Date.parse(`${english} UTC`) : Number.NaN
    return Number.isNaN(at) ? [] : [isoDay(at)]
  })
  return dates.sort().at(-1) ?? null
}

async function lastRelease(installed: InstalledPackage, changelogs: readonly string[]): Promise<string | null> {
  const [first] = changelogs
  return first === undefined ? null : lastDatedHeading(await readStart(installed, first, MAX_MARKDOWN_FILE_BYTES))
}

type Shared = Pick<IndexDocument, 'siteName' | 'published'>

async function markdownDocuments(
  installed: InstalledPackage,
  paths: readonly string[],
  shared: Shared,
): Promise<SectionedDocument[]> {
  const documents: SectionedDocument[] = []
  let room = MAX_MARKDOWN_BYTES
  for (const path of paths) {
    if (room <= 0) break
    const markdown = await readStart(installed, path, Math.min(room, MAX_MARKDOWN_FILE_BYTES))
    room -= markdown.length
    const { sections, front, picture } = parseMarkdown(markdown)
    if (sections.length === 0 || isPlaceholder(markdown)) continue
    const isReadme = /^readme/i.test(path)
    const description = front.get('description') ?? (isReadme ? installed.description : '')
    documents.push({
      sections,
      document: {
        url: pageOf(installed, path),
        title: titleOf(installed, path, front.get('title') ?? sections[0]?.path[0]),
        lang: languageOf(path),
        kind: isReadme ? 'readme' : /^changelog/i.test(path) ? 'changelog' : 'guide',
        ...shared,
        ...(isSite(installed, path) ? { siteName: siteOf(installed) } : {}),
        ...(description === '' ? {} : { description }),
        ...(picture ? { thumbnail: picture } : {}),
        ...(isReadme ? { keywords: installed.keywords } : {}),
      },
    })
  }
  return documents
}

function titleOf(installed: InstalledPackage, path: string, heading: string | undefined): string {
  if (/^changelog/i.test(path)) return `${installed.name} changelog`
  if (/^readme/i.test(path)) return [installed.name, installed.description].filter((part) => part !== '').join(': ')
  const site = isSite(installed, path) ? siteOf(installed) : installed.name
  return `${heading ?? path.replace(/\.mdx?$/, '')} | ${site}`
}

/** The language in a name such as `README-es.md`; otherwise English. */
function languageOf(path: string): string {
  return /^readme[-_.]([a-z]{2})(?:[-_][a-z]{2,4})?\.mdx?$/i.exec(path)?.[1]?.toLowerCase() ?? 'en'
}

/** MDX files are the source of a documentation site, which is then expected at the homepage. */
function isSite(installed: InstalledPackage, path: string): boolean {
  return path.endsWith('.mdx') && !/^(?:www\.)?(?:github|npmjs)\.com$/.test(new URL(installed.homepage).hostname)
}

function siteOf(installed: InstalledPackage): string {
  return new URL(installed.homepage).hostname.replace(/^www\./, '')
}

/**
 * The URL for a file: the homepage for a README, the documentation site for its sources (MDX), and otherwise the file in this
 * version of the package.
 */
function pageOf(installed: InstalledPackage, path: string): string {
  const home = new URL(installed.homepage)
  if (/^readme\.mdx?$/i.test(path)) {
    if (home.hash === '') home.hash = 'readme'
    return home.href
  }
  if (isSite(installed, path)) {
    const page = path.replace(/(?:\/index)?\.mdx$/, '')
    return new URL(encodePath(page), `${home.origin}${home.pathname.replace(/\/?$/, '/')}`).href
  }
  return `https://unpkg.com/${installed.name}@${installed.version}/${encodePath(path)}`
}

/** The URL to use if another package already has this one, since several packages may share a homepage. */
export function ownPage(installed: InstalledPackage): string {
  return `${registryPage(installed.name)}#readme`
}

function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}

function isPage(path: string): boolean {
  if (/(?:license|notice|code_of_conduct|third-?party|claude|agents)[^/]*$/i.test(path)) return false
  return /\.mdx?$/i.test(path) && (/^readme/i.test(path) || DOC_FOLDER.test(path))
}

/** The README of a DefinitelyTyped package is a few generated lines. */
function isPlaceholder(markdown: string): boolean {
  return /^# Installation\n> `npm install --save @types\//.test(markdown)
}

async function readStart(installed: InstalledPackage, path: string, max: number): Promise<string> {
  const text = await readFile(join(installed.folder, path), 'utf8').catch(() => '')
  return text.slice(0, max).toWellFormed()
}

/** Documentation files of a folder, outermost first and then by name, so that a limit cuts the least important ones. */
async function filesUnder(folder: string): Promise<string[]> {
  const found: string[] = []
  let level = ['']
  for (let depth = 0; depth < MAX_DEPTH && level.length > 0; depth++) {
    const below: string[] = []
    for (const at of level) {
      const entries = await readdir(join(folder, at), { withFileTypes: true }).catch(() => [])
      for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
        const path = at === '' ? entry.name : `${at}/${entry.name}`
        if (entry.isDirectory() && !SKIPPED_FOLDER.test(entry.name)) below.push(path)
        else if (entry.isFile() && /\.mdx?$/i.test(entry.name)) found.push(path)
      }
    }
    level = below
  }
  return found
}
