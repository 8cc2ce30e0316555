import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { checksum, copyFileDurably, freeBytes } from '../../adapters/backup/files'
import { openBackupTarget } from '../../adapters/backup/open-target'
import { type CopyFacts, copyDatabase, examineCopy } from '../../adapters/stores/libsql/backup/snapshot'
import { databaseFile } from '../../adapters/stores/libsql/driver/file/database-file'
import type { WorkerThreads } from '../../adapters/stores/libsql/driver/worker/worker-threads'
import { SCHEMA_TIME } from '../../adapters/stores/libsql/upgrade'
import { hasOperatorContent } from '../../adapters/websearch/local/index-file'
import type { BackupSettings } from '../../config/backups'
import type { BackupParts, OnProgress, Snapshot } from '../../core/backup/backups'
import { type CopiedFile, type CopyManifest, copySize, DATABASE } from '../../core/backup/copy'
import { BackupProblem, type BackupTarget, DamagedCopy } from '../../core/backup/target'
import { HOUR_MS } from '../../core/clock'
import { VERSION } from '../../core/version'
import { indexSources } from '../search/index-sources'

/** The source of a backup and its working folders. */
export interface BackupSource {
  readonly dataDir: string
  readonly databaseUrl: string
  readonly backup: Pick<BackupSettings, 'access' | 'secrets' | 'secretMark'>
  readonly threads?: WorkerThreads | undefined
}

/** Below DATA_DIR: what is on its way to a store, or read back. */
const TEMPORARY = 'tmp'
const VERIFYING = 'verify-'
const ABANDONED_MS = HOUR_MS
/** A copy may be larger than its estimate, and other files grow meanwhile. */
const SPARE = 1.1

export function backupTarget(location: string, { dataDir, backup: { access } }: BackupSource): BackupTarget {
  return openBackupTarget(location, { access, workFolder: join(dataDir, TEMPORARY, 'backup') })
}

/** How the data of a gateway is copied and a copy verified, whether the gateway runs or not. */
export function backupWork(source: BackupSource): Pick<BackupParts, 'snapshot' | 'verify'> {
  return {
    snapshot: (folder, onProgress) => snapshot(source, folder, onProgress),
    async verify(target, copy, onProgress) {
      const temporary = join(source.dataDir, TEMPORARY)
      await mkdir(temporary, { recursive: true, mode: 0o700 })
      await removeAbandoned(temporary)
      const folder = await mkdtemp(join(temporary, VERIFYING))
      try {
        await fetchCopy(target, copy, (file) => join(folder, file), onProgress)
        await requireSound(join(folder, DATABASE), copy, source.threads)
      } finally {
        await rm(folder, { recursive: true, force: true })
      }
    },
  }
}

/** The remains of verifications that were killed. */
async function removeAbandoned(temporary: string): Promise<void> {
  for (const name of await readdir(temporary)) {
    if (!name.startsWith(VERIFYING)) continue
    const { mtimeMs } = await stat(join(temporary, name))
    if (Date.now() - mtimeMs > ABANDONED_MS) await rm(join(temporary, name), { recursive: true, force: true })
  }
}

/** The database, and the search index if the operator added documents to it, which nothing else could bring back. */
async function snapshot(source: BackupSource, folder: string, onProgress: OnProgress): Promise<Snapshot> {
  const { databaseUrl, dataDir, backup, threads } = source
  const from = localDatabase(databaseUrl)
  const { size } = await stat(from).catch(() => {
    throw new BackupProblem(`there is no database at ${from}`)
  })
  const index = indexSources(dataDir).indexPath
  const indexBytes = (await hasOperatorContent(index)) ? (await stat(index)).size : 0
  const free = await freeBytes(folder)
  if (free < (size + indexBytes) * SPARE)
    throw new BackupProblem(`${folder} has ${free} bytes left; the copy needs about ${size + indexBytes}`)
  const database = join(folder, DATABASE)
  await copyDatabase({
    from,
    to: database,
    threads,
    onProgress: (bytes, total) => onProgress({ step: 'copying', bytes, total }),
  })
  const paths = [database]
  if (indexBytes > 0) {
    // Its writers replace the file; it never changes.
    await copyFileDurably(index, join(folder, basename(index)))
    paths.push(join(folder, basename(index)))
  }
  onProgress({ step: 'checking', bytes: 0, total: 0 })
  const { schema, problems, keyVariables } = await examineCopy(database, { everyPage: false, threads })
  return {
    version: VERSION,
    schema,
    // Such data is copied all the same: a problem must not cost the backups too.
    problems: problems?.length ?? 0,
    files: await Promise.all(paths.map(copiedFile)),
    secrets: [...new Set([...backup.secrets, ...keyVariables])],
    secretMark: backup.secretMark,
  }
}

/** A file of a copy, with its checksum. */
export async function copiedFile(path: string): Promise<CopiedFile> {
  return { name: basename(path), bytes: (await stat(path)).size, sha256: await checksum(path) }
}

function localDatabase(url: string): string {
  const file = databaseFile(url)
  if (file !== null) return file
  throw new BackupProblem(
    'DATABASE_URL is a database server, which has all data and no log here: back it up and restore it with its own tools, such as snapshots of sqld or Turso',
  )
}

/** Fetches the files of a copy and compares them with its checksums. */
export async function fetchCopy(
  target: BackupTarget,
  copy: CopyManifest,
  pathOf: (file: string) => string,
  onProgress: OnProgress,
): Promise<void> {
  const total = copySize(copy)
  let bytes = 0
  for (const file of copy.files) {
    await target.fetch(copy, file.name, pathOf(file.name))
    const found = await copiedFile(pathOf(file.name))
    if (found.bytes !== file.bytes || found.sha256 !== file.sha256)
      throw new BackupProblem(`${file.name} of ${copy.name} is damaged: its checksum is not the one in the manifest`)
    bytes += file.bytes
    onProgress({ step: 'verifying', bytes, total })
  }
}

/** Throws `BackupProblem` unless a database that was copied can be read, and its books agree, or disagree as the original's did. */
export async function requireSound(
  database: string,
  { problems: known }: Pick<CopyManifest, 'problems'>,
  threads?: WorkerThreads,
): Promise<CopyFacts> {
  const facts = await examineCopy(database, { everyPage: true, threads }).catch((error: unknown) => {
    throw new DamagedCopy(`the copy cannot be opened: ${error instanceof Error ? error.message : error}`)
  })
  const { schema, problems } = facts
  if (schema > SCHEMA_TIME)
    throw new BackupProblem(`a newer gateway made the copy, and this one is ${VERSION}: use the newer one`)
  const [first] = problems ?? []
  if (first && problems && problems.length > known)
    throw new BackupProblem(
      `the books of the copy disagree (problems: ${problems.length}; in the original: ${known}); ${first.what}: ${first.subject}`,
    )
  return facts
}
