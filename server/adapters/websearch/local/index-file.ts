import { existsSync } from 'node:fs'
import { copyFile, rename, rm } from 'node:fs/promises'
import { pathToFileURL } from 'node:url'
import { type Client, createClient } from '@libsql/client'
import { IndexWriter } from './build/index-writer'
import { WITHOUT_BUILT_IN } from './index-schema'
import { selectRows } from './query/select-rows'

/** A new index, written next to the current one. `publish` replaces the current one atomically. */
export interface IndexDraft {
  readonly writer: IndexWriter
  /** Closes the writer and swaps the files. Readers see the old or the new one, never a part. */
  publish(meta: Readonly<Record<string, string>>): ReturnType<IndexWriter['finish']>
  /** Abandons it. The old file is unchanged. */
  discard(): Promise<void>
}

/** Starts an empty index, or with `copy` a copy of the current one. Needs the lock (`whileAlone`): there is one draft at a time. */
export async function beginDraft(indexPath: string, copy: boolean): Promise<IndexDraft> {
  const path = `${indexPath}.building`
  // A process that died may have left one.
  await rm(path, { force: true })
  const now = Math.floor(Date.now() / 1000)
  if (copy) await copyFile(indexPath, path)
  const writer = await (copy ? IndexWriter.resume(path, now) : IndexWriter.create(path, now)).catch(async (problem) => {
    await rm(path, { force: true })
    throw problem
  })
  return {
    writer,
    async publish(meta) {
      const counts = await writer.finish(meta)
      await rename(path, indexPath)
      return counts
    },
    async discard() {
      writer.abandon()
      await rm(path, { force: true })
    },
  }
}

/** Reads an index file; null if there is none, or it has another schema version. Throws what `read` throws. */
export async function readIndex<T>(indexPath: string, read: (client: Client) => Promise<T>): Promise<T | null> {
  if (!existsSync(indexPath)) return null
  const client = createClient({ url: pathToFileURL(indexPath).href, concurrency: 1 })
  try {
    const isIndex = await client.execute('SELECT 1 FROM meta, sources LIMIT 1').then(
      () => true,
      () => false,
    )
    return isIndex ? await read(client) : null
  } finally {
    client.close()
  }
}

/** Whether an index has the built-in content. True if there is no index yet. */
export async function hasBuiltIn(indexPath: string): Promise<boolean> {
  const without = await readIndex(indexPath, (client) =>
    selectRows(client, 'SELECT 1 FROM meta WHERE key = ?', [WITHOUT_BUILT_IN]),
  )
  return (without?.length ?? 0) === 0
}

/** Whether an operator added content to an index, or removed the built-in one: no start could build that again. */
export async function hasOperatorContent(indexPath: string): Promise<boolean> {
  const own = await readIndex(indexPath, (client) => selectRows(client, 'SELECT 1 FROM sources LIMIT 1', []))
  return (own?.length ?? 0) > 0 || !(await hasBuiltIn(indexPath))
}
