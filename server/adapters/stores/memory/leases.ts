import type { Clock } from '../../../core/clock'
import type { CellName } from '../../../core/cluster/cells'
import {
  type HeldCell,
  LEASE_MS,
  type LeaseCandidate,
  type LeaseStore,
  type NodeFacts,
  type NodeState,
  otherFingerprints,
  PLAN_MS,
  type Plan,
  type Sighting,
  type StoredHopKey,
} from '../../../core/cluster/leases'

type Row = Omit<NodeState, 'isLive'>

interface Lease {
  readonly nodeId: string
  readonly url: string
  readonly term: number
  readonly takenAt: number
  expiresAt: number
  isEvicted: boolean
}

const RELEASED = Number.NEGATIVE_INFINITY

/** The leases of one process that nodes of a test share. */
export class MemoryLeases implements LeaseStore {
  private readonly clock: Clock
  private readonly known = new Map<string, Row>()
  private readonly equal = new Map<string, string>()
  private readonly joined = new Map<string, readonly (readonly [string, string])[]>()
  private hopKeys: StoredHopKey[] = []
  private readonly leases = new Map<CellName, Lease>()
  private readonly offers = new Map<string, readonly CellName[]>()
  private readonly plans = new Map<CellName, Plan>()
  private readonly witnesses = new Map<string, { readonly text: string; readonly at: number }>()

  constructor(clock: Clock) {
    this.clock = clock
  }

  async join(node: NodeFacts, fingerprints: Readonly<Record<string, string>>): Promise<readonly string[]> {
    const others = (await this.nodes()).some(({ id, isLive }) => isLive && id !== node.id)
    const given = Object.entries(fingerprints)
    for (const [name, value] of given) if (!others || !this.equal.has(name)) this.equal.set(name, value)
    const different = given.flatMap(([name, value]) => (this.equal.get(name) === value ? [] : [name]))
    if (different.length > 0) return different
    this.joined.set(node.id, given)
    for (const { id, url, isLive } of await this.nodes()) if (url === node.url && !isLive) this.known.delete(id)
    await this.beat(node)
    return []
  }

  async look(): Promise<Sighting> {
    const at = this.clock.now()
    const running = [...this.leases].filter(([, lease]) => runs(lease, at))
    const owners = running.map(([cell, { expiresAt: _, isEvicted: _no, ...owner }]) => {
      const zones = this.known.get(owner.nodeId)?.zones ?? null
      return [cell, { ...owner, cell, zones }] as const
    })
    const live = (await this.nodes()).filter(({ isLive }) => isLive)
    const offers: LeaseCandidate[] = live.flatMap(({ id, url }) => {
      const cells = this.offers.get(id)
      return cells && !this.hasLapsed(id, at) ? [{ nodeId: id, url, cells }] : []
    })
    const plans = [...this.plans].filter(
      ([, { isPinned, nodeId }]) => !isPinned || live.some(({ id }) => id === nodeId),
    )
    return { at, owners: new Map(owners), offers, plans: new Map(plans), hopKeys: this.hopKeys }
  }

  async beat(node: NodeFacts, offer?: readonly CellName[]): Promise<void> {
    const now = this.clock.now()
    this.known.set(node.id, { startedAt: now, ...this.known.get(node.id), ...node, seenAt: now })
    if (offer) this.offers.set(node.id, offer)
  }

  async take(cell: CellName, { id, url }: Pick<NodeFacts, 'id' | 'url'>, above = 0): Promise<number | null> {
    const now = this.clock.now()
    const others = (this.joined.get(id) ?? []).filter(([name, value]) => this.equal.get(name) !== value)
    if (others.length > 0) throw otherFingerprints(others.map(([name]) => name))
    const before = this.leases.get(cell)
    if (before && runs(before, now)) return null
    const term = Math.max(before?.term ?? 0, above) + 1
    this.leases.set(cell, { nodeId: id, url, term, takenAt: now, expiresAt: now + LEASE_MS, isEvicted: false })
    if (!this.plans.get(cell)?.isPinned) this.plans.delete(cell)
    return term
  }

  async renew(nodeId: string, held: readonly HeldCell[]): Promise<ReadonlySet<CellName>> {
    const own = held.filter((each) => this.isOf(nodeId, each) && !this.leases.get(each.cell)?.isEvicted)
    for (const { cell } of own) this.expireAt(cell, this.clock.now() + LEASE_MS)
    return new Set(own.map(({ cell }) => cell))
  }

  async evict({ cell, term }: HeldCell): Promise<void> {
    const lease = this.leases.get(cell)
    if (lease?.term === term) lease.isEvicted = true
  }

  async release(nodeId: string, held: HeldCell): Promise<void> {
    if (this.isOf(nodeId, held)) this.expireAt(held.cell, RELEASED)
  }

  async plan(cell: CellName, nodeId: string, isPinned: boolean): Promise<boolean> {
    const madeAt = this.clock.now()
    const isOpen = (plan: Plan) => !plan.isPinned && Math.abs(madeAt - plan.madeAt) <= PLAN_MS
    if (!isPinned && [...this.plans.values()].some(isOpen)) return false
    this.plans.set(cell, { nodeId, isPinned, madeAt })
    return true
  }

  async attest(...[nodeId, before, { kept, restarted }]: Parameters<LeaseStore['attest']>) {
    const now = this.clock.now()
    const isRecent = (at: number) => Math.abs(now - at) <= LEASE_MS
    const found = new Map([...this.witnesses].map(([node, { text, at }]) => [node, { text, isRecent: isRecent(at) }]))
    const own = found.get(nodeId)
    this.witnesses.set(nodeId, { text: own?.isRecent && before.includes(own.text) ? kept : restarted, at: now })
    return found
  }

  async addHopKey(key: Pick<StoredHopKey, 'id' | 'value'>): Promise<void> {
    this.hopKeys = [{ ...key, createdAt: this.clock.now() }, ...this.hopKeys].slice(0, 2)
  }

  async nodes(): Promise<readonly NodeState[]> {
    const now = this.clock.now()
    return [...this.known.values()].reverse().map((row) => ({ ...row, isLive: Math.abs(now - row.seenAt) <= LEASE_MS }))
  }

  async leave(nodeId: string): Promise<void> {
    this.known.delete(nodeId)
    this.offers.delete(nodeId)
    this.witnesses.delete(nodeId)
  }

  async close(): Promise<void> {}

  private expireAt(cell: CellName, time: number): void {
    const lease = this.leases.get(cell)
    if (lease) lease.expiresAt = time
  }

  private hasLapsed(nodeId: string, now: number): boolean {
    return [...this.leases.values()].some(
      (lease) => lease.nodeId === nodeId && lease.expiresAt !== RELEASED && lease.expiresAt < now,
    )
  }

  private isOf(nodeId: string, { cell, term }: HeldCell): boolean {
    const lease = this.leases.get(cell)
    return lease?.nodeId === nodeId && lease.term === term && lease.expiresAt !== RELEASED
  }
}

function runs({ expiresAt }: Lease, now: number): boolean {
  return expiresAt >= now && expiresAt <= now + 2 * LEASE_MS
}
