/** Rows per read at startup, so that a large table is never completely in memory. */
export const RESTORE_BATCH = 2000

/** Reads a whole table in pages, each starting after the last id of the one before. */
export async function* restoredRows<Row extends { readonly id: string }>(
  page: (after: Row['id'] | null) => Promise<readonly Row[]>,
): AsyncGenerator<Row> {
  let after: Row['id'] | null = null
  for (;;) {
    const rows: readonly Row[] = await page(after)
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < RESTORE_BATCH) return
    after = last.id
  }
}
