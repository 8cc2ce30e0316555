import type { Clock } from '../../core/clock'
import type { UpstreamFailure } from '../../core/providers/provider'
import type { Result } from '../../core/result'

/** How long a failure counts against a source that has not been called since. */
const REMEMBERED_MS = 30_000

/** Health of a paid source according to its last call, without extra calls. */
export class RecentHealth {
  private readonly clock: Clock
  private failedAt: number | null = null

  constructor(clock: Clock) {
    this.clock = clock
  }

  /**
   * Records the outcome of a call and returns it. An invalid request says nothing about the source, and neither
   * does a caller who disconnected, or whom we refused.
   */
  noted<T>(outcome: Result<T, UpstreamFailure>, signal: AbortSignal): Result<T, UpstreamFailure> {
    const hungUp = signal.aborted && signal.reason?.name !== 'TimeoutError'
    if (outcome.ok) this.failedAt = null
    else if (!hungUp && !outcome.error.passThrough && !isAboutCaller(outcome.error)) this.failedAt = this.clock.now()
    return outcome
  }

  isGood(): boolean {
    return this.failedAt === null || this.clock.now() - this.failedAt >= REMEMBERED_MS
  }
}

function isAboutCaller({ kind, isAboutRequest }: UpstreamFailure): boolean {
  return isAboutRequest === true || kind === 'invalid_input' || kind === 'refused'
}
