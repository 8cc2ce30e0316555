import { open } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { type Client, createClient, type InArgs, type Transaction } from '@libsql/client'
import { type Passage, passagesOf } from '../../passages/passages'
import { folded, isUnspaced, segmentsOf, wordsOf } from '../../passages/search-terms'
import { countTokens, cutToTokens } from '../../passages/token-count'
import { PASSAGES_PER_DOCUMENT, SCHEMA, STATISTICS } from '../index-schema'
import { ICON_PATH } from './icon-images'
import type { DocumentKind, IndexImage } from './index-document'
import type { SectionedDocument } from './package-documents'

const ROWS_PER_STATEMENT = 500
const MAX_TITLE_TOKENS = 30
const MAX_DESCRIPTION_TOKENS = 75
const PICTURES: Readonly<Record<DocumentKind, string>> = {
  readme: `${ICON_PATH}/package.svg`,
  guide: `${ICON_PATH}/book-open.svg`,
  changelog: `${ICON_PATH}/history.svg`,
  page: `${ICON_PATH}/file-text.svg`,
}

export interface IndexCounts {
  readonly documents: number
  readonly passages: number
  readonly images: number
}

/** The origin of an entry: a source that the operator added, and a file or URL in it. */
export interface Origin {
  readonly source: number
  readonly origin: string
}

/** The origin of built-in content. */
const BUILT_IN: Origin = { source: 0, origin: '' }

type Row = readonly (string | number | null)[]

/** Writes an index file without a reader yet. The file is not usable before `finish` has resolved. */
export class IndexWriter {
  private readonly path: string
  private readonly fetchedAt: number
  private readonly client: Client
  private readonly transaction: Transaction
  private readonly urls = new Map<string, number>()
  private readonly vocabulary = new VocabularyChange()
  private waiting = noRows()
  private lastDocument = 0
  private lastImage = 0

  private constructor(path: string, fetchedAt: number, client: Client, transaction: Transaction) {
    this.path = path
    this.fetchedAt = fetchedAt
    this.client = client
    this.transaction = transaction
  }

  /** `path` must not exist yet. `fetchedAt` is the fetch time of everything written, in UNIX seconds. */
  static async create(path: string, fetchedAt: number): Promise<IndexWriter> {
    const writer = await IndexWriter.begin(path, fetchedAt)
    for (const statement of SCHEMA) await writer.transaction.execute(statement)
    return writer
  }

  /** Opens a copy of an index, to add and remove entries. */
  static async resume(path: string, fetchedAt: number): Promise<IndexWriter> {
    const writer = await IndexWriter.begin(path, fetchedAt)
    for (const row of await writer.select<{ id: number; url: string }>('SELECT id, url FROM documents'))
      writer.urls.set(row.url, row.id)
    const [last] = await writer.select<{ documents: number; images: number }>(
      'SELECT (SELECT coalesce(max(id), 0) FROM documents) AS documents, (SELECT coalesce(max(id), 0) FROM images) AS images',
    )
    writer.lastDocument = last?.documents ?? 0
    writer.lastImage = last?.images ?? 0
    return writer
  }

  private static async begin(path: string, fetchedAt: number): Promise<IndexWriter> {
    const client = createClient({ url: pathToFileURL(path).href, concurrency: 1 })
    // An unfinished file is discarded, so a journal or a sync per commit would be useless.
    await client.execute('PRAGMA journal_mode = OFF')
    await client.execute('PRAGMA synchronous = OFF')
    return new IndexWriter(path, fetchedAt, client, await client.transaction('write'))
  }

  has(url: string): boolean {
    return this.urls.has(url)
  }

  /** Skips a document without words or whose URL is already indexed. Returns whether it was written. */
  async addDocument({ document, sections }: SectionedDocument, from: Origin = BUILT_IN): Promise<boolean> {
    const url = webAddress(document.url)
    const passages = passagesOf(sections).slice(0, PASSAGES_PER_DOCUMENT)
    const [first] = passages
    if (this.urls.has(url) || !first) return false
    const id = ++this.lastDocument
    this.urls.set(url, id)
    const { hostname, origin } = new URL(url)
    const kind = document.kind ?? 'page'
    const title = cutToTokens(document.title, MAX_TITLE_TOKENS).trim() || hostname
    const description = document.description ?? first.text.replaceAll(/\s+/g, ' ').trim()
    this.waiting.documents.push([
      id,
      url,
      title,
      countTokens(title),
      hostname,
      document.siteName ?? hostname.replace(/^www\./, ''),
      cutToTokens(description, MAX_DESCRIPTION_TOKENS),
      kind,
      document.published === undefined ? null : new Date(document.published).toISOString(),
      this.fetchedAt,
      (document.lang ?? 'en').toLowerCase(),
      document.country?.toUpperCase() ?? null,
      document.adult ?? 0,
      document.favicon ?? `${origin}/favicon.ico`,
      document.thumbnail ?? PICTURES[kind],
      from.source,
      from.origin,
    ])
    this.addPlace(id, title, document)
    this.addPassages(id, title, passages, [...(document.keywords ?? []), ...placeWords(document)])
    this.vocabulary.count('documents', wordsOfDocument(title, passages), wordWeight(from.source))
    if (this.waiting.passages.length >= ROWS_PER_STATEMENT) await this.flush()
    return true
  }

  private addPlace(id: number, title: string, { place }: SectionedDocument['document']): void {
    if (!place) return
    const name = (text: string | undefined) => (text === undefined ? null : folded(text).trim())
    this.waiting.places.push([
      id,
      place.name ?? title,
      place.latitude ?? null,
      place.longitude ?? null,
      name(place.city),
      name(place.state),
      place.country?.toUpperCase() ?? null,
      name(place.postalCode),
    ])
  }

  private addPassages(id: number, title: string, passages: readonly Passage[], keywords: readonly string[]): void {
    for (const [position, passage] of passages.entries()) {
      const hidden = [...identifierWords(passage), ...unspacedWords(`${title} ${passage.heading} ${passage.text}`)]
      const words = [...(position === 0 ? keywords : []), ...hidden].join(' ')
      const { heading, text, tokens } = passage
      this.waiting.passages.push([id * PASSAGES_PER_DOCUMENT + position, title, heading, text, words, tokens])
    }
  }

  async addImage(image: IndexImage, from: Origin = BUILT_IN): Promise<void> {
    const id = ++this.lastImage
    const page = webAddress(image.pageUrl)
    const tags = image.tags.join(', ')
    this.waiting.images.push([
      id,
      page,
      image.title,
      image.imageUrl.startsWith('/') ? image.imageUrl : webAddress(image.imageUrl),
      image.width,
      image.height,
      this.fetchedAt,
      image.lang?.toLowerCase() ?? null,
      image.country?.toUpperCase() ?? null,
      image.adult ?? 0,
      image.favicon ?? `${new URL(page).origin}/favicon.ico`,
      from.source,
      from.origin,
    ])
    this.waiting.imageWords.push([id, image.title, tags])
    this.vocabulary.count('images', spellableWords(`${image.title} ${tags}`), wordWeight(from.source))
    if (this.waiting.images.length >= ROWS_PER_STATEMENT) await this.flush()
  }

  /** Removes the document with this URL if it is built-in. */
  async removeBuiltIn(address: string): Promise<void> {
    const url = webAddress(address)
    const id = this.urls.get(url)
    if (id === undefined) return
    await this.flush()
    const found = await this.select('SELECT 1 FROM documents WHERE id = ? AND source = 0', [id])
    if (found.length > 0) await this.removeDocument(id, url, 0)
  }

  /** Removes everything that was read from that origin. */
  async removeOrigin({ source, origin }: Origin): Promise<void> {
    await this.flush()
    const documents = await this.select<{ id: number; url: string }>(
      'SELECT id, url FROM documents WHERE source = ? AND origin = ?',
      [source, origin],
    )
    for (const { id, url } of documents) await this.removeDocument(id, url, source)
    const images = await this.select<{ id: number; title: string; tags: string }>(
      'SELECT id, w.title, w.tags FROM images i JOIN image_words w ON w.rowid = i.id WHERE source = ? AND origin = ?',
      [source, origin],
    )
    for (const { id, title, tags } of images) {
      this.vocabulary.count('images', spellableWords(`${title} ${tags}`), -wordWeight(source))
      await this.execute('DELETE FROM image_words WHERE rowid = ?', [id])
      await this.execute('DELETE FROM images WHERE id = ?', [id])
    }
  }

  private async removeDocument(id: number, url: string, source: number): Promise<void> {
    const range = [id * PASSAGES_PER_DOCUMENT, (id + 1) * PASSAGES_PER_DOCUMENT]
    const passages = await this.select<{ title: string; heading: string; text: string }>(
      'SELECT title, heading, text FROM passages WHERE rowid >= ? AND rowid < ?',
      range,
    )
    this.vocabulary.count('documents', wordsOfDocument(passages[0]?.title ?? '', passages), -wordWeight(source))
    await this.execute('DELETE FROM passages WHERE rowid >= ? AND rowid < ?', range)
    await this.execute('DELETE FROM places WHERE document = ?', [id])
    await this.execute('DELETE FROM documents WHERE id = ?', [id])
    this.urls.delete(url)
  }

  /** Rows in the file, without those that are not flushed yet. */
  async select<T>(sql: string, args: InArgs = []): Promise<T[]> {
    const { rows } = await this.transaction.execute({ sql, args })
    return rows as unknown[] as T[] // the driver does not type columns
  }

  async execute(sql: string, args: InArgs): Promise<void> {
    await this.transaction.execute({ sql, args })
  }

  /** Writes what is pending, updates the statistics, closes the file and syncs it to disk. */
  async finish(meta: Readonly<Record<string, string>>): Promise<IndexCounts> {
    await this.flush()
    await this.writeVocabulary()
    await this.insert('meta(key, value)', Object.entries(meta), 'INSERT OR REPLACE')
    for (const statement of STATISTICS) await this.transaction.execute(statement)
    await this.transaction.execute("INSERT INTO passages(passages) VALUES ('optimize')")
    await this.transaction.execute("INSERT INTO image_words(image_words) VALUES ('optimize')")
    const counts = await this.select<{ key: keyof IndexCounts; value: string }>(
      "SELECT key, value FROM meta WHERE key IN ('documents', 'passages', 'images')",
    )
    await this.transaction.commit()
    this.client.close()
    const file = await open(this.path, 'r+')
    await file.sync().finally(() => file.close())
    const found = new Map(counts.map(({ key, value }) => [key, Number(value)]))
    const count = (key: keyof IndexCounts): number => found.get(key) ?? 0
    return { documents: count('documents'), passages: count('passages'), images: count('images') }
  }

  /** Abandons the file; the caller removes it. */
  abandon(): void {
    this.client.close()
  }

  private async writeVocabulary(): Promise<void> {
    const sql = `INSERT INTO vocabulary SELECT value ->> 0, value ->> 1, value ->> 2 FROM json_each(?) WHERE true
      ON CONFLICT(word) DO UPDATE SET documents = documents + excluded.documents, images = images + excluded.images`
    await this.execute(sql, [JSON.stringify(this.vocabulary.rows())])
    await this.execute('DELETE FROM vocabulary WHERE documents <= 0 AND images <= 0', [])
  }

  private async flush(): Promise<void> {
    const { documents, places, passages, images, imageWords } = this.waiting
    this.waiting = noRows()
    await this.insert(
      'documents(id, url, title, title_tokens, hostname, site_name, description, kind, published, fetched_at, lang, country, adult, favicon, thumbnail, source, origin)',
      documents,
    )
    await this.insert('places(document, name, latitude, longitude, city, state, country, postal_code)', places)
    await this.insert('passages(rowid, title, heading, text, words, tokens)', passages)
    await this.insert(
      'images(id, page_url, title, image_url, width, height, fetched_at, lang, country, adult, favicon, source, origin)',
      images,
    )
    await this.insert('image_words(rowid, title, tags)', imageWords)
  }

  /** All rows in one statement: the client prepares each statement again, which costs more than the insert. */
  private async insert(target: string, rows: readonly Row[], verb = 'INSERT'): Promise<void> {
    const [first] = rows
    if (!first) return
    const columns = first.map((_, at) => `value ->> ${at}`).join(', ')
    await this.execute(`${verb} INTO ${target} SELECT ${columns} FROM json_each(?)`, [JSON.stringify(rows)])
  }
}

type Table = 'documents' | 'places' | 'passages' | 'images' | 'imageWords'

function noRows(): Record<Table, Row[]> {
  return { documents: [], places: [], passages: [], images: [], imageWords: [] }
}

function wordsOfDocument(title: string, passages: readonly { heading: string; text: string }[]): Set<string> {
  return spellableWords([title, ...passages.map(({ heading, text }) => `${heading} ${text}`)].join('\n'))
}

/** Makes a page findable by the names of its place. */
function placeWords({ place }: SectionedDocument['document']): string[] {
  return [place?.name, place?.city].filter((name) => name !== undefined)
}

/** The parts of camelCase and snake_case names, which the tokenizer would treat as one word. */
function identifierWords(passage: Passage): string[] {
  const names = `${passage.heading} ${passage.text}`.match(/\b[A-Za-z]+(?:[a-z][A-Z]|_)[A-Za-z_]+\b/g) ?? []
  const parts = names.flatMap((name) => name.split(/(?<=[a-z])(?=[A-Z])|_+/)).map((part) => part.toLowerCase())
  return [...new Set(parts.filter((part) => part.length > 2))].slice(0, 40)
}

/** The words of scripts without spaces: the full-text index would treat a whole sentence as one word. */
function unspacedWords(text: string): string[] {
  return [...new Set(wordsOf(text).filter(isUnspaced).flatMap(segmentsOf))]
}

function webAddress(address: string): string {
  const url = new URL(address)
  if (!/^https?:$/.test(url.protocol))
    throw new TypeError(`an index accepts only absolute http and https URLs: ${address}`)
  return url.href
}

/** Words that can be misspelled: letters only, of a plausible length. */
const SPELLABLE = /^\p{L}{3,24}$/u

/** The distinct words of a text that the speller uses, in lower case. */
function spellableWords(text: string): Set<string> {
  const words = new Set<string>()
  for (const word of wordsOf(text)) if (SPELLABLE.test(word) && !isUnspaced(word)) words.add(word.toLowerCase())
  return words
}

/** Collects the changes of an index's vocabulary while documents and images are written and removed. */
class VocabularyChange {
  private readonly changes = new Map<string, { documents: number; images: number }>()

  /** Counts each word once. `by` is positive for a written text and negative for a removed one. */
  count(kind: 'documents' | 'images', words: Iterable<string>, by: number): void {
    for (const word of words) {
      const change = this.changes.get(word)
      if (change) change[kind] += by
      else this.changes.set(word, { documents: 0, images: 0, [kind]: by })
    }
  }

  /** `[word, documents, images]` of every word whose counts changed. */
  rows(): (readonly [string, number, number])[] {
    return [...this.changes]
      .filter(([, { documents, images }]) => documents !== 0 || images !== 0)
      .map(([word, { documents, images }]) => [word, documents, images])
  }
}

/** The weight of a document: words in the operator's own content count as right even if they are rare. */
function wordWeight(source: number): number {
  return source === 0 ? 1 : 3
}
