/** A job that runs at intervals. */
interface Startable {
  run(): Promise<void>
  close(): Promise<void>
}

/**
 * Decides when a gateway does what only the owner of the accounts may do: write, read what the previous owner may still change, and start jobs.
 * Immediately, unless it is prepared while another node owns the accounts (ADR 62).
 */
export interface Opening {
  /** Whether another node may own the accounts until this gateway begins. */
  readonly isAhead: boolean
  /** Makes the process the owner. All other steps wait for it. */
  own(step: () => Promise<void>): Promise<void>
  /** Runs a step once the process is the owner. In a prepared gateway, later code must not need its result, and steps must not need each other. */
  whenOwned(step: () => Promise<void>): Promise<void>
  /** Starts a job once all steps have run. */
  job<J extends Startable>(start: () => J): Startable
}

/** For a process that owns the accounts, or takes them as its first step. */
export const AT_ONCE: Opening = {
  isAhead: false,
  own: (step) => step(),
  whenOwned: (step) => step(),
  job: (start) => start(),
}

/** For a gateway that is created before its node owns the accounts. */
export class LaterOpening implements Opening {
  readonly isAhead = true
  private owning: (() => Promise<void>) | null = null
  private readonly steps: (() => Promise<void>)[] = []
  private readonly starts: (() => void)[] = []

  async own(step: () => Promise<void>): Promise<void> {
    this.owning = step
  }

  async whenOwned(step: () => Promise<void>): Promise<void> {
    this.steps.push(step)
  }

  job<J extends Startable>(start: () => J): Startable {
    let job: J | null = null
    let isClosed = false
    this.starts.push(() => {
      if (!isClosed) job = start()
    })
    return {
      run: async () => job?.run(),
      async close() {
        isClosed = true
        await job?.close()
      },
    }
  }

  /**
   * Makes the process the owner, runs all steps concurrently, since most of them wait for the database, and starts the jobs. Call it once, when the node
   * has the lease. If a step fails, rejects with the first failure after all steps have ended, and starts no job.
   */
  async begin(): Promise<void> {
    await this.owning?.()
    const ends = await Promise.allSettled(this.steps.map((step) => step()))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    for (const start of this.starts) start()
  }
}
