import { type Clock, DAY_MS, MINUTE_MS } from '../../../core/clock'

const FIRST_DELAY_MS = 1_000
const MAX_DELAY_MS = MINUTE_MS
/** Failures are forgotten after this time without an attempt. */
const FORGET_MS = DAY_MS
const MAX_SUBJECTS = 50_000

interface Failures {
  count: number
  waitUntil: number
  lastAt: number
}

export interface PasswordAttempt {
  /** This attempt, should it fail, is the one with which the delays begin. */
  readonly beginsDelays: boolean
  /** The password was right: earlier failures are forgotten. */
  succeeded(): void
  /** The attempt was no guess: it was refused for another reason, or failed on our side. */
  withdrawn(): void
}

/**
 * Delays after failed sign-ins: none before `free` failures, then 1 s, doubling to 60 s. In this process's memory (ADR 9). An
 * attempt counts as failed from the start, in one synchronous step, so that guesses sent at once do not pass together; attempts
 * while the subject waits change nothing. Subjects need not exist.
 */
export class SignInDelays {
  private readonly clock: Clock
  private readonly subjects = new Map<string, Failures>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Begins an attempt, or returns the seconds to wait for one. `free`: the failure with which the delays begin. */
  begin(subject: string, free: number): PasswordAttempt | { readonly retryAfterSeconds: number } {
    const now = this.clock.now()
    const failures = this.failuresOf(subject, now)
    if (now < failures.waitUntil) return { retryAfterSeconds: Math.ceil((failures.waitUntil - now) / 1000) }
    const earlierWait = failures.waitUntil
    failures.count++
    failures.lastAt = now
    if (failures.count >= free)
      failures.waitUntil = now + Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(10, failures.count - free))
    const ownWait = failures.waitUntil
    return {
      beginsDelays: failures.count === free,
      succeeded: () => void this.subjects.delete(subject),
      withdrawn: () => {
        failures.count--
        // A wait that began since is that of another attempt.
        if (failures.waitUntil === ownWait) failures.waitUntil = earlierWait
      },
    }
  }

  private failuresOf(subject: string, now: number): Failures {
    const known = this.subjects.get(subject)
    if (known && now - known.lastAt < FORGET_MS) return known
    this.subjects.delete(subject)
    if (this.subjects.size >= MAX_SUBJECTS) this.dropHarmless(now)
    const fresh = { count: 0, waitUntil: 0, lastAt: now }
    this.subjects.set(subject, fresh)
    return fresh
  }

  /** Drops a tenth, those with the fewest failures first: a flood of made-up addresses must not free the one that it attacks. */
  private dropHarmless(now: number): void {
    for (const [subject, { lastAt }] of this.subjects) if (now - lastAt >= FORGET_MS) this.subjects.delete(subject)
    const surplus = this.subjects.size - Math.floor(MAX_SUBJECTS * 0.9)
    if (surplus <= 0) return
    const byFailures = [...this.subjects].sort(([, a], [, b]) => a.count - b.count)
    for (const [subject] of byFailures.slice(0, surplus)) this.subjects.delete(subject)
  }
}
