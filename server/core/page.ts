/** One page of a list. */
export interface Page<T> {
  readonly rows: readonly T[]
  /** The cursor of the next page, or null on the last page. Opaque to callers. */
  readonly next: string | null
}

/** The rows of all pages, in order. Fetches the next page only when the loop gets there. */
export async function* pagedRows<T>(fetchPage: (cursor: string | null) => Promise<Page<T> | null>): AsyncGenerator<T> {
  let cursor: string | null = null
  do {
    const page: Page<T> | null = await fetchPage(cursor)
    yield* page?.rows ?? []
    cursor = page?.next ?? null
  } while (cursor !== null)
}
