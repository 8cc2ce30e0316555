/** Most work that the goggles of one search may take: about 200 ms of the thread that every search shares. */
export const MAX_WORK = 200_000_000

/** What a set of goggles that takes longer is told. */
export const TOO_MUCH_WORK =
  'take more than 200 ms to read and to hold against the pages that were found; use fewer or rarer patterns, or publish a long goggle and give its address'

/**
 * Counts the work of goggles, in nanoseconds of a usual machine. Nothing is timed: the same goggles on the same pages are the
 * same work everywhere, and always.
 */
export class MatchWork {
  #done: number

  /** `spent` is what was done before, for the same search. */
  constructor(spent = 0) {
    this.#done = spent
  }

  /** Adds some; the numbers were measured. */
  add(nanoseconds: number): void {
    this.#done += nanoseconds
  }

  get isTooMuch(): boolean {
    return this.#done > MAX_WORK
  }
}
