import { problemOfServer } from '../../adapters/stores/libsql/driver/network/problem-of-server'
import { Opened } from '../../adapters/stores/libsql/driver/opened'
import { openSharedDatabase } from '../../adapters/stores/libsql/shared-database'
import type { Config } from '../../config'
import { type CellName, MAIN_CELL } from '../../core/cluster/cells'
import { ChangesHere } from '../../core/cluster/control-changes'
import { startDirectoryReads } from '../../jobs/following'
import { roomForBodies } from '../room-for-bodies'
import { messagesOver } from './calls/cell-messages'
import type { CellMembership } from './cells/cell-membership'
import { openRouter } from './cells/cell-router'
import type { NodeSurroundings } from './gateway-node'

/** A healthy database answers within milliseconds. */
const ANSWER_MS = 2_000

/** The names of all cells, `main` first. The others are numbered in the order of their databases. */
function cellNames({ cellDatabaseUrls }: Pick<Config, 'cellDatabaseUrls'>): readonly CellName[] {
  return [MAIN_CELL, ...cellDatabaseUrls.map((_, i) => `c${i + 2}`)]
}

interface SurroundingsOfCell extends Pick<NodeSurroundings, 'staffOf'> {
  readonly cell: CellMembership
}

/** What the gateways of one process share when there are several cells, and the membership of each. */
export async function openCellsOfNode(
  config: Config,
  { onFatal, notifyOtherNodes }: { onFatal: (reason: string) => void; notifyOtherNodes: () => Promise<void> },
) {
  const { cellDatabaseUrls, cellDatabaseAuthToken, databaseUrl, databaseAuthToken } = config
  const all = cellNames(config)
  /** Null for the database of `main`. */
  const databaseOf = (name: CellName) => {
    const url = cellDatabaseUrls[all.indexOf(name) - 1]
    return url === undefined ? null : { url, authToken: cellDatabaseAuthToken }
  }
  const opened = new Opened()
  const changes = new ChangesHere(notifyOtherNodes)
  const location = { url: databaseUrl, authToken: databaseAuthToken }
  const control = await openSharedDatabase({ ...location, changes, onFatal }, opened)
  const bodies = roomForBodies()
  const router = openRouter(config, all, control.db)
  const looking = startDirectoryReads(router)
  opened.add(() => looking.close())
  return {
    several: {
      ...{ cells: all, router, refresh: () => changes.changedHere() },
      askDatabase: (name: CellName) => problemOfServer(databaseOf(name) ?? location, ANSWER_MS),
    },
    /** The surroundings of the gateway of one cell. */
    surroundings(node: NodeSurroundings): SurroundingsOfCell {
      const { cell: name } = node.lease
      const own = databaseOf(name)
      const { calls, witness, staffOf } = node
      const cell = {
        name,
        all,
        changes,
        messages: messagesOver(calls),
        witness,
        bodies,
        apart: own && { ...own, control },
      }
      return { cell, staffOf }
    },
    close: () => opened.close(),
  }
}

export type CellsOfNode = Awaited<ReturnType<typeof openCellsOfNode>>
