import { eld } from 'eld/small'
import { imageSize } from 'image-size'
import { extractText, getDocumentProxy, getMeta } from 'unpdf'
import { parseMarkdown, proseOf } from '../../passages/markdown-sections'
import { pageContent } from '../../passages/page-content'
import type { IndexDocument, IndexImage } from '../build/index-document'
import { fileForm } from './file-form'
import { takeFrontMatter } from './front-matter'
import { type OwnContent, type RawFile, type SourceSettings, Unreadable } from './own-content'

const MAX_TEXT_CHARACTERS = 4_000_000

/** Reads a file for the index. Throws `Unreadable` if there is nothing to index. */
export async function readOwnFile(file: RawFile, settings: SourceSettings): Promise<OwnContent> {
  switch (fileForm(file.origin, file.contentType)) {
    case 'html':
      return htmlContent(file, settings)
    case 'markdown':
      return markdownContent(file, settings)
    case 'text':
      return markdownContent(file, settings)
    case 'pdf':
      return { document: await pdfDocument(file, settings), images: [] }
    case 'image':
      return { document: null, images: [ownImage(file)] }
    case null:
      throw new Unreadable(`files of type ${file.contentType || 'unknown'} cannot be indexed`)
  }
}

function htmlContent(file: RawFile, settings: SourceSettings): OwnContent {
  const page = pageContent(decodedText(file), file.url)
  const { title, markdown, images, canonicalUrl, picture, place, lang, ...rest } = page
  const url = canonicalUrl ?? file.url
  const language = lang ?? languageOf(markdown)
  const { description, published, siteName, favicon, adult } = rest
  return {
    document: documentOf(markdown, {
      url,
      title: title || nameWords(file.origin),
      siteName: siteName ?? settings.site,
      adult,
      ...(description ? { description } : {}),
      ...(published ? { published } : {}),
      ...(favicon ? { favicon } : {}),
      ...(language ? { lang: language } : {}),
      ...(place ? { place } : {}),
      ...(place?.country && /^[A-Z]{2}$/i.test(place.country) ? { country: place.country } : {}),
      ...(picture ? { thumbnail: picture } : {}),
    }),
    images: images.map(({ url: imageUrl, alt, caption, width, height }): IndexImage => {
      const shown = { pageUrl: url, imageUrl, width, height, adult, ...(language ? { lang: language } : {}) }
      return { ...shown, ...imageWords(alt, caption, imageUrl, title) }
    }),
  }
}

function markdownContent(file: RawFile, settings: SourceSettings): OwnContent {
  const { front, body } = takeFrontMatter(decodedText(file))
  const url = front.url ?? file.url
  const heading = parseMarkdown(body).sections[0]?.path[0]
  const lang = front.lang ?? languageOf(body)
  const { title = heading ?? nameWords(file.origin), siteName = settings.site, adult = 0, ...rest } = front
  const document = documentOf(body, { ...rest, url, title, siteName, adult, ...(lang ? { lang } : {}) })
  const images = markdownImages(body, file.url).map(({ imageUrl, alt, caption }): IndexImage => {
    const shown = { pageUrl: url, imageUrl, width: null, height: null, adult, ...(lang ? { lang } : {}) }
    return { ...shown, ...imageWords(alt, caption, imageUrl, title) }
  })
  return { document, images }
}

async function pdfDocument(file: RawFile, settings: SourceSettings): Promise<IndexDocument> {
  const document = await getDocumentProxy(new Uint8Array(file.bytes), { verbosity: 0 }).catch((problem: unknown) => {
    throw new Unreadable(`the PDF could not be read: ${problem instanceof Error ? problem.message : problem}`)
  })
  const { text } = await extractText(document, { mergePages: false })
  const { info } = await getMeta(document)
  await document.cleanup()
  const pages = text.map((page, at) => (page.trim() === '' ? '' : `## Page ${at + 1}\n\n${escaped(page)}`))
  const markdown = pages
    .filter((page) => page !== '')
    .join('\n\n')
    .slice(0, MAX_TEXT_CHARACTERS)
  if (markdown === '') throw new Unreadable('the PDF contains no text, only images')
  const title =
    typeof info['Title'] === 'string' && info['Title'].trim() !== '' ? info['Title'] : nameWords(file.origin)
  const [, year, month, day] = /^D:(\d{4})(\d{2})(\d{2})/.exec(String(info['CreationDate'] ?? '')) ?? []
  const lang = languageOf(markdown)
  return documentOf(markdown, {
    url: file.url,
    title,
    siteName: settings.site,
    ...(year && !Number.isNaN(Date.parse(`${year}-${month}-${day}`)) ? { published: `${year}-${month}-${day}` } : {}),
    ...(lang ? { lang } : {}),
  })
}

/** An image that no page shows. It is found by its name. */
function ownImage(file: RawFile): IndexImage {
  const { width, height } = sizeOf(file.bytes)
  return { pageUrl: file.url, imageUrl: file.url, width, height, ...imageWords('', '', file.origin, '') }
}

/** The size of an image in pixels; null if unknown. */
function sizeOf(bytes: Uint8Array): { readonly width: number | null; readonly height: number | null } {
  try {
    const { width, height } = imageSize(bytes)
    return { width: Math.round(width), height: Math.round(height) }
  } catch {
    return { width: null, height: null }
  }
}

/** The title of an image is its alternative text, else its caption, else its file name. The rest become keywords. */
function imageWords(alt: string, caption: string, address: string, pageTitle: string) {
  const named = nameWords(address)
  const title = [alt, caption, named].find((words) => words !== '') ?? named
  return { title, tags: [caption, named, pageTitle].filter((words) => words !== '' && words !== title) }
}

function documentOf(markdown: string, facts: Omit<IndexDocument, 'markdown'>): IndexDocument {
  if (!/[\p{L}\p{N}]/u.test(markdown)) throw new Unreadable('it contains no words')
  return { ...facts, markdown }
}

function decodedText(file: RawFile): string {
  return new TextDecoder().decode(file.bytes).slice(0, MAX_TEXT_CHARACTERS)
}

/** The words of a file's name, without its extension. */
function nameWords(address: string): string {
  const last =
    address
      .split(/[?#]/)[0]
      ?.split('/')
      .findLast((step) => step !== '') ?? address
  const plain = last.includes('%') ? decoded(last) : last
  return (
    plain
      .replace(/\.[A-Za-z0-9]{1,8}$/, '')
      .replaceAll(/[-_.\s]+/g, ' ')
      .trim() || plain
  )
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** Escapes the text of a PDF, so that no line is read as a Markdown heading or code fence. */
function escaped(text: string): string {
  return text.replaceAll(/^( {0,3})(?=#{1,6}\s|`{3}|~{3})/gm, '$1\\')
}

/** Less text than this is not enough. */
const MIN_LETTERS = 40
/** More text than this does not improve the result. */
const MAX_CHARACTERS = 4000

/** Detects the language of a text, ISO 639-1; null when it is too short or undetermined. Code in Markdown is skipped. */
export function languageOf(text: string): string | null {
  const prose = text
    .slice(0, MAX_CHARACTERS * 3)
    .replaceAll(/```[\s\S]*?(?:```|$)|`[^`\n]*`|https?:\/\/\S+/g, ' ')
    .slice(0, MAX_CHARACTERS)
  if ((prose.match(/\p{L}/gu) ?? []).length < MIN_LETTERS) return null
  const found = eld.detect(prose)
  return found.language === '' || !found.isReliable() ? null : found.language
}

/** An image in Markdown. */
interface MarkdownImage {
  /** Absolute. */
  readonly imageUrl: string
  readonly alt: string
  readonly caption: string
}

const MARKDOWN = /!\[([^\]\n]{0,300})\]\(\s*<?([^\s()<>]{1,2000})>?(?:\s+["']([^"'\n]{0,300})["'])?\s*\)/g
const HTML = /<img\b([^<>]{0,1000})>/gi
const BADGE = /shields\.io|badge|\/workflows\/|codecov|travis|circleci|opencollective/i

/** The distinct images in a Markdown text, without badges. `base` is the URL of the text. */
export function markdownImages(markdown: string, base: string): MarkdownImage[] {
  const found = new Map<string, MarkdownImage>()
  const add = (address: string, alt: string, caption: string): void => {
    const url = URL.parse(address, base)
    if (!url || !/^https?:$/.test(url.protocol) || BADGE.test(url.href) || found.has(url.href)) return
    found.set(url.href, { imageUrl: url.href, alt: alt.trim(), caption: caption.trim() })
  }
  const prose = proseOf(markdown)
  for (const [, alt = '', address = '', caption = ''] of prose.matchAll(MARKDOWN)) add(address, alt, caption)
  for (const [, attributes = ''] of prose.matchAll(HTML)) {
    const value = (name: string) => new RegExp(`\\b${name}\\s*=\\s*["']([^"']*)["']`, 'i').exec(attributes)?.[1] ?? ''
    if (value('src') !== '') add(value('src'), value('alt'), value('title'))
  }
  return [...found.values()]
}
