import { FairQueue } from '../../../../core/fair-queue'

/** Two, so that the reader's thread has a query while the other report is between two of its own. */
const AT_ONCE = 2

/**
 * The turns of accounts at the one reader of reports: while an account waits, every other one gets one turn before it, however many
 * reports it asked for.
 */
export class ReportTurns {
  private readonly waiting = new FairQueue<{ readonly begin: () => void }>({
    perCaller: Number.POSITIVE_INFINITY,
    inAll: Number.POSITIVE_INFINITY,
  })
  private readonly applied: () => Promise<void>
  private running = 0

  /** `applied` resolves when the tables contain every acknowledged charge. */
  constructor(applied: () => Promise<void>) {
    this.applied = applied
  }

  /** Runs `read` in a turn of this account, over tables that contain what was charged before. Rejects as `read` does. */
  async of<T>(account: string, read: () => Promise<T>): Promise<T> {
    // Before the turn, which would keep the reader from the others.
    await this.applied()
    if (this.running >= AT_ONCE) {
      const turn = Promise.withResolvers<void>()
      this.waiting.add(account, { begin: turn.resolve })
      await turn.promise
    } else this.running++
    try {
      return await read()
    } finally {
      // The turn goes to the next at once, ahead of later callers.
      const next = this.waiting.take()
      if (next) next.begin()
      else this.running--
    }
  }
}
