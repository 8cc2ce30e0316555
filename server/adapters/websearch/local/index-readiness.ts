import type { IndexClient } from './index-client'

const READY_MS = 2_000
/** It waits its turn as a caller of its own, so that no flood of searches keeps it from being told. */
const CALLER = 'readiness'

/** Whether the index answers a real search soon. */
export async function isIndexReady(client: IndexClient): Promise<boolean> {
  return (await client.ask({ kind: 'ready' }, CALLER, AbortSignal.timeout(READY_MS))).ok
}
