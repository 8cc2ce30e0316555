import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import { drizzle } from 'drizzle-orm/libsql'
import { migrate as runMigrations } from 'drizzle-orm/libsql/migrator'
import { contentHash, filesBelow } from '../../../server/setup/stamp'

const ROOT = join(import.meta.dir, '..', '..', '..')
const MIGRATIONS_BELOW = 'server/adapters/stores/libsql/migrations'
const MIGRATIONS = join(ROOT, MIGRATIONS_BELOW)

let migrated: Promise<ArrayBuffer> | null = null

/**
 * Writes a database with every migration and nothing else, for a gateway whose first start is not the subject. Migrated once per
 * process, and closed to other users. No gateway ever opened it: each one that does raises its first epoch and sets its own pragmas.
 */
export async function writeMigratedDatabase(file: string): Promise<void> {
  migrated ??= migratedDatabase()
  await Bun.write(file, await migrated)
  await chmod(file, 0o600)
}

async function migratedDatabase(): Promise<ArrayBuffer> {
  const folder = await mkdtemp(join(tmpdir(), 'migrated-'))
  try {
    const file = join(folder, 'gateway.db')
    await migrate(`file:${file}`)
    return await Bun.file(file).arrayBuffer()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Applies every migration to an empty database. */
export async function migrate(url: string): Promise<void> {
  const client = createClient({ url })
  await runMigrations(drizzle({ client }), { migrationsFolder: MIGRATIONS })
  client.close()
}

/** Of everything that decides what a migrated database holds. */
export async function migrationsHash(): Promise<string> {
  return contentHash(ROOT, [...(await filesBelow(ROOT, MIGRATIONS_BELOW, [])), 'bun.lock'], Bun.version)
}
