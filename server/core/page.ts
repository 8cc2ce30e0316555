/** The rows of a page whose request names no number, in the lists of operators. */
export const DEFAULT_ROWS = 50

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

/**
 * One page of a list that is divided: `pages` are the pages of its parts after the same cursor, each of at most `limit` rows, sorted by id, where
 * a cursor is the id up to which a part was read. A row that several parts have is shown once.
 */
export function joinedPages<Row extends { readonly id: string }>(
  pages: readonly Page<Row>[],
  limit: number,
  order: 'newest first' | 'oldest first' = 'newest first',
): Page<Row> {
  const sign = order === 'newest first' ? 1 : -1
  const first = (a: string, b: string) => (a === b ? 0 : (a > b ? -1 : 1) * sign)
  // Behind the first of the cursors one of the parts has not been read yet.
  const [known = null] = pages.flatMap(({ next }) => next ?? []).sort(first)
  const rows = new Map(pages.flatMap((page) => page.rows.map((row) => [row.id, row] as const)))
  const all = [...rows.values()]
    .filter(({ id }) => known === null || first(id, known) <= 0)
    .sort((a, b) => first(a.id, b.id))
  const shown = all.slice(0, limit)
  return { rows: shown, next: all.length > limit ? (shown.at(-1)?.id ?? null) : known }
}
