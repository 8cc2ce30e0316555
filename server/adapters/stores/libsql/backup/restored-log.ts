import type { JournalRecord } from '../../../../core/ledger/journal'
import { reasonOf } from '../../../../core/result'
import type { Connection } from '../driver/worker/worker-connection'
import { OWN_THREADS, type WorkerThreads } from '../driver/worker/worker-threads'
import { decodeLog, type LogLine } from '../journal/log-format'
import { withConnection } from './snapshot'

/** The last entries of a table, among which those of its last group are. */
const NEWEST = 100_000

/** Why a log of charges does not belong to a database that was restored; null if it does, with how many groups the database lacks. */
export interface Joined {
  readonly problem: string | null
  readonly groups: number
}

/**
 * Whether a log of charges continues a restored database that was not served since. The groups of a database are numbered through its whole life, so a log
 * must begin at most one after the last that the database has, and end no earlier; what both have must be the same.
 */
export async function joinProblem(
  database: string,
  log: Uint8Array,
  threads: WorkerThreads = OWN_THREADS,
): Promise<Joined> {
  let lines: readonly LogLine[]
  try {
    lines = decodeLog(log).lines
  } catch (error) {
    return { problem: `the log is damaged: ${reasonOf(error)}`, groups: 0 }
  }
  const [first, last] = [lines.at(0), lines.at(-1)]
  // Emptied after everything in it was in the tables.
  if (!first || !last) return { problem: null, groups: 0 }
  return withConnection(database, 'reader', threads, async (connection) => {
    const applied = Number((await connection.rows('SELECT applied_group FROM owner WHERE id = 1'))[0]?.[0] ?? 0)
    const found = (problem: string | null) => ({ problem, groups: lines.filter((one) => one.number > applied).length })
    if (first.number > applied + 1)
      return found(`the log begins with group ${first.number}, and the database ends with group ${applied}`)
    if (last.number < applied)
      return found(
        `the log ends with group ${last.number}, and the database with group ${applied}: the log is older, or the database was served since without it`,
      )
    const shared = lines.findLast((line) => line.number <= applied && transactionsOf(line).length > 0)
    if (shared && !(await hasOne(connection, transactionsOf(shared))))
      return found(
        `group ${shared.number} is another one there: it was served without this log, or is another database`,
      )
    const isOfOther = !(await hasAccount(connection, lines))
    return found(isOfOther ? 'none of its accounts is in the tables: it is the log of another database' : null)
  })
}

function recordsOf(line: LogLine): readonly JournalRecord[] {
  return JSON.parse(line.payload) as JournalRecord[] // written by us, with a valid checksum
}

function transactionsOf(line: LogLine): readonly string[] {
  return recordsOf(line).flatMap(({ entries }) => entries.map(({ transaction }) => transaction))
}

/** Whether the tables have one of these transactions, or put it aside. */
async function hasOne(connection: Connection, transactions: readonly string[]): Promise<boolean> {
  const rows = await connection.rows(`WITH ids AS (SELECT value FROM json_each(${literal(transactions)}))
    SELECT 1 FROM entries WHERE seq > (SELECT max(seq) FROM entries) - ${NEWEST} AND transaction_id IN (SELECT value FROM ids)
    UNION ALL SELECT 1 FROM stuck_records, ids WHERE instr(record, value) LIMIT 1`)
  return rows.length > 0
}

/** Whether the tables have an account of the log. Those that were opened last may be missing; their charges are put aside at the start. */
async function hasAccount(connection: Connection, lines: readonly LogLine[]): Promise<boolean> {
  const charged = new Set(lines.flatMap((line) => recordsOf(line).flatMap(({ change }) => change?.accountId ?? [])))
  if (charged.size === 0) return true
  const rows = await connection.rows(
    `SELECT 1 FROM accounts WHERE id IN (SELECT value FROM json_each(${literal([...charged])})) LIMIT 1`,
  )
  return rows.length > 0
}

function literal(ids: readonly string[]): string {
  return `'${JSON.stringify(ids).replaceAll("'", "''")}'`
}
