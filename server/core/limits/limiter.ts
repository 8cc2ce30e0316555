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

/** The subject, by its position, and the dimension of a take that a limit does not allow. */
export interface Exceeded {
  readonly index: number
  readonly dimension: Dimension
}

/** Counts usage per subject and wall-clock minute. It answers at once, so what a call checks and takes is one step. */
export interface WindowStore {
  /**
   * Takes the cost from each subject, or nothing from any: then returns which limit it would exceed, or this part of it. A cost of zero is never
   * refused.
   */
  takeAll(subjects: readonly Subject[], cost: WindowUsage, minute: number, part?: number): Exceeded | null
  /** The usage of a subject in `minute`. */
  read(subject: string, minute: number): WindowUsage
  /** Adds to the usage of `minute`; a negative change gives back. Ignores tokens of a past minute. */
  adjust(subject: string, change: WindowUsage, minute: number): void
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
  /** Reserves the estimated tokens, once. If a limit does not allow it, reserves none and returns the refusal. */
  reserve(subjects: readonly Subject[], estimatedTokens: number): LimitRefusal | null
  /** Registers something to release together with the slot. */
  with(release: () => void): void
  /** Releases the slot and corrects the tokens to the actual number. Idempotent. */
  finish(actualTokens: number): void
}

const ONE_REQUEST: WindowUsage = { ...NOTHING, requests: 1 }
const ONE_SLOT: WindowUsage = { ...NOTHING, slots: 1 }
const SLOT_BACK: WindowUsage = { ...NOTHING, slots: -1 }

/**
 * Enforces rate limits. A request is counted when it arrives. Tokens and concurrency are held by a ticket for the duration of the call
 * and corrected once the actual count is known. A refusal is a return value (ADR 2).
 */
export class Limiter {
  readonly windows: WindowStore
  readonly clock: Clock
  /** It grants this part of each limit: less than 1 while calls may be open that no window counts yet. */
  part = 1

  constructor(windows: WindowStore, clock: Clock) {
    this.windows = windows
    this.clock = clock
  }

  /** Another for the same windows, which grants whole limits. */
  whole(): Limiter {
    return new Limiter(this.windows, this.clock)
  }

  /** Counts a request against every subject, or against none if one has reached its limit: then returns the refusal. */
  countRequest(subjects: readonly Subject[]): LimitRefusal | null {
    return take(this, subjects, ONE_REQUEST, this.clock.now())
  }

  /** Reads the windows without taking anything. */
  read(subjects: readonly Subject[]): Readings {
    return readings(this.windows, subjects, this.clock.now())
  }

  /** Takes a concurrency slot for a streaming or long-running call. Its tokens are reserved later, once they are known. */
  enter(subjects: readonly Subject[]): Result<Ticket, LimitRefusal> {
    const refusal = take(this, subjects, ONE_SLOT, this.clock.now())
    return refusal ? err(refusal) : ok(new Slot(this, subjects))
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

const NO_SUBJECTS: readonly Subject[] = []

class Slot implements Ticket {
  private readonly limiter: Limiter
  private readonly subjects: readonly Subject[]
  /** Those in whose windows tokens are reserved, since when. */
  private reserved = NO_SUBJECTS
  private tokens = 0
  private minute = 0
  private releases: (() => void)[] | null = null
  private isOpen = true

  constructor(limiter: Limiter, subjects: readonly Subject[]) {
    this.limiter = limiter
    this.subjects = subjects
  }

  with(release: () => void): void {
    if (this.releases) this.releases.push(release)
    else this.releases = [release]
  }

  reserve(subjects: readonly Subject[], tokens: number): LimitRefusal | null {
    if (this.reserved !== NO_SUBJECTS) throw new Error('the tokens of this call are reserved already')
    const now = this.limiter.clock.now()
    const refusal = take(this.limiter, subjects, { requests: 0, tokens, slots: 0 }, now)
    if (refusal) return refusal
    this.reserved = subjects
    this.tokens = tokens
    this.minute = minuteOf(now)
    return null
  }

  finish(actualTokens: number): void {
    if (!this.isOpen) return
    this.isOpen = false
    const { windows } = this.limiter
    for (const release of this.releases ?? []) release()
    if (actualTokens !== this.tokens) {
      const correction = { requests: 0, tokens: actualTokens - this.tokens, slots: 0 }
      for (const { name } of this.reserved) windows.adjust(name, correction, this.minute)
    }
    for (const { name } of this.subjects) windows.adjust(name, SLOT_BACK, 0)
  }
}

function take(
  { windows, part }: Limiter,
  subjects: readonly Subject[],
  cost: WindowUsage,
  now: number,
): LimitRefusal | null {
  const exceeded = windows.takeAll(subjects, cost, minuteOf(now), part)
  if (exceeded === null) return null
  const { index, dimension } = exceeded
  return {
    subject: subjects[index],
    dimension,
    retryAfterSeconds: dimension === 'slots' || part < 1 ? 1 : secondsToReset(now),
    readings: readings(windows, subjects, now),
  }
}

/** The readings for the limit headers: of several windows, the one with the least remaining (spec D9). */
function readings(windows: WindowStore, subjects: readonly Subject[], now: number): Readings {
  const minute = minuteOf(now)
  const reset = resetSeconds(now)
  const requests = { limit: 0, remaining: Number.POSITIVE_INFINITY, reset }
  const tokens = { limit: 0, remaining: Number.POSITIVE_INFINITY, reset }
  const concurrency = { limit: 0, remaining: Number.POSITIVE_INFINITY }
  for (const { name, limits } of subjects) {
    const used = windows.read(name, minute)
    tighten(requests, limits.rpm, used.requests)
    tighten(tokens, limits.tpm, used.tokens)
    tighten(concurrency, limits.concurrency, used.slots)
  }
  return { requests, tokens, concurrency }
}

function tighten(reading: { limit: number; remaining: number }, limit: number, used: number): void {
  const left = Math.max(0, limit - used)
  if (left >= reading.remaining) return
  reading.limit = limit
  reading.remaining = left
}
