import { rm } from 'node:fs/promises'
import { ForeignPlace, ReplicaPlace } from '../../adapters/backup/replica-place'
import type { Config } from '../../config'
import { reasonOf } from '../../core/result'
import { type Job, startJob } from '../../jobs/job'
import type { Log } from '../../log'
import { databaseFileOf } from './data-health'
import { KeptRunning } from './kept-running'
import { type Litestream, type Replicating, replicate, requireLitestream, socketOf } from './litestream'

/** How often the copy is asked whether it has everything. */
const LOOK_MS = 2_000
const SYNC_MS = 10_000
/** A stop waits no longer for the copy before it gives the lease up. */
const LAST_SYNC_MS = 3_000
/** A copy that is older is a problem. */
const MAX_LAG_MS = 60_000

interface Needs {
  /** The last group in the tables. */
  readonly appliedGroup: () => Promise<number>
  /** Called once for each time that the copy falls behind. */
  readonly onFailure: (to: string, reason: string) => void
}

/**
 * The continuous copy at LITESTREAM_REPLICA: Litestream as a process of this one, which begins anew whenever it ends. It is asked from time to
 * time to copy everything, so that what the copy has is known and not guessed.
 */
export class Replication {
  private readonly litestream: Litestream
  private readonly what: Replicating
  private readonly place: ReplicaPlace
  private readonly log: Log
  private kept: KeptRunning | null = null
  private job: Job | null = null
  private syncedAt = performance.now()
  private reason: string | null = null
  private isLate = false
  private confirmed = 0

  private constructor(parts: { litestream: Litestream; what: Replicating; place: ReplicaPlace; log: Log }) {
    this.litestream = parts.litestream
    this.what = parts.what
    this.place = parts.place
    this.log = parts.log
  }

  /** Starts nothing yet. Null without LITESTREAM_REPLICA. Throws if the program is missing, or another data folder writes to the place. */
  static async open({ backup, databaseUrl, dataDir }: ReplicaConfig, log: Log): Promise<Replication | null> {
    const { access, litestream } = backup
    const { program, replica } = litestream
    if (replica === null) return null
    const database = databaseFileOf(databaseUrl)
    if (database === null) throw new Error('LITESTREAM_REPLICA is for a database file: unset it, or DATABASE_URL')
    requireLitestream(litestream)
    const place = new ReplicaPlace(replica, dataDir, access)
    try {
      await place.claim()
    } catch (error) {
      if (error instanceof ForeignPlace) throw error
      log.warn('LITESTREAM_REPLICA cannot be reached; it is tried again', { reason: reasonOf(error) })
    }
    return new Replication({
      litestream: { program, access },
      what: { database, replica, folder: dataDir },
      place,
      log,
    })
  }

  /** The last group of the log that the copy is known to have in its tables. */
  get confirmedGroup(): number {
    return this.confirmed
  }

  /** How old the newest state is that the copy is known to have. */
  get lagSeconds(): number {
    return (performance.now() - this.syncedAt) / 1000
  }

  /** Why the copy is behind; null if it is not. */
  get problem(): string | null {
    if (performance.now() - this.syncedAt < MAX_LAG_MS) return null
    return `${this.what.replica} is ${Math.round(this.lagSeconds)} s behind: ${this.reason ?? 'no answer'}`
  }

  start({ appliedGroup, onFailure }: Needs): void {
    this.syncedAt = performance.now()
    this.kept = new KeptRunning({
      begin: async () => {
        await this.place.claim()
        await this.endOlder()
        return replicate(this.litestream, this.what)
      },
      onEnd: (reason, pauseMs) => {
        this.reason = reason
        this.log.error('Litestream ended, and begins anew', { reason, pauseMs })
      },
    })
    const look = async () => {
      const [group, at] = [await appliedGroup(), performance.now()]
      await this.synced(SYNC_MS)
      this.confirmed = group
      this.syncedAt = at
    }
    this.job = startJob(() => look().finally(() => this.judge(onFailure)), {
      everyMs: LOOK_MS,
      onError: (error) => {
        if (this.kept?.isRunning) this.reason = reasonOf(error)
      },
    })
  }

  /** Resolves to the transaction up to which the copy has everything now. Rejects when that is not sure in time. */
  async sync(): Promise<number> {
    return this.synced(LAST_SYNC_MS)
  }

  /** After the last write: copies the rest and ends the program. */
  async stop(): Promise<void> {
    await this.job?.close()
    if (!this.kept) return
    // One that just begins ends well without having copied anything.
    const hasAll = await this.sync().then(
      () => true,
      () => false,
    )
    await this.kept.stop()
    if (hasAll) return
    try {
      await this.place.claim()
      const once = await replicate(this.litestream, this.what, true)
      const said = await once.ended
      if (!(await once.stop())) throw new Error(said)
    } catch (error) {
      this.log.error('the last changes are not in LITESTREAM_REPLICA', { reason: reasonOf(error) })
    }
  }

  private async synced(maxMs: number): Promise<number> {
    const answer = await fetch('http://litestream/sync', {
      unix: socketOf(this.what),
      method: 'POST',
      body: JSON.stringify({ path: this.what.database, wait: true, timeout: maxMs / 1000 }),
      signal: AbortSignal.timeout(maxMs),
    })
    const { txid, replicated_txid: copied, error, details } = Object(await answer.json())
    if (!answer.ok || typeof txid !== 'number' || !(copied >= txid))
      throw new Error([error, details].filter(Boolean).join(': ') || `Litestream copied ${copied} of ${txid}`)
    return copied
  }

  /** Ends the one of a gateway that was killed, which copies the rest first. */
  private async endOlder(): Promise<void> {
    const unix = socketOf(this.what)
    for (;;) {
      const answer = await fetch('http://litestream/info', { unix, signal: AbortSignal.timeout(LOOK_MS) }).catch(
        () => null,
      )
      if (answer === null) break
      const { pid } = Object(await answer.json())
      if (typeof pid === 'number') process.kill(pid)
      await Bun.sleep(100)
    }
    await rm(unix, { force: true })
  }

  private judge(onFailure: Needs['onFailure']): void {
    const { problem } = this
    const { replica } = this.what
    if (problem !== null && !this.isLate) {
      this.log.error('the continuous copy is behind', { to: replica, reason: problem })
      onFailure(replica, problem)
    }
    if (problem === null && this.isLate) this.log.info('the continuous copy has everything again', { to: replica })
    this.isLate = problem !== null
  }
}

type ReplicaConfig = Pick<Config, 'backup' | 'databaseUrl' | 'dataDir'>
