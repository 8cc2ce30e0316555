import { freeBytes } from '../../adapters/backup/files'
import { databaseFile } from '../../adapters/stores/libsql/driver/file/database-file'
import {
  type MoveOptions,
  moveData,
  type Reopening,
  rehearseMove,
  reopen,
} from '../../adapters/stores/libsql/move/move-data'
import { hasOperatorContent } from '../../adapters/websearch/local/index-file'
import { MoveProblem, type MoveReport } from '../../core/backup/move'
import { indexSources } from '../search/index-sources'

export type Move = Pick<MoveOptions, 'from' | 'to' | 'cell' | 'now' | 'isSyncPromised' | 'onProgress' | 'onTrouble'>

/** Moves the data of a stopped gateway into an empty database, or only says whether it could. Throws `MoveProblem`. */
export function move(options: Move, isRehearsal: boolean): Promise<MoveReport> {
  return (isRehearsal ? rehearseMove : moveData)({ ...options, requireRoom })
}

/** Reopens a database whose data was moved. Resolves to its address and the address that the data was moved to. Throws `MoveProblem`. */
export function reopenDatabase(reopening: Reopening): Promise<{ readonly name: string; readonly target: string }> {
  return reopen(reopening)
}

/** Whether the URL names a file rather than a database server. */
export const isFileUrl = (url: string): boolean => databaseFile(url) !== null

/** The search index if the operator added documents to it: a move does not bring it. Null for one that is built anywhere. */
export async function ownIndex(dataDir: string): Promise<string | null> {
  const { indexPath } = indexSources(dataDir)
  return (await hasOperatorContent(indexPath)) ? indexPath : null
}

async function requireRoom(file: string, bytes: number): Promise<void> {
  const free = await freeBytes(file)
  if (free < bytes) throw new MoveProblem(`the disk of ${file} has ${free} bytes left; the data has ${bytes}`)
}
