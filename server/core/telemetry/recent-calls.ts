import type { Clock } from '../clock'
import type { EndedCall } from './ended-call'

/** The recent calls, for the operator's page. */
export interface RecentReading {
  /** The time that it covers: at most five minutes. */
  readonly seconds: number
  readonly calls: number
  /** Refusals and failures, the most frequent first. */
  readonly codes: readonly { readonly code: string; readonly calls: number }[]
  readonly upstreams: readonly RecentUpstream[]
}

interface RecentUpstream {
  readonly name: string
  readonly requests: number
  readonly failures: number
  /** Their average duration. */
  readonly ms: number
}

interface Interval {
  readonly number: number
  calls: number
  readonly codes: Map<string, number>
  readonly upstreams: Map<string, { requests: number; failures: number; ms: number }>
}

const INTERVAL_MS = 10_000
const INTERVALS = 30
/** More upstreams than this in one interval are left out. */
const MAX_UPSTREAMS = 200

/** Counts the calls of the last five minutes, in intervals of ten seconds. */
export class RecentCalls {
  private readonly clock: Clock
  private readonly startedAt: number
  private intervals: Interval[] = []

  /** `clock` must be monotonic. */
  constructor(clock: Clock) {
    this.clock = clock
    this.startedAt = clock.now()
  }

  callEnded({ code, status }: EndedCall): void {
    const interval = this.current()
    interval.calls++
    if (code !== null && status >= 400) interval.codes.set(code, (interval.codes.get(code) ?? 0) + 1)
  }

  upstreamEnded(name: string, ms: number, failure: string | null): void {
    const { upstreams } = this.current()
    const known = upstreams.get(name) ?? { requests: 0, failures: 0, ms: 0 }
    if (known.requests === 0 && upstreams.size >= MAX_UPSTREAMS) return
    known.requests++
    if (failure !== null) known.failures++
    known.ms += ms
    upstreams.set(name, known)
  }

  read(): RecentReading {
    const first = this.numberNow() - INTERVALS + 1
    const codes = new Map<string, number>()
    const upstreams = new Map<string, { requests: number; failures: number; ms: number }>()
    let calls = 0
    for (const interval of this.intervals.filter(({ number }) => number >= first)) {
      calls += interval.calls
      for (const [code, count] of interval.codes) codes.set(code, (codes.get(code) ?? 0) + count)
      for (const [name, { requests, failures, ms }] of interval.upstreams) {
        const sum = upstreams.get(name) ?? { requests: 0, failures: 0, ms: 0 }
        upstreams.set(name, { requests: sum.requests + requests, failures: sum.failures + failures, ms: sum.ms + ms })
      }
    }
    const since = Math.max(this.startedAt, first * INTERVAL_MS)
    return {
      seconds: Math.max(1, Math.round((this.clock.now() - since) / 1000)),
      calls,
      codes: [...codes].map(([code, count]) => ({ code, calls: count })).sort((a, b) => b.calls - a.calls),
      upstreams: [...upstreams]
        .map(([name, { requests, failures, ms }]) => ({ name, requests, failures, ms: ms / requests }))
        .sort((a, b) => b.requests - a.requests),
    }
  }

  private numberNow(): number {
    return Math.floor(this.clock.now() / INTERVAL_MS)
  }

  private current(): Interval {
    const number = this.numberNow()
    const last = this.intervals.at(-1)
    if (last?.number === number) return last
    const interval: Interval = { number, calls: 0, codes: new Map(), upstreams: new Map() }
    this.intervals = [...this.intervals.slice(1 - INTERVALS), interval]
    return interval
  }
}
