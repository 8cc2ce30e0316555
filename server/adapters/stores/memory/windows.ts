import {
  type Dimension,
  NOTHING,
  type Take,
  type TakeResult,
  type WindowStore,
  type WindowUsage,
} from '../../../core/limits/limiter'

interface Minute {
  readonly minute: number
  requests: number
  tokens: number
}

interface WindowCounter {
  slots: number
  /** The most recently used minutes. */
  minutes: readonly Minute[]
  /** The number of the last sweep before it was used. */
  used: number
}

/** The number of minutes to keep, so that a clock that is set back finds them again. The ones farthest from now are dropped first. */
const KEPT_MINUTES = 4
/** A counter that was not used for this many sweeps is dropped. */
const IDLE_SWEEPS = 3

/** The counter that one take is for. */
interface Found {
  readonly take: Take
  readonly counter: WindowCounter
  readonly window: Minute
}

/**
 * Windows of one process. Atomic because `takeAll` is one step. Windows follow the
 * clock: a call while the clock is far ahead does not affect this minute.
 */
export class MemoryWindows implements WindowStore {
  private readonly counters = new Map<string, WindowCounter>()
  private sweptMinute = 0
  private sweeps = 0

  takeAll(takes: readonly Take[], minute: number): TakeResult {
    this.sweep(minute)
    const found: Found[] = []
    for (const take of takes) found.push(this.counterOf(take, minute))
    for (const one of found) {
      const dimension = exceeded(one)
      if (dimension) return { taken: false, used: found.map(usageOf), by: { index: found.indexOf(one), dimension } }
    }
    for (const { take, counter, window } of found) {
      counter.used = this.sweeps
      counter.slots += take.cost.slots
      window.requests += take.cost.requests
      window.tokens += take.cost.tokens
      if (take.cost.requests + take.cost.tokens + take.cost.slots > 0) this.counters.set(take.subject.name, counter)
    }
    return { taken: true, used: found.map(usageOf) }
  }

  adjust(subject: string, change: WindowUsage, minute: number): WindowUsage {
    const counter = this.counters.get(subject)
    if (!counter) return NOTHING
    counter.slots = Math.max(0, counter.slots + change.slots)
    const window = counter.minutes.find((known) => known.minute === minute)
    if (window) {
      window.requests = Math.max(0, window.requests + change.requests)
      window.tokens = Math.max(0, window.tokens + change.tokens)
    }
    return usage(counter, window)
  }

  private counterOf(take: Take, minute: number): Found {
    const counter = this.counters.get(take.subject.name) ?? { slots: 0, minutes: [], used: 0 }
    return { take, counter, window: windowOf(counter, minute) }
  }

  /** Once a minute, drops idle counters, so that memory depends on recent callers only. */
  private sweep(minute: number): void {
    if (minute === this.sweptMinute) return
    this.sweptMinute = minute
    this.sweeps++
    for (const [name, counter] of this.counters)
      if (counter.slots === 0 && this.sweeps - counter.used > IDLE_SWEEPS) this.counters.delete(name)
  }
}

function windowOf(counter: WindowCounter, minute: number): Minute {
  for (const known of counter.minutes) if (known.minute === minute) return known
  return openWindow(counter, minute)
}

function openWindow(counter: WindowCounter, minute: number): Minute {
  const opened = { minute, requests: 0, tokens: 0 }
  const away = (one: Minute) => Math.abs(one.minute - minute)
  const nearest = [...counter.minutes].sort((one, other) => away(one) - away(other))
  counter.minutes = [opened, ...nearest.slice(0, KEPT_MINUTES - 1)]
  return opened
}

/** The first limit that the take would exceed, or null. A cost of zero exceeds none. */
function exceeded({ take, counter, window }: Found): Dimension | null {
  const { cost, subject } = take
  const { rpm, tpm, concurrency } = subject.limits
  if (cost.requests > 0 && window.requests + cost.requests > rpm) return 'requests'
  if (cost.tokens > 0 && window.tokens + cost.tokens > tpm) return 'tokens'
  return cost.slots > 0 && counter.slots + cost.slots > concurrency ? 'slots' : null
}

function usageOf({ counter, window }: Found): WindowUsage {
  return usage(counter, window)
}

function usage({ slots }: WindowCounter, window: Minute | undefined): WindowUsage {
  return { requests: window?.requests ?? 0, tokens: window?.tokens ?? 0, slots }
}
