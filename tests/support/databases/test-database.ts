import { join } from 'node:path'
import { openSqld } from './sqld'

/** Where suites keep their stores: in a file, or with `TEST_DATABASE=sqld` on a libSQL server. They are the same tests. */
export const IS_SERVER = process.env['TEST_DATABASE'] === 'sqld'

/** One server for each folder, so that stores that are opened again find what they had. */
const servers = new Map<string, ReturnType<typeof openSqld>>()

/** The URL of the database of a folder. */
export async function testDatabase(folder: string, file: string): Promise<string> {
  if (!IS_SERVER) return `file:${file}`
  const known = servers.get(folder) ?? openSqld({ migrated: true })
  servers.set(folder, known)
  return (await known).url
}

/** The database of a real server with this data folder, as its tests read it past the server. */
export function databaseOf(folder: string): Promise<string> {
  return testDatabase(folder, join(folder, 'gateway.db'))
}

/** The settings of a real server for it; none if the database is in its data folder. */
export async function databaseSetting(folder: string): Promise<{ readonly DATABASE_URL?: string }> {
  return IS_SERVER ? { DATABASE_URL: await databaseOf(folder) } : {}
}

/** Ends the server of a folder, if it has one. */
export async function endTestDatabase(folder: string): Promise<void> {
  const server = await servers.get(folder)
  if (!server) return
  servers.delete(folder)
  await server.close()
}

/** Ends those of folders that their tests removed themselves. */
export async function endTestDatabases(): Promise<void> {
  for (const folder of [...servers.keys()]) await endTestDatabase(folder)
}
