import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { createClient } from '@libsql/client'

const RETRY_MS = 100

/**
 * Runs `work` while nobody else changes the index at `indexPath`, in this process or another: what two of them copied and
 * put back, one would lose. Waits its turn. A process that dies lets go.
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
