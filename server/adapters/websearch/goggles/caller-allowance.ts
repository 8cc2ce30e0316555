import type { Clock } from '../../../core/clock'
import { failure } from '../../../core/failure'
import type { UpstreamFailure } from '../../../core/providers/provider'

const MINUTE_MS = 60_000

/** What each caller may have of something in a minute of the clock. Forgotten when the minute ends. */
export class CallerAllowance {
  private readonly most: number
  private readonly clock: Clock
  private readonly taken = new Map<string, number>()
  private minute = Number.NaN

  constructor(most: number, clock: Clock) {
    this.most = most
    this.clock = clock
  }

  /** Takes some; false, and nothing is taken, when the caller has not as much left. */
  take(caller: string, amount: number): boolean {
    this.startMinute()
    const taken = (this.taken.get(caller) ?? 0) + amount
    if (taken > this.most) return false
    this.taken.set(caller, taken)
    return true
  }

  /** Gives back what was taken and not needed. */
  giveBack(caller: string, amount: number): void {
    this.startMinute()
    const taken = this.taken.get(caller)
    if (taken !== undefined) this.taken.set(caller, Math.max(0, taken - amount))
  }

  /** What a caller is told who has had all. */
  refusal(): UpstreamFailure {
    const retryAfterSeconds = Math.max(1, Math.ceil((MINUTE_MS - (this.clock.now() % MINUTE_MS)) / 1000))
    return {
      kind: 'refused',
      reason: 'goggles: a caller requested too many new goggles in one minute',
      retryAfterSeconds,
      failure: failure(
        'upstream_rate_limit',
        `You requested too many large goggles within a minute. Try again in ${retryAfterSeconds} seconds, and reuse the same goggles: they are cached. You were not charged.`,
        { retryAfterSeconds, limitSource: 'upstream' },
      ),
    }
  }

  private startMinute(): void {
    const minute = Math.floor(this.clock.now() / MINUTE_MS)
    if (minute === this.minute) return
    this.minute = minute
    this.taken.clear()
  }
}
