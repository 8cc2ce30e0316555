import type { WorkerThreads } from '../../server/adapters/stores/libsql/driver/worker-threads'

/** As Bun has them; the types of the browser, which are loaded as well, hide it. */
type Thread = Worker & { ref(): void; unref(): void }

const scripts = new WeakMap<Worker, string>()
const idle = new Map<string, Thread[]>()

/**
 * Worker threads that serve one gateway after another: starting three threads and loading the driver costs a gateway in this process
 * more than all else that it opens. A worker that crashed or was cut off is not used again.
 */
export const POOLED_THREADS: WorkerThreads = {
  start(script) {
    const worker = idle.get(script.href)?.pop() ?? (new Worker(script) as Thread)
    scripts.set(worker, script.href)
    worker.ref()
    return worker
  },
  end(worker: Thread) {
    worker.onmessage = null
    worker.onerror = null
    worker.unref()
    const script = scripts.get(worker) ?? ''
    idle.set(script, [...(idle.get(script) ?? []), worker])
  },
}
