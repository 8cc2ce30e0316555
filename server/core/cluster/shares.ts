import type { CellName } from './cells'
import { type LeaseCandidate, PLAN_MS, type Plan, type Sighting } from './leases'

/** After this time without an owner, any node may take a cell, regardless of its share. */
const PATIENCE_MS = 2_000

/** What one node knows about the cells and the other nodes. */
interface ShareView {
  readonly nodeId: string
  readonly cells: readonly CellName[]
  readonly sighting: Pick<Sighting, 'at' | 'owners' | 'offers' | 'plans'>
}

/** Whether a node that owns `own` cells should take this one, which has had no owner for `freeMs`. */
export function takesNow(cell: CellName, view: ShareView, own: number, freeMs: number): boolean {
  if (freeMs >= PATIENCE_MS) return true
  const { nodeId, sighting } = view
  const planned = successorOf(cell, sighting)
  if (planned !== null) return planned === nodeId
  const nodes = new Set([nodeId, ...sighting.offers.filter(({ cells }) => cells.length > 0).map((each) => each.nodeId)])
  return own < fairShare(view.cells.length, nodes.size)
}

interface HandOver {
  readonly cell: CellName
  readonly to: string
  /** An operator chose that node: no further plan is needed. */
  readonly isPinned: boolean
}

/**
 * The cell that a node should hand over, and the node that should get it. First a cell that is pinned to another node, which could not take it when it was
 * free. Then, if this node has more than its share, a cell for a node that has at least two fewer: the same rule never moves it back, because the
 * difference is smaller afterwards. Null while any other cell is being moved.
 */
export function surplus({ nodeId, cells, sighting }: ShareView): HandOver | null {
  const { owners, plans, at } = sighting
  const offers = sighting.offers.filter((offer) => offer.cells.length > 0)
  const isMoving = (cell: CellName) => {
    const plan = plans.get(cell)
    return !owners.has(cell) || (plan && isOpen(plan, at) && owners.get(cell)?.nodeId !== plan.nodeId)
  }
  if (cells.some(isMoving)) return null
  for (const cell of cells) {
    const plan = plans.get(cell)
    const isElsewhere = plan?.isPinned && plan.nodeId !== nodeId && owners.get(cell)?.nodeId === nodeId
    const to = isElsewhere ? successorOf(cell, sighting) : null
    if (to !== null) return { cell, to, isPinned: true }
  }
  const count = (id: string) => cells.filter((cell) => owners.get(cell)?.nodeId === id).length
  const own = count(nodeId)
  if (own <= fairShare(cells.length, offers.length)) return null
  const receivers = offers
    .filter((offer) => offer.nodeId !== nodeId && count(offer.nodeId) <= own - 2)
    .sort((a, b) => count(a.nodeId) - count(b.nodeId) || (a.nodeId < b.nodeId ? -1 : 1))
  // `main` moves last: all sign-ins wait meanwhile.
  const movable = cells.filter((cell) => owners.get(cell)?.nodeId === nodeId && !plans.get(cell)?.isPinned)
  for (const { nodeId: to, cells: takes } of receivers) {
    const cell = movable.findLast((each) => takes.includes(each))
    if (cell) return { cell, to, isPinned: false }
  }
  return null
}

/** A node that can take these cells; null: any cell. */
export interface Successor extends Pick<LeaseCandidate, 'nodeId' | 'url'> {
  readonly cells: readonly CellName[] | null
}

/** The node that will probably take each of these cells when their owner stops: the planned one, otherwise the one with the fewest cells. */
export function nextOwners(
  cells: readonly CellName[],
  others: readonly Successor[],
  sighting: ShareView['sighting'] | null,
): ReadonlyMap<CellName, Successor> {
  const counts = new Map<string, number>()
  const add = (id: string) => counts.set(id, (counts.get(id) ?? 0) + 1)
  for (const { nodeId } of sighting?.owners.values() ?? []) add(nodeId)
  const next = new Map<CellName, Successor>()
  for (const cell of cells) {
    const able = others.filter((other) => other.cells === null || other.cells.includes(cell))
    const [fewest] = able.sort((a, b) => (counts.get(a.nodeId) ?? 0) - (counts.get(b.nodeId) ?? 0))
    const planned = sighting && successorOf(cell, sighting)
    const to = able.find(({ nodeId }) => nodeId === planned) ?? fewest
    if (!to) continue
    add(to.nodeId)
    next.set(cell, to)
  }
  return next
}

/** The node that should take a free cell; null if none can. With one cell, nodes do not say what they can take. */
function successorOf(cell: CellName, { plans, offers, at }: ShareView['sighting']): string | null {
  const plan = plans.get(cell)
  if (!plan || !(plan.isPinned || isOpen(plan, at))) return null
  if (offers.length === 0) return plan.nodeId
  return offers.some(({ nodeId, cells }) => nodeId === plan.nodeId && cells.includes(cell)) ? plan.nodeId : null
}

function isOpen({ madeAt }: Plan, at: number): boolean {
  return Math.abs(at - madeAt) <= PLAN_MS
}

function fairShare(cells: number, nodes: number): number {
  return Math.ceil(cells / Math.max(1, nodes))
}
