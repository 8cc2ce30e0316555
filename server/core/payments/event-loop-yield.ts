/**
 * Work that takes the processor for milliseconds, such as the check of a signature: one piece in each turn of the event loop, first come,
 * first served. Between two pieces the process does all else that is due: timers, other requests.
 */
export class EventLoopYield {
  private readonly waiting: (() => void)[] = []

  /** Resolves in a turn of the event loop in which no other piece begins. The piece ends where it first waits for something else. */
  next(): Promise<void> {
    return new Promise((begin) => {
      this.waiting.push(begin)
      if (this.waiting.length === 1) setImmediate(this.begin)
    })
  }

  private readonly begin = (): void => {
    this.waiting.shift()?.()
    if (this.waiting.length > 0) setImmediate(this.begin)
  }
}

/** One for the process, as its event loop is, whatever the number of its gateways. */
export const PAYMENT_YIELD = new EventLoopYield()
