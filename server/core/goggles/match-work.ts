/** Most work that the goggles of one search may take: about 200 ms of the thread that every search shares. */
const MAX_WORK = 200_000_000

/** What a set of goggles that takes longer is told. */
export const TOO_MUCH_WORK =
  'take more than 200 ms to hold against the pages that were found; use fewer or rarer patterns'

/**
 * Counts the work of matching, in nanoseconds of a usual machine. Nothing is timed: the same goggles on the same pages are the
 * same work everywhere, and always.
 */
export class MatchWork {
  private done = 0

  /** Adds some; the numbers were measured. */
  add(nanoseconds: number): void {
    this.done += nanoseconds
  }

  get isTooMuch(): boolean {
    return this.done > MAX_WORK
  }
}
