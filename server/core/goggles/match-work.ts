/** The maximum work of a search's goggles: about 200 ms of the thread that all searches share. */
export const MAX_WORK = 200_000_000

/** The error for goggles that exceed it. */
export const TOO_MUCH_WORK =
  'take more than 200 ms to parse and to match against the results; use fewer or rarer patterns, or publish a long goggle and give its URL'

/**
 * Counts the work of goggles in nanoseconds of a typical machine. It is calculated, not measured, so that the same goggles on the same
 * pages are always the same work.
 */
export class MatchWork {
  private done: number

  /** `spent` is earlier work for the same search. */
  constructor(spent = 0) {
    this.done = spent
  }

  add(nanoseconds: number): void {
    this.done += nanoseconds
  }

  get isTooMuch(): boolean {
    return this.done > MAX_WORK
  }
}
