const FAILURES = 5
const OPEN_MS = 15_000
const KNOWN_MS = 10_000

/**
 * Keeps calls from an upstream that failed several times in a row; after a while one call finds out whether it is back. Also
 * counts the places of calls under way.
 */
export class Breaker {
  private readonly now: () => number
  private failures = 0
  private openUntil = 0
  private probing = false
  private places = 0
  private answeredAt = Number.NEGATIVE_INFINITY

  constructor(now: () => number) {
    this.now = now
  }

  get state(): 'closed' | 'open' | 'probing' {
    if (this.failures < FAILURES) return 'closed'
    return this.probing || this.now() >= this.openUntil ? 'probing' : 'open'
  }

  /** Whether it answered a moment ago, and did not fail since. */
  get isKnown(): boolean {
    return this.failures === 0 && performance.now() - this.answeredAt < KNOWN_MS
  }

  get underWay(): number {
    return this.places
  }

  /** Takes a place, or says why there is none. */
  enter(most: number): 'entered' | 'open' | 'full' {
    if (this.failures >= FAILURES) {
      if (this.probing || this.now() < this.openUntil) return 'open'
      this.probing = true
    } else if (this.places >= most) return 'full'
    this.places++
    return 'entered'
  }

  leave(): void {
    this.places--
  }

  succeeded(): void {
    this.answeredAt = performance.now()
    this.failures = 0
    this.probing = false
  }

  failed(): void {
    this.failures++
    this.probing = false
    if (this.failures >= FAILURES) this.openUntil = this.now() + OPEN_MS
  }

  /** The call ended without telling how the upstream is. */
  undecided(): void {
    this.probing = false
  }
}
