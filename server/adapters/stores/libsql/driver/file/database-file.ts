import { existsSync, realpathSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/**
 * The path of the database file in a URL, with links resolved, so that the files next to it (log, lock) are the same for everyone who
 * opens it. Null for a database over the network or in memory.
 */
export function databaseFile(url: string): string | null {
  const path = /^file:(?:\/\/[^/?#]*)?([^?#]+)/.exec(url)?.[1]
  if (!path || path.startsWith(':memory:')) return null
  const file = decodeURIComponent(path)
  if (existsSync(file)) return realpathSync(file)
  const folder = dirname(file)
  return existsSync(folder) ? join(realpathSync(folder), basename(file)) : file
}
