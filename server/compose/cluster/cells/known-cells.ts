import type { CellName } from '../../../core/cluster/cells'

/**
 * A bounded cache of cells by name. Names that were requested twice are kept longest, so that invented names, which come once each, do not displace
 * those in use.
 */
export class KnownCells {
  private readonly max: number
  /** Names requested once, and more than once; the longest unused first. */
  private readonly once = new Map<string, CellName>()
  private readonly often = new Map<string, CellName>()

  /** `max`: how many names of each kind. */
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
