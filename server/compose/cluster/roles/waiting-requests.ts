/** How long a request waits for an owner. Another node owns a cell within this time after a crash. */
const MAX_WAIT_MS = 15_000
/** Beyond this many on a node, a request is refused at once. */
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

  /** Something changed: each that waits looks again. */
  notify(): void {
    this.changed.resolve()
    this.changed = Promise.withResolvers()
  }

  /** What `look` finds, now or as soon as something changes; null if it finds nothing in time. */
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
