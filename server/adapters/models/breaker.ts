const FAILURES = 5
const OPEN_MS = 15_000
const KNOWN_MS = 10_000

/**
 * Circuit breaker: blocks calls to an upstream that failed several times in a row; after a while one call tests its
 * recovery. Also limits the calls in progress.
 */
export class Breaker {
  private readonly now: () => number
  private inRow = 0
  private firstFailedAt: number | null = null
  private openUntil = 0
  private probing = false
  private slots = 0
  private answeredAt = Number.NEGATIVE_INFINITY

  constructor(now: () => number) {
    this.now = now
  }

  get state(): 'closed' | 'open' | 'probing' {
    if (this.inRow < FAILURES) return 'closed'
    return this.probing || this.now() >= this.openUntil ? 'probing' : 'open'
  }

  /** Current number of consecutive failures. */
  get failures(): number {
    return this.inRow
  }

  /** When the first of the consecutive failures happened; null when there is none. */
  get failingSince(): number | null {
    return this.firstFailedAt
  }

  /** When a call may test the upstream's recovery; null while the breaker is closed. */
  get nextTryAt(): number | null {
    return this.inRow < FAILURES ? null : this.openUntil
  }

  /** Whether it responded recently and has not failed since. */
  get isKnown(): boolean {
    return this.inRow === 0 && performance.now() - this.answeredAt < KNOWN_MS
  }

  get underWay(): number {
    return this.slots
  }

  /** Reserves a slot for a call, or returns why there is none. */
  enter(maxSlots: number): 'entered' | 'open' | 'full' {
    if (this.inRow >= FAILURES) {
      if (this.probing || this.now() < this.openUntil) return 'open'
      this.probing = true
    } else if (this.slots >= maxSlots) return 'full'
    this.slots++
    return 'entered'
  }

  leave(): void {
    this.slots--
  }

  succeeded(): void {
    this.answeredAt = performance.now()
    this.inRow = 0
    this.firstFailedAt = null
    this.probing = false
  }

  failed(): void {
    this.inRow++
    this.firstFailedAt ??= this.now()
    this.probing = false
    if (this.inRow >= FAILURES) this.openUntil = this.now() + OPEN_MS
  }

  /** The call ended without showing whether the upstream is healthy. */
  undecided(): void {
    this.probing = false
  }
}
