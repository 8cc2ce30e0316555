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

/** Tokens and a place, held for the life of one call. */
export interface Ticket {
  /** Gives the place back and corrects the tokens to what was used. The second call does nothing. */
  finish(actualTokens: number): Promise<void>
  readonly readings: Readings
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

  /** Takes a place and the estimated tokens of a streaming or long-running call, or nothing. */
  async enter(subjects: readonly Subject[], estimatedTokens: number): Promise<Result<Ticket, LimitRefusal>> {
    const now = this.clock.now()
    const taken = await this.take(subjects, { requests: 0, tokens: estimatedTokens, places: 1 }, now)
    if (!taken.ok) return taken
    let open = true
    return ok({
      readings: taken.value,
      finish: async (actualTokens) => {
        if (!open) return
        open = false
        const change = { requests: 0, tokens: actualTokens - estimatedTokens, places: -1 }
        for (const subject of subjects) await this.windows.adjust(subject.name, change, minuteOf(now))
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
