import type { Clock } from '../../core/clock'
import type { UpstreamFailure } from '../../core/providers/provider'
import type { Result } from '../../core/result'

/** How long a failure speaks against a source that nobody asked since. */
const REMEMBERED_MS = 30_000

/** Whether a source that costs money to ask could answer, by how its last call went: nothing is asked to find out. */
export class RecentHealth {
  private readonly clock: Clock
  private failedAt: number | null = null

  constructor(clock: Clock) {
    this.clock = clock
  }

  /**
   * Notes the outcome of a call, and gives it back. What was wrong with the request says nothing about the source, and neither
   * does a caller who hung up, or whom we refused.
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

function isAboutCaller({ kind }: UpstreamFailure): boolean {
  return kind === 'invalid_input' || kind === 'refused'
}
