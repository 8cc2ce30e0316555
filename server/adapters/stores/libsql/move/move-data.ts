import { randomBytes } from 'node:crypto'
import { LibsqlError } from '@libsql/client'
import { auditEntry, CONSOLE } from '../../../../core/audit'
import { MoveProblem, type MoveProgress, type MoveReport } from '../../../../core/backup/move'
import { isoTime } from '../../../../core/clock'
import { MAIN_CELL } from '../../../../core/cluster/cells'
import { reasonOf } from '../../../../core/result'
import { booksOf } from '../backup/snapshot'
import { databaseFile } from '../driver/file/database-file'
import { epochRaise, raiseEpoch } from '../driver/raise-epoch'
import { assertSyncedCommits } from '../driver/synced-commits'
import { type Connection, DatabaseError } from '../driver/worker/worker-connection'
import type { SqlStatement } from '../driver/worker-wire'
import { replay } from '../journal/replay'
import { appliedSchema, SCHEMA_TIME } from '../upgrade'
import { DatabaseCopy, isCopied, OTHER_TABLES } from './database-copy'
import {
  type CellLocation,
  type DatabaseLocation,
  isSameLocation,
  locationName,
  lookAt,
  type OpenLocation,
  openSourceDatabase,
  openTargetDatabase,
  refuseNodes,
} from './database-location'
import {
  assertMove,
  DROP_MARK,
  DROP_TRIGGER,
  MOVE_TABLE,
  type MoveMark,
  markStatements,
  moveMarkOf,
  moveRefusal,
  triggerStatement,
} from './move-mark'
import { requireCell, termStatements } from './moved-cells'
import { countsOf, inMessages } from './row-counts'
import { quotedName, tablesOf } from './row-text'

export interface MoveOptions {
  readonly from: DatabaseLocation
  readonly to: DatabaseLocation
  /** For a cell other than `main`. */
  readonly cell?: CellLocation | null | undefined
  readonly now: number
  readonly onProgress: (progress: MoveProgress) => void
  /** Reports what the operator should know, such as an unfinished line of the log. */
  readonly onTrouble: (what: string, reason: string) => void
  /** Whether the operator promises that the server acknowledges only what is on its disk. */
  readonly isSyncPromised: boolean
  /** Throws unless there is room for so many bytes next to `file`. */
  readonly requireRoom: (file: string, bytes: number) => Promise<void>
}

/**
 * Moves the data of a stopped gateway into an empty database (ADR 50). The two can never be served at the same time: the original is closed after the
 * copy was compared with it, and the copy is opened after that. Throws `MoveProblem`; the original can then still be served, unless the message says that
 * it is closed.
 */
export async function moveData(options: MoveOptions): Promise<MoveReport> {
  const { from, to } = options
  if (isSameLocation(from.url, to.url)) throw new MoveProblem(`${locationName(to.url)} is where the data is already`)
  const source = await openSourceDatabase(from, options.cell)
  try {
    const { name } = source
    const closed = await closedFor(source.reader, name, options)
    const state = closed ? await stateOf(to, { name, closed }) : null
    if (state === 'complete') return await report(options, 'done before', source.reader)
    if (state !== null) refuseLost({ name, closed }, state)
    const target = await openTargetDatabase(to)
    try {
      await copied(options, source, target, closed)
    } catch (error) {
      if (!isOfDatabase(error)) throw error
      const left = closed ? 'is still closed' : 'was not closed and can serve'
      throw new MoveProblem(
        `the move was interrupted: ${error.message}. ${name} ${left}. Run this again with the same databases`,
      )
    } finally {
      await target.close()
    }
    return await report(options, 'moved', source.reader)
  } finally {
    await source.close()
  }
}

/** Checks whether the move can begin, and reports what it would copy. Changes nothing. */
export async function rehearseMove(options: MoveOptions): Promise<MoveReport> {
  const { from, to } = options
  if (isSameLocation(from.url, to.url)) throw new MoveProblem(`${locationName(to.url)} is where the data is already`)
  const file = databaseFile(from.url)
  if (file === null) await refuseNodes(options.cell?.control ?? from)
  const found = await lookAt(from, async (reader) => {
    const name = locationName(from.url)
    const closed = await closedFor(reader, name, options)
    const state = await stateOf(to, { name, closed })
    if (state === 'other') throw notEmpty(locationName(to.url), null)
    refuseLost({ name, closed }, state)
    await requireRoom(options, reader)
    await lookAt(to, (target) => requireSync(options, target))
    return report(options, state === 'complete' ? 'done before' : 'rehearsed', reader)
  })
  if (!found) throw new MoveProblem(`there is no database at ${file}`)
  return found
}

/** The mark with which an earlier run closed the original for this target; null if the original can be served. Throws for data that cannot be moved there. */
async function closedFor(reader: Connection, name: string, { to, cell }: MoveOptions): Promise<MoveMark | null> {
  const mark = await moveMarkOf((sql) => reader.rows(sql))
  if (mark?.kind === 'unfinished' || (mark && !isSameLocation(mark.location, to.url)))
    throw new MoveProblem(`${name}: ${moveRefusal(mark)}`)
  const schema = await appliedSchema(reader)
  if (schema === null) throw new MoveProblem(`${name} has no data of a gateway`)
  if (schema > SCHEMA_TIME)
    throw new MoveProblem(`a newer version of the gateway wrote ${name}: move it with that version`)
  if (schema < SCHEMA_TIME)
    throw new MoveProblem(
      `an older version of the gateway wrote ${name}. Start this version on it once, which upgrades it; stop it, and run this again`,
    )
  await requireCell((sql) => reader.rows(sql), { name, to: to.url, cell: cell?.name ?? MAIN_CELL })
  return mark
}

/** What a target contains. `complete`: the data of this move. `unfinished`: an unfinished copy of this original. */
type TargetState = 'absent' | 'unfinished' | 'complete' | 'other'

/** An original, and the mark that closed it; null while it is open. */
interface Original {
  readonly name: string
  readonly closed: MoveMark | null
}

async function stateOf(to: DatabaseLocation, original: Original): Promise<TargetState> {
  return (await lookAt(to, (reader) => stateIn(reader, original))) ?? 'absent'
}

async function stateIn(reader: Connection, { name, closed }: Original): Promise<TargetState> {
  const mark = await moveMarkOf((sql) => reader.rows(sql))
  // Its data was moved on to a third database.
  if (mark?.kind === 'moved') return 'other'
  // An unfinished copy of other data is not in use, and may be replaced.
  if (mark) return mark.location === name ? 'unfinished' : 'absent'
  const [tables] = await reader.rows(`SELECT count(*) FROM sqlite_master WHERE ${OTHER_TABLES}`)
  if (Number(tables?.[0]) === 0) return 'absent'
  const [log] = await reader.rows("SELECT 1 FROM sqlite_master WHERE name = 'audit_log'")
  if (!log || !closed) return 'other'
  const sql = "SELECT 1 FROM audit_log WHERE action = 'data.move' AND detail->>'move' = ? LIMIT 1"
  const [result] = await reader.send({ op: 'batch', mode: 'read', statements: [{ sql, args: [closed.id] }] })
  return result?.rows.length === 1 ? 'complete' : 'other'
}

/** A target is marked before its original is closed. If both the mark and the data are gone, what was served there is lost. */
function refuseLost({ name, closed }: Original, state: TargetState): void {
  if (!closed || state !== 'absent') return
  throw new MoveProblem(
    `${name} was moved to ${closed.location} at ${isoTime(closed.at)}, and is no longer there: what was served there is lost. To continue with the older data, run --reopen ${name} --target-is-gone, and move it then`,
  )
}

async function copied(options: MoveOptions, source: OpenLocation, target: OpenLocation, closed: MoveMark | null) {
  const { now, onTrouble, onProgress } = options
  await requireRoom(options, source.reader)
  await requireSync(options, target.reader)
  const id = newId()
  await begin(target, { id, kind: 'unfinished', location: source.name, at: now })
  // A closed original has no owner, and its log was already applied to its tables.
  const epoch = closed ? null : await own(source, options)
  const copy = new DatabaseCopy({ source: source.reader, target, id, onProgress })
  await copy.make({ kind: 'unfinished', location: source.name, at: now })
  await copy.compare()
  onProgress({ step: 'checking', rows: 0, total: 0 })
  const [original, books] = await Promise.all([booksOf(source.reader), booksOf(target.reader)])
  if (books.problems.length !== original.problems.length)
    throw new MoveProblem(
      `the books of the copy disagree (problems: ${books.problems.length}; in the original: ${original.problems.length})`,
    )
  if (books.problems.length > 0) onTrouble('books', 'they disagree, as those of the original do')
  source.requireHeld()
  const move = closed ?? { id: newId(), kind: 'moved', location: target.name, at: now }
  if (epoch !== null) await close(source, epoch, move)
  const terms = await termStatements((sql) => source.reader.rows(sql))
  await complete(target, { copy: id, move, from: source.name, now, terms })
}

/** The folder of a file that data was moved to never served it; that is not a restore. */
const NO_VERSION = { sql: 'UPDATE owner SET version = NULL WHERE id = 1', args: [] }

const newId = () => randomBytes(12).toString('hex')

/** Marks the target, which must be empty or have an unfinished copy. From now on no gateway starts on it. */
async function begin(target: OpenLocation, mark: MoveMark): Promise<void> {
  const before = await moveMarkOf((sql) => target.reader.rows(sql))
  if (before?.kind === 'moved') throw new MoveProblem(`${target.name}: ${moveRefusal(before)}`)
  if (before) return restart(target, mark)
  const [other] = await target.reader.rows(`SELECT name FROM sqlite_master WHERE ${OTHER_TABLES} LIMIT 1`)
  if (other) throw notEmpty(target.name, await appliedSchema(target.reader))
  await write(target.writer, markStatements(mark, `SELECT count(*) FROM sqlite_master WHERE ${OTHER_TABLES}`))
}

function notEmpty(name: string, schema: number | null): MoveProblem {
  const what = schema === null ? '' : `: it has the data of a gateway, with tables of ${isoTime(schema)}`
  return new MoveProblem(`${name} is not empty${what}. Move into a new database`)
}

/** Starts the copy again. Late writes of an earlier run are refused, because the mark has changed. */
async function restart({ reader, writer }: OpenLocation, { id, location, at }: MoveMark): Promise<void> {
  await write(writer, [
    {
      sql: `UPDATE ${MOVE_TABLE} SET id = ?1, asserted = ?1, place = ?2, at = ?3 WHERE kind = 'unfinished'`,
      args: [id, location, at],
    },
  ])
  const found = await reader.rows(`SELECT name FROM sqlite_master WHERE ${OTHER_TABLES}`)
  const tables = found.map(([table]) => String(table))
  const counts = await countsOf(reader, tables)
  const drops = tables.map((table) => ({ table, sql: `DROP TABLE ${quotedName(table)}`, args: [] }))
  for (const message of inMessages(drops, counts))
    await writer.send({
      op: 'migrate',
      statements: [assertMove(id), ...message.map(({ sql, args }) => ({ sql, args }))],
    })
}

/** Makes this process the owner of the original, as a start does: no other process can commit, and the log is applied to the tables. */
async function own({ writer, reader, lease }: OpenLocation, { from, now, onTrouble }: MoveOptions): Promise<number> {
  const epoch = await raiseEpoch(writer, now, lease)
  const file = databaseFile(from.url)
  if (file === null) return epoch
  const [row] = await reader.rows('SELECT applied_group FROM owner WHERE id = 1')
  await replay(
    `${file}.log`,
    Number(row?.[0] ?? 0),
    { apply: (request) => writer.apply({ epoch, ...request }) },
    onTrouble,
  )
  return epoch
}

/** Closes the original: no gateway can become its owner. Fails if another process has become its owner. */
async function close(source: OpenLocation, epoch: number, move: MoveMark): Promise<void> {
  const assertOwner = { sql: 'UPDATE owner SET asserted = ? WHERE id = 1', args: [epoch] }
  const statements = [assertOwner, ...markStatements(move), triggerStatement(move)]
  await write(source.writer, statements).catch(async (error: unknown) => {
    const mark = await moveMarkOf((sql) => source.reader.rows(sql)).catch(() => null)
    if (mark?.id === move.id) return
    throw new MoveProblem(
      `${source.name} could not be closed, so the copy was not opened: ${reasonOf(error)}. Run this again with the same databases`,
    )
  })
}

interface Completion {
  readonly copy: string
  readonly move: MoveMark
  readonly from: string
  readonly now: number
  readonly terms: readonly SqlStatement[]
}

/** Opens the copy in one transaction. Its epoch is above every epoch of the original. */
async function complete(target: OpenLocation, { copy, move, from, now, terms }: Completion): Promise<void> {
  const entry = auditEntry({ at: now, actor: CONSOLE, action: 'data.move', detail: { move: move.id, from } })
  const statements = [
    assertMove(copy),
    DROP_TRIGGER,
    epochRaise(now, null),
    NO_VERSION,
    auditStatement(entry),
    ...terms,
    DROP_MARK,
  ]
  await write(target.writer, statements).catch(async (error: unknown) => {
    const state = await stateIn(target.reader, { name: from, closed: move }).catch(() => null)
    if (state === 'complete') return
    throw new MoveProblem(
      `${from} is closed, and ${target.name} is not open yet: ${reasonOf(error)}. Nothing is lost. Run this again with the same databases`,
    )
  })
}

function auditStatement(entry: ReturnType<typeof auditEntry>): SqlStatement {
  return {
    sql: 'INSERT INTO audit_log (id, at, actor_kind, actor_id, action, detail) VALUES (?, ?, ?, ?, ?, ?)',
    args: [entry.id, entry.at, entry.actor.kind, entry.actor.id, entry.action, JSON.stringify(entry.detail)],
  }
}

/** A request to reopen a closed original. */
export interface Reopening {
  readonly location: DatabaseLocation
  /** The target's token, if it is a database server. */
  readonly authToken: string | null
  /** The operator says that the target can never be served again. */
  readonly isTargetGone: boolean
  readonly now: number
}

/** Reopens a closed original. Refuses while its target has the data, or may have it. Resolves to both addresses. */
export async function reopen({ location, authToken, isTargetGone, now }: Reopening) {
  const source = await openSourceDatabase(location)
  try {
    const mark = await moveMarkOf((sql) => source.reader.rows(sql))
    if (mark?.kind !== 'moved')
      throw new MoveProblem(mark ? `${source.name}: ${moveRefusal(mark)}` : `${source.name} is not closed`)
    const target: DatabaseLocation = { ...location, url: mark.location, authToken }
    const state = await stateOf(target, { name: source.name, closed: mark }).catch((error: unknown) => {
      if (isTargetGone) return 'absent'
      throw new MoveProblem(
        `${reasonOf(error)}. It may have the data and serve it. If it never will again, add --target-is-gone: what was served there is lost`,
      )
    })
    if (state === 'complete' || state === 'other')
      throw new MoveProblem(
        `${mark.location} has the data now, or had it and moved it on. To move back, stop its gateways and move the data into a new database. If this one were reopened, the same balances could be spent twice`,
      )
    if (state === 'absent' && !isTargetGone)
      throw new MoveProblem(
        `${mark.location} has none of the data, as seen from here. If it never will again, add --target-is-gone: what was served there is lost`,
      )
    // Afterwards a move that is still running elsewhere cannot complete the target.
    if (state === 'unfinished') await retire(target)
    const entry = auditEntry({
      at: now,
      actor: CONSOLE,
      action: 'data.reopen',
      detail: { move: mark.id, from: mark.location },
    })
    await write(source.writer, [assertMove(mark.id), DROP_TRIGGER, DROP_MARK, auditStatement(entry)])
    return { name: source.name, target: mark.location }
  } finally {
    await source.close()
  }
}

async function retire(location: DatabaseLocation): Promise<void> {
  const target = await openTargetDatabase(location)
  try {
    const sql = `UPDATE ${MOVE_TABLE} SET id = ?1, asserted = ?1 WHERE kind = 'unfinished'`
    await write(target.writer, [{ sql, args: [newId()] }])
  } finally {
    await target.close()
  }
}

async function report(
  { from, to }: MoveOptions,
  outcome: MoveReport['outcome'],
  reader: Connection,
): Promise<MoveReport> {
  const names = (await tablesOf(reader, isCopied)).map(({ name }) => name)
  const tables = Array.from(await countsOf(reader, names), ([name, rows]) => ({ name, rows }))
  const { problems, keyVariables } = await booksOf(reader)
  const file = databaseFile(from.url)
  const waitingBytes = outcome === 'rehearsed' && file !== null ? Bun.file(`${file}.log`).size : 0
  return {
    ...{ from: locationName(from.url), to: locationName(to.url), tables, waitingBytes },
    ...{ problems: problems.length, keyVariables, outcome },
  }
}

async function requireRoom(options: MoveOptions, reader: Connection): Promise<void> {
  const file = databaseFile(options.to.url)
  if (file === null) return
  const [row] = await reader.rows('SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()')
  await options.requireRoom(file, Number(row?.[0] ?? 0))
}

/** The original is closed once the server acknowledges the copy, so a power failure there must not lose the copy. */
async function requireSync({ to, isSyncPromised, onTrouble }: MoveOptions, target: Connection): Promise<void> {
  if (databaseFile(to.url) !== null) return
  await assertSyncedCommits(target, { url: to.url, isPromised: isSyncPromised, onTrouble }).catch((error: unknown) => {
    throw new MoveProblem(reasonOf(error))
  })
}

function write(writer: Connection, statements: readonly SqlStatement[]) {
  return writer.send({ op: 'batch', mode: 'write', statements })
}

/** Whether the error comes from a database rather than from the code. */
function isOfDatabase(error: unknown): error is Error {
  return error instanceof DatabaseError || error instanceof LibsqlError
}
