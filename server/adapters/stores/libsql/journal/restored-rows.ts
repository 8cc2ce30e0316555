/** Rows per read at startup, so that a large table is never completely in memory. */
export const RESTORE_BATCH = 2000

/** Reads a whole table in pages, each starting after the last id of the one before. The next one is read while one is used. */
export async function* restoredRows<Row extends { readonly id: string }>(
  page: (after: Row['id'] | null) => Promise<readonly Row[]>,
): AsyncGenerator<Row> {
  let next: Promise<readonly Row[]> | null = page(null)
  while (next !== null) {
    const rows: readonly Row[] = await next
    const last = rows.at(-1)
    next = last && rows.length === RESTORE_BATCH ? page(last.id) : null
    // Whoever takes the rows may fail, and nobody awaits the next ones then.
    next?.catch(() => undefined)
    yield* rows
  }
}
