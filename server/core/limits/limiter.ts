import type { Clock } from '../clock'
import { err, ok, type Result } from '../result'
import type { Limits } from './tier'
import { type Dimension, minuteOf, NOTHING, resetSeconds, secondsToReset, type Usage } from './window'

/** A named counter with its limits: the key's own window, or that of an endpoint with its own limit. */
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

/** Counts usage per subject and wall-clock minute. A cost of zero is never refused and serves to read a window. */
export interface WindowStore {
  /** Takes all or nothing in one atomic step. */
  takeAll(takes: readonly Take[], minute: number): Promise<TakeResult>
  /** Adds to the usage of `minute`; a negative change gives back. Ignores tokens of a past minute. */
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

/** A concurrency place and its reserved tokens, held for the duration of one call. */
export interface Ticket {
  /** The windows after this place was taken. */
  readonly readings: Readings
  /** Reserves the estimated tokens. If a limit does not allow it, reserves none. */
  reserve(subjects: readonly Subject[], estimatedTokens: number): Promise<Result<Readings, LimitRefusal>>
  /** Registers something to release together with the place. */
  with(release: () => void): void
  /** Releases the place and corrects the tokens to the actual number. Idempotent. */
  finish(actualTokens: number): Promise<void>
}

const ONE_REQUEST: Usage = { ...NOTHING, requests: 1 }

/**
 * Enforces rate limits. A request is counted when it arrives. Tokens and concurrency are held by a ticket for the duration of the call
 * and corrected once the actual count is known. A refusal is a return value; a failing store throws (ADR 0004).
 */
export class Limiter {
  private readonly windows: WindowStore
  private readonly clock: Clock

  constructor(windows: WindowStore, clock: Clock) {
    this.windows = windows
    this.clock = clock
  }

  /** Counts a request against every subject, or against none if one has reached its limit. */
  countRequest(subjects: readonly Subject[]): Promise<Result<Readings, LimitRefusal>> {
    return this.take(subjects, ONE_REQUEST, this.clock.now())
  }

  /** Reads the windows without taking anything. */
  async read(subjects: readonly Subject[]): Promise<Readings> {
    const now = this.clock.now()
    const result = await this.windows.takeAll(
      subjects.map((subject) => ({ subject, cost: NOTHING })),
      minuteOf(now),
    )
    return readings(subjects, result.used, now)
  }

  /** Takes a concurrency place for a streaming or long-running call. Its tokens are reserved later, once they are known. */
  async enter(subjects: readonly Subject[]): Promise<Result<Ticket, LimitRefusal>> {
    const taken = await this.take(subjects, { ...NOTHING, places: 1 }, this.clock.now())
    if (!taken.ok) return taken
    const reserved: { readonly name: string; readonly tokens: number; readonly minute: number }[] = []
    const releases: (() => void)[] = []
    let open = true
    return ok({
      readings: taken.value,
      with: (release) => void releases.push(release),
      reserve: async (counted, tokens) => {
        const now = this.clock.now()
        const result = await this.take(counted, { ...NOTHING, tokens }, now)
        if (result.ok) for (const { name } of counted) reserved.push({ name, tokens, minute: minuteOf(now) })
        return result
      },
      finish: async (actualTokens) => {
        if (!open) return
        open = false
        for (const release of releases) release()
        for (const { name, tokens, minute } of reserved)
          await this.windows.adjust(name, { ...NOTHING, tokens: actualTokens - tokens }, minute)
        for (const { name } of subjects) await this.windows.adjust(name, { ...NOTHING, places: -1 }, 0)
      },
    })
  }

  /** Gives back one request that was counted at `at`. */
  async giveBack(subjects: readonly Subject[], at: number): Promise<void> {
    for (const { name } of subjects) await this.windows.adjust(name, { ...NOTHING, requests: -1 }, minuteOf(at))
  }

  private async take(subjects: readonly Subject[], cost: Usage, now: number): Promise<Result<Readings, LimitRefusal>> {
    const takes: Take[] = []
    for (const subject of subjects) takes.push({ subject, cost })
    const result = await this.windows.takeAll(takes, minuteOf(now))
    const left = readings(subjects, result.used, now)
    if (result.taken) return ok(left)
    const { dimension } = result.by
    return err({
      dimension,
      retryAfterSeconds: dimension === 'places' ? 1 : secondsToReset(now),
      readings: left,
    })
  }
}

/** The readings for the limit headers: of several windows, the one with the least remaining (spec-answers 9). */
function readings(subjects: readonly Subject[], used: readonly Usage[], now: number): Readings {
  const reset = resetSeconds(now)
  return {
    requests: tightest(subjects, used, { cap: 'rpm', dimension: 'requests', reset }),
    tokens: tightest(subjects, used, { cap: 'tpm', dimension: 'tokens', reset }),
    concurrency: tightest(subjects, used, { cap: 'concurrency', dimension: 'places', reset }),
  }
}

function tightest(
  subjects: readonly Subject[],
  used: readonly Usage[],
  { cap, dimension, reset }: { readonly cap: keyof Limits; readonly dimension: Dimension; readonly reset: number },
): Reading {
  let limit = 0
  let remaining = Number.POSITIVE_INFINITY
  for (let i = 0; i < subjects.length; i++) {
    const own = subjects[i]?.limits[cap] ?? 0
    const left = Math.max(0, own - (used[i]?.[dimension] ?? 0))
    if (left >= remaining) continue
    limit = own
    remaining = left
  }
  return { limit, remaining, reset }
}
