import { inTime } from '../../../../core/in-time'

/** A write that others of this node kept from the database for too long. It was not sent. */
class WriteTooLate extends Error {
  readonly unavailable = true
}

/**
 * The writes of a node to the control database, one at a time: many connections that each commit one row stall a libSQL server for
 * minutes. A write that waits longer than `maxWaitMs` is given up.
 */
export class WriteLock {
  private readonly maxWaitMs: number
  private last: Promise<void> = Promise.resolve()

  constructor(maxWaitMs: number) {
    this.maxWaitMs = maxWaitMs
  }

  /** Runs `send` when the writes before it have ended. `send` must end by itself. */
  async take<T>(send: () => Promise<T>): Promise<T> {
    const before = this.last
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    this.last = before.then(() => ended)
    try {
      await inTime(before, this.maxWaitMs, () => new WriteTooLate('the writes before it took too long'))
      return await send()
    } finally {
      end()
    }
  }
}
