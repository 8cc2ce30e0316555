import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { freeBytes, syncFile } from '../../adapters/backup/files'
import { databaseFile } from '../../adapters/stores/libsql/driver/file/database-file'
import { DataFolderInUse, lockDataFolder } from '../../adapters/stores/libsql/driver/file/held-file'
import type { WorkerThreads } from '../../adapters/stores/libsql/driver/worker/worker-threads'
import type { OnProgress } from '../../core/backup/backups'
import { type CopyManifest, copySize, DATABASE, DATABASE_LEASE, DATABASE_LOG } from '../../core/backup/copy'
import { BackupProblem, type BackupTarget } from '../../core/backup/target'
import { isoTime } from '../../core/clock'
import { fetchCopy, requireSound } from './backups'

/** In the data folder: says which copy the data came from, and when. */
export const RESTORED = 'restored.json'
const RESTORING = '.restoring'
/** A draft, or a file of SQLite beside one. */
const DRAFT = /\.restoring(-wal|-shm|-journal)?$/
/** Where each file goes, in the order in which they appear. */
type TargetPaths = ReadonlyMap<string, string>
/** The allowed content of a folder before a restore: the operator's secret, and files without data. */
const BROUGHT = new Set(['secret_key', 'lock', 'lock-journal', 'tmp', 'gateway.yaml', 'models.json'])

export interface RestoreOptions {
  readonly target: BackupTarget
  readonly copy: CopyManifest
  readonly dataDir: string
  readonly databaseUrl: string
  readonly now: number
  /** The log in PostgreSQL that continues the copy; absent without one. */
  readonly findLog?: FindLog | null
  readonly threads?: WorkerThreads | undefined
  readonly onProgress: OnProgress
}

/**
 * Looks at a log in PostgreSQL: how many groups it has that a database lacks. Writes to `draft` how the database names that log, or those groups. Throws if it
 * does not continue the database.
 */
export type FindLog = (database: string, draft: string) => Promise<number>

/**
 * Puts a copy into an empty data folder. Nothing is there until everything was fetched, compared with its checksums and reconciled; the
 * database appears last. A restore that fails or is killed leaves no data that a gateway would open. Resolves to how many
 * groups of charges the log in PostgreSQL adds at the start.
 */
export async function restoreCopy(options: RestoreOptions): Promise<number> {
  const files = options.copy.files.map(({ name }) => name).filter((name) => name !== DATABASE)
  const names = [RESTORED, ...files, ...(options.findLog ? [DATABASE_LEASE] : []), DATABASE]
  return intoEmptyFolder(options, names, (draftOf, targets) => putFiles(options, draftOf, targets))
}

type DraftOf = (file: string) => string

/**
 * Runs `put`, which makes these files from drafts, in the order in which they appear. Leaves none of them if it fails. `isShared`: only the
 * database must be missing in the folder.
 */
export async function intoEmptyFolder<T>(
  options: Pick<RestoreOptions, 'dataDir' | 'databaseUrl'> & { readonly isShared?: boolean },
  names: readonly string[],
  put: (draftOf: DraftOf, targets: TargetPaths) => Promise<T>,
): Promise<T> {
  const { dataDir } = options
  const database = databaseFile(options.databaseUrl)
  if (database === null)
    throw new BackupProblem(
      'DATABASE_URL is a database server. Restore a copy as a file: leave DATABASE_URL out, or restore the server with its own tools',
    )
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  const lock = await lockDataFolder(dataDir).catch((error: unknown) => {
    throw error instanceof DataFolderInUse ? new BackupProblem(error.message) : error
  })
  const targets = new Map(names.map((name) => [name, targetOf(name, dataDir, database)]))
  try {
    await requireEmpty({ ...options, database }, targets)
    return await put((file) => `${targets.get(file)}${RESTORING}`, targets)
  } catch (error) {
    if (!(error instanceof FolderNotEmpty)) await removeAll(targets)
    throw error
  } finally {
    lock.release()
  }
}

function targetOf(name: string, dataDir: string, database: string): string {
  if (name === DATABASE) return database
  const beside = name === DATABASE_LOG || name === DATABASE_LEASE
  return beside ? database + name.slice(DATABASE.length) : join(dataDir, name)
}

class FolderNotEmpty extends BackupProblem {}

async function requireEmpty(
  { dataDir, database, isShared }: { readonly dataDir: string; readonly database: string; readonly isShared?: boolean },
  targets: TargetPaths,
): Promise<void> {
  // A restore that was killed.
  if (existsSync(join(dataDir, RESTORED)) && !existsSync(database)) await removeAll(targets)
  for (const folder of new Set([dataDir, dirname(database)])) {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const isOwn = folder === dataDir && !isShared
    for (const name of await readdir(folder)) {
      if (DRAFT.test(name)) await rm(join(folder, name), { force: true })
      else if (isOwn ? !BROUGHT.has(name) : name.startsWith(basename(database)))
        throw new FolderNotEmpty(
          `${folder} is not empty: it has ${name}. Restore into a new DATA_DIR with nothing in it but secret_key`,
        )
    }
  }
}

async function putFiles(options: RestoreOptions, draftOf: DraftOf, targets: TargetPaths): Promise<number> {
  const { target, copy, dataDir, now, findLog, threads, onProgress } = options
  const free = await freeBytes(dataDir)
  if (free < copySize(copy))
    throw new BackupProblem(`${dataDir} has ${free} bytes left; the copy has ${copySize(copy)}`)
  await fetchCopy(target, copy, draftOf, onProgress)
  onProgress({ step: 'checking', bytes: 0, total: 0 })
  await requireSound(draftOf(DATABASE), copy, threads)
  const note = { copy: copy.name, taken_at: isoTime(copy.takenAt), restored_at: isoTime(now), from: target.location }
  await writeFile(draftOf(RESTORED), `${JSON.stringify(note, null, 2)}\n`)
  const groups = (await findLog?.(draftOf(DATABASE), draftOf(DATABASE_LEASE))) ?? 0
  await publish(targets, draftOf)
  return groups
}

/** Gives drafts their names, durably, the database last. */
export async function publish(targets: TargetPaths, draftOf: DraftOf): Promise<void> {
  for (const [name, path] of targets) {
    await chmod(draftOf(name), 0o600)
    await syncFile(draftOf(name))
    await rename(draftOf(name), path)
    await syncFile(dirname(path))
  }
}

async function removeAll(targets: TargetPaths): Promise<void> {
  for (const path of targets.values()) for (const file of [path, `${path}${RESTORING}`]) await rm(file, { force: true })
}
