import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { OutboundFetch } from '../../../../core/outbound/outbound-fetch'
import { reasonOf } from '../../../../core/result'
import type { IndexImage } from '../build/index-document'
import { whileAlone } from '../build/index-lock'
import { beginDraft, type IndexDraft, readIndex } from '../index-file'
import { WITHOUT_BUILT_IN } from '../index-schema'
import { selectRows } from '../query/select-rows'
import { FileReader } from './file-reader'
import { type OwnContent, type SourceSettings, Unreadable } from './own-content'
import { removeFile, type SourceRow, sourceRows, writeFile, writeSource } from './own-tables'
import { folderFiles, isAddress, type SourceFile, siteNameOf, webFiles } from './source-files'

export interface OwnIndexOptions {
  readonly indexPath: string
  readonly fetch: OutboundFetch
  /** Reads the files of every addition. If absent, each addition starts a process that reads and ends it. */
  readonly reader?: FileReader
}

export interface AddRequest {
  /** A path or an http(s) URL. */
  readonly location: string
  /** If absent: the stored name, or else the name of the folder or the host. */
  readonly site?: string
  /** The URL of the folder's files on the web. If it was never set, a URL under `.invalid`. */
  readonly baseUrl?: string
}

/** The result of reading a source. */
export interface AddReport {
  readonly location: string
  readonly added: number
  readonly changed: number
  readonly removed: number
  readonly unchanged: number
  /** Unreadable sources with the reason. Content that was read earlier stays in the index. */
  readonly unreadable: readonly { readonly origin: string; readonly reason: string }[]
}

export interface SourceStatus extends SourceRow {
  readonly files: number
  readonly documents: number
  readonly images: number
}

/** Increase it with every change to how files are read, so that they are read again. */
const READER_VERSION = 1

/** Adds and removes an operator's own content. Readers of the index never see a partial change. */
export class OwnIndex {
  private readonly options: OwnIndexOptions

  /** There must be an index at `indexPath`. */
  constructor(options: OwnIndexOptions) {
    this.options = options
  }

  /**
   * Reads a source for the first time or again: writes the files whose content changed and removes those that are gone. Throws
   * `Unreadable` if there is nothing at its location.
   */
  async add(request: AddRequest, onProgress: (done: number, total: number) => void = () => {}): Promise<AddReport> {
    const location = isAddress(request.location) ? new URL(request.location).href : resolve(request.location)
    const { indexPath, fetch } = this.options
    return whileAlone(indexPath, async () => {
      const rows = await this.sources()
      const known = rows.find((row) => row.location === location)
      const settings = settingsOf(location, request, known?.settings)
      const files = isAddress(location) ? await webFiles(location, fetch) : await localFiles(location, settings)
      const now = Math.floor(Date.now() / 1000)
      const id = known?.id ?? Math.max(0, ...rows.map((row) => row.id)) + 1
      const source = { id, location, settings, addedAt: known?.addedAt ?? now, readAt: now }
      const isNew = JSON.stringify(known?.settings) !== JSON.stringify(settings)
      const reader = this.options.reader ?? new FileReader()
      return new SourceReading(indexPath, source, reader).run(files, isNew, onProgress).finally(() => {
        if (!this.options.reader) reader.close()
      })
    })
  }

  /** Removes a source. Returns false if none has this location or number. */
  async remove(locationOrId: string): Promise<boolean> {
    const { indexPath } = this.options
    return whileAlone(indexPath, async () => {
      const wanted = isAddress(locationOrId) ? new URL(locationOrId).href : resolve(locationOrId)
      const rows = await this.sources()
      const source = rows.find(({ id, location }) => location === wanted || String(id) === locationOrId)
      if (!source) return false
      await drafted(indexPath, async ({ writer }) => {
        const sql = 'SELECT origin FROM own_files WHERE source = ?'
        for (const { origin } of await writer.select<{ origin: string }>(sql, [source.id]))
          await removeFile(writer, source.id, origin)
        await writer.execute('DELETE FROM sources WHERE id = ?', [source.id])
      })
      return true
    })
  }

  /** All sources with the number of entries that each added. */
  async list(): Promise<SourceStatus[]> {
    const listed = await readIndex(this.options.indexPath, async (client) => {
      const sources = await sourceRows(client)
      const count = async (table: string) => {
        const sql = `SELECT source, count(*) AS n FROM ${table} GROUP BY source`
        const rows = await selectRows<{ source: number; n: number }>(client, sql, [])
        return new Map(rows.map(({ source, n }) => [source, n]))
      }
      const [files, documents, images] = [await count('own_files'), await count('documents'), await count('images')]
      return sources.map((source): SourceStatus => {
        const of = (counts: ReadonlyMap<number, number>) => counts.get(source.id) ?? 0
        return { ...source, files: of(files), documents: of(documents), images: of(images) }
      })
    })
    return listed ?? []
  }

  /**
   * The totals of the index: documents, passages, images, whether it has the built-in content, and when it was built. Null if there
   * is no index.
   */
  totals(): Promise<Record<string, string> | null> {
    return readIndex(this.options.indexPath, async (client) => {
      const rows = await selectRows<{ key: string; value: string }>(client, 'SELECT key, value FROM meta', [])
      const { [WITHOUT_BUILT_IN]: without, ...meta } = Object.fromEntries(rows.map(({ key, value }) => [key, value]))
      return { ...meta, built_in: without === undefined ? 'yes' : 'no' }
    })
  }

  private async sources(): Promise<SourceRow[]> {
    const rows = await readIndex(this.options.indexPath, sourceRows)
    if (rows === null) throw new Error('there is no index to add to; build it first')
    return rows
  }
}

/** Reads a source once. The index is copied at the first change, so not at all if nothing changed. */
class SourceReading {
  private readonly indexPath: string
  private readonly source: SourceRow
  private readonly reader: FileReader
  private draft: IndexDraft | null = null

  constructor(indexPath: string, source: SourceRow, reader: FileReader) {
    this.indexPath = indexPath
    this.source = source
    this.reader = reader
  }

  /** `isNew`: write the source itself, even if none of its files are. */
  async run(
    files: readonly SourceFile[],
    isNew: boolean,
    onProgress: (done: number, total: number) => void,
  ): Promise<AddReport> {
    const before = await this.hashes()
    const tally = { added: 0, changed: 0, removed: 0, unchanged: 0 }
    const unreadable: { origin: string; reason: string }[] = []
    try {
      for (const [at, file] of files.entries()) {
        const hash = before.get(file.origin)
        before.delete(file.origin)
        const outcome = await this.take(file, hash).catch((problem: unknown) => {
          unreadable.push({ origin: file.origin, reason: reasonOf(problem) })
          // The files of an unreadable folder may still exist, so they are not removed.
          for (const origin of before.keys()) if (origin.startsWith(`${file.origin}/`)) before.delete(origin)
        })
        if (outcome) tally[outcome] += 1
        onProgress(at + 1, files.length)
      }
      for (const origin of before.keys()) await removeFile((await this.writing()).writer, this.source.id, origin)
      tally.removed += before.size
      if (this.draft || isNew) {
        const draft = await this.writing()
        await writeSource(draft.writer, this.source)
        await draft.publish({})
      }
    } catch (problem) {
      await this.draft?.discard()
      throw problem
    }
    return { location: this.source.location, ...tally, unreadable }
  }

  private async take(
    file: SourceFile,
    before: string | undefined,
  ): Promise<'added' | 'changed' | 'removed' | 'unchanged'> {
    const raw = await file.fetch()
    if (raw === null) {
      if (before !== undefined) await removeFile((await this.writing()).writer, this.source.id, file.origin)
      return before === undefined ? 'unchanged' : 'removed'
    }
    const hash = createHash('sha256')
      .update(JSON.stringify([READER_VERSION, this.source.settings, raw.url, raw.contentType]))
      .update(raw.bytes)
      .digest('hex')
    if (hash === before) return 'unchanged'
    const content = await this.reader.read(raw, this.source.settings)
    const { writer } = await this.writing()
    await writeFile(writer, this.source.id, file.origin, hash, await this.withoutShown(content))
    return before === undefined ? 'added' : 'changed'
  }

  /** An image that a page of the source shows is not indexed twice. Only its size is added to the existing entry. */
  private async withoutShown(content: OwnContent): Promise<OwnContent> {
    const [image] = content.images
    if (content.document || !image) return content
    const { writer } = await this.writing()
    const sql = 'SELECT id FROM images WHERE image_url = ? AND source = ?'
    const shown = await writer.select<{ id: number }>(sql, [image.imageUrl, this.source.id])
    const { width, height } = image
    for (const { id } of shown)
      await writer.execute('UPDATE images SET width = coalesce(width, ?), height = coalesce(height, ?) WHERE id = ?', [
        width,
        height,
        id,
      ])
    return shown.length > 0 ? { document: null, images: [] satisfies IndexImage[] } : content
  }

  private async hashes(): Promise<Map<string, string>> {
    const rows = await readIndex(this.indexPath, (client) => {
      const sql = 'SELECT origin, hash FROM own_files WHERE source = ?'
      return selectRows<{ origin: string; hash: string }>(client, sql, [this.source.id])
    })
    return new Map((rows ?? []).map(({ origin, hash }) => [origin, hash]))
  }

  private async writing(): Promise<IndexDraft> {
    this.draft ??= await beginDraft(this.indexPath, true)
    return this.draft
  }
}

async function drafted(indexPath: string, change: (draft: IndexDraft) => Promise<void>): Promise<void> {
  const draft = await beginDraft(indexPath, true)
  try {
    await change(draft)
    await draft.publish({})
  } catch (problem) {
    await draft.discard()
    throw problem
  }
}

async function localFiles(location: string, settings: SourceSettings): Promise<SourceFile[]> {
  if (!(await stat(location).catch(() => null))) throw new Unreadable(`there is nothing at ${location}`)
  return folderFiles(location, settings)
}

function settingsOf(
  location: string,
  { site, baseUrl }: AddRequest,
  known: SourceSettings | undefined,
): SourceSettings {
  const name = site ?? known?.site ?? siteNameOf(location)
  const slug =
    name
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-|-$/g, '') || 'documents'
  return { site: name, baseUrl: (baseUrl ?? known?.baseUrl ?? `https://${slug}.invalid/`).replace(/\/?$/, '/') }
}
