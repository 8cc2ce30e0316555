import type { CellName } from '../../core/cluster/cells'

/**
 * A bounded memory of cells by name. What was asked for twice is kept longest, so that names that are made up, which come once each, push nothing
 * out that is in use.
 */
export class KnownCells {
  private readonly most: number
  /** Asked for once, and more than once; the longest unused first. */
  private readonly once = new Map<string, CellName>()
  private readonly often = new Map<string, CellName>()

  /** `most`: how many of each kind. */
  constructor(most: number) {
    this.most = most
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

  private add(names: Map<string, CellName>, name: string, cell: CellName): void {
    names.set(name, cell)
    if (names.size <= this.most) return
    const [first] = names.keys()
    if (first !== undefined) names.delete(first)
  }
}
