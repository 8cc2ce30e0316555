/** Upper bounds of the buckets of durations, in seconds. */
export const DURATION_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

/** More names than this are counted together as `other`, so that no catalog and no caller makes the metrics large. */
const MAX_NAMES = 200
const OTHER = 'other'

/** Durations in buckets. The library's own histogram takes ten times as long per observation. */
export class Durations {
  readonly buckets: number[]
  count = 0
  sum = 0
  private readonly bounds: readonly number[]

  constructor(bounds = DURATION_BUCKETS) {
    this.bounds = bounds
    this.buckets = bounds.map(() => 0)
  }

  observe(seconds: number): void {
    this.count++
    this.sum += seconds
    const { bounds, buckets } = this
    for (let i = 0; i < bounds.length; i++)
      if (seconds <= (bounds[i] ?? 0)) {
        buckets[i] = (buckets[i] ?? 0) + 1
        return
      }
  }
}

/** The observations of one operation or one upstream: how often by result, and how long. */
export class Series {
  readonly results = new Map<string, number>()
  readonly durations = new Durations()

  add(result: string, ms: number): void {
    this.results.set(result, (this.results.get(result) ?? 0) + 1)
    this.durations.observe(ms / 1000)
  }
}

/** Series by a bounded set of names. */
export class NamedSeries {
  private readonly byName = new Map<string, Series>()

  add(name: string, result: string, ms: number): void {
    const known = this.byName.get(name)
    if (known) known.add(result, ms)
    else this.opened(name).add(result, ms)
  }

  entries(): Iterable<readonly [string, Series]> {
    return this.byName
  }

  private opened(name: string): Series {
    const bounded = this.byName.size < MAX_NAMES ? name : OTHER
    const series = this.byName.get(bounded) ?? new Series()
    this.byName.set(bounded, series)
    return series
  }
}
