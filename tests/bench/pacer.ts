import { quantile } from './statistics'

/** The outcome of the requests that were due in one interval. Times in milliseconds. */
export interface Tally {
  readonly due: number
  readonly served: number
  readonly refused: number
  readonly broken: number
  readonly p50: number
  readonly p99: number
  readonly max: number
}

interface Shared {
  readonly url: string
  readonly secrets: readonly string[]
  /** Most requests under way at once. One that is due while all are taken waits, and its wait counts as latency. */
  readonly most: number
}

const TICK_MS = 5

/**
 * Sends requests at a steady rate whatever the answers do, and times each from when it was due: a server that stops for a
 * second shows a second, not one slow request (what wrk2 does, and wrk does not).
 */
export class Pacer {
  private readonly shared: Shared
  private readonly waiting: number[] = []
  private underWay = 0
  private latencies: number[] = []
  private counts = { due: 0, served: 0, refused: 0, broken: 0 }
  private turn = 0
  private stopped = false
  /** Over the whole run. */
  served = 0
  broken = 0

  constructor(shared: Shared) {
    this.shared = shared
  }

  /** Runs until `stop`, and then until every answer is in. */
  async run(rps: number): Promise<void> {
    const begun = performance.now()
    let sent = 0
    while (!this.stopped) {
      const due = Math.floor(((performance.now() - begun) / 1000) * rps)
      for (; sent < due; sent++) this.waiting.push(begun + (sent / rps) * 1000)
      this.start()
      await Bun.sleep(TICK_MS)
    }
    while (this.underWay > 0) await Bun.sleep(TICK_MS)
  }

  stop(): void {
    this.stopped = true
    this.waiting.length = 0
  }

  /** The events since the last call. */
  take(): Tally {
    const { latencies, counts } = this
    this.latencies = []
    this.counts = { due: 0, served: 0, refused: 0, broken: 0 }
    return { ...counts, p50: quantile(latencies, 0.5), p99: quantile(latencies, 0.99), max: quantile(latencies, 1) }
  }

  private start(): void {
    while (this.underWay < this.shared.most) {
      const dueAt = this.waiting.shift()
      if (dueAt === undefined) return
      this.underWay++
      this.counts.due++
      void this.one(dueAt)
    }
  }

  private async one(dueAt: number): Promise<void> {
    const secret = this.shared.secrets[this.turn++ % this.shared.secrets.length]
    try {
      const answer = await fetch(this.shared.url, { headers: { authorization: `Bearer ${secret}` } })
      await answer.arrayBuffer()
      if (answer.status === 200) {
        this.counts.served++
        this.served++
      } else this.counts.refused++
    } catch {
      this.counts.broken++
      this.broken++
    }
    this.latencies.push(performance.now() - dueAt)
    this.underWay--
    this.start()
  }
}
