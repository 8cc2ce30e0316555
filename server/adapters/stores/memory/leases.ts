import type { Clock } from '../../../core/clock'
import {
  type HopKey,
  LEASE_MS,
  type LeaseStore,
  type NodeFacts,
  type NodeState,
  otherFingerprints,
  type Sighting,
} from '../../../core/cluster/leases'

type Row = Omit<NodeState, 'isLive'>

/** The lease of one process that nodes of a test share. */
export class MemoryLeases implements LeaseStore {
  private readonly clock: Clock
  private readonly known = new Map<string, Row>()
  private readonly equal = new Map<string, string>()
  private readonly joined = new Map<string, readonly (readonly [string, string])[]>()
  private hopKeys: HopKey[] = []
  private lease = { nodeId: '', url: '', term: 0, takenAt: 0, expiresAt: Number.NEGATIVE_INFINITY }

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
    const { expiresAt: _, ...owner } = this.lease
    const zones = this.known.get(owner.nodeId)?.zones ?? null
    return { at, owner: this.runs(at) ? { ...owner, zones } : null, hopKeys: this.hopKeys }
  }

  async beat(node: NodeFacts): Promise<void> {
    const now = this.clock.now()
    this.known.set(node.id, { startedAt: now, ...this.known.get(node.id), ...node, seenAt: now })
  }

  async take({ id, url }: Pick<NodeFacts, 'id' | 'url'>): Promise<number | null> {
    const now = this.clock.now()
    const others = (this.joined.get(id) ?? []).filter(([name, value]) => this.equal.get(name) !== value)
    if (others.length > 0) throw otherFingerprints(others.map(([name]) => name))
    if (this.runs(now)) return null
    const term = this.lease.term + 1
    this.lease = { nodeId: id, url, term, takenAt: now, expiresAt: now + LEASE_MS }
    return term
  }

  async renew(nodeId: string, term: number): Promise<boolean> {
    if (!this.isOf(nodeId, term)) return false
    this.lease.expiresAt = this.clock.now() + LEASE_MS
    return true
  }

  async release(nodeId: string, term: number): Promise<void> {
    if (this.isOf(nodeId, term)) this.lease.expiresAt = Number.NEGATIVE_INFINITY
  }

  async addHopKey(key: Pick<HopKey, 'id' | 'value'>): Promise<void> {
    this.hopKeys = [{ ...key, createdAt: this.clock.now() }, ...this.hopKeys].slice(0, 2)
  }

  async nodes(): Promise<readonly NodeState[]> {
    const now = this.clock.now()
    return [...this.known.values()].reverse().map((row) => ({ ...row, isLive: Math.abs(now - row.seenAt) <= LEASE_MS }))
  }

  async leave(nodeId: string): Promise<void> {
    this.known.delete(nodeId)
  }

  async close(): Promise<void> {}

  private runs(now: number): boolean {
    const { expiresAt } = this.lease
    return expiresAt >= now && expiresAt <= now + 2 * LEASE_MS
  }

  private isOf(nodeId: string, term: number): boolean {
    const { lease } = this
    return lease.nodeId === nodeId && lease.term === term && lease.expiresAt > Number.NEGATIVE_INFINITY
  }
}
