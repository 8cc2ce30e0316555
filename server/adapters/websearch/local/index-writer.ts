import { open } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { type Client, createClient, type Transaction } from '@libsql/client'
import { type Passage, passagesOf } from '../passages/passages'
import { countTokens, cutToTokens } from '../passages/token-count'
import { ICON_PATH } from './icon-images'
import type { DocumentKind, IndexImage } from './index-document'
import { PASSAGES_PER_DOCUMENT, SCHEMA, STATISTICS } from './index-schema'
import type { SectionedDocument } from './package-documents'

const ROWS_PER_STATEMENT = 500
const MOST_TITLE_TOKENS = 30
const MOST_DESCRIPTION_TOKENS = 75
const PICTURES: Readonly<Record<DocumentKind, string>> = {
  readme: `${ICON_PATH}/package.svg`,
  guide: `${ICON_PATH}/book-open.svg`,
  types: `${ICON_PATH}/braces.svg`,
  changelog: `${ICON_PATH}/history.svg`,
  page: `${ICON_PATH}/file-text.svg`,
}

export interface IndexCounts {
  readonly documents: number
  readonly passages: number
  readonly images: number
}

type Row = readonly (string | number | null)[]

/** Writes one new index file. Nothing is promised of the file before `finish` has resolved. */
export class IndexWriter {
  readonly #path: string
  readonly #fetchedAt: number
  readonly #client: Client
  readonly #transaction: Transaction
  readonly #urls = new Set<string>()
  #waiting: { documents: Row[]; passages: Row[]; images: Row[]; imageWords: Row[] } = noRows()
  #counts = { documents: 0, passages: 0, images: 0 }

  private constructor(path: string, fetchedAt: number, client: Client, transaction: Transaction) {
    this.#path = path
    this.#fetchedAt = fetchedAt
    this.#client = client
    this.#transaction = transaction
  }

  /** `path` must not exist yet. `fetchedAt` is the time of fetching of everything written, in UNIX seconds. */
  static async create(path: string, fetchedAt: number): Promise<IndexWriter> {
    const client = createClient({ url: pathToFileURL(path).href, concurrency: 1 })
    // A build that breaks off is thrown away, so neither a journal nor a sync per commit buys anything.
    await client.execute('PRAGMA journal_mode = OFF')
    await client.execute('PRAGMA synchronous = OFF')
    const transaction = await client.transaction('write')
    for (const statement of SCHEMA) await transaction.execute(statement)
    return new IndexWriter(path, fetchedAt, client, transaction)
  }

  has(url: string): boolean {
    return this.#urls.has(url)
  }

  /** Leaves out a document whose url is taken, or that has no words. */
  async addDocument({ document, sections }: SectionedDocument): Promise<void> {
    const url = absoluteHttps(document.url)
    const passages = passagesOf(sections).slice(0, PASSAGES_PER_DOCUMENT)
    const [first] = passages
    if (this.#urls.has(url) || !first) return
    this.#urls.add(url)
    const id = ++this.#counts.documents
    const { hostname } = new URL(url)
    const kind = document.kind ?? 'page'
    const title = cutToTokens(document.title, MOST_TITLE_TOKENS).trim()
    const description = document.description ?? first.text.replaceAll(/\s+/g, ' ').trim()
    this.#waiting.documents.push([
      id,
      url,
      title,
      countTokens(title),
      hostname,
      document.siteName ?? hostname.replace(/^www\./, ''),
      cutToTokens(description, MOST_DESCRIPTION_TOKENS),
      kind,
      document.published === undefined ? null : new Date(document.published).toISOString(),
      this.#fetchedAt,
      document.lang ?? 'en',
      document.adult ? 2 : 0,
      document.favicon ?? `https://${hostname}/favicon.ico`,
      document.thumbnail ?? PICTURES[kind],
    ])
    for (const [position, passage] of passages.entries()) {
      const keywords = position === 0 ? (document.keywords ?? []) : []
      const words = [...keywords, ...identifierWords(passage)].join(' ')
      this.#waiting.passages.push([
        id * PASSAGES_PER_DOCUMENT + position,
        title,
        passage.heading,
        passage.text,
        words,
        passage.tokens,
      ])
    }
    this.#counts.passages += passages.length
    if (this.#waiting.passages.length >= ROWS_PER_STATEMENT) await this.#flush()
  }

  async addImage(image: IndexImage): Promise<void> {
    const id = ++this.#counts.images
    const page = absoluteHttps(image.pageUrl)
    this.#waiting.images.push([
      id,
      page,
      image.title,
      image.imageUrl.startsWith('/') ? image.imageUrl : absoluteHttps(image.imageUrl),
      image.width,
      image.height,
      this.#fetchedAt,
      image.adult ? 1 : 0,
      image.favicon ?? `https://${new URL(page).hostname}/favicon.ico`,
    ])
    this.#waiting.imageWords.push([id, image.title, image.tags.join(', ')])
    if (this.#waiting.images.length >= ROWS_PER_STATEMENT) await this.#flush()
  }

  /** Writes what is left, closes the file and has it on the disk. */
  async finish(meta: Readonly<Record<string, string>>): Promise<IndexCounts> {
    await this.#flush()
    await this.#insert('meta(key, value)', Object.entries(meta))
    for (const statement of STATISTICS) await this.#transaction.execute(statement)
    await this.#transaction.execute("INSERT INTO passages(passages) VALUES ('optimize')")
    await this.#transaction.execute("INSERT INTO image_words(image_words) VALUES ('optimize')")
    await this.#transaction.commit()
    this.#client.close()
    const file = await open(this.#path, 'r+')
    await file.sync().finally(() => file.close())
    return { ...this.#counts }
  }

  /** Gives the file up; removing it is the caller's. */
  abandon(): void {
    this.#client.close()
  }

  async #flush(): Promise<void> {
    const { documents, passages, images, imageWords } = this.#waiting
    this.#waiting = noRows()
    await this.#insert(
      'documents(id, url, title, title_tokens, hostname, site_name, description, kind, published, fetched_at, lang, adult, favicon, thumbnail)',
      documents,
    )
    await this.#insert('passages(rowid, title, heading, text, words, tokens)', passages)
    await this.#insert('images(id, page_url, title, image_url, width, height, fetched_at, adult, favicon)', images)
    await this.#insert('image_words(rowid, title, tags)', imageWords)
  }

  /** All rows in one statement: the client prepares anew for each, which costs more than the insert. */
  async #insert(target: string, rows: readonly Row[]): Promise<void> {
    const [first] = rows
    if (!first) return
    const columns = first.map((_, at) => `value ->> ${at}`).join(', ')
    await this.#transaction.execute({
      sql: `INSERT INTO ${target} SELECT ${columns} FROM json_each(?)`,
      args: [JSON.stringify(rows)],
    })
  }
}

function noRows(): { documents: Row[]; passages: Row[]; images: Row[]; imageWords: Row[] } {
  return { documents: [], passages: [], images: [], imageWords: [] }
}

/** The parts of camelCase and snake_case names, which the tokenizer would keep as one word. */
function identifierWords(passage: Passage): string[] {
  const names = `${passage.heading} ${passage.text}`.match(/\b[A-Za-z]+(?:[a-z][A-Z]|_)[A-Za-z_]+\b/g) ?? []
  const parts = names.flatMap((name) => name.split(/(?<=[a-z])(?=[A-Z])|_+/)).map((part) => part.toLowerCase())
  return [...new Set(parts.filter((part) => part.length > 2))].slice(0, 40)
}

function absoluteHttps(address: string): string {
  const url = new URL(address)
  if (url.protocol !== 'https:') throw new TypeError(`an index takes absolute https addresses only: ${address}`)
  return url.href
}
