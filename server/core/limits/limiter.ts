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

export interface Take {
  readonly subject: Subject
  readonly cost: WindowUsage
}

export type TakeResult =
  | { readonly taken: true; readonly used: readonly WindowUsage[] }
  | {
      readonly taken: false
      readonly used: readonly WindowUsage[]
      readonly by: { index: number; dimension: Dimension }
    }

/**
 * Counts usage per subject and wall-clock minute. A cost of zero is never refused and serves to read a window. A store in this process
 * answers at once: a call asks it several times, and each wait is a turn of the event loop's queue.
 */
export interface WindowStore {
  /** Takes all or nothing in one atomic step. */
  takeAll(takes: readonly Take[], minute: number): TakeResult | Promise<TakeResult>
  /** Adds to the usage of `minute`; a negative change gives back. Ignores tokens of a past minute. */
  adjust(subject: string, change: WindowUsage, minute: number): WindowUsage | Promise<WindowUsage>
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
  reserve(subjects: readonly Subject[], estimatedTokens: number): Promise<Taking>
  /** Registers something to release together with the slot. */
  with(release: () => void): void
  /** Releases the slot and corrects the tokens to the actual number. Idempotent. Null if there is nothing to wait for. */
  finish(actualTokens: number): Promise<unknown> | null
}

/** The outcome of a take: the windows after it, or why nothing was taken. */
type Taking = Result<Readings, LimitRefusal>

const ONE_REQUEST: WindowUsage = { ...NOTHING, requests: 1 }
const ONE_SLOT: WindowUsage = { ...NOTHING, slots: 1 }
const SLOT_BACK: WindowUsage = { ...NOTHING, slots: -1 }

/**
 * Enforces rate limits. A request is counted when it arrives. Tokens and concurrency are held by a ticket for the duration of the call
 * and corrected once the actual count is known. A refusal is a return value; a failing store throws (ADR 2). With a store that answers at
 * once each method is one step.
 */
export class Limiter {
  private readonly windows: WindowStore
  private readonly clock: Clock

  constructor(windows: WindowStore, clock: Clock) {
    this.windows = windows
    this.clock = clock
  }

  /** Counts a request against every subject, or against none if one has reached its limit. */
  countRequest(subjects: readonly Subject[]): Taking | Promise<Taking> {
    return take(this.windows, subjects, ONE_REQUEST, this.clock.now())
  }

  /** Reads the windows without taking anything. */
  read(subjects: readonly Subject[]): Readings | Promise<Readings> {
    const now = this.clock.now()
    const result = this.windows.takeAll(takesOf(subjects, NOTHING), minuteOf(now))
    if (result instanceof Promise) return result.then(({ used }) => readings(subjects, used, now))
    return readings(subjects, result.used, now)
  }

  /** Takes a concurrency slot for a streaming or long-running call. Its tokens are reserved later, once they are known. */
  enter(subjects: readonly Subject[]): Result<Ticket, LimitRefusal> | Promise<Result<Ticket, LimitRefusal>> {
    const { windows, clock } = this
    const ticket = (taken: Taking) => (taken.ok ? ok(new Slot(windows, clock, subjects, taken.value)) : taken)
    const taken = take(windows, subjects, ONE_SLOT, clock.now())
    return taken instanceof Promise ? taken.then(ticket) : ticket(taken)
  }

  /** Gives back one request that was counted at `at`. */
  async giveBack(subjects: readonly Subject[], at: number): Promise<void> {
    for (const subject of subjects)
      await this.windows.adjust(subject.name, { ...NOTHING, requests: -requestCost(subject).requests }, minuteOf(at))
  }
}

interface ReservedTokens {
  readonly name: string
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

  async reserve(counted: readonly Subject[], tokens: number): Promise<Taking> {
    const now = this.clock.now()
    const taken = await take(this.windows, counted, { ...NOTHING, tokens }, now)
    if (taken.ok)
      this.reserved = [...this.reserved, ...counted.map(({ name }) => ({ name, tokens, minute: minuteOf(now) }))]
    return taken
  }

  finish(actualTokens: number): Promise<unknown> | null {
    if (!this.isOpen) return null
    this.isOpen = false
    const { windows, reserved, subjects } = this
    for (const release of this.releases) release()
    const adjusted: (WindowUsage | Promise<WindowUsage>)[] = []
    for (const { name, tokens, minute } of reserved)
      adjusted.push(windows.adjust(name, { ...NOTHING, tokens: actualTokens - tokens }, minute))
    for (const { name } of subjects) adjusted.push(windows.adjust(name, SLOT_BACK, 0))
    return adjusted.some((one) => one instanceof Promise) ? Promise.all(adjusted) : null
  }
}

function take(
  windows: WindowStore,
  subjects: readonly Subject[],
  cost: WindowUsage,
  now: number,
): Taking | Promise<Taking> {
  const result = windows.takeAll(takesOf(subjects, cost), minuteOf(now))
  if (result instanceof Promise) return result.then((one) => taking(subjects, one, now))
  return taking(subjects, result, now)
}

function takesOf(subjects: readonly Subject[], cost: WindowUsage): readonly Take[] {
  const takes: Take[] = []
  for (const subject of subjects) takes.push({ subject, cost: cost === ONE_REQUEST ? requestCost(subject) : cost })
  return takes
}

function requestCost({ cost, limits }: Subject): WindowUsage {
  return cost === undefined ? ONE_REQUEST : { ...NOTHING, requests: Math.min(cost, limits.rpm) }
}

function taking(subjects: readonly Subject[], result: TakeResult, now: number): Taking {
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
