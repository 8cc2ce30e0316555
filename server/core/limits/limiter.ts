import { type Clock, MINUTE_MS } from '../clock'
import { err, ok, type Result } from '../result'
import type { Limits } from './tier'

/** The usage of a subject: requests and tokens in the current minute, and concurrency slots. */
export interface WindowUsage {
  readonly requests: number
  readonly tokens: number
  readonly slots: number
}

export const NOTHING: WindowUsage = { requests: 0, tokens: 0, slots: 0 }

export type Dimension = keyof WindowUsage

/** The number of the window. Windows are aligned to the wall-clock minute (spec D9). */
export function minuteOf(now: number): number {
  return Math.floor(now / MINUTE_MS)
}

/** When the window of `now` ends, in UNIX seconds. */
export function resetSeconds(now: number): number {
  return (minuteOf(now) + 1) * 60
}

/** Seconds until the window ends, at least 1. */
export function secondsToReset(now: number): number {
  return Math.max(1, Math.ceil(((minuteOf(now) + 1) * MINUTE_MS - now) / 1000))
}

/** A named counter with its limits: the key's own window, or that of an endpoint with its own limit. */
export interface Subject {
  readonly name: string
  readonly limits: Limits
  /** How many requests of this window one request takes; 1 if absent. At most the whole window. */
  readonly cost?: number
  /** Whose window it is, if not the caller's own. */
  readonly owner?: 'account'
}

export type TakeResult =
  | { readonly taken: true; readonly used: readonly WindowUsage[] }
  | {
      readonly taken: false
      readonly used: readonly WindowUsage[]
      readonly by: { index: number; dimension: Dimension }
    }

/** Counts usage per subject and wall-clock minute. It answers at once, so what a call checks and takes is one step. */
export interface WindowStore {
  /** Takes the cost from each subject, or nothing from any. A cost of zero is never refused and serves to read a window. */
  takeAll(subjects: readonly Subject[], cost: WindowUsage, minute: number): TakeResult
  /** Adds to the usage of `minute`; a negative change gives back. Ignores tokens of a past minute. */
  adjust(subject: string, change: WindowUsage, minute: number): WindowUsage
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
  /** The window that had too little left. */
  readonly subject: Subject | undefined
  readonly dimension: Dimension
  readonly retryAfterSeconds: number
  readonly readings: Readings
}

/** A concurrency slot and its reserved tokens, held for the duration of one call. */
export interface Ticket {
  /** The windows after this slot was taken. */
  readonly readings: Readings
  /** Reserves the estimated tokens. If a limit does not allow it, reserves none. */
  reserve(subjects: readonly Subject[], estimatedTokens: number): Taking
  /** Registers something to release together with the slot. */
  with(release: () => void): void
  /** Releases the slot and corrects the tokens to the actual number. Idempotent. */
  finish(actualTokens: number): void
}

/** The outcome of a take: the windows after it, or why nothing was taken. */
type Taking = Result<Readings, LimitRefusal>

const ONE_REQUEST: WindowUsage = { ...NOTHING, requests: 1 }
const ONE_SLOT: WindowUsage = { ...NOTHING, slots: 1 }
const SLOT_BACK: WindowUsage = { ...NOTHING, slots: -1 }

/**
 * Enforces rate limits. A request is counted when it arrives. Tokens and concurrency are held by a ticket for the duration of the call
 * and corrected once the actual count is known. A refusal is a return value (ADR 2).
 */
export class Limiter {
  private readonly windows: WindowStore
  private readonly clock: Clock

  constructor(windows: WindowStore, clock: Clock) {
    this.windows = windows
    this.clock = clock
  }

  /** Counts a request against every subject, or against none if one has reached its limit. */
  countRequest(subjects: readonly Subject[]): Taking {
    return take(this.windows, subjects, ONE_REQUEST, this.clock.now())
  }

  /** Reads the windows without taking anything. */
  read(subjects: readonly Subject[]): Readings {
    const now = this.clock.now()
    return readings(subjects, this.windows.takeAll(subjects, NOTHING, minuteOf(now)).used, now)
  }

  /** Takes a concurrency slot for a streaming or long-running call. Its tokens are reserved later, once they are known. */
  enter(subjects: readonly Subject[]): Result<Ticket, LimitRefusal> {
    const taken = take(this.windows, subjects, ONE_SLOT, this.clock.now())
    return taken.ok ? ok(new Slot(this.windows, this.clock, subjects, taken.value)) : taken
  }

  /** Gives back one request that was counted at `at`. */
  giveBack(subjects: readonly Subject[], at: number): void {
    for (const subject of subjects)
      this.windows.adjust(subject.name, { ...NOTHING, requests: -requestUnits(subject) }, minuteOf(at))
  }
}

/** How many requests of its window one request takes. */
export function requestUnits({ cost, limits }: Subject): number {
  return cost === undefined ? 1 : Math.min(cost, limits.rpm)
}

interface ReservedTokens {
  readonly subjects: readonly Subject[]
  readonly tokens: number
  readonly minute: number
}

const NO_TOKENS: readonly ReservedTokens[] = []

class Slot implements Ticket {
  readonly readings: Readings
  private readonly windows: WindowStore
  private readonly clock: Clock
  private readonly subjects: readonly Subject[]
  private reserved = NO_TOKENS
  private releases: readonly (() => void)[] = []
  private isOpen = true

  constructor(windows: WindowStore, clock: Clock, subjects: readonly Subject[], readings: Readings) {
    this.windows = windows
    this.clock = clock
    this.subjects = subjects
    this.readings = readings
  }

  with(release: () => void): void {
    this.releases = [...this.releases, release]
  }

  reserve(counted: readonly Subject[], tokens: number): Taking {
    const now = this.clock.now()
    const taken = take(this.windows, counted, { ...NOTHING, tokens }, now)
    if (taken.ok) this.reserved = [...this.reserved, { subjects: counted, tokens, minute: minuteOf(now) }]
    return taken
  }

  finish(actualTokens: number): void {
    if (!this.isOpen) return
    this.isOpen = false
    for (const release of this.releases) release()
    for (const { subjects, tokens, minute } of this.reserved)
      for (const { name } of subjects) this.windows.adjust(name, { ...NOTHING, tokens: actualTokens - tokens }, minute)
    for (const { name } of this.subjects) this.windows.adjust(name, SLOT_BACK, 0)
  }
}

function take(windows: WindowStore, subjects: readonly Subject[], cost: WindowUsage, now: number): Taking {
  const result = windows.takeAll(subjects, cost, minuteOf(now))
  const left = readings(subjects, result.used, now)
  if (result.taken) return ok(left)
  const { index, dimension } = result.by
  return err({
    subject: subjects[index],
    dimension,
    retryAfterSeconds: dimension === 'slots' ? 1 : secondsToReset(now),
    readings: left,
  })
}

/** The readings for the limit headers: of several windows, the one with the least remaining (spec D9). */
function readings(subjects: readonly Subject[], used: readonly WindowUsage[], now: number): Readings {
  const reset = resetSeconds(now)
  return {
    requests: tightest(subjects, used, { cap: 'rpm', dimension: 'requests', reset }),
    tokens: tightest(subjects, used, { cap: 'tpm', dimension: 'tokens', reset }),
    concurrency: tightest(subjects, used, { cap: 'concurrency', dimension: 'slots', reset }),
  }
}

function tightest(
  subjects: readonly Subject[],
  used: readonly WindowUsage[],
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
