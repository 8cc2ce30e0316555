import { join } from 'node:path'
import type { ArchivePlace } from '../../adapters/backup/archive-place'
import { csvRecord, readCompressed, writeCompressed } from '../../adapters/backup/csv-zst'
import { syncFile } from '../../adapters/backup/files'
import { openArchivePlace } from '../../adapters/backup/open-target'
import {
  type ArchiveRow,
  ArchiveRows,
  CALL_COLUMNS,
  CLOSING_COLUMNS,
  ENTRY_COLUMNS,
} from '../../adapters/stores/libsql/archive/archive-rows'
import { readerOf, withConnection } from '../../adapters/stores/libsql/backup/snapshot'
import { databaseFile } from '../../adapters/stores/libsql/driver/file/database-file'
import { OWN_THREADS, type WorkerThreads } from '../../adapters/stores/libsql/driver/worker/worker-threads'
import { libsqlLedgerCheck } from '../../adapters/stores/libsql/ledger/ledger-check'
import {
  ARCHIVE_FILES,
  ARCHIVE_MANIFEST,
  type ArchiveFile,
  type ArchiveFileName,
  type ArchiveManifest,
  type ArchiveMonth,
  ArchiveProblem,
  archiveManifestText,
  archiveName,
  isArchivable,
  parseArchiveManifest,
  type RemovedMonth,
} from '../../core/archive/archive'
import { isoTime } from '../../core/clock'
import { reasonOf } from '../../core/result'
import { VERSION } from '../../core/version'
import { type BackupSource, copiedFile } from './backups'

/** The source and the destination of an archive. */
export interface ArchiveOrder {
  readonly source: BackupSource
  readonly month: ArchiveMonth
  readonly to: string
  readonly now: number
  readonly onProgress: (progress: { readonly step: string; readonly bytes: number; readonly total: number }) => void
}

const COLUMNS: Readonly<Record<ArchiveFileName, readonly string[]>> = {
  'entries.csv.zst': ENTRY_COLUMNS,
  'calls.csv.zst': CALL_COLUMNS,
  'closings.csv.zst': CLOSING_COLUMNS,
}
/** Rows per line of progress. */
const SHOWN = 100_000
/** Charges begin with their number and id, and have no quotes before their amount. */
const CHARGE = /^\d+,[^,"]*,charge,[^,"]*,[^,"]*,[^,"]*,(\d+),/

/** The archive of a month in a place; null if the place has none. */
export async function findArchive({ source, month, to }: ArchiveOrder): Promise<ArchiveManifest | null> {
  return (await storedManifest(placeOf(source, to), month))?.manifest ?? null
}

/** Writes the calls, entries and closings of a month, a slice at a time. Nothing has the archive's name until all of it is written. */
export async function writeArchive(order: ArchiveOrder): Promise<ArchiveManifest> {
  const { source, month, to, now } = order
  const place = placeOf(source, to)
  return withRows(order, async (rows) => {
    if (rows.isArchived)
      throw new ArchiveProblem(`calls and charges of ${month.text} have left for the archive that "archive list" names`)
    const name = archiveName(month)
    const folder = await place.draft(name)
    const files: ArchiveFile[] = []
    for (const file of ARCHIVE_FILES) files.push(await writeFile(order, rows, file, join(folder, file)))
    const charges = await rows.charges()
    const manifest = { name, month: month.text, version: VERSION, madeAt: isoTime(now), files, ...charges }
    await Bun.write(join(folder, ARCHIVE_MANIFEST), archiveManifestText(manifest), { mode: 0o600 })
    await place.publish(name, folder)
    return manifest
  })
}

async function writeFile(
  { onProgress }: ArchiveOrder,
  rows: ArchiveRows,
  name: ArchiveFileName,
  path: string,
): Promise<ArchiveFile> {
  let count = 0
  async function* text() {
    yield csvRecord(COLUMNS[name])
    for await (const page of pagesOf(rows, name)) {
      count += page.length
      onProgress({ step: `writing ${name}: ${Math.floor(count / SHOWN) * SHOWN} rows`, bytes: 0, total: 0 })
      yield page.map((row) => recordOf(row, name)).join('')
    }
  }
  await writeCompressed(path, text())
  await syncFile(path)
  const { bytes, sha256 } = await copiedFile(path)
  return { name, rows: count, bytes, sha256 }
}

/**
 * Reads an archive back, and compares it with its checksums and with every row of the tables. Rows that a removal which was interrupted took out already may be missing in the
 * tables. Throws `ArchiveProblem` for any difference, and if the books do not agree.
 */
export async function verifyArchive(order: ArchiveOrder): Promise<RemovedMonth> {
  const { source, month, to, onProgress } = order
  const place = placeOf(source, to)
  const stored = await storedManifest(place, month)
  if (!stored) throw new ArchiveProblem(`${place.location} has no complete ${archiveName(month)}`)
  const { manifest, text } = stored
  return withRows(order, async (rows, checkBooks) => {
    const found = { charges: 0, charged: 0 }
    for (const name of ARCHIVE_FILES)
      await compareFile(rows, name, { place, manifest, onProgress }, (record) => {
        const [, amount] = name === 'entries.csv.zst' ? (CHARGE.exec(record) ?? []) : []
        if (amount === undefined) return
        found.charges++
        found.charged += Number(amount)
      })
    const closed = await rows.charges()
    if (found.charges !== closed.charges || found.charged !== closed.charged)
      throw new ArchiveProblem(`${manifest.name} has ${found.charges} charges, and ${closed.charges} were closed`)
    onProgress({ step: 'comparing the books', bytes: 0, total: 0 })
    const [problem] = await checkBooks()
    if (problem) throw new ArchiveProblem(`the books do not agree (${problem.what}: ${problem.subject})`)
    const digest = new Bun.CryptoHasher('sha256').update(text).digest('hex')
    return { month, name: manifest.name, location: place.location, manifest: digest, ...closed }
  })
}

interface Compared extends Pick<ArchiveOrder, 'onProgress'> {
  readonly place: ArchivePlace
  readonly manifest: ArchiveManifest
}

/** The rows of the tables must be in the file, in their order, and of the file only rows may be missing in the tables that may have left. */
async function compareFile(
  rows: ArchiveRows,
  name: ArchiveFileName,
  { place, manifest, onProgress }: Compared,
  visit: (record: string) => void,
): Promise<void> {
  const problem = (what: string) => new ArchiveProblem(`${name} of ${manifest.name} ${what}`)
  const mayHaveLeft = (record: string) =>
    rows.isArchived && (name === 'calls.csv.zst' || (name === 'entries.csv.zst' && CHARGE.test(record)))
  const stored = recordsOf(rows, name)
  const file = readCompressed(place.read(manifest.name, name))
  let [count, next] = [-1, await stored.next()]
  try {
    for await (const record of file.records()) {
      if (count === -1 && record !== csvRecord(COLUMNS[name])) throw problem('has other columns')
      else if (count >= 0) {
        visit(record)
        if (!next.done && next.value === record) next = await stored.next()
        else if (!mayHaveLeft(record)) throw problem(`differs from the tables in row ${count + 1}`)
      }
      if (++count % SHOWN === 0) onProgress({ step: `comparing ${name}: ${count} rows`, bytes: 0, total: 0 })
    }
  } catch (error) {
    throw error instanceof ArchiveProblem ? error : problem(`cannot be read: ${reasonOf(error)}`)
  }
  const described = manifest.files.find((one) => one.name === name)
  if (file.checksum() !== described?.sha256) throw problem('is damaged: its checksum is not the one in the manifest')
  if (!next.done) throw problem(`lacks rows of the tables after row ${count}`)
}

async function* recordsOf(rows: ArchiveRows, name: ArchiveFileName): AsyncGenerator<string, void> {
  for await (const page of pagesOf(rows, name)) for (const row of page) yield recordOf(row, name)
}

function pagesOf(rows: ArchiveRows, name: ArchiveFileName) {
  if (name === 'entries.csv.zst') return rows.entries()
  return name === 'calls.csv.zst' ? rows.calls() : rows.closings()
}

function recordOf(row: ArchiveRow, name: ArchiveFileName): string {
  return csvRecord(COLUMNS[name].map((column) => row[column] ?? null))
}

async function storedManifest(place: ArchivePlace, month: ArchiveMonth) {
  const name = archiveName(month)
  const text = await place.manifest(name)
  if (text === null) return null
  const manifest = parseArchiveManifest(text)
  if (manifest?.name !== name || manifest.month !== month.text)
    throw new ArchiveProblem(`${place.location}/${name} has a manifest that is damaged or newer`)
  return { manifest, text }
}

function placeOf({ dataDir, backup }: BackupSource, to: string): ArchivePlace {
  return openArchivePlace(to, { access: backup.access, workFolder: join(dataDir, 'tmp', 'archive') })
}

type CheckBooks = ReturnType<typeof libsqlLedgerCheck>

/** Reads the database in a thread and connection of its own, while a gateway may be running. */
async function withRows<T>(
  { source, month, now }: ArchiveOrder,
  use: (rows: ArchiveRows, checkBooks: CheckBooks) => Promise<T>,
): Promise<T> {
  const file = databaseFile(source.databaseUrl)
  if (file === null) throw new ArchiveProblem('DATABASE_URL is a database server; only a database file is archived')
  if (!isArchivable(month, now)) throw new ArchiveProblem(`${month.text} did not end 13 months ago`)
  const threads: WorkerThreads = source.threads ?? OWN_THREADS
  return withConnection(file, 'reader', threads, async (connection) => {
    const db = readerOf(connection)
    const rows = await ArchiveRows.open(db, month)
    if (!rows.isClosed) throw new ArchiveProblem(`${month.text} is not closed yet`)
    return use(
      rows,
      libsqlLedgerCheck(db, async () => undefined),
    )
  })
}
