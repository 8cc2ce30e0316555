import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import {
  buildIndex,
  type IndexSources,
  indexFingerprint,
} from '../../../server/adapters/websearch/local/build/build-index'
import { writeFixtureProject } from '../../adapters/websearch/local/fixture-index'
import { openFile } from '../databases/database-file'

let small: Promise<ArrayBuffer> | null = null
/** By its sources. Reading every installed package takes a tenth of a second, and no test changes them. */
const fingerprints = new Map<string, Promise<string>>()

/**
 * Writes the index of a small project at `indexPath` and marks it as the index of `sources`, so that a server or a command
 * that serves these takes it for its own. The real one takes 20 s to build: too long where its content is not the subject.
 * Built once per process. Resolves to the fingerprint of the sources.
 */
export async function writeSmallIndex(indexPath: string, sources: IndexSources): Promise<string> {
  small ??= smallIndex()
  await mkdir(dirname(indexPath), { recursive: true })
  await Bun.write(indexPath, await small)
  const client = openFile(indexPath)
  const fingerprint = await knownFingerprint(sources)
  await client.execute({ sql: "UPDATE meta SET value = ? WHERE key = 'fingerprint'", args: [fingerprint] })
  client.close()
  return fingerprint
}

function knownFingerprint(sources: IndexSources): Promise<string> {
  const id = JSON.stringify(sources)
  const known = fingerprints.get(id) ?? indexFingerprint(sources)
  fingerprints.set(id, known)
  return known
}

/** Built in a folder of its own, because a build leaves its lock file next to the index. */
async function smallIndex(): Promise<ArrayBuffer> {
  const folder = await mkdtemp(join(tmpdir(), 'small-index-'))
  try {
    const indexPath = join(folder, 'search.db')
    await buildIndex({ indexPath, ...writeFixtureProject(join(folder, 'project')) })
    return await Bun.file(indexPath).arrayBuffer()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
