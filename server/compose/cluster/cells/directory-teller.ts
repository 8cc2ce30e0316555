import type { CellContents } from '../../../adapters/stores/libsql/cluster/cell-contents'
import type { ToldParts } from '../../../adapters/stores/libsql/cluster/told-directory'
import type { CellMessages } from '../../../core/cluster/cell-messages'
import { type CellName, MAIN_CELL } from '../../../core/cluster/cells'
import { type DirectoryPart, type Told, tellDirectory } from '../../../core/cluster/tell-directory'
import { inTime } from '../../../core/in-time'
import { KeyedMutex } from '../../../core/keyed-mutex'
import type { Log } from '../../../log'

/** How long a request waits for another cell to tell the directory what it has. */
const TELLING_MS = 5_000

interface Needs {
  readonly cell: CellName
  readonly contents: CellContents
  readonly told: ToldParts
  readonly log: Pick<Log, 'info' | 'error'>
}

/**
 * How the gateway of a cell tells the directory what it lacks of the cell, such as after a restore of an older control database; and names in the log
 * what another cell has, too, which nobody may decide silently. Resolves when all is durable.
 */
export function directoryTeller({ cell, contents, told, log }: Needs): () => Promise<void> {
  const mutex = new KeyedMutex()
  const tell = async () => {
    const isMain = cell === MAIN_CELL
    const [payments, references, keys, accounts] = await Promise.all([
      tellDirectory(cell, contents.payments, told.payments),
      tellDirectory(cell, contents.references, told.payments),
      // The accounts of `main` are in the control database, and its keys have no row there: one that has a row is another cell's.
      tellDirectory(cell, contents.keys, isMain ? withoutRows(told.keys) : told.keys),
      isMain ? null : tellDirectory(cell, contents.accounts, told.accounts),
    ])
    const tellings = { payments, references, keys, ...(accounts && { accounts }) }
    const added = Object.entries(tellings).flatMap(([what, telling]) =>
      telling.added > 0 ? [[what, telling.added]] : [],
    )
    if (added.length > 0) log.info('the directory lacked what this cell has', { cell, ...Object.fromEntries(added) })
    for (const [what, { disputed }] of Object.entries(tellings))
      if (disputed.length > 0)
        log.error('another cell has what this cell has', {
          ...{ cell, what, count: disputed.length },
          first: disputed.slice(0, 10).join(' '),
        })
  }
  return () => mutex.take('directory', tell)
}

/** The directory for a gateway that may not write yet: `add` rejects. */
export function withoutAdding(parts: ToldParts): ToldParts {
  const add = async () => {
    throw new Error('the directory lacks what this cell has')
  }
  const readOnly = <T extends Told>(part: DirectoryPart<T>) => ({ holders: part.holders.bind(part), add })
  return { keys: readOnly(parts.keys), payments: readOnly(parts.payments), accounts: readOnly(parts.accounts) }
}

/** Asks the gateway of a cell to tell the directory. Rejects if it has not done so in five seconds. */
export function askToTell(messages: CellMessages): (cell: CellName) => Promise<unknown> {
  return (cell) =>
    inTime(messages.tell(cell, { kind: 'tell_directory' }), TELLING_MS, () => new Error('it did not answer in time'))
}

/** Names that the directory shall not have: a row is another cell's, and nothing is missing. */
function withoutRows(part: DirectoryPart<Told>): DirectoryPart<Told> {
  return {
    async holders(names) {
      const rows = await part.holders(names)
      return new Map(names.map((name) => [name, rows.get(name) ?? MAIN_CELL]))
    },
    add: (rows, cell) => part.add(rows, cell),
  }
}
