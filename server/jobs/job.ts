/** A task that runs repeatedly in the background. */
export interface Job {
  /** Runs the task now, or joins the run in progress. Never rejects. */
  run(): Promise<void>
  /** Stops the job and aborts the signal of the run in progress. Resolves when that run has ended. */
  close(): Promise<void>
}

export interface Schedule {
  /** The pause between the end of one run and the start of the next. */
  readonly everyMs: number
  /** The pause before the first run. Defaults to `everyMs`; 0 starts it at once. */
  readonly firstMs?: number
  /** The pause after a run that threw or returned false. Defaults to `everyMs`. */
  readonly retryMs?: number
  readonly onError: (error: unknown) => void
}

/** Starts a job. Runs never overlap, and a waiting job does not keep the process alive. */
export function startJob(task: (signal: AbortSignal) => Promise<unknown>, schedule: Schedule): Job {
  const { everyMs, firstMs = everyMs, retryMs = everyMs, onError } = schedule
  const stop = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  let running: Promise<void> | null = null
  const after = (ms: number) => {
    if (stop.signal.aborted) return
    clearTimeout(timer)
    timer = setTimeout(() => void run(), ms)
    timer.unref()
  }
  const once = async () => {
    let succeeded = false
    try {
      succeeded = (await task(stop.signal)) !== false
    } catch (error) {
      onError(error)
    }
    running = null
    after(succeeded ? everyMs : retryMs)
  }
  const run = (): Promise<void> => {
    if (!running && stop.signal.aborted) return Promise.resolve()
    // `once` must not end before `running` is set, even if the task throws synchronously.
    running ??= Promise.resolve().then(once)
    return running
  }
  if (firstMs === 0) void run()
  else after(firstMs)
  return {
    run,
    async close() {
      clearTimeout(timer)
      stop.abort()
      await running
    },
  }
}
