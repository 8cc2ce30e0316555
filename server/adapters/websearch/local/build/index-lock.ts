import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { createClient } from '@libsql/client'

const RETRY_MS = 100

/**
 * Runs `work` with an exclusive lock on the index at `indexPath`, across processes: of two that copy and replace the file at the
 * same time, one would lose its changes. Waits for the lock. The lock of a process that dies is released.
 */
export async function whileAlone<T>(indexPath: string, work: () => Promise<T>): Promise<T> {
  const client = createClient({ url: pathToFileURL(`${indexPath}.lock`).href, concurrency: 1 })
  try {
    for (;;) {
      const held = await client.transaction('write').catch((problem: unknown) => {
        if (/SQLITE_BUSY|locked/.test(String(problem))) return null
        throw problem
      })
      if (held) return await work().finally(() => held.close())
      await setTimeout(RETRY_MS)
    }
  } finally {
    client.close()
  }
}
