/** Rows of one read at start, so that a large table never is in the memory as a whole beside what is made of it. */
export const RESTORED_AT_ONCE = 2000

/** Reads a table to its end, page by page, each from the last id of the one before. */
export async function* restoredRows<Row extends { readonly id: string }>(
  page: (after: Row['id'] | null) => Promise<readonly Row[]>,
): AsyncGenerator<Row> {
  let after: Row['id'] | null = null
  for (;;) {
    const rows: readonly Row[] = await page(after)
    yield* rows
    const last = rows.at(-1)
    if (!last || rows.length < RESTORED_AT_ONCE) return
    after = last.id
  }
}
