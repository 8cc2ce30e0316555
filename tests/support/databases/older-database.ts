import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from '@libsql/client'
import { drizzle } from 'drizzle-orm/libsql'
import { migrate } from 'drizzle-orm/libsql/migrator'
import { openFile } from './database-file'

const MIGRATIONS = join(import.meta.dir, '../../../server/adapters/stores/libsql/migrations')

/** Makes the database of a gateway from before the migration of that name, and lets `fill` write to it. */
export async function olderDatabase(
  folder: string,
  migration: string,
  fill: (client: Client) => Promise<void>,
): Promise<void> {
  const migrations = join(folder, 'migrations')
  await cp(MIGRATIONS, migrations, { recursive: true })
  const journalFile = join(migrations, 'meta', '_journal.json')
  const journal = (await Bun.file(journalFile).json()) as { entries: { tag: string }[] }
  const first = journal.entries.findIndex(({ tag }) => tag === migration)
  if (first < 0) throw new Error(`no migration ${migration}`)
  await Bun.write(journalFile, JSON.stringify({ ...journal, entries: journal.entries.slice(0, first) }))
  const client = openFile(join(folder, 'gateway.db'))
  await migrate(drizzle({ client }), { migrationsFolder: migrations })
  await fill(client)
  client.close()
}
