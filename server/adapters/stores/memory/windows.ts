import type { Take, TakeResult, WindowStore } from '../../../core/limits/limiter'
import type { Limits } from '../../../core/limits/tier'
import type { Dimension, Usage } from '../../../core/limits/window'

interface Counter {
  minute: number
  requests: number
  tokens: number
  places: number
}

const CAPS: readonly (readonly [Dimension, keyof Limits])[] = [
  ['requests', 'rpm'],
  ['tokens', 'tpm'],
  ['places', 'concurrency'],
]

/** Windows of one process. Atomic because `takeAll` runs from its first read to its last write without an `await`. */
export class MemoryWindows implements WindowStore {
  private readonly counters = new Map<string, Counter>()
  private sweptMinute = 0

  async takeAll(takes: readonly Take[], asked: number): Promise<TakeResult> {
    // A clock that goes back does not open a window again, not even of a subject that the sweep forgot.
    const minute = Math.max(asked, this.sweptMinute)
    this.sweep(minute)
    const counters = takes.map((take) => this.current(take.subject.name, minute))
    for (const [index, take] of takes.entries()) {
      const counter = counters[index]
      if (!counter) continue
      for (const [dimension, cap] of CAPS) {
        const cost = take.cost[dimension]
        if (cost > 0 && counter[dimension] + cost > take.subject.limits[cap])
          return { taken: false, used: counters.map(usage), by: { index, dimension } }
      }
    }
    for (const [index, take] of takes.entries()) {
      const counter = counters[index]
      if (!counter) continue
      for (const [dimension] of CAPS) counter[dimension] += take.cost[dimension]
      if (take.cost.requests + take.cost.tokens + take.cost.places > 0) this.counters.set(take.subject.name, counter)
    }
    return { taken: true, used: counters.map(usage) }
  }

  async adjust(subject: string, change: Usage, minute: number): Promise<Usage> {
    const counter = this.counters.get(subject)
    if (!counter) return { requests: 0, tokens: 0, places: 0 }
    counter.places = Math.max(0, counter.places + change.places)
    if (counter.minute === minute) {
      counter.requests = Math.max(0, counter.requests + change.requests)
      counter.tokens = Math.max(0, counter.tokens + change.tokens)
    }
    return usage(counter)
  }

  /** The counter at `minute`, which never goes back. */
  private current(name: string, minute: number): Counter {
    const counter = this.counters.get(name)
    if (!counter) return { minute, requests: 0, tokens: 0, places: 0 }
    if (minute > counter.minute) {
      counter.minute = minute
      counter.requests = 0
      counter.tokens = 0
    }
    return counter
  }

  /** Once a minute, forgets who is idle, so that memory follows the callers of a minute and not of all time. */
  private sweep(minute: number): void {
    if (minute <= this.sweptMinute) return
    this.sweptMinute = minute
    for (const [name, counter] of this.counters)
      if (counter.minute < minute && counter.places === 0) this.counters.delete(name)
  }
}

function usage(counter: Counter): Usage {
  return { requests: counter.requests, tokens: counter.tokens, places: counter.places }
}
