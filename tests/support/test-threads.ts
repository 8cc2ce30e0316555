import { serveDatabase } from '../../server/adapters/stores/libsql/driver/worker/database-requests'
import type { WorkerThreads } from '../../server/adapters/stores/libsql/driver/worker/worker-threads'
import { serveLogFile } from '../../server/adapters/stores/libsql/journal/log-file-requests'

type Reply = (data: unknown) => void

/** The programs of the threads of a database and of its log. */
const IN_THIS_THREAD: Record<string, (reply: Reply) => (request: never) => void> = {
  'database-worker.ts': serveDatabase,
  'log-file-worker.ts': serveLogFile,
}

/**
 * For the gateways of a process of tests: databases and logs are in this thread. A request comes in a turn of its own, as from another thread,
 * at nine tenths of the processor time. Processes of servers show what threads of their own do.
 */
export const TEST_THREADS: WorkerThreads = {
  start(script) {
    const serve = IN_THIS_THREAD[script.pathname.slice(script.pathname.lastIndexOf('/') + 1)]
    if (!serve) throw new Error(`tests/support/test-threads.ts does not know ${script}`)
    return inThisThread(serve)
  },
  end: (worker) => worker.terminate(),
}

/** A worker without a thread. */
function inThisThread(serve: (reply: Reply) => (request: never) => void): Worker {
  const worker: Pick<Worker, 'onmessage' | 'onerror' | 'postMessage' | 'terminate'> = {
    onmessage: null,
    onerror: null,
    postMessage: (request: unknown) => void setImmediate(() => receive(request as never)),
    terminate() {
      worker.onmessage = null
    },
  }
  const receive = serve((data) => worker.onmessage?.call(worker as Worker, { data } as MessageEvent))
  return worker as Worker
}
