import { copyFile, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createClient } from '@libsql/client'
import {
  buildIndex,
  type IndexSources,
  indexFingerprint,
} from '../../server/adapters/websearch/local/build/build-index'
import { writeFixtureProject } from '../adapters/websearch-local/fixture-index'

/**
 * Writes the index of a small project at `indexPath` and marks it as the index of `sources`, so that a server or a command
 * that serves these takes it for its own. The real one takes 20 s to build: too long where its content is not the subject.
 */
export async function writeSmallIndex(indexPath: string, sources: IndexSources): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'small-index-'))
  try {
    // Built elsewhere, because a build leaves its lock file beside the index.
    const built = join(folder, 'search.db')
    await buildIndex({ indexPath: built, ...writeFixtureProject(join(folder, 'project')) })
    const client = createClient({ url: `file:${built}` })
    const args = [await indexFingerprint(sources)]
    await client.execute({ sql: "UPDATE meta SET value = ? WHERE key = 'fingerprint'", args })
    client.close()
    await mkdir(dirname(indexPath), { recursive: true })
    await copyFile(built, indexPath)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
