import { problemOfServer } from '../../adapters/stores/libsql/driver/network/problem-of-server'
import { Opened } from '../../adapters/stores/libsql/driver/opened'
import { openSharedDatabase } from '../../adapters/stores/libsql/shared-database'
import type { Config } from '../../config'
import { type CellName, MAIN_CELL } from '../../core/cluster/cells'
import { ChangesHere } from '../../core/cluster/control-changes'
import { startJob } from '../../jobs/job'
import { roomForBodies } from '../room-for-bodies'
import { messagesOver } from './calls/cell-messages'
import type { CellMembership } from './cells/cell-membership'
import { openRouter } from './cells/cell-router'
import type { NodeSurroundings } from './gateway-node'

/** A database that answers, answers this in milliseconds. */
const ANSWER_MS = 2_000

/** How soon a node notices that the directory had lost keys. Until then whoever shows one gets 503. */
const LOOK_MS = 5_000

/** The names of all cells, `main` first: the others are numbered in the order of their databases. */
function cellNames({ cellDatabaseUrls }: Pick<Config, 'cellDatabaseUrls'>): readonly CellName[] {
  return [MAIN_CELL, ...cellDatabaseUrls.map((_, i) => `c${i + 2}`)]
}

interface SurroundingsOfCell extends Pick<NodeSurroundings, 'staffOf'> {
  readonly cell: CellMembership
}

/** What the gateways of one process have together where there are several cells, and how each finds its place. */
export async function openCellsOfNode(
  config: Config,
  { onFatal, notifyOtherNodes }: { onFatal: (reason: string) => void; notifyOtherNodes: () => Promise<void> },
) {
  const { cellDatabaseUrls, cellDatabaseAuthToken, databaseUrl, databaseAuthToken } = config
  const all = cellNames(config)
  /** Null for the database of `main`. */
  const apartOf = (name: CellName) => {
    const url = cellDatabaseUrls[all.indexOf(name) - 1]
    return url === undefined ? null : { url, authToken: cellDatabaseAuthToken }
  }
  const opened = new Opened()
  const changes = new ChangesHere(notifyOtherNodes)
  const place = { url: databaseUrl, authToken: databaseAuthToken }
  const control = await openSharedDatabase({ ...place, changes, onFatal }, opened)
  const bodies = roomForBodies()
  const router = openRouter(config, all, control.db)
  // Until the first node has made the tables, there is nothing to read, and nothing known. A request that is refused meanwhile says why.
  const looking = startJob(() => router.refresh(), { everyMs: LOOK_MS, onError: () => undefined })
  opened.add(() => looking.close())
  return {
    several: {
      ...{ cells: all, router, refresh: () => changes.changedHere() },
      askDatabase: (name: CellName) => problemOfServer(apartOf(name) ?? place, ANSWER_MS),
    },
    /** Of the gateway of one cell. */
    surroundings(node: NodeSurroundings): SurroundingsOfCell {
      const { cell: name } = node.lease
      const own = apartOf(name)
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
