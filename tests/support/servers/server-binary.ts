import { join } from 'node:path'
import { contentHash, filesBelow } from '../../../server/setup/stamp'
import { buildServer } from '../../../tools/build-server'
import { builtOnce } from './built-once'

const ROOT = join(import.meta.dir, '..', '..', '..')
/** Enough documents to search for; all of them take half a minute. */
const DOCUMENTED = new Set(['drizzle-orm', 'elysia'])

/** The single binary of `bun run build:server` with fewer documents. Built once per content, for all tests. */
export async function serverBinary(): Promise<string> {
  const folders = ['server', 'dashboard', 'docs', 'tools']
  const files = (await Promise.all(folders.map((folder) => filesBelow(ROOT, folder, ['dashboard/dist'])))).flat()
  const hash = await contentHash(ROOT, [...files, 'README.md', 'package.json', 'bun.lock'], Bun.version)
  const folder = await builtOnce('binary', hash, (at) => buildServer(join(at, 'gateway-server'), DOCUMENTED))
  return join(folder, 'gateway-server')
}
