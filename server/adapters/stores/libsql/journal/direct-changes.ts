import type { InValue } from '@libsql/client'
import { inTime } from '../../../../core/in-time'
import { appended, type DirectChange, type Journal, type JournalRecord } from '../../../../core/ledger/journal'
import type { LogCopy } from '../../../../core/ledger/log-copy'
import type { FileDatabase } from '../driver/file/file-database'
import { type Connection, DatabaseError } from '../driver/worker/worker-connection'
import type { SqlStatement } from '../driver/worker-wire'
import type { ChangeLog, WriteQueue } from '../driver/write-queue'

interface CopiedTable {
  /** Columns that the log has by other records, or that may lose the last second. */
  readonly skips: readonly string[]
  /** The primary key, if it is not `id`. */
  readonly key?: string
  /** Whether a row that older tables lack is added. */
  readonly adds: boolean
  readonly on: readonly ('INSERT' | 'UPDATE' | 'DELETE')[]
}

/** What must not come back when older tables are restored: who may spend, and how much. */
const COPIED: Readonly<Record<string, CopiedTable>> = {
  // Accounts are opened by records of the ledger, which also move their balances.
  accounts: { skips: ['credit', 'paid', 'topped_up', 'debt'], adds: false, on: ['UPDATE'] },
  pools: { skips: ['spent', 'limit_version', 'limit_told'], adds: true, on: ['INSERT', 'UPDATE'] },
  keys: { skips: ['last_used_at'], adds: true, on: ['INSERT', 'UPDATE', 'DELETE'] },
  connections: { skips: ['last_used_at', 'last_address'], adds: true, on: ['INSERT', 'UPDATE'] },
  worker_credentials: { key: 'name', skips: [], adds: true, on: ['INSERT', 'UPDATE', 'DELETE'] },
  // Tokens and apps belong to users and sign-ins, which may be lost.
  oauth_access_token: { skips: [], adds: false, on: ['UPDATE', 'DELETE'] },
  oauth_refresh_token: { skips: [], adds: false, on: ['UPDATE', 'DELETE'] },
  oauth_client: { skips: [], adds: false, on: ['UPDATE', 'DELETE'] },
}

/** Notes records of the ledger that are written to the tables directly, in the same transaction. */
export function notedRecords(records: readonly JournalRecord[]): SqlStatement {
  const sql = `INSERT INTO direct_changes (change) SELECT json_object('record', json(value)) FROM json_each(?)`
  return { sql, args: [JSON.stringify(records)] }
}

/** From here on each write to those tables notes its rows in `direct_changes`: triggers of the writing connection alone, so they go with it. */
export async function noteDirectChanges(
  writes: Pick<WriteQueue, 'batch'>,
  reader: Pick<Connection, 'rows'>,
): Promise<void> {
  const triggers: SqlStatement[] = []
  for (const [table, { key = 'id', skips, on }] of Object.entries(COPIED)) {
    const all = (await reader.rows(`SELECT name FROM pragma_table_info('${table}')`)).map(([name]) => String(name))
    const columns = all.filter((name) => !skips.includes(name))
    const row = `json_object(${columns.map((name) => `'${name}', NEW."${name}"`).join(', ')})`
    for (const event of on) {
      const of = event === 'UPDATE' ? ` OF ${columns.map((name) => `"${name}"`).join(', ')}` : ''
      const [id, state] = event === 'DELETE' ? [`OLD.${key}`, "json('null')"] : [`NEW.${key}`, row]
      const sql = `CREATE TEMP TRIGGER notes_${table}_${event} AFTER ${event}${of} ON main.${table} BEGIN
        INSERT INTO direct_changes (change) VALUES (json_object('table', '${table}', 'id', ${id}, 'row', ${state})); END`
      triggers.push({ sql, args: [] })
    }
  }
  await writes.batch(triggers)
}

const RETRY_MS = 500

/** Puts direct changes into the log, and its copy. */
export class DirectChangeLog implements ChangeLog {
  private readonly log: Pick<Journal, 'append'>
  private readonly copy: Pick<LogCopy, 'problem'>
  private readonly patienceMs: number

  constructor(log: Pick<Journal, 'append'>, copy: Pick<LogCopy, 'problem'>, patienceMs: number) {
    this.log = log
    this.copy = copy
    this.patienceMs = patienceMs
  }

  get problem(): string | null {
    return this.copy.problem
  }

  /** Resolves when they are in the log. Never when this process ends before. */
  async money(direct: readonly DirectChange[]): Promise<void> {
    for (;;) {
      const outcome = await appended(this.log, { entries: [], direct })
      const fate = outcome.kind === 'unknown' ? await outcome.fate : outcome.kind
      if (fate === 'committed') return
      if (fate === 'lost') return new Promise(() => undefined)
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }

  /** The same, but rejects after the patience of a caller. The change is made here, and gets into the log later. */
  management(direct: readonly DirectChange[]): Promise<void> {
    return inTime(
      this.money(direct),
      this.patienceMs,
      () => new DatabaseError({ message: 'the change is made, but LOG_URL has not confirmed it in time', code: 'LOG' }),
    )
  }
}

/**
 * Gives `write` the records in their order, without the direct changes that the tables have and forget here. Older tables get those in their
 * place. To be run in one transaction.
 */
export function writeInOrder(
  db: Pick<FileDatabase, 'rows' | 'run'>,
  records: readonly JournalRecord[],
  write: (records: readonly JournalRecord[], isLast: boolean) => void,
): void {
  let waiting: JournalRecord[] = []
  for (const record of records) {
    if (!record.direct) waiting.push(record)
    for (const change of record.direct ?? []) {
      const known = db.rows('DELETE FROM direct_changes WHERE seq = ? RETURNING seq', [change.seq])
      if (known.length > 0) continue
      if ('record' in change) {
        waiting.push(change.record)
        continue
      }
      // The account of a row may be opened by a record before it.
      write(waiting, false)
      waiting = []
      writeRow(db, change)
    }
  }
  write(waiting, true)
}

function writeRow(db: Pick<FileDatabase, 'run'>, { table, id, row }: Exclude<DirectChange, { record: unknown }>): void {
  const copied = COPIED[table]
  if (!copied) throw new Error(`the log changes the table ${table}, which this version does not copy`)
  const { key = 'id' } = copied
  if (row === null) {
    db.run(`DELETE FROM ${table} WHERE ${key} = ?`, [id])
    return
  }
  const columns = Object.keys(row).map((name) => `"${name.replaceAll('"', '""')}"`)
  const values = Object.values(row) as InValue[] // of columns, by a trigger
  const sets = columns.map((column) => `${column} = excluded.${column}`).join(', ')
  const marks = columns.map(() => '?').join(', ')
  if (copied.adds)
    db.run(`INSERT INTO ${table} (${columns}) VALUES (${marks}) ON CONFLICT (${key}) DO UPDATE SET ${sets}`, values)
  else
    db.run(`UPDATE ${table} SET ${columns.map((column) => `${column} = ?`).join(', ')} WHERE ${key} = ?`, [
      ...values,
      id,
    ])
}
