import { fileURLToPath } from 'node:url'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { drizzle } from 'drizzle-orm/libsql'
import { migrate } from 'drizzle-orm/libsql/migrator'
import type { RestorableCounters } from '../../../core/ledger/hold'
import { LibsqlAccounts } from './accounts'
import { Connection } from './connection'
import { LibsqlCredentials } from './credentials'
import { GroupCommit } from './group-commit'
import { LibsqlPrices } from './prices'
import { sqlClient } from './sql-client'
import { LibsqlStatements } from './statements'
import { LibsqlUsageReports } from './usage-reports'
import { WriteQueue } from './write-queue'

export interface StoreOptions {
  /** `file:`, `libsql:` or `http(s):`. */
  readonly url: string
  readonly authToken: string | null
  readonly patienceMs: number
  /** Which operations the usage summary counts. */
  readonly isCounted: (operation: string) => boolean
  /** The process must stop: another one owns the database, or a worker died. */
  readonly onFatal: (reason: string) => void
  readonly onTrouble: (what: string, reason: string) => void
}

export interface Stores {
  readonly db: LibSQLDatabase
  readonly journal: GroupCommit
  readonly credentials: LibsqlCredentials
  readonly accounts: LibsqlAccounts
  readonly prices: LibsqlPrices
  readonly reports: LibsqlUsageReports
  readonly statements: LibsqlStatements
  /** Whether the database answers now. */
  ready(): Promise<boolean>
  /** Ends what was given, then closes. */
  close(): Promise<void>
}

const MIGRATIONS = fileURLToPath(new URL('./migrations', import.meta.url))

/**
 * Opens the database, brings its schema up to date, takes ownership by raising the epoch, and fills the memory: from here on
 * any older owner commits nothing. `counters` gets every balance and pool as the last commit left them.
 */
export async function openStores(options: StoreOptions, counters: RestorableCounters): Promise<Stores> {
  const { url, authToken } = options
  const crash = (error: Error) => options.onFatal(error.message)
  const writer = await Connection.open({ role: 'writer', url, authToken }, crash)
  const reader = await Connection.open({ role: 'reader', url, authToken }, crash)
  let writes: WriteQueue | null = null
  const db = drizzle({
    client: sqlClient(
      reader,
      () => {
        if (!writes) throw new Error('the database has no owner yet')
        return writes
      },
      writer,
    ),
  })
  await migrateWith(writer)
  const epoch = await raiseEpoch(writer)
  writes = new WriteQueue(writer, epoch)
  const queue = writes
  const journal = new GroupCommit({
    writes,
    lastGroup: async () => {
      // Of this epoch only: the numbers of another owner say nothing about ours.
      const sql = 'SELECT last_group FROM owner WHERE id = 1 AND epoch = ?'
      const [result] = await reader.send({ op: 'batch', mode: 'read', statements: [{ sql, args: [epoch] }] })
      const [row] = result?.rows ?? []
      return row ? Number(row[0]) : null
    },
    patienceMs: options.patienceMs,
    onLostOwnership: () => options.onFatal('another process owns the database now'),
    onTrouble: options.onTrouble,
  })
  const credentials = new LibsqlCredentials(db, journal)
  const accounts = new LibsqlAccounts(db)
  const prices = new LibsqlPrices(db)
  for (const { id, credit, paid, toppedUp } of await accounts.restore())
    counters.restoreAccount(id, credit, paid, toppedUp)
  for (const { id, accountId, limit, spent } of await credentials.restore())
    counters.restorePool(id, accountId, limit, spent)
  await prices.restore()
  return {
    db,
    journal,
    credentials,
    accounts,
    prices,
    reports: new LibsqlUsageReports(db, options.isCounted),
    statements: new LibsqlStatements(db),
    ready: () =>
      reader.send({ op: 'batch', mode: 'read', statements: [{ sql: 'SELECT 1', args: [] }] }).then(
        () => true,
        () => false,
      ),
    async close() {
      await journal.drained()
      await queue.drained()
      await reader.close()
      await writer.close()
    },
  }
}

/** Migrations go through the writer directly: before them there is no `owner` row to assert. */
async function migrateWith(writer: Connection): Promise<void> {
  const unfenced = {
    batch: (statements: Parameters<WriteQueue['batch']>[0]) => writer.send({ op: 'batch', mode: 'write', statements }),
  } as WriteQueue // only `batch` is called
  await migrate(drizzle({ client: sqlClient(writer, () => unfenced, writer) }), { migrationsFolder: MIGRATIONS })
}

async function raiseEpoch(writer: Connection): Promise<number> {
  const sql = 'UPDATE owner SET epoch = epoch + 1, asserted = epoch + 1, last_group = 0 WHERE id = 1 RETURNING epoch'
  const [result] = await writer.send({ op: 'batch', mode: 'write', statements: [{ sql, args: [] }] })
  const epoch = Number(result?.rows[0]?.[0])
  if (!Number.isSafeInteger(epoch)) throw new Error('the database has no owner row')
  return epoch
}
