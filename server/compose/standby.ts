import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { KeyRing } from '../adapters/sealing/key-ring'
import { followedEnd } from '../adapters/stores/libsql/backup/followed-end'
import { lockDataFolder } from '../adapters/stores/libsql/driver/file/held-file'
import { LeaseFile } from '../adapters/stores/postgres/lease-file'
import type { CopyState, Succession } from '../adapters/stores/postgres/succession'
import type { Config } from '../config'
import { DATABASE } from '../core/backup/copy'
import { DamagedCopy } from '../core/backup/target'
import { isoTime } from '../core/clock'
import { reasonOf } from '../core/result'
import type { Log } from '../log'
import { databaseFileOf } from './backup/data-health'
import { KeptRunning } from './backup/kept-running'
import { followReplica, type Litestream, requireLitestream } from './backup/litestream'
import { Replication } from './backup/replication'
import { RESTORED } from './backup/restore'
import { restoreLitestream } from './backup/restore-litestream'
import { logFinder } from './log-copy'
import { indexSources } from './search/index-sources'
import { SearchIndex } from './search/search-index'

/** Of the place with the copy, beside the database. */
const FOLDER = 'standby'
const PAUSE_MS = 1_000
const CLOCK = { now: () => Date.now() }

interface Needs {
  readonly acceptsFailover: boolean
  readonly log: Log
  readonly onState: (state: CopyState) => void
}

/**
 * Keeps a copy of the primary's data by what Litestream copied to `replica`, and resolves when this process is to start as the primary: the
 * data folder has the copy then, and the lease is renewed until `release`. Null at once if the folder's own data is that of the last primary.
 * Data that another gateway has left behind is set aside. Throws for what waiting does not change.
 */
export async function standBy(
  config: Config,
  replica: string,
  needs: Needs,
): Promise<(Pick<Succession, 'release'> & { readonly indexed: Promise<boolean> }) | null> {
  const { databaseUrl, logCopy } = config
  const database = databaseFileOf(databaseUrl)
  if (!logCopy || database === null) throw new Error('--standby needs LOG_URL, and a file in DATABASE_URL')
  if (config.takeOver) throw new Error('TAKE_OVER=true does not work with --standby. Unset one of them')
  const { log, onState } = needs
  const { litestream } = config.backup
  if (litestream.replica === replica.replace(/\/+$/, ''))
    throw new Error('LITESTREAM_REPLICA is the place that --standby follows: name one of its own for this machine')
  requireLitestream(litestream)
  // Now, rather than when it takes over.
  await Replication.open(config, log)
  const isOwn = await retried(() => isPrimarys(database, logCopy.url), onState)
  if (isOwn) return null
  const lock = await lockDataFolder(config.dataDir)
  await setAside(config.dataDir, database, log).finally(() => lock.release())
  // Now, because it may take minutes.
  const indexed = new SearchIndex(indexSources(config.dataDir), async () => false)
    .prepare(() => undefined)
    .then(
      () => true,
      (error: unknown) => {
        log.warn('standby: the search index could not be built', { reason: reasonOf(error) })
        return false
      },
    )
  const lease = await takenOver({ ...config, logCopy, database }, replica, needs)
  return { release: () => lease.release(), indexed }
}

/** While PostgreSQL does not answer, or has no log yet. */
async function retried<T>(attempt: () => Promise<T>, onState: Needs['onState']): Promise<T> {
  for (;;) {
    try {
      return await attempt()
    } catch (error) {
      if (error instanceof OtherData) throw error
      onState({ lagSeconds: null, problem: reasonOf(error) })
      await Bun.sleep(PAUSE_MS)
    }
  }
}

class OtherData extends Error {}

/** Whether this folder had the log last, so that it has everything. */
async function isPrimarys(database: string, url: string): Promise<boolean> {
  if (!existsSync(database)) return false
  const file = new LeaseFile(database)
  const known = file.read()
  if (known === null)
    throw new OtherData(
      `${database} has no log at LOG_URL yet: start it once without --standby, or use an empty DATA_DIR`,
    )
  const { currentLease } = await import('../adapters/stores/postgres/succession')
  const { installation, holder } = await currentLease(url)
  if (installation !== known.installation) throw new OtherData('LOG_URL has the log of another gateway')
  // Empty: nobody had it yet.
  return file.isOriginal && ['', known.holder, known.next].includes(holder)
}

/** Moves the data of a former primary into a folder of its own: the log has its charges and keys, and nothing else of its last second. */
async function setAside(dataDir: string, database: string, log: Log): Promise<void> {
  const folder = dirname(database)
  const all = await readdir(folder)
  const names = all.filter((name) => name.startsWith(basename(database)))
  if (names.length === 0) return
  const aside = join(folder, `left-behind-${isoTime(Date.now()).replace(/[:.]/g, '-')}`)
  await mkdir(aside, { mode: 0o700 })
  // The database first: what is left after a kill is no data.
  for (const name of names.toSorted()) await rename(join(folder, name), join(aside, name))
  if (existsSync(join(dataDir, RESTORED))) await rename(join(dataDir, RESTORED), join(aside, RESTORED))
  if (names.includes(basename(database)))
    log.warn(
      'another gateway had the log since this data was served, so it was moved away; delete it when you miss nothing',
      { aside },
    )
}

type Place = Config & { readonly logCopy: NonNullable<Config['logCopy']>; readonly database: string }

async function takenOver(place: Place, replica: string, { acceptsFailover, log, onState }: Needs) {
  const { logCopy, database, dataDir, databaseUrl, sealingKeys, backup } = place
  const folder = join(dirname(database), FOLDER)
  const litestream = { program: backup.litestream.program, access: backup.access }
  const copy = new Copy(folder, replica, { litestream, log })
  try {
    const { succeed } = await import('../adapters/stores/postgres/succession')
    const { url } = logCopy
    const copyEnd = async () => copy.end()
    const sealing = new KeyRing(sealingKeys)
    const lease = await retried(
      () => succeed({ url, sealing, acceptsFailover, clock: CLOCK, copyEnd, onState }),
      onState,
    )
    log.warn('the lease ran out: this standby takes over')
    try {
      const followed = (await copy.stop()) ? copy.file : undefined
      if (followed === undefined)
        log.warn('standby: Litestream ended in the midst of a change, so the copy is fetched anew')
      const restored = (from: { readonly followed?: string }) =>
        restoreLitestream({
          litestream,
          replica,
          until: null,
          ...from,
          log: null,
          findLog: logFinder({ url, sealingKeys, acceptsFailover }),
          dataDir,
          isShared: true,
          databaseUrl,
          now: Date.now(),
          onProgress: () => undefined,
        })
      const { groups } = await (followed === undefined
        ? restored({})
        : restored({ followed }).catch((error: unknown) => {
            if (!(error instanceof DamagedCopy)) throw error
            log.warn('standby: the copy is damaged, so it is fetched anew', { reason: error.message })
            return restored({})
          }))
      new LeaseFile(database).write({ installation: lease.installation, holder: lease.holder })
      log.info('the copy is in place; the start adds what the log has more', { groups })
      return lease
    } catch (error) {
      await lease.release()
      throw error
    }
  } finally {
    await copy.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

/** What Litestream follows a replica with. It begins anew whenever it ends. */
class Copy {
  readonly file: string
  private readonly kept: KeptRunning

  constructor(folder: string, replica: string, { litestream, log }: { litestream: Litestream; log: Log }) {
    this.file = join(folder, DATABASE)
    this.kept = new KeptRunning({
      begin: async () => {
        await rm(folder, { recursive: true, force: true })
        await mkdir(folder, { recursive: true, mode: 0o700 })
        return followReplica(litestream, replica, this.file)
      },
      onEnd: (reason, pauseMs) => log.warn('standby: Litestream ended, and begins anew', { reason, pauseMs }),
    })
  }

  /** The last group and transaction that it has; null while it is not there. */
  end() {
    const note = `${this.file}-txid`
    if (!this.kept.isRunning || !existsSync(note)) return null
    const transaction = Number.parseInt(readFileSync(note, 'utf8'), 16)
    return { ...followedEnd(this.file), transaction }
  }

  /** Resolves when the file changes no more, to whether it is whole. */
  stop(): Promise<boolean> {
    return this.kept.stop()
  }
}
