/** How long a request waits for an owner. After a crash, another node owns the cell within this time. */
const MAX_WAIT_MS = 15_000
/** With this many waiting on a node, further requests are refused immediately. */
const MAX_WAITING = 10_000

/** Requests that wait until a node of this gateway owns their cell. */
export class WaitingRequests {
  /** Called when a request begins to wait. */
  private readonly onWait: () => void
  private waiting = 0
  private changed = Promise.withResolvers<void>()

  constructor(onWait: () => void) {
    this.onWait = onWait
  }

  get count(): number {
    return this.waiting
  }

  /** Makes all waiting requests check again. */
  notify(): void {
    this.changed.resolve()
    this.changed = Promise.withResolvers()
  }

  /** Resolves to what `look` finds, now or after a change; null if it finds nothing in time. */
  async until<T>(look: () => T | null, signal?: AbortSignal): Promise<T | null> {
    const found = look()
    if (found !== null || this.waiting >= MAX_WAITING || signal?.aborted) return found
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, MAX_WAIT_MS)
    signal?.addEventListener('abort', () => late.resolve(), { once: true })
    let isLate = false
    void late.promise.then(() => {
      isLate = true
    })
    this.waiting++
    this.onWait()
    try {
      for (;;) {
        await Promise.race([this.changed.promise, late.promise])
        const next = look()
        if (next !== null || isLate) return next
      }
    } finally {
      clearTimeout(timer)
      this.waiting--
    }
  }
}
