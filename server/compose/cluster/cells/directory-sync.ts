import type { CellContents } from '../../../adapters/stores/libsql/cluster/cell-contents'
import type { DirectoryRecords } from '../../../adapters/stores/libsql/cluster/directory-records'
import type { CellMessages } from '../../../core/cluster/cell-messages'
import { type CellName, MAIN_CELL } from '../../../core/cluster/cells'
import { type DirectoryPart, type DirectoryRecord, syncDirectory } from '../../../core/cluster/sync-directory'
import { inTime } from '../../../core/in-time'
import { KeyedMutex } from '../../../core/keyed-mutex'
import type { Log } from '../../../log'

/** How long a request waits for another cell to sync the directory. */
const SYNC_MS = 5_000

interface Needs {
  readonly cell: CellName
  readonly contents: CellContents
  readonly records: DirectoryRecords
  readonly log: Pick<Log, 'info' | 'error'>
}

/**
 * Returns what adds the records of a cell that the directory lacks, such as after a restore of an older control database. Logs records that another
 * cell claims too: an operator must decide those. Resolves when all is durable.
 */
export function directorySync({ cell, contents, records, log }: Needs): () => Promise<void> {
  const mutex = new KeyedMutex()
  const sync = async () => {
    const isMain = cell === MAIN_CELL
    const [payments, references, keys, accounts] = await Promise.all([
      syncDirectory(cell, contents.payments, records.payments),
      syncDirectory(cell, contents.references, records.payments),
      // The accounts of `main` are in the control database, and its keys have no row there: a row means that another cell has the key.
      syncDirectory(cell, contents.keys, isMain ? withoutRows(records.keys) : records.keys),
      isMain ? null : syncDirectory(cell, contents.accounts, records.accounts),
    ])
    const results = { payments, references, keys, ...(accounts && { accounts }) }
    const added = Object.entries(results).flatMap(([what, result]) => (result.added > 0 ? [[what, result.added]] : []))
    if (added.length > 0)
      log.info('added missing records of this cell to the directory', { cell, ...Object.fromEntries(added) })
    for (const [what, { disputed }] of Object.entries(results))
      if (disputed.length > 0)
        log.error('two cells claim the same record', {
          ...{ cell, what, count: disputed.length },
          first: disputed.slice(0, 10).join(' '),
        })
  }
  return () => mutex.take('directory', sync)
}

/** The directory for a gateway that may not write to it yet: `add` rejects. */
export function readOnlyRecords(parts: DirectoryRecords): DirectoryRecords {
  const add = async () => {
    throw new Error('the directory lacks records of this cell')
  }
  const readOnly = <T extends DirectoryRecord>(part: DirectoryPart<T>) => ({ holders: part.holders.bind(part), add })
  return { keys: readOnly(parts.keys), payments: readOnly(parts.payments), accounts: readOnly(parts.accounts) }
}

/** Asks the gateway of a cell to sync the directory. Rejects if it has not done so within five seconds. */
export function requestSync(messages: CellMessages): (cell: CellName) => Promise<unknown> {
  return (cell) =>
    inTime(messages.send(cell, { kind: 'tell_directory' }), SYNC_MS, () => new Error('it did not answer in time'))
}

/** For records without rows in the directory: none is missing, and a row means that another cell has the record. */
function withoutRows(part: DirectoryPart<DirectoryRecord>): DirectoryPart<DirectoryRecord> {
  return {
    async holders(names) {
      const rows = await part.holders(names)
      return new Map(names.map((name) => [name, rows.get(name) ?? MAIN_CELL]))
    },
    add: (rows, cell) => part.add(rows, cell),
  }
}
