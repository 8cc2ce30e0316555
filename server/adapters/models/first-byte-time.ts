import type { Breaker } from './breaker'

/** The part of the newest call in the average. */
const NEWEST = 0.2
/** An older average says little: the upstream is asked again by one call. */
const RECENT_MS = 60_000

/** Never measured: behind all that were, once a call is on its way to measure it. */
const UNKNOWN = Number.MAX_VALUE / 2

interface Average {
  ms: number
  /** When it was measured, or asked for, last. */
  at: number
}

/** How long one model at one upstream takes to its first byte: a moving average of its recent calls, for streams and plain answers apart. */
export class FirstByteTime {
  private readonly breaker: Pick<Breaker, 'state'>
  private readonly averages: [plain: Average, streamed: Average] = [
    { ms: UNKNOWN, at: Number.NEGATIVE_INFINITY },
    { ms: UNKNOWN, at: Number.NEGATIVE_INFINITY },
  ]

  constructor(breaker: Pick<Breaker, 'state'>) {
    this.breaker = breaker
  }

  /** For sorting: without a recent one first, and last while its breaker is not closed. */
  of(isStream: boolean): number {
    const { ms, at } = this.average(isStream)
    if (this.breaker.state !== 'closed') return Number.MAX_VALUE
    return performance.now() - at > RECENT_MS ? -1 : ms
  }

  /** A call is on its way to it, so that others need not measure it. */
  asked(isStream: boolean): void {
    const average = this.average(isStream)
    if (performance.now() - average.at > RECENT_MS) average.at = performance.now()
  }

  /** `ms`: until the headers of an answer. */
  measured(ms: number, isStream: boolean): void {
    const average = this.average(isStream)
    average.ms = average.ms === UNKNOWN ? ms : average.ms + (ms - average.ms) * NEWEST
    average.at = performance.now()
  }

  /** It did not answer within `ms`, so its earlier times say nothing any more. */
  ranOut(ms: number, isStream: boolean): void {
    const average = this.average(isStream)
    average.ms = ms
    average.at = performance.now()
  }

  private average(isStream: boolean): Average {
    return this.averages[isStream ? 1 : 0]
  }
}
