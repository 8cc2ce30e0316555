import { FailureStreak, type UpstreamFault } from '../../core/telemetry/failure-streak'
import type { LastRefusal } from '../../pipeline/models/model-backend'

const FAILURES = 5
const OPEN_MS = 15_000
const KNOWN_MS = 10_000
/** Calls that test the recovery at once, each of another account. One that takes longer than `OPEN_MS` occupies nothing. */
const MAX_PROBES = 2
/** The accounts with failures of their own that are remembered; the oldest is forgotten first. */
const MAX_ACCOUNTS = 256

/** One account's calls. */
interface Own {
  inRow: number
  /** It may test the recovery from then on. */
  retryAt: number
  /** When its call that tests the recovery began. */
  probingSince: number | null
}

/**
 * Circuit breaker of one model at one upstream. It opens for everybody when calls of at least two accounts failed in a row, or none could
 * reach the upstream, and for one account alone when only its own calls fail. After a while one call of each account may test the recovery:
 * a failed test of an account that failed before does not keep others from trying.
 */
export class Breaker {
  private readonly now: () => number
  private readonly streak = new FailureStreak()
  private readonly accounts = new Map<string, Own>()
  /** While it is open for everybody: when the next call may test the recovery. */
  private openUntil: number | null = null
  private answeredAt = Number.NEGATIVE_INFINITY
  private calls = 0
  /** What the upstream said last to a call that was not to blame. */
  lastRefusal?: LastRefusal

  constructor(now: () => number) {
    this.now = now
  }

  refused(said: Omit<LastRefusal, 'at'>): void {
    this.lastRefusal = { ...said, at: this.now() }
  }

  get state(): 'closed' | 'open' | 'probing' {
    if (this.openUntil === null) return 'closed'
    return this.now() >= this.openUntil ? 'probing' : 'open'
  }

  /** Current number of consecutive failures, of all accounts. */
  get failures(): number {
    return this.streak.count
  }

  /** When the first of the consecutive failures happened; null when there is none. */
  get failingSince(): number | null {
    return this.streak.since
  }

  /** When a call may test the upstream's recovery; null while the breaker is closed. */
  get nextTryAt(): number | null {
    return this.openUntil
  }

  /** Calls in progress. */
  get underWay(): number {
    return this.calls
  }

  /** Whether it responded recently and could be reached since. */
  get isKnown(): boolean {
    return !this.streak.isUnreachable && performance.now() - this.answeredAt < KNOWN_MS
  }

  /** Whether a call of the account may go to the upstream. If so, report it with `succeeded`, `failed` or `undecided`, and end it with `leave`. */
  admits(account: string): boolean {
    const mayEnter = this.mayEnter(account)
    if (mayEnter) this.calls++
    return mayEnter
  }

  leave(): void {
    this.calls--
  }

  private mayEnter(account: string): boolean {
    const own = this.accounts.get(account)
    if (this.openUntil === null && (own === undefined || own.inRow < FAILURES)) return true
    const now = this.now()
    if (own !== undefined && (own.probingSince !== null || now < own.retryAt)) return false
    if (this.openUntil !== null && (now < this.openUntil || this.probes(now) >= MAX_PROBES)) return false
    this.ownOf(account).probingSince = now
    return true
  }

  succeeded(account: string): void {
    this.answeredAt = performance.now()
    this.streak.succeeded()
    if (this.openUntil === null) this.accounts.delete(account)
    // Their failures were of an outage that has ended.
    else this.accounts.clear()
    this.openUntil = null
  }

  failed(fault: UpstreamFault): void {
    const now = this.now()
    const own = this.ownOf(fault.caller)
    own.inRow++
    own.retryAt = now + OPEN_MS
    own.probingSince = null
    const isNew = !this.streak.has(fault.caller)
    this.streak.failed(fault, now)
    const opens = this.openUntil === null ? this.streak.isUpstreams(FAILURES) : isNew || fault.isUnreachable
    if (opens) this.openUntil = now + OPEN_MS
  }

  /** The call ended without showing whether the upstream is healthy. */
  undecided(account: string): void {
    const own = this.accounts.get(account)
    if (own?.inRow === 0) this.accounts.delete(account)
    else if (own) own.probingSince = null
  }

  private probes(now: number): number {
    let count = 0
    for (const { probingSince } of this.accounts.values())
      if (probingSince !== null && now - probingSince < OPEN_MS) count++
    return count
  }

  private ownOf(account: string): Own {
    const known = this.accounts.get(account)
    if (known) return known
    const own: Own = { inRow: 0, retryAt: 0, probingSince: null }
    if (this.accounts.size >= MAX_ACCOUNTS) {
      const [oldest] = this.accounts.keys()
      if (oldest !== undefined) this.accounts.delete(oldest)
    }
    this.accounts.set(account, own)
    return own
  }
}
