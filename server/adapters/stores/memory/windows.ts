import {
  type Dimension,
  type Exceeded,
  NOTHING,
  requestUnits,
  type Subject,
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

/** Windows of one process. They follow the clock: a call while the clock is far ahead does not affect this minute. */
export class MemoryWindows implements WindowStore {
  private readonly counters = new Map<string, WindowCounter>()
  private sweptMinute = 0
  private sweeps = 0

  takeAll(subjects: readonly Subject[], cost: WindowUsage, minute: number, part = 1): Exceeded | null {
    this.sweep(minute)
    for (let index = 0; index < subjects.length; index++) {
      const subject = subjects[index] as Subject
      const dimension = exceeded(subject, this.counters.get(subject.name), cost, { minute, part })
      if (dimension) return { index, dimension }
    }
    if (cost.requests + cost.tokens + cost.slots > 0) for (const subject of subjects) this.take(subject, cost, minute)
    return null
  }

  read(subject: string, minute: number): WindowUsage {
    const counter = this.counters.get(subject)
    if (!counter) return NOTHING
    counter.used = this.sweeps
    const window = windowOf(counter, minute)
    return { requests: window?.requests ?? 0, tokens: window?.tokens ?? 0, slots: counter.slots }
  }

  adjust(subject: string, change: WindowUsage, minute: number): void {
    const counter = this.counters.get(subject)
    if (!counter) return
    counter.slots = Math.max(0, counter.slots + change.slots)
    const window = windowOf(counter, minute)
    if (!window) return
    window.requests = Math.max(0, window.requests + change.requests)
    window.tokens = Math.max(0, window.tokens + change.tokens)
  }

  private take(subject: Subject, cost: WindowUsage, minute: number): void {
    let counter = this.counters.get(subject.name)
    if (!counter) {
      counter = { slots: 0, minutes: [], used: 0 }
      this.counters.set(subject.name, counter)
    }
    const window = windowOf(counter, minute) ?? openWindow(counter, minute)
    counter.used = this.sweeps
    counter.slots += cost.slots
    window.requests += requestsOf(subject, cost)
    window.tokens += cost.tokens
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

function windowOf(counter: WindowCounter, minute: number): Minute | undefined {
  for (const known of counter.minutes) if (known.minute === minute) return known
  return undefined
}

function openWindow(counter: WindowCounter, minute: number): Minute {
  const opened = { minute, requests: 0, tokens: 0 }
  const away = (one: Minute) => Math.abs(one.minute - minute)
  const nearest = [...counter.minutes].sort((one, other) => away(one) - away(other))
  counter.minutes = [opened, ...nearest.slice(0, KEPT_MINUTES - 1)]
  return opened
}

function requestsOf(subject: Subject, { requests }: WindowUsage): number {
  return requests === 0 ? 0 : requests * requestUnits(subject)
}

/** The first limit of which the take would exceed this part, or null. A cost of zero exceeds none. */
function exceeded(
  subject: Subject,
  counter: WindowCounter | undefined,
  cost: WindowUsage,
  { minute, part }: { readonly minute: number; readonly part: number },
): Dimension | null {
  const { rpm, tpm, concurrency } = subject.limits
  const window = counter && windowOf(counter, minute)
  const requests = requestsOf(subject, cost)
  if (requests > 0 && (window?.requests ?? 0) + requests > rpm * part) return 'requests'
  if (cost.tokens > 0 && (window?.tokens ?? 0) + cost.tokens > tpm * part) return 'tokens'
  return cost.slots > 0 && (counter?.slots ?? 0) + cost.slots > concurrency * part ? 'slots' : null
}
