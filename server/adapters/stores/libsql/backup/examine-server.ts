import type { CellName } from '../../../../core/cluster/cells'
import type { LedgerProblem } from '../../../../core/ledger/ledger-check'
import { reasonOf } from '../../../../core/result'
import { cellOf, NOW } from '../cluster/lease-tables'
import { assertSyncedCommits } from '../driver/synced-commits'
import type { Connection } from '../driver/worker/worker-connection'
import { type DatabaseLocation, locationName, lookAt } from '../move/database-location'
import { refuseMoved } from '../move/move-mark'
import { appliedSchema, SCHEMA_TIME } from '../upgrade'
import { booksOf } from './snapshot'

/** A database server's report about its data, also while a gateway serves it. */
export interface ServerFacts {
  /** Its address, without a token. */
  readonly name: string
  readonly answerMs: number
  /** How far this machine's clock is ahead of the database's, and how uncertain that is. */
  readonly skewMs: number
  readonly uncertainMs: number
  /** Why it must not serve: its data was moved, or is an unfinished copy. */
  readonly moved: string | null
  /** Why a power failure there could lose charges. */
  readonly unsynced: string | null
  /** The facts that it does not report. */
  readonly unsaid: string | null
  /** `empty`: no gateway has opened it yet. */
  readonly age: 'empty' | 'older' | 'current' | 'newer'
  /** The rest is read from tables of this version alone. */
  readonly data: DataFacts | null
}

interface DataFacts {
  readonly epoch: number
  /** The ids of the databases of cells. That of another cell than `main` knows its own alone. */
  readonly cells: ReadonlyMap<CellName, string>
  /** The highest terms of leases. */
  readonly terms: ReadonlyMap<CellName, number>
  /** Figures of the books that do not agree. */
  readonly problems: readonly LedgerProblem[]
}

/** Reads a database server. Changes nothing. Throws if it does not answer. */
export async function examineServer(location: DatabaseLocation, isSyncPromised: boolean): Promise<ServerFacts> {
  const facts = await lookAt(location, async (reader) => {
    const sentAt = Date.now()
    const [row] = await reader.rows(`SELECT ${NOW}`)
    const answerMs = Date.now() - sentAt
    const clock = { skewMs: Math.round(sentAt + answerMs / 2 - Number(row?.[0])), uncertainMs: answerMs / 2 }
    const schema = await appliedSchema(reader)
    const age =
      schema === null ? 'empty' : schema === SCHEMA_TIME ? 'current' : schema < SCHEMA_TIME ? 'older' : 'newer'
    const moved = await refuseMoved((sql) => reader.rows(sql)).then(() => null, reasonOf)
    let unsaid: string | null = null
    const sync = {
      url: location.url,
      isPromised: isSyncPromised,
      onTrouble: (_: string, reason: string) => (unsaid = reason),
    }
    const unsynced = await assertSyncedCommits(reader, sync).then(() => null, reasonOf)
    const data = age === 'current' && moved === null ? await dataIn(reader) : null
    return { name: locationName(location.url), answerMs, ...clock, moved, unsynced, unsaid, age, data } as const
  })
  if (!facts) throw new Error(`${locationName(location.url)} is not a database server`)
  return facts
}

async function dataIn(reader: Connection): Promise<DataFacts> {
  const [owner] = await reader.rows('SELECT epoch FROM owner WHERE id = 1')
  const cells = await reader.rows('SELECT name, database_id FROM cells')
  const leases = await reader.rows('SELECT name, term FROM leases')
  return {
    epoch: Number(owner?.[0] ?? 0),
    cells: new Map(cells.map(([name, id]) => [String(name), String(id)])),
    terms: new Map(leases.map(([name, term]) => [cellOf(String(name)), Number(term)])),
    problems: (await booksOf(reader)).problems,
  }
}
