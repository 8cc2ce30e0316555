import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { drizzle } from 'drizzle-orm/libsql'
import { migrate } from 'drizzle-orm/libsql/migrator'
import { isoTime } from '../../../core/clock'
import { reasonOf } from '../../../core/result'
import { VERSION } from '../../../core/version'
import { sqlClient } from './driver/sql-client'
import type { Connection } from './driver/worker/worker-connection'
import type { WriteQueue } from './driver/write-queue'
import migrations from './migrations/meta/_journal.json'

/** The steps from an empty database to the tables of this version, and the folder of their SQL. */
export interface Migrations {
  readonly folder: string
  readonly entries: readonly { readonly tag: string; readonly when: number }[]
}

const MIGRATIONS: Migrations = {
  folder: fileURLToPath(new URL('./migrations', import.meta.url)),
  entries: migrations.entries,
}

/** The time of the last migration that this gateway knows. */
export const SCHEMA_TIME = Math.max(...migrations.entries.map(({ when }) => when))

/** The upgrade of an older gateway's data by a start. */
export interface Upgrade {
  /** Null for a database over the network. */
  readonly file: string | null
  /** The time of the last migration that the database has. */
  readonly schema: number
  /** The names of the migrations to come. */
  readonly steps: readonly string[]
  /** How many tables they write anew, which is what takes time. */
  readonly rebuilds: number
}

export interface UpgradeOptions {
  readonly file: string | null
  /** Called before data of an older gateway is changed, for example to copy it. Nothing is changed if it throws. */
  readonly beforeUpgrade?: ((upgrade: Upgrade) => Promise<void>) | undefined
  /** For tests of the upgrade. */
  readonly migrations?: Migrations | undefined
}

/** The data was written by another gateway, whose tables this one does not know. */
class UnknownData extends Error {}

/**
 * Brings the tables up to date, all migrations in one transaction. Refuses the data of a newer gateway, and of one before the first
 * migration. Goes through the writer directly: before the first migration there is no `owner` row to assert.
 */
export async function upgradeDatabase(
  { writer, reader }: { readonly writer: Connection; readonly reader: Connection },
  options: UpgradeOptions,
): Promise<void> {
  const { file, beforeUpgrade, migrations: known = MIGRATIONS } = options
  const times = known.entries.map(({ when }) => when)
  const applied = await appliedSchema(reader)
  if (applied !== null && applied > Math.max(...times))
    throw new UnknownData(
      `the data was written by a newer version of the gateway (${await writerOf(reader)}schema of ${isoTime(applied)}; this is ${VERSION}, which knows those up to ${isoTime(Math.max(...times))}). Start that version, or restore a copy from before the upgrade`,
    )
  if (applied !== null && applied < Math.min(...times))
    throw new UnknownData(
      `the data was written by a gateway before 0.9.0 (schema of ${isoTime(applied)}), and this is ${VERSION}, which cannot read it. Start with an empty DATA_DIR`,
    )
  // By the rule of Drizzle's migrator, which reads and hashes all of them first.
  const steps = known.entries.filter(({ when }) => applied === null || when > applied).map(({ tag }) => tag)
  if (steps.length === 0) return
  if (applied !== null)
    await beforeUpgrade?.({ file, schema: applied, steps, rebuilds: await rebuildsOf(known.folder, steps) })
  try {
    await runMigrations(writer, known.folder)
  } catch (error) {
    const reason = reasonOf(error)
    throw new Error(`the database could not be upgraded, and nothing in it was changed: ${reason}`, { cause: error })
  }
}

async function runMigrations(writer: Connection, migrationsFolder: string): Promise<void> {
  const unfenced = {
    batch: (statements: Parameters<WriteQueue['batch']>[0]) => writer.send({ op: 'batch', mode: 'write', statements }),
  } as WriteQueue // only `batch` is called
  await migrate(drizzle({ client: sqlClient(writer, unfenced, writer) }), { migrationsFolder })
}

/** The time of the last migration that the database has; null for a new database. */
export async function appliedSchema(connection: Connection): Promise<number | null> {
  try {
    return (await readNumber(connection, 'SELECT max(created_at) FROM __drizzle_migrations')) || null
  } catch (error) {
    const tables = "SELECT count(*) FROM sqlite_master WHERE name = '__drizzle_migrations'"
    if ((await readNumber(connection, tables)) === 0) return null
    throw error
  }
}

async function rebuildsOf(folder: string, steps: readonly string[]): Promise<number> {
  const texts = await Promise.all(steps.map((tag) => readFile(join(folder, `${tag}.sql`), 'utf8')))
  return texts.join('\n').match(/CREATE TABLE `__new_/g)?.length ?? 0
}

/** The version that opened the data last. Its tables are newer, so whatever is asked of them may be wrong. */
async function writerOf(reader: Connection): Promise<string> {
  const [row] = await reader.rows('SELECT version FROM owner WHERE id = 1').catch(() => [])
  return row?.[0] ? `${row[0]}, ` : ''
}

async function readNumber(connection: Connection, sql: string): Promise<number> {
  const [row] = await connection.rows(sql)
  return Number(row?.[0] ?? 0)
}
