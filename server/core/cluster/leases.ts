import type { CellName } from './cells'
import type { WitnessStore } from './directory-witness'
import type { Peer } from './hop'

/** How long a lease lasts without being renewed, by the database's clock. */
export const LEASE_MS = 10_000
/** How often a node renews its lease and reports that it is alive. */
export const RENEW_MS = 3_000
/** How long an owner trusts a renewal, counted from just before sending it. Less than LEASE_MS, so that it stops before another node can take the lease. */
export const HELD_MS = 9_000
/** How long a plan to hand a cell over is open. */
export const PLAN_MS = 30_000
/** A node whose clock differs more than this from the database's is not ready. */
export const MAX_SKEW_MS = 1_000
/** How many deviating measurements in a row count: one slow response does not. */
const SKEWED_LOOKS = 3

/** What a node reports about itself. */
export interface NodeFacts {
  readonly id: string
  readonly url: string
  readonly version: string
  /** A fingerprint of the time zone rules that it knows; null for a node that does not report it. */
  readonly zones: string | null
  /** How far its clock is ahead of the database's. */
  readonly skewMs: number
}

/** A node as the others see it. */
export interface NodeState extends NodeFacts {
  readonly startedAt: number
  /** When it was last seen, by the database's clock. */
  readonly seenAt: number
  readonly isLive: boolean
}

/** A key that signs hops, before it is combined with SECRET_KEY. */
export interface StoredHopKey {
  readonly id: string
  readonly value: string
  readonly createdAt: number
}

/** The owner of a cell, while its lease runs. */
export interface CellOwner extends Peer, Pick<NodeFacts, 'zones'> {
  readonly takenAt: number
}

/** A live node and the cells that it can take. */
export interface LeaseCandidate {
  readonly nodeId: string
  readonly url: string
  readonly cells: readonly CellName[]
}

/** Which node should take a cell next, or keep it as long as it is alive. */
export interface Plan {
  readonly nodeId: string
  /** An operator chose the node: the cell stays there. */
  readonly isPinned: boolean
  /** By the database's clock. */
  readonly madeAt: number
}

/** What the database returned at one time. */
export interface Sighting {
  /** The database's clock. */
  readonly at: number
  /** The owner of each cell whose lease is running. Other cells are free. */
  readonly owners: ReadonlyMap<CellName, CellOwner>
  /** Of live nodes, except those that let a lease expire. Empty with one cell. */
  readonly offers: readonly LeaseCandidate[]
  /** All plans, except pins of nodes that are gone. */
  readonly plans: ReadonlyMap<CellName, Plan>
  /** The newest first, at most two. */
  readonly hopKeys: readonly StoredHopKey[]
}

/** A lease that a node has. */
export interface HeldCell {
  readonly cell: CellName
  readonly term: number
}

/**
 * The leases of the cells, and the live nodes. Every method is one statement or one transaction, which reads the database's own clock. A lease only
 * decides which node tries to open a cell; the epoch in the cell's database decides which one may write (ADR 45 decision 14). Rejects when the database
 * does not answer.
 */
export interface LeaseStore extends WitnessStore {
  /**
   * Creates missing tables and registers the node. Returns the names of the fingerprints that differ from those of the live nodes; the node is then not
   * registered. With no other live node, its own fingerprints count from now on. Throws `DataMoved` if the data was moved away or is being moved.
   */
  join(node: NodeFacts, fingerprints: Readonly<Record<string, string>>): Promise<readonly string[]>
  /** All leases, in one statement. */
  look(): Promise<Sighting>
  /** Reports that the node is alive and, with several cells, which of them it can take. */
  beat(node: NodeFacts, offer?: readonly CellName[]): Promise<void>
  /** Takes the lease of a cell if it is free. Returns its term, which is above every earlier term and above `above`, or null. Throws if the fingerprints have changed since this node joined. */
  take(cell: CellName, node: Pick<NodeFacts, 'id' | 'url'>, above?: number): Promise<number | null>
  /** Renews all leases of a node: those that it still has, and that are neither released nor evicted, run for LEASE_MS from now. Returns their cells. */
  renew(nodeId: string, held: readonly HeldCell[]): Promise<ReadonlySet<CellName>>
  /** Prevents a lease from being renewed: its owner notices, or the lease expires. Until then no other node can take it. */
  evict(held: HeldCell): Promise<void>
  /** Releases a lease, so that another node can take it immediately. */
  release(nodeId: string, held: HeldCell): Promise<void>
  /**
   * Sets which node should take a cell next; it takes the cell when it is free, regardless of its share. Without `isPinned`, only one plan across all
   * nodes is open at a time, for at most PLAN_MS: false if there is another one. A pin is valid until its node is gone.
   */
  plan(cell: CellName, nodeId: string, isPinned: boolean): Promise<boolean>
  /** Adds a key for hops, and removes all but the newest two. */
  addHopKey(key: Pick<StoredHopKey, 'id' | 'value'>): Promise<void>
  /** All nodes seen within the last hour, the newest first. */
  nodes(): Promise<readonly NodeState[]>
  /** Removes the node, which is stopping. */
  leave(nodeId: string): Promise<void>
  close(): Promise<void>
}

export function otherFingerprints(names: readonly string[]): Error {
  return new Error(
    `${names.join(' and ')} of the other nodes changed while this node was disconnected; set the same values and restart it`,
  )
}

/** The database of a cell was already opened under `term`, and refuses lower terms: a successor was faster, or the leases are an older copy. */
export class TermTooLow extends Error {
  readonly term: number

  constructor(term: number) {
    super(
      `another node has taken the lease, or the control database is an older copy: the cell was already opened under term ${term}`,
    )
    this.term = term
  }
}

/** A lease that this node took. `monotonic` never goes back and is not the time of day. */
export class Lease {
  readonly term: number
  private readonly monotonic: () => number
  private heldUntil: number
  private isDropped = false

  /** `sentAt`: the value of `monotonic` before the statement was sent that took the lease. */
  constructor(term: number, sentAt: number, monotonic: () => number) {
    this.term = term
    this.monotonic = monotonic
    this.heldUntil = sentAt + HELD_MS
  }

  /** Whether this node may decide now. While true, no other node can have the lease, unless this process freezes right afterwards. */
  readonly isHeld = (): boolean => !this.isDropped && this.monotonic() < this.heldUntil

  /** When it should be renewed, by `monotonic`. */
  get dueAt(): number {
    return this.heldUntil - HELD_MS + RENEW_MS
  }

  /** A renewal that was sent at `sentAt` succeeded. */
  renewed(sentAt: number): void {
    this.heldUntil = Math.max(this.heldUntil, sentAt + HELD_MS)
  }

  /** From now on the lease is not held, whatever the database says, even if a renewal in flight succeeds. */
  drop(): void {
    this.isDropped = true
  }
}

/** Compares this node's clock with the database's. */
export class ClockSkew {
  private latest = 0
  private beyond = 0
  private ahead = 0

  /** The request was sent at `sentAt` and answered at `receivedAt`, by this node's clock; the database's clock was `at`. */
  measure(sentAt: number, receivedAt: number, at: number): void {
    this.latest = Math.round((sentAt + receivedAt) / 2 - at)
    const uncertain = (receivedAt - sentAt) / 2
    this.beyond = Math.abs(this.latest) - uncertain > MAX_SKEW_MS ? this.beyond + 1 : 0
    this.ahead = Math.min(Math.max(this.ahead, this.latest - uncertain), this.latest + uncertain)
  }

  /** How far this clock is certainly ahead. Every measurement can improve the value; a slow one never makes it worse. */
  get certainMs(): number {
    return this.ahead
  }

  get ms(): number {
    return this.latest
  }

  /** Whether the last measurement exceeded the limit: such a node takes no cell. */
  get isOff(): boolean {
    return this.beyond > 0
  }

  /** What is wrong with the clock; null if it agrees with the database's. */
  problem(): string | null {
    if (this.beyond < SKEWED_LOOKS) return null
    const direction = this.latest > 0 ? 'ahead of' : 'behind'
    return `the clock is ${(Math.abs(this.latest) / 1000).toFixed(1)} s ${direction} the database's; synchronize it (NTP)`
  }
}
