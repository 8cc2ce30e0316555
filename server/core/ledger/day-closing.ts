/**
 * Closes the books of past UTC days. A closed day never changes: an entry that is written later belongs to the next day that is closed,
 * whatever its time.
 */
export interface DayClosing {
  /**
   * Closes every day with entries that ended by `before`, oldest first. Yields after each write, so that its caller can pause. May end at any point: a day
   * closes in one commit, and one that was begun is begun again. One caller at a time.
   */
  close(before: number): AsyncGenerator<void, void>
}
