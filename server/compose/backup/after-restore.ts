import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { lostChanges } from '../../adapters/stores/libsql/backup/lost-changes'
import type { WorkerThreads } from '../../adapters/stores/libsql/driver/worker/worker-threads'
import type { RestoreCheckStore, RestoreNote } from '../../core/backup/restored'
import { isoTime } from '../../core/clock'
import { type CellName, MAIN_CELL } from '../../core/cluster/cells'
import { isJson, parsedJson } from '../../core/json'
import type { Log } from '../../log'
import { RESTORED } from './restore'

interface Needs {
  readonly restoreChecks: RestoreCheckStore
  readonly cell?: { readonly name: CellName } | undefined
  readonly log: Log
  readonly threads?: WorkerThreads | undefined
}

/** What `operator after-restore` needs. Warns at the start while data was restored and nobody looked at it. */
export async function composeAfterRestore(
  { dataDir }: { readonly dataDir: string },
  { restoreChecks, cell, log, threads }: Needs,
) {
  const restored = await readNote(join(dataDir, RESTORED))
  if (restored && !(await restoreChecks.checkOf(restored.restoredAt)))
    log.warn('this data was restored from a copy; run "gateway operator after-restore" before customers use it', {
      copy: restored.copy,
      takenAt: isoTime(restored.takenAt),
    })
  return { restored, restoreChecks, readLostChanges: lostChanges(threads), cell: cell?.name ?? MAIN_CELL }
}

/** Null for data that was never restored. */
async function readNote(file: string): Promise<RestoreNote | null> {
  if (!existsSync(file)) return null
  const note = parsedJson(await readFile(file, 'utf8'))
  if (!isJson(note)) return null
  const [takenAt, restoredAt] = [Date.parse(String(note['taken_at'])), Date.parse(String(note['restored_at']))]
  return Number.isFinite(takenAt) && Number.isFinite(restoredAt)
    ? { copy: String(note['copy']), takenAt, restoredAt }
    : null
}
