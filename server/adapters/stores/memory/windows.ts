import type { Take, TakeResult, WindowStore } from '../../../core/limits/limiter'
import type { Limits } from '../../../core/limits/tier'
import { type Dimension, NOTHING, type Usage } from '../../../core/limits/window'

interface Minute {
  readonly minute: number
  requests: number
  tokens: number
}

interface WindowCounter {
  places: number
  /** The most recently used minutes. */
  minutes: readonly Minute[]
  /** The number of the last sweep before it was used. */
  used: number
}

/** The number of minutes to keep, so that a clock that is set back finds them again. The ones farthest from now are dropped first. */
const KEPT_MINUTES = 4
/** A counter that was not used for this many sweeps is dropped. */
const IDLE_SWEEPS = 3

const CAPS: readonly (readonly [Dimension, keyof Limits])[] = [
  ['requests', 'rpm'],
  ['tokens', 'tpm'],
  ['places', 'concurrency'],
]

/**
 * Windows of one process. Atomic because `takeAll` runs from its first read to its last write without an `await`. Windows follow the
 * clock: a call while the clock is far ahead does not affect this minute.
 */
export class MemoryWindows implements WindowStore {
  private readonly counters = new Map<string, WindowCounter>()
  private sweptMinute = 0
  private sweeps = 0

  async takeAll(takes: readonly Take[], minute: number): Promise<TakeResult> {
    this.sweep(minute)
    const found = takes.map((take) => {
      const counter = this.counters.get(take.subject.name) ?? { places: 0, minutes: [], used: 0 }
      return { take, counter, window: windowOf(counter, minute) }
    })
    const used = () => found.map(({ counter, window }) => usage(counter, window))
    for (const [index, { take, counter, window }] of found.entries()) {
      const now = usage(counter, window)
      for (const [dimension, cap] of CAPS) {
        const cost = take.cost[dimension]
        if (cost > 0 && now[dimension] + cost > take.subject.limits[cap])
          return { taken: false, used: used(), by: { index, dimension } }
      }
    }
    for (const { take, counter, window } of found) {
      counter.used = this.sweeps
      counter.places += take.cost.places
      window.requests += take.cost.requests
      window.tokens += take.cost.tokens
      if (take.cost.requests + take.cost.tokens + take.cost.places > 0) this.counters.set(take.subject.name, counter)
    }
    return { taken: true, used: used() }
  }

  async adjust(subject: string, change: Usage, minute: number): Promise<Usage> {
    const counter = this.counters.get(subject)
    if (!counter) return NOTHING
    counter.places = Math.max(0, counter.places + change.places)
    const window = counter.minutes.find((known) => known.minute === minute)
    if (window) {
      window.requests = Math.max(0, window.requests + change.requests)
      window.tokens = Math.max(0, window.tokens + change.tokens)
    }
    return usage(counter, window)
  }

  /** Once a minute, drops idle counters, so that memory depends on recent callers only. */
  private sweep(minute: number): void {
    if (minute === this.sweptMinute) return
    this.sweptMinute = minute
    this.sweeps++
    for (const [name, counter] of this.counters)
      if (counter.places === 0 && this.sweeps - counter.used > IDLE_SWEEPS) this.counters.delete(name)
  }
}

function windowOf(counter: WindowCounter, minute: number): Minute {
  const known = counter.minutes.find((one) => one.minute === minute)
  if (known) return known
  const opened = { minute, requests: 0, tokens: 0 }
  const away = (one: Minute) => Math.abs(one.minute - minute)
  const nearest = [...counter.minutes].sort((one, other) => away(one) - away(other))
  counter.minutes = [opened, ...nearest.slice(0, KEPT_MINUTES - 1)]
  return opened
}

function usage({ places }: WindowCounter, window: Minute | undefined): Usage {
  return { requests: window?.requests ?? 0, tokens: window?.tokens ?? 0, places }
}
