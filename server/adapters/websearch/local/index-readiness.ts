import type { IndexClient } from './index-client'

const READY_MS = 2_000

/** Whether the index answers a real search soon. */
export async function isIndexReady(client: IndexClient): Promise<boolean> {
  return (await client.ask({ kind: 'ready' }, AbortSignal.timeout(READY_MS))).ok
}
