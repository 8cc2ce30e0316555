/** One page of a list without end. */
export interface Page<T> {
  readonly rows: readonly T[]
  /** Where the next page starts, or null at the end. Opaque to callers. */
  readonly next: string | null
}
