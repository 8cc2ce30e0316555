/** The costs of calls by the log and their charges, of the rows read so far. */
export interface Charged {
  /** The call. */
  readonly id: string
  readonly account: string
  readonly cost: number
  readonly charged: number
}

/**
 * The calls of which only the cost or only the charge was read yet, in any order. Holds at most `most` of them, and of all calls only those of one part of
 * `parts`.
 */
export class UnmatchedCharges {
  private readonly most: number
  private readonly parts: number
  private readonly part: number
  private readonly open = new Map<string, Charged>()
  private withoutCharge = 0
  private isOver = false

  constructor(most: number, { parts, part }: { readonly parts: number; readonly part: number }) {
    this.most = most
    this.parts = parts
    this.part = part
  }

  /** Calls that wait for a charge. */
  get waiting(): number {
    return this.withoutCharge
  }

  /** Whether there were more than it may hold. Nothing that it has means anything then. */
  get isFull(): boolean {
    return this.isOver
  }

  list(): readonly Charged[] {
    return [...this.open.values()]
  }

  add(rows: readonly Charged[]): void {
    for (const row of rows) {
      if (this.parts > 1 && partOf(row.id, this.parts) !== this.part) continue
      this.addOne(row)
      if (this.open.size <= this.most) continue
      this.isOver = true
      this.open.clear()
      return
    }
  }

  private addOne({ id, account, cost, charged }: Charged): void {
    const key = `${id} ${account}`
    const before = this.open.get(key)
    const now = { id, account, cost: cost + (before?.cost ?? 0), charged: charged + (before?.charged ?? 0) }
    this.withoutCharge += Number(now.cost > now.charged) - Number(before !== undefined && before.cost > before.charged)
    if (now.cost === now.charged) this.open.delete(key)
    else this.open.set(key, now)
  }
}

/** Parts that are divided further stay together. */
function partOf(id: string, parts: number): number {
  return Math.floor((Bun.hash.crc32(id) / 2 ** 32) * parts)
}
