/** What one call takes of each part, in microseconds of a core. */
export interface CallCosts {
  /** Of the node that owns the cell, for a call that reached it. */
  readonly owner: number
  /** Of the same node, for a call that another one forwarded. */
  readonly ownerOfForwarded: number
  readonly forwarder: number
  /** Of the libSQL server of the cell. */
  readonly database: number
  /** Of the control database, for each look-up of the cell of a key. */
  readonly lookUp: number
}

/** A node has a core, and so has the database of each cell. The control database is that of the cell `main`. */
export interface Layout {
  readonly nodes: number
  readonly cells: number
  /** For how many of all calls a node asks the control database; it remembers the cells of 100,000 keys. */
  readonly lookUps: number
}

export type Part = 'node' | 'database of a cell' | 'control database'

export interface Capacity {
  readonly callsPerSecond: number
  /** The part that is full first. */
  readonly full: Part
}

/** How many of the cells a node owns; each has its share, and the first ones have what is left over. */
export function cellsOfNode(node: number, { nodes, cells }: Layout): number {
  return Math.floor(cells / nodes) + (node < cells % nodes ? 1 : 0)
}

/**
 * What a cluster serves, if calls are spread evenly over its nodes and its cells: the part with the most work per call is full, and a core of it does a
 * second of work in a second.
 */
export function capacityOf(layout: Layout, costs: CallCosts): Capacity {
  const { nodes, cells, lookUps } = layout
  const workOfNode = (node: number) => {
    const owned = cellsOfNode(node, layout) / cells
    const arrives = 1 / nodes
    return (
      owned * (arrives * costs.owner + (1 - arrives) * costs.ownerOfForwarded) + arrives * (1 - owned) * costs.forwarder
    )
  }
  const ofDatabase = costs.database / cells
  // With one cell nobody asks for the cell of a key.
  const ofControl = ofDatabase + (cells > 1 ? lookUps * costs.lookUp : 0)
  const work: readonly (readonly [Part, number])[] = [
    ['node', Math.max(...Array.from({ length: nodes }, (_, node) => workOfNode(node)))],
    ['database of a cell', ofDatabase],
    ['control database', ofControl],
  ]
  // Of parts that are equally full the first is named, so a control database without look-ups is a database of a cell.
  const [full, most] = work.reduce((fullest, part) => (part[1] > fullest[1] ? part : fullest))
  return { callsPerSecond: 1e6 / most, full }
}
