import type { Clock } from '../clock'
import { no, ok, type Result } from '../result'
import type { Limits } from './tier'
import { type Dimension, minuteOf, NOTHING, resetSeconds, secondsToReset, type Usage } from './window'

/** A counter and its caps: the key's own window, and one for each endpoint override beside it. */
export interface Subject {
  readonly name: string
  readonly limits: Limits
}

export interface Take {
  readonly subject: Subject
  readonly cost: Usage
}

export type TakeResult =
  | { readonly taken: true; readonly used: readonly Usage[] }
  | { readonly taken: false; readonly used: readonly Usage[]; readonly by: { index: number; dimension: Dimension } }

/** Counts per subject and wall-clock minute. A cost of zero is never refused: that is how a window is read. */
export interface WindowStore {
  /** All or nothing, in one atomic step: a refused call has taken nothing. */
  takeAll(takes: readonly Take[], minute: number): Promise<TakeResult>
  /** Adds to what was taken in `minute`, negative to give back; tokens of a minute that is over are forgotten. */
  adjust(subject: string, change: Usage, minute: number): Promise<Usage>
}

/** The content of the limit headers (spec 8). */
export interface Readings {
  readonly requests: Reading
  readonly tokens: Reading
  readonly concurrency: Omit<Reading, 'reset'>
}
export interface Reading {
  readonly limit: number
  readonly remaining: number
  /** UNIX seconds. */
  readonly reset: number
}

export interface LimitRefusal {
  readonly dimension: Dimension
  readonly retryAfterSeconds: number
  readonly readings: Readings
}

/** A place, and the tokens that were reserved in it, held for the life of one call. */
export interface Ticket {
  /** The windows with this place taken. */
  readonly readings: Readings
  /** Reserves the estimated tokens, or none. */
  reserve(subjects: readonly Subject[], estimatedTokens: number): Promise<Result<Readings, LimitRefusal>>
  /** Has something else given back together with the place. */
  with(giveBack: () => void): void
  /** Gives the place back and corrects the tokens to what was used. The second call does nothing. */
  finish(actualTokens: number): Promise<void>
}

/**
 * RPM is taken at the door and never given back; tokens and concurrency are a ticket that is held for the life of the call
 * and corrected when the real count is known. A refusal is a value; a broken store is an exception (ADR 0004).
 */
export class Limiter {
  private readonly windows: WindowStore
  private readonly clock: Clock

  constructor(windows: WindowStore, clock: Clock) {
    this.windows = windows
    this.clock = clock
  }

  /** Takes one request off every subject's minute, or off none. */
  async countRequest(subjects: readonly Subject[]): Promise<Result<Readings, LimitRefusal>> {
    return this.take(subjects, { ...NOTHING, requests: 1 }, this.clock.now())
  }

  /** The windows as they stand; takes nothing. */
  async read(subjects: readonly Subject[]): Promise<Readings> {
    const now = this.clock.now()
    const result = await this.windows.takeAll(
      subjects.map((subject) => ({ subject, cost: NOTHING })),
      minuteOf(now),
    )
    return readings(subjects, result.used, now)
  }

  /** Takes a place of a streaming or long-running call, or nothing. Its tokens are reserved once they are known. */
  async enter(subjects: readonly Subject[]): Promise<Result<Ticket, LimitRefusal>> {
    const taken = await this.take(subjects, { ...NOTHING, places: 1 }, this.clock.now())
    if (!taken.ok) return taken
    const reserved: { readonly name: string; readonly tokens: number; readonly minute: number }[] = []
    const others: (() => void)[] = []
    let open = true
    return ok({
      readings: taken.value,
      with: (giveBack) => void others.push(giveBack),
      reserve: async (counted, tokens) => {
        const now = this.clock.now()
        const result = await this.take(counted, { ...NOTHING, tokens }, now)
        if (result.ok) for (const { name } of counted) reserved.push({ name, tokens, minute: minuteOf(now) })
        return result
      },
      finish: async (actualTokens) => {
        if (!open) return
        open = false
        for (const giveBack of others) giveBack()
        for (const { name, tokens, minute } of reserved)
          await this.windows.adjust(name, { ...NOTHING, tokens: actualTokens - tokens }, minute)
        for (const { name } of subjects) await this.windows.adjust(name, { ...NOTHING, places: -1 }, 0)
      },
    })
  }

  /** Gives one request back that was taken at `at`. */
  async giveBack(subjects: readonly Subject[], at: number): Promise<void> {
    for (const { name } of subjects) await this.windows.adjust(name, { ...NOTHING, requests: -1 }, minuteOf(at))
  }

  private async take(subjects: readonly Subject[], cost: Usage, now: number): Promise<Result<Readings, LimitRefusal>> {
    const result = await this.windows.takeAll(
      subjects.map((subject) => ({ subject, cost })),
      minuteOf(now),
    )
    const left = readings(subjects, result.used, now)
    if (result.taken) return ok(left)
    const { dimension } = result.by
    return no({
      dimension,
      retryAfterSeconds: dimension === 'places' ? 1 : secondsToReset(now),
      readings: left,
    })
  }
}

/** Of several windows, the headers show the one with the least left (spec-answers 9). */
function readings(subjects: readonly Subject[], used: readonly Usage[], now: number): Readings {
  const reset = resetSeconds(now)
  const least = (cap: keyof Limits, dimension: Dimension) => {
    let best = { limit: 0, remaining: Number.POSITIVE_INFINITY }
    for (const [i, subject] of subjects.entries()) {
      const limit = subject.limits[cap]
      const remaining = Math.max(0, limit - (used[i]?.[dimension] ?? 0))
      if (remaining < best.remaining) best = { limit, remaining }
    }
    return best
  }
  return {
    requests: { ...least('rpm', 'requests'), reset },
    tokens: { ...least('tpm', 'tokens'), reset },
    concurrency: least('concurrency', 'places'),
  }
}
