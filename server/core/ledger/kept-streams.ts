import type { RequestId } from '../ids'
import type { DurableHold } from './journal'

/** The streams that the previous owner left unfinished. Each is settled once, here or by the worker that goes on with it. */
export class KeptStreams {
  private readonly left: Map<RequestId, DurableHold>
  /** Charges one as far as it got. */
  readonly settle: (durable: DurableHold) => Promise<void>
  private timer: ReturnType<typeof setTimeout> | null = null

  constructor(all: readonly DurableHold[], settle: (durable: DurableHold) => Promise<void>) {
    this.left = new Map(all.map((durable) => [durable.hold.request, durable]))
    this.settle = settle
  }

  /** Settles them at once, or in so many milliseconds those that nobody took. */
  async settleAfter(graceMs: number): Promise<void> {
    if (graceMs === 0) return this.settleAll()
    this.timer = setTimeout(() => void this.settleAll(), graceMs)
  }

  /** Null if there is none of this request, or no longer. */
  take(request: RequestId): DurableHold | null {
    const durable = this.left.get(request) ?? null
    this.left.delete(request)
    return durable
  }

  /** Leaves the rest to the next start. */
  close(): void {
    if (this.timer) clearTimeout(this.timer)
    this.left.clear()
  }

  private async settleAll(): Promise<void> {
    for (const request of [...this.left.keys()]) {
      const durable = this.take(request)
      if (durable) await this.settle(durable)
    }
  }
}
