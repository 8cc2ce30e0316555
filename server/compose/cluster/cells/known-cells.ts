import type { CellName } from '../../../core/cluster/cells'

/**
 * A bounded memory of cells by name. What was asked for twice is kept longest, so that names that are made up, which come once each, push nothing
 * out that is in use.
 */
export class KnownCells {
  private readonly max: number
  /** Asked for once, and more than once; the longest unused first. */
  private readonly once = new Map<string, CellName>()
  private readonly often = new Map<string, CellName>()

  /** `max`: how many of each kind. */
  constructor(max: number) {
    this.max = max
  }

  get(name: string): CellName | null {
    const cell = this.often.get(name) ?? this.once.get(name)
    if (cell === undefined) return null
    this.once.delete(name)
    this.often.delete(name)
    this.add(this.often, name, cell)
    return cell
  }

  keep(name: string, cell: CellName): void {
    this.add(this.once, name, cell)
  }

  clear(): void {
    this.once.clear()
    this.often.clear()
  }

  private add(names: Map<string, CellName>, name: string, cell: CellName): void {
    names.set(name, cell)
    if (names.size <= this.max) return
    const [first] = names.keys()
    if (first !== undefined) names.delete(first)
  }
}
