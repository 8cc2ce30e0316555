import type { Clock } from '../../../core/clock'
import type { UpstreamFailure } from '../../../core/providers/provider'
import { err, type Result } from '../../../core/result'
import { CallerAllowance } from './caller-allowance'

/** Slices of building that one caller may take in a minute: a tenth of a second each, eight for the largest goggle. */
const MAX_SLICES = 60

/** The reply of a thread that has built some, but not all, of the rule books that a search needs. */
export const RULES_NOT_BUILT: Result<never, UpstreamFailure> = err({
  kind: 'unavailable',
  reason: 'its goggles are not built yet',
})

/** Builds the rule books of a search in slices, between the searches of other callers. */
export class BuildAllowance {
  private readonly allowance: CallerAllowance

  constructor(clock: Clock) {
    this.allowance = new CallerAllowance(MAX_SLICES, clock)
  }

  /** Repeats the request until everything is built. */
  async untilBuilt<T>(
    caller: string,
    ask: () => Promise<Result<T, UpstreamFailure>>,
  ): Promise<Result<T, UpstreamFailure>> {
    for (;;) {
      const answer = await ask()
      if (answer !== RULES_NOT_BUILT) return answer
      if (!this.allowance.take(caller, 1)) return err(this.allowance.refusal())
    }
  }
}
