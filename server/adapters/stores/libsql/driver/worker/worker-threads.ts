/** Starts and ends the worker threads of the stores. */
export interface WorkerThreads {
  start(script: URL): Worker
  /** Called after everything that the worker had open is closed. */
  end(worker: Worker): void
}

/** A thread for each worker, which ends with it. */
export const OWN_THREADS: WorkerThreads = {
  start: (script) => new Worker(script),
  end: (worker) => worker.terminate(),
}
