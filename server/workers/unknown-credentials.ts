import { type Address, limitSubject } from '../core/credentials/address'
import { type Failure, failure } from '../core/failure'
import type { Limiter, Readings } from '../core/limits/limiter'
import { type Limits, TIER_LIMITS } from '../core/limits/tier'
import { limitFailure } from '../pipeline/auth/authenticate'
import { isAddressFull } from '../pipeline/auth/authenticate-app'

/** So many of the largest fit into a session. */
const MAX_OPEN = 1000
const MAX_KNOWN = 10_000

/** The primary is not asked. */
interface NotAsked {
  readonly failure: Failure
  readonly readings: Readings
}

/**
 * Lets few credentials through to the primary that it may not know, so that callers who guess keys can fill neither the connection to it nor its
 * database. Knows which ones were good lately, and grants nothing for that.
 */
export class UnknownCredentials {
  /** Of an address without a known credential. */
  limits: Limits = TIER_LIMITS.free
  private readonly limiter: Limiter
  private readonly maxOpen: number
  private readonly known = new Set<string>()
  private open = 0

  constructor(limiter: Limiter, maxOpen = MAX_OPEN) {
    this.limiter = limiter
    this.maxOpen = maxOpen
  }

  /** Whether the primary is to be asked. If so, call `answered` with what it said; null for nothing. */
  ask(hash: string, address: Address): NotAsked | { answered(isKnown: boolean | null): void } {
    if (this.known.has(hash)) return { answered: (isKnown) => isKnown === false && this.known.delete(hash) }
    const { limiter, limits, maxOpen } = this
    const subjects = [{ name: limitSubject(address), limits }]
    if (this.open >= maxOpen) return { failure: TOO_MANY, readings: limiter.read(subjects) }
    // Counted when the answer is there: the first calls of a good key may come all at once.
    const full = isAddressFull({ limiter, anonymousLimits: limits }, address) ? limiter.countRequest(subjects) : null
    if (full) return { failure: limitFailure(full, { kind: 'anonymous' }), readings: full.readings }
    this.open++
    return {
      answered: (isKnown) => {
        this.open--
        if (isKnown) this.remember(hash)
        else if (isKnown === false) limiter.countRequest(subjects)
      },
    }
  }

  private remember(hash: string): void {
    if (this.known.size >= MAX_KNOWN) this.known.clear()
    this.known.add(hash)
  }
}

const TOO_MANY = failure('service_unavailable', 'Too many callers with unknown keys are waiting. Try again.', {
  retryAfterSeconds: 1,
})
