import { type Clock, isoTime } from '../clock'
import { reasonOf } from '../result'
import { type CopyManifest, copyName, copySize, surplusCopies } from './copy'
import { BackupProblem, type BackupTarget } from './target'

/** The step of a backup, for people who wait. */
export interface BackupProgress {
  readonly step: 'copying' | 'checking' | 'storing' | 'verifying'
  readonly bytes: number
  /** 0 while it is not known. */
  readonly total: number
}

export type OnProgress = (progress: BackupProgress) => void

/** The copy. */
export type Snapshot = Omit<CopyManifest, 'name' | 'takenAt'>

export interface BackupParts {
  /** Writes a consistent copy of the data to an empty folder. Throws `BackupProblem` when it cannot. */
  readonly snapshot: (folder: string, onProgress: OnProgress) => Promise<Snapshot>
  /** Fetches a copy, compares it with its checksums, opens it and reconciles its books. Throws `BackupProblem`. */
  readonly verify: (target: BackupTarget, copy: CopyManifest, onProgress: OnProgress) => Promise<void>
  readonly clock: Clock
}

export interface BackupOrder {
  readonly target: BackupTarget
  /** Whether to read the copy back and reconcile it. */
  readonly verify: boolean
  /** How many copies to keep; null keeps all. */
  readonly keep: number | null
}

interface Ended {
  /** The name of the copy. */
  readonly name: string
  readonly at: number
  readonly location: string
}

/** The results of the last backups of this process. */
export interface BackupState {
  readonly running: (BackupProgress & Omit<Ended, 'at'> & { readonly since: number }) | null
  readonly lastSuccess: (Ended & { readonly copy: CopyManifest }) | null
  readonly lastFailure: (Ended & { readonly reason: string }) | null
}

/** The metrics of backups. */
export interface BackupReading {
  /** Null while no copy is known. */
  readonly newestAt: number | null
  readonly isFailing: boolean
}

/** The state of scheduled copies. */
export interface ScheduledBackups extends BackupReading {
  /** How old the newest copy may become; null if none are scheduled. */
  readonly everyMs: number | null
}

/** A new copy, and the names of those that were removed for it. */
export interface BackupResult {
  readonly copy: CopyManifest
  readonly removed: readonly string[]
}

/** Makes backups, one at a time. */
export class Backups {
  private readonly parts: BackupParts
  private current: BackupState = { running: null, lastSuccess: null, lastFailure: null }
  private newestAt: number | null = null

  constructor(parts: BackupParts) {
    this.parts = parts
  }

  state(): BackupState {
    return this.current
  }

  reading(): BackupReading {
    const { lastSuccess, lastFailure } = this.current
    const isFailing = lastFailure !== null && lastFailure.at >= (lastSuccess?.at ?? Number.NEGATIVE_INFINITY)
    return { newestAt: this.newestAt, isFailing }
  }

  /** Why the last backup failed; null if it did not. */
  failure(): string | null {
    return this.reading().isFailing ? `the last backup failed: ${this.current.lastFailure?.reason}` : null
  }

  /** Makes copies known that were there before this process. */
  found(copies: readonly CopyManifest[]): void {
    for (const { takenAt } of copies) this.newestAt = Math.max(this.newestAt ?? takenAt, takenAt)
  }

  /** Begins a backup. `result` rejects with a `BackupProblem` when there is no new copy; then no old one was removed. */
  start(order: BackupOrder, onProgress: OnProgress = () => undefined): { name: string; result: Promise<BackupResult> } {
    const { running } = this.current
    if (running)
      throw new BackupProblem(`a backup to ${running.location} has been running since ${isoTime(running.since)}`)
    const since = this.parts.clock.now()
    const [name, { location }] = [copyName(since), order.target]
    const report = (progress: BackupProgress) => {
      this.current = { ...this.current, running: { ...progress, name, since, location } }
      onProgress(progress)
    }
    report({ step: 'copying', bytes: 0, total: 0 })
    return { name, result: this.run(order, name, since, report) }
  }

  private async run(
    { target, verify, keep }: BackupOrder,
    name: string,
    since: number,
    report: OnProgress,
  ): Promise<BackupResult> {
    const ended = () => ({ name, at: this.parts.clock.now(), location: target.location })
    try {
      const copy = await this.copy(target, name, since, report)
      if (verify) await this.verified(target, copy, report)
      this.current = { ...this.current, lastSuccess: { ...ended(), copy } }
      this.found([copy])
      return { copy, removed: keep === null ? [] : await removeSurplus(target, copy, keep) }
    } catch (error) {
      const reason = reasonOf(error)
      this.current = { ...this.current, lastFailure: { ...ended(), reason } }
      throw error instanceof BackupProblem ? error : new BackupProblem(reason, { cause: error })
    } finally {
      this.current = { ...this.current, running: null }
    }
  }

  /** A copy that is not good is removed, so that no good one is removed for it. */
  private async verified(target: BackupTarget, copy: CopyManifest, report: OnProgress): Promise<void> {
    try {
      await this.parts.verify(target, copy, report)
    } catch (error) {
      await target.remove(copy)
      throw error
    }
  }

  private async copy(target: BackupTarget, name: string, takenAt: number, report: OnProgress): Promise<CopyManifest> {
    const draft = await target.draft(name)
    try {
      const snapshot = await this.parts.snapshot(draft.folder, report)
      const manifest: CopyManifest = { name, takenAt, ...snapshot }
      const total = copySize(manifest)
      await draft.publish(manifest, (bytes) => report({ step: 'storing', bytes, total }))
      return manifest
    } finally {
      await draft.discard()
    }
  }
}

/** Returns the names of the copies that it removed. */
async function removeSurplus(target: BackupTarget, newest: CopyManifest, keep: number): Promise<readonly string[]> {
  const surplus = surplusCopies(await target.copies(), keep, newest.secretMark).filter(
    ({ name }) => name !== newest.name,
  )
  for (const copy of surplus)
    await target.remove(copy).catch((error: unknown) => {
      throw new BackupProblem(
        `the copy ${newest.name} was made, but ${copy.name} could not be removed: ${reasonOf(error)}`,
      )
    })
  return surplus.map(({ name }) => name)
}
