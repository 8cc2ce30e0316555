import type { CellName } from './cells'

/** So many rows are compared, or added, at once. */
const AT_ONCE = 1_000

/** Something of a cell that must be in the directory. */
export interface Told {
  /** What the directory has it under. */
  readonly name: string
  /** What a person may read of it. */
  readonly shown: string
  /** Until when the directory keeps it, in milliseconds; null: for good. */
  readonly keepUntil: number | null
}

/** What a cell has of one kind, newest first, in the order in which it was committed. */
export interface Contents<T extends Told> {
  /** From the one behind `before`: at most `limit`, and none only if there are no more. */
  newest(before: T | null, limit: number): Promise<readonly T[]>
}

/** Where the directory has one kind. */
export interface DirectoryPart<T extends Told> {
  /** The cells that have these names, as far as it knows. */
  holders(names: readonly string[]): Promise<ReadonlyMap<string, CellName>>
  /** Adds what is missing, durably. Returns the names that another cell has. */
  add(rows: readonly T[], cell: CellName): Promise<readonly string[]>
}

export interface Telling {
  readonly added: number
  /** What another cell has, too, as `shown`. It is left as it is. */
  readonly disputed: readonly string[]
}

/**
 * Adds to the directory what a cell has and the directory lacks. A cell writes a row before it commits what the row leads to, so what is missing, as after
 * a restore of an older copy, is the newest: a page without anything missing ends the comparison. It is added oldest first, so that this also holds after
 * a crash in between.
 */
export async function tellDirectory<T extends Told>(
  cell: CellName,
  contents: Contents<T>,
  part: DirectoryPart<T>,
): Promise<Telling> {
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
