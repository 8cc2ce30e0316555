import { existsSync, readFileSync } from 'node:fs'
import { reasonOf } from '../../../../core/result'
import type { WriteQueue } from '../driver/write-queue'
import { MAX_GROUP_BYTES } from './group-size'
import { LogDamaged, type LogExtent, logExtent } from './log-format'

/** The maximum number of records per batch. */
const MAX_BATCH = 4096

/** The log cannot be applied to the tables. It is left unchanged. */
class ReplayFailed extends Error {}

/**
 * Applies the log of a previous process to the tables, each group once. Returns the number of the last group ever written. The log is
 * no longer needed then.
 */
export async function replay(
  path: string,
  applied: number,
  writes: Pick<WriteQueue, 'apply'>,
  onTrouble: (what: string, reason: string) => void,
): Promise<number> {
  const bytes = existsSync(path) ? readFileSync(path) : new Uint8Array()
  const { first, last, goodLength } = extentOf(path, bytes)
  if (goodLength < bytes.length)
    onTrouble('log', `${bytes.length - goodLength} bytes of a write that was not finished are dropped`)
  if (first !== null && first > applied + 1)
    throw new ReplayFailed(
      `the log ${path} begins with group ${first}, but the database has groups up to ${applied} only: is it an older copy?`,
    )
  if (last === null || last <= applied) return applied
  try {
    for (let from = 0; from < goodLength; ) {
      const { end } = await writes.apply({
        log: { path, from, to: goodLength },
        maxRecords: MAX_BATCH,
        maxBytes: MAX_GROUP_BYTES,
        bestEffort: null,
      })
      from = end ?? goodLength
    }
  } catch (error) {
    const reason = reasonOf(error)
    throw new ReplayFailed(`the log ${path} cannot be applied up to group ${last}: ${reason}`)
  }
  return last
}

function extentOf(path: string, bytes: Uint8Array): LogExtent {
  try {
    return logExtent(bytes)
  } catch (error) {
    if (error instanceof LogDamaged) throw new ReplayFailed(`the log ${path} is damaged: ${error.message}`)
    throw error
  }
}
