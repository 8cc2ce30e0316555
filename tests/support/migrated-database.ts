import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import { drizzle } from 'drizzle-orm/libsql'
import { migrate } from 'drizzle-orm/libsql/migrator'

const MIGRATIONS = join(import.meta.dir, '..', '..', 'server', 'adapters', 'stores', 'libsql', 'migrations')

let migrated: Promise<ArrayBuffer> | null = null

/**
 * Writes a database with every migration and nothing else, for a gateway whose first start is not the subject. Migrated once per
 * process. No gateway ever opened it: each one that does raises its first epoch and sets its own pragmas.
 */
export async function writeMigratedDatabase(file: string): Promise<void> {
  migrated ??= migratedDatabase()
  await Bun.write(file, await migrated)
}

async function migratedDatabase(): Promise<ArrayBuffer> {
  const folder = await mkdtemp(join(tmpdir(), 'migrated-'))
  try {
    const file = join(folder, 'gateway.db')
    const client = createClient({ url: `file:${file}` })
    await migrate(drizzle({ client }), { migrationsFolder: MIGRATIONS })
    client.close()
    return await Bun.file(file).arrayBuffer()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
