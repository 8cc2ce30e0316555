import { type Clock, MINUTE_MS } from '../../../core/clock'
import { uncharged } from '../../../core/failure'
import type { UpstreamFailure } from '../../../core/providers/provider'

/** A per-caller allowance in each clock minute. Reset when the minute ends. */
export class CallerAllowance {
  private readonly max: number
  private readonly clock: Clock
  private readonly taken = new Map<string, number>()
  private minute = Number.NaN

  constructor(max: number, clock: Clock) {
    this.max = max
    this.clock = clock
  }

  /** Takes an amount; returns false, and takes nothing, when the caller has less left. */
  take(caller: string, amount: number): boolean {
    this.startMinute()
    const taken = (this.taken.get(caller) ?? 0) + amount
    if (taken > this.max) return false
    this.taken.set(caller, taken)
    return true
  }

  /** Returns what was taken and not needed. */
  giveBack(caller: string, amount: number): void {
    this.startMinute()
    const taken = this.taken.get(caller)
    if (taken !== undefined) this.taken.set(caller, Math.max(0, taken - amount))
  }

  /** The failure for a caller who has used up the allowance. */
  refusal(): UpstreamFailure {
    const retryAfterSeconds = Math.max(1, Math.ceil((MINUTE_MS - (this.clock.now() % MINUTE_MS)) / 1000))
    return {
      kind: 'refused',
      reason: 'goggles: a caller requested too many new goggles in one minute',
      retryAfterSeconds,
      failure: uncharged(
        'upstream_rate_limit',
        'You requested too many large goggles within a minute. Wait as long as Retry-After says, then reuse the same goggles: they are cached.',
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
