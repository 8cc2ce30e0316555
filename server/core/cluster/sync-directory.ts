import type { CellName } from './cells'

/** How many rows are compared or added at once. */
const AT_ONCE = 1_000

/** A record of a cell that must be in the directory. */
export interface DirectoryRecord {
  /** Its key in the directory. */
  readonly name: string
  /** How logs name it: `name` may be secret. */
  readonly shown: string
  /** Until when the directory keeps it, in milliseconds; null: forever. */
  readonly keepUntil: number | null
}

/** The records of one kind in a cell, the last committed first. */
export interface Contents<T extends DirectoryRecord> {
  /** At most `limit` records older than `before`; none only if there are no more. */
  newest(before: T | null, limit: number): Promise<readonly T[]>
}

/** The part of the directory that holds one kind of record. */
export interface DirectoryPart<T extends DirectoryRecord> {
  /** The cells that have these names, as far as the directory knows. */
  holders(names: readonly string[]): Promise<ReadonlyMap<string, CellName>>
  /** Adds missing records, durably. Returns the names that another cell has. */
  add(rows: readonly T[], cell: CellName): Promise<readonly string[]>
}

export interface SyncResult {
  readonly added: number
  /** Records that another cell has too, as `shown`. They are left unchanged. */
  readonly disputed: readonly string[]
}

/**
 * Adds the records of a cell that the directory lacks. A cell writes a row before it commits what the row leads to. So the missing records, such as
 * after a restore of an older copy, are the newest ones, and the first page without a missing record ends the comparison. They are added oldest first,
 * so that this is also true after a crash in between.
 */
export async function syncDirectory<T extends DirectoryRecord>(
  cell: CellName,
  contents: Contents<T>,
  part: DirectoryPart<T>,
): Promise<SyncResult> {
  const missing: T[] = []
  const disputed = new Set<string>()
  let before: T | null = null
  for (;;) {
    const page: readonly T[] = await contents.newest(before, AT_ONCE)
    if (page.length === 0) break
    const holders = await part.holders(page.map(({ name }) => name))
    const unknown = page.filter(({ name }) => !holders.has(name))
    for (const { name, shown } of page) if ((holders.get(name) ?? cell) !== cell) disputed.add(shown)
    if (unknown.length === 0) break
    missing.push(...unknown)
    before = page.at(-1) ?? null
  }
  missing.reverse()
  let added = missing.length
  for (let at = 0; at < missing.length; at += AT_ONCE) {
    const rows = missing.slice(at, at + AT_ONCE)
    const others = new Set(await part.add(rows, cell))
    for (const { name, shown } of rows) if (others.has(name)) disputed.add(shown)
    added -= others.size
  }
  return { added, disputed: [...disputed] }
}
