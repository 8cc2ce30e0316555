import type { IndexClient } from './index-client'

const READY_MS = 2_000
/** The check queues as a separate caller, so that a flood of searches cannot block it. */
const CALLER = 'readiness'

/** Whether the index answers a real search in time. */
export async function isIndexReady(client: IndexClient): Promise<boolean> {
  return (await client.ask({ kind: 'ready' }, CALLER, AbortSignal.timeout(READY_MS))).ok
}
