import type { Client } from '@libsql/client'
import { parseMarkdown } from '../../passages/markdown-sections'
import type { IndexDocument } from '../build/index-document'
import type { IndexWriter } from '../build/index-writer'
import type { SectionedDocument } from '../build/package-documents'
import { selectRows } from '../query/select-rows'
import type { OwnContent, SourceSettings } from './own-content'

/** A source as stored in the index. Times are UNIX seconds. */
export interface SourceRow {
  readonly id: number
  readonly location: string
  readonly settings: SourceSettings
  readonly addedAt: number
  readonly readAt: number
}

interface StoredSource {
  readonly id: number
  readonly location: string
  readonly settings: string
  readonly added_at: number
  readonly read_at: number
}

const FILES_AT_ONCE = 100

/** All sources that operators added, oldest first. */
export async function sourceRows(client: Client): Promise<SourceRow[]> {
  const rows = await selectRows<StoredSource>(client, 'SELECT * FROM sources ORDER BY id', [])
  return rows.map(({ id, location, settings, added_at, read_at }) => {
    return { id, location, settings: JSON.parse(settings) as SourceSettings, addedAt: added_at, readAt: read_at } // written by writeSource
  })
}

/** Copies what operators added to an index to a new one: all files of all sources, in batches. */
export async function copyOperatorContent(client: Client, writer: IndexWriter): Promise<void> {
  for (const source of await sourceRows(client)) {
    await writeSource(writer, source)
    await copyFiles(client, writer, source.id)
  }
}

async function copyFiles(client: Client, writer: IndexWriter, source: number): Promise<void> {
  const sql = 'SELECT origin, hash, content FROM own_files WHERE source = ? AND origin > ? ORDER BY origin LIMIT ?'
  let last = ''
  for (;;) {
    const args = [source, last, FILES_AT_ONCE]
    const rows = await selectRows<{ origin: string; hash: string; content: string }>(client, sql, args)
    for (const { origin, hash, content } of rows)
      await writeFile(writer, source, origin, hash, JSON.parse(content) as OwnContent) // written by writeFile
    if (rows.length < FILES_AT_ONCE) return
    last = rows.at(-1)?.origin ?? last
  }
}

export async function writeSource(writer: IndexWriter, source: SourceRow): Promise<void> {
  const { id, location, settings, addedAt, readAt } = source
  await writer.execute(
    'INSERT OR REPLACE INTO sources(id, location, settings, added_at, read_at) VALUES (?, ?, ?, ?, ?)',
    [id, location, JSON.stringify(settings), addedAt, readAt],
  )
}

/** Replaces the stored content of a file. Removes built-in documents with the same URLs. */
export async function writeFile(
  writer: IndexWriter,
  source: number,
  origin: string,
  hash: string,
  content: OwnContent,
): Promise<void> {
  const from = { source, origin }
  await writer.removeOrigin(from)
  if (content.document) {
    await writer.removeBuiltIn(content.document.url)
    await writer.addDocument(sectioned(content.document), from)
  }
  for (const image of content.images) await writer.addImage(image, from)
  await writer.execute('INSERT OR REPLACE INTO own_files(source, origin, hash, content) VALUES (?, ?, ?, ?)', [
    source,
    origin,
    hash,
    JSON.stringify(content),
  ])
}

export async function removeFile(writer: IndexWriter, source: number, origin: string): Promise<void> {
  await writer.removeOrigin({ source, origin })
  await writer.execute('DELETE FROM own_files WHERE source = ? AND origin = ?', [source, origin])
}

export function sectioned(document: IndexDocument): SectionedDocument {
  const { sections, picture } = parseMarkdown(document.markdown)
  return { sections, document: picture && !document.thumbnail ? { ...document, thumbnail: picture } : document }
}
