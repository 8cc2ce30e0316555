/** The minimum average speed of a body within a period, sent or read (spec D9). */
export const MIN_BYTES_PER_SECOND = 4 * 1024

/** Whether bytes move at least at the minimum average speed in each period. `now` in milliseconds, of a monotonic clock. */
export class Pace {
  private readonly periodMs: number
  private periodStart: number
  private bytes = 0

  constructor(periodMs: number, now: number) {
    this.periodMs = periodMs
    this.periodStart = now
  }

  moved(bytes: number): void {
    this.bytes += bytes
  }

  /** Judges the period once it is over, and begins the next one. */
  isTooSlow(now: number): boolean {
    const elapsed = now - this.periodStart
    if (elapsed < this.periodMs) return false
    const isSlow = this.bytes < (MIN_BYTES_PER_SECOND * elapsed) / 1000
    this.periodStart = now
    this.bytes = 0
    return isSlow
  }
}
