/** Something that runs by the clock. */
interface Startable {
  run(): Promise<void>
  close(): Promise<void>
}

/**
 * When a gateway does what only the owner of the accounts may do: write, read what the owner before it may still change, and start jobs. At once, unless
 * it is prepared while another node owns them (ADR 62).
 */
export interface Opening {
  /** Whether another node may own the accounts until this gateway begins. */
  readonly isAhead: boolean
  /** Makes the process the owner. Everything else waits for it. */
  own(step: () => Promise<void>): Promise<void>
  /** Takes a step when the process is the owner. In a gateway that is prepared, what follows must not need its result, nor other steps. */
  whenOwned(step: () => Promise<void>): Promise<void>
  /** Starts a job when all steps are taken. */
  job<J extends Startable>(start: () => J): Startable
}

/** Of a process that owns the accounts, or takes them as the first step. */
export const AT_ONCE: Opening = {
  isAhead: false,
  own: (step) => step(),
  whenOwned: (step) => step(),
  job: (start) => start(),
}

/** Of a gateway that is made before its node owns the accounts. */
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
   * Makes the process the owner, takes all steps together, since most of them wait for the database, and starts the jobs. Call it once, when the node has
   * the lease. Rejects, when all steps have ended, as the first one does that fails; then no job is started.
   */
  async begin(): Promise<void> {
    await this.owning?.()
    const ends = await Promise.allSettled(this.steps.map((step) => step()))
    for (const end of ends) if (end.status === 'rejected') throw end.reason
    for (const start of this.starts) start()
  }
}
