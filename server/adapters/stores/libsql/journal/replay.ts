import { existsSync, readFileSync } from 'node:fs'
import type { JournalRecord } from '../../../../core/ledger/journal'
import type { WriteQueue } from '../driver/write-queue'
import { groupStatements } from './group-statements'
import { decodeLog, LogDamaged, type LogLine } from './log-format'

/** Most records of one batch. */
const MAX_BATCH = 4096

/** The log cannot be brought into the tables. It is left as it is. */
class ReplayFailed extends Error {}

/**
 * Brings what a process before us left in the log into the tables, each group once. Gives the number of the last group there
 * ever was; the log is of no more use then.
 */
export async function replay(
  path: string,
  applied: number,
  writes: Pick<WriteQueue, 'apply'>,
  onTrouble: (what: string, reason: string) => void,
): Promise<number> {
  const bytes = existsSync(path) ? readFileSync(path) : new Uint8Array()
  const { lines, goodLength } = readLines(path, bytes)
  if (goodLength < bytes.length)
    onTrouble('log', `${bytes.length - goodLength} bytes of a write that was not finished are dropped`)
  const first = lines[0]?.number ?? applied + 1
  if (first > applied + 1)
    throw new ReplayFailed(
      `the log ${path} begins with group ${first}, but the database has groups up to ${applied} only: is it an older copy?`,
    )
  let batch: JournalRecord[] = []
  let last = applied
  const flush = async () => {
    if (batch.length > 0) await writes.apply(last, groupStatements({ records: batch, notes: [], lastUsed: [] }))
    batch = []
  }
  try {
    for (const { number, payload } of lines.filter((line) => line.number > applied)) {
      batch.push(...(JSON.parse(payload) as JournalRecord[])) // our own, and its checksum holds
      last = number
      if (batch.length >= MAX_BATCH) await flush()
    }
    await flush()
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new ReplayFailed(`the log ${path} cannot be applied up to group ${last}: ${reason}`)
  }
  return last
}

function readLines(path: string, bytes: Uint8Array): { lines: readonly LogLine[]; goodLength: number } {
  try {
    return decodeLog(bytes)
  } catch (error) {
    if (error instanceof LogDamaged) throw new ReplayFailed(`the log ${path} is damaged: ${error.message}`)
    throw error
  }
}
