import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../../..')

/**
 * The location and sources of the search index. Separate from `own-documents`, whose readers of pages and PDFs a server that only
 * searches does not need to load.
 */
export function indexSources(dataDir: string) {
  // Only the files of a binary have it (tools/build-server.ts).
  const known = join(ROOT, 'index-fingerprint')
  return {
    indexPath: join(dataDir, 'search.db'),
    nodeModules: join(ROOT, 'node_modules'),
    projectRoot: ROOT,
    ...(existsSync(known) && { fingerprint: readFileSync(known, 'utf8') }),
  }
}
