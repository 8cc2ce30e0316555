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

/** Cuts rows to a page. One row more than `limit` must have been read, which tells whether another page follows. */
export function pageOf<Row extends { readonly id: string }>(
  rows: readonly Row[],
  limit: number,
): Page<Row> & { readonly next: Row['id'] | null } {
  const page = rows.slice(0, limit)
  return { rows: page, next: rows.length > limit ? (page.at(-1)?.id ?? null) : null }
}
