import { serveDatabase } from '../../server/adapters/stores/libsql/driver/database-requests'
import type { WorkerThreads } from '../../server/adapters/stores/libsql/driver/worker-threads'
import { serveLogFile } from '../../server/adapters/stores/libsql/journal/log-file-requests'

/** As Bun has them; the types of the browser, which are loaded as well, hide it. */
type Thread = Worker & { ref(): void; unref(): void }
type Reply = (data: unknown) => void

/** What the threads of a database and of its log run. */
const IN_THIS_THREAD: Record<string, (reply: Reply) => (request: never) => void> = {
  'database-worker.ts': serveDatabase,
  'log-file-worker.ts': serveLogFile,
}

const scripts = new WeakMap<Worker, string>()
const idle = new Map<string, Thread[]>()

/**
 * For the gateways of a process of tests. Databases and logs are in this thread: a request comes in a turn of its own, as from another
 * thread, at nine tenths of the processor time. Processes of servers show what threads of their own do. Other workers serve one gateway after
 * another; one that crashed or was cut off is not used again.
 */
export const TEST_THREADS: WorkerThreads = {
  start(script) {
    const serve = IN_THIS_THREAD[script.pathname.slice(script.pathname.lastIndexOf('/') + 1)]
    if (serve) return inThisThread(serve)
    const worker = idle.get(script.href)?.pop() ?? (new Worker(script) as Thread)
    scripts.set(worker, script.href)
    worker.ref()
    return worker
  },
  end(worker: Thread) {
    worker.onmessage = null
    worker.onerror = null
    const script = scripts.get(worker)
    if (script === undefined) return
    worker.unref()
    idle.set(script, [...(idle.get(script) ?? []), worker])
  },
}

/** What a worker is to its user, without a thread. */
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
