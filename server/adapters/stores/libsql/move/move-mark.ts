import { isoTime } from '../../../../core/clock'
import { liveOwner, MOVING_URL } from '../cluster/lease-tables'
import type { SqlStatement } from '../driver/worker-wire'

/**
 * Marks a database that must not serve: its data was moved away, or a move into it has not ended. The table and its trigger are not
 * part of the schema, because a database that serves has neither (ADR 50).
 */
export const MOVE_TABLE = 'data_move'
export const MOVE_TRIGGER = 'data_move_refuses_owners'

/** Why a database must not serve. */
export interface MoveMark {
  /** `moved`: another database has its data. `unfinished`: a copy into it has not ended. */
  readonly kind: 'moved' | 'unfinished'
  /** The id of the move, which both databases have. */
  readonly id: string
  /** The address of the other database. */
  readonly location: string
  readonly at: number
}

/** The database may not be opened by a gateway. */
export class DataMoved extends Error {}

type Rows = (sql: string) => Promise<readonly (readonly unknown[])[]>

/** The mark of a database; null if the database may serve. */
export async function moveMarkOf(rows: Rows): Promise<MoveMark | null> {
  const [known] = await rows(`SELECT 1 FROM sqlite_master WHERE name = '${MOVE_TABLE}'`)
  if (!known) return null
  const [row] = await rows(`SELECT kind, id, place, at FROM ${MOVE_TABLE}`)
  if (!row) throw new Error(`the table ${MOVE_TABLE} has no row; it was not made by this gateway`)
  const [kind, id, location, at] = row
  return {
    kind: kind === 'moved' ? 'moved' : 'unfinished',
    id: String(id),
    location: String(location),
    at: Number(at),
  }
}

/** Throws `DataMoved` for a database that must not serve. */
export async function refuseMoved(rows: Rows): Promise<void> {
  const mark = await moveMarkOf(rows)
  if (mark) throw new DataMoved(moveRefusal(mark))
}

/** Throws `DataMoved` for a database server whose data is being moved. */
export async function refuseWhileMoving(rows: Rows): Promise<void> {
  if ((await liveOwner(rows)) === MOVING_URL)
    throw new DataMoved(
      'this data is being moved to another database. Wait until "gateway operator migrate-database" has ended',
    )
}

/** Why a gateway does not open the database, and what to do. */
export function moveRefusal({ kind, location, at }: Pick<MoveMark, 'kind' | 'location' | 'at'>): string {
  return kind === 'moved'
    ? `this data was moved to ${location} at ${isoTime(at)} and is served from there. Start the gateway on that database. If it is lost, see "gateway operator migrate-database --help"`
    : `this database is an unfinished copy of ${location}, started at ${isoTime(at)}. Run "gateway operator migrate-database" with the same databases again, or use another database`
}

/**
 * The statements that mark a database. Once they are committed, no process of any version can become its owner: a trigger refuses to raise the
 * epoch. An owner of an earlier epoch is refused as before. `others`: an expression that must be 0.
 */
export function markStatements(mark: MoveMark, others = '0'): SqlStatement[] {
  const { id, kind, location, at } = mark
  return [
    {
      sql: `CREATE TABLE ${MOVE_TABLE} (id TEXT NOT NULL, kind TEXT NOT NULL, place TEXT NOT NULL, at INTEGER NOT NULL,
        asserted TEXT NOT NULL, others INTEGER NOT NULL CHECK (others = 0), CHECK (asserted = id))`,
      args: [],
    },
    { sql: `INSERT INTO ${MOVE_TABLE} SELECT ?1, ?2, ?3, ?4, ?1, (${others})`, args: [id, kind, location, at] },
  ]
}

/** The statement that makes the trigger; `owner` must exist. */
export function triggerStatement(mark: Pick<MoveMark, 'kind' | 'location' | 'at'>): SqlStatement {
  const text = moveRefusal(mark).replaceAll("'", "''")
  return {
    sql: `CREATE TRIGGER ${MOVE_TRIGGER} BEFORE UPDATE ON owner WHEN NEW.asserted = NEW.epoch BEGIN SELECT RAISE(ABORT, '${text}'); END`,
    args: [],
  }
}

/** Asserts in a transaction that the mark still belongs to this move: it fails once another move has begun. */
export function assertMove(id: string): SqlStatement {
  return { sql: `UPDATE ${MOVE_TABLE} SET asserted = ?1`, args: [id] }
}

/** These remove a mark, so that the database may serve again. */
export const DROP_TRIGGER: SqlStatement = { sql: `DROP TRIGGER IF EXISTS ${MOVE_TRIGGER}`, args: [] }
export const DROP_MARK: SqlStatement = { sql: `DROP TABLE ${MOVE_TABLE}`, args: [] }
