import { existsSync } from 'node:fs'
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFile } from '../../adapters/backup/files'
import { lostChanges } from '../../adapters/stores/libsql/backup/lost-changes'
import type { WorkerThreads } from '../../adapters/stores/libsql/driver/worker/worker-threads'
import type { RestoreCheckStore, RestoreNote } from '../../core/backup/restored'
import { type Clock, isoTime } from '../../core/clock'
import { isJson, parsedJson } from '../../core/json'
import type { LastTimes } from '../../core/ledger/clock-check'
import type { TakenOverCopy } from '../../jobs/money-checks'
import type { Log } from '../../log'
import { RESTORED } from './restore'

interface Needs {
  readonly restoreChecks: RestoreCheckStore
  readonly clock: Clock
  readonly log: Log
  readonly threads?: WorkerThreads | undefined
}

/**
 * What `operator after-restore` needs. Warns at the start while restored data was not checked. After a take-over the log has the keys, limits, suspensions and money
 * of every moment, so that only the comparison with the card processor and the chains is left: it is made without anybody.
 */
export async function composeAfterRestore(
  { dataDir }: { readonly dataDir: string },
  { restoreChecks, clock, log, threads }: Needs,
) {
  const restored = await readNote(join(dataDir, RESTORED))
  const isChecked = restored === null || (await restoreChecks.checkOf(restored.restoredAt)) !== null
  if (!isChecked && !restored.isTakenOver)
    log.warn('this data was restored from a copy; run "gateway operator after-restore" before customers use it', {
      copy: restored.copy,
      takenAt: isoTime(restored.takenAt),
    })
  const takenOver: TakenOverCopy | null =
    isChecked || !restored.isTakenOver
      ? null
      : {
          takenAt: restored.takenAt,
          checked: () =>
            restoreChecks.checked({ restoredAt: restored.restoredAt, checkedAt: clock.now(), actor: 'take-over' }),
        }
  return { commands: { restored, restoreChecks, readLostChanges: lostChanges(threads) }, takenOver }
}

/**
 * Notes that the data was put back by other means than `operator restore`, whose own note stays. The time of the copy is
 * that of its last write.
 */
export function putBackNote({ dataDir }: { readonly dataDir: string }, clock: Clock) {
  return async ({ entry, audit }: LastTimes, isNewHere: boolean): Promise<void> => {
    const path = join(dataDir, RESTORED)
    if (isNewHere && existsSync(path)) return
    const now = clock.now()
    const takenAt = Math.min(now, Math.max(entry ?? 0, audit ?? 0) || now)
    const note = { copy: null, taken_at: isoTime(takenAt), restored_at: isoTime(now), from: null }
    await writeFile(`${path}.draft`, `${JSON.stringify(note, null, 2)}\n`, { mode: 0o600 })
    await syncFile(`${path}.draft`)
    await rename(`${path}.draft`, path)
    await syncFile(dataDir)
  }
}

/** Null for data that was never restored. */
async function readNote(file: string): Promise<RestoreNote | null> {
  if (!existsSync(file)) return null
  const note = parsedJson(await readFile(file, 'utf8'))
  if (!isJson(note)) return null
  const [takenAt, restoredAt] = [Date.parse(String(note['taken_at'])), Date.parse(String(note['restored_at']))]
  return Number.isFinite(takenAt) && Number.isFinite(restoredAt)
    ? {
        copy: note['copy'] === null ? null : String(note['copy']),
        takenAt,
        restoredAt,
        isTakenOver: note['taken_over'] === true,
      }
    : null
}
