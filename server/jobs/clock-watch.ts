import { type Clock, DAY_MS, HOUR_MS } from '../core/clock'

/** Notices that the clock was set, for jobs that do what cannot be undone: a wrong clock makes everything look old. */
export class ClockWatch {
  private readonly clock: Clock
  private readonly stopwatch: Clock
  private readonly onSet: (hours: number) => void
  private offset: number
  private notBefore = 0

  /** `stopwatch`: a clock that cannot be set. `onSet`: called with the hours by which the clock was set. */
  constructor(
    { clock, stopwatch }: { readonly clock: Clock; readonly stopwatch: Clock },
    onSet: (hours: number) => void,
  ) {
    this.clock = clock
    this.stopwatch = stopwatch
    this.onSet = onSet
    this.offset = clock.now() - stopwatch.now()
  }

  /** False for a day after the clock was set by more than an hour. */
  isTrusted(): boolean {
    const moved = this.clock.now() - this.stopwatch.now() - this.offset
    if (Math.abs(moved) > HOUR_MS) {
      this.offset += moved
      this.notBefore = this.stopwatch.now() + DAY_MS
      this.onSet(Math.round(moved / HOUR_MS))
    }
    return this.stopwatch.now() >= this.notBefore
  }
}
