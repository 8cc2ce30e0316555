import { join } from 'node:path'

const ROOT = join(import.meta.dir, '../..')

/**
 * Where the search index of an install lives, and what it is made of. Apart from what adds documents to it: that reads pages,
 * PDFs and languages, and a server that only answers from the index need not load it.
 */
export function indexSources(dataDir: string) {
  return { indexPath: join(dataDir, 'search.db'), nodeModules: join(ROOT, 'node_modules'), projectRoot: ROOT }
}
