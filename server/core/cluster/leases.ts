import type { CellName } from './cells'
import type { WitnessStore } from './directory-witness'
import type { Peer } from './hop'

/** How long a lease lasts without being renewed, by the database's clock. */
export const LEASE_MS = 10_000
/** How often a node renews its lease, and says that it lives. */
export const RENEW_MS = 3_000
/** How long an owner trusts a renewal, counted from before it was sent. Less than LEASE_MS: it stops before another node can take the lease. */
export const HELD_MS = 9_000
/** How long a plan to hand a cell over is open. */
export const PLAN_MS = 30_000
/** A node whose clock differs more from the database's is not ready. */
export const MAX_SKEW_MS = 1_000
/** So many measurements in a row count: a slow response alone does not. */
const SKEWED_LOOKS = 3

/** What a node says about itself. */
export interface NodeFacts {
  readonly id: string
  readonly url: string
  readonly version: string
  /** A fingerprint of the rules of time zones that it knows; null for a node that does not say. */
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
export interface HopKey {
  readonly id: string
  readonly value: string
  readonly createdAt: number
}

/** The owner of a cell, while its lease runs. */
export interface CellOwner extends Peer, Pick<NodeFacts, 'zones'> {
  readonly takenAt: number
}

/** A node that lives, and the cells that it can take. */
export interface Offer {
  readonly nodeId: string
  readonly url: string
  readonly cells: readonly CellName[]
}

/** Which node is to have a cell next, or while it lives. */
export interface Plan {
  readonly nodeId: string
  /** An operator chose the node: the cell stays there. */
  readonly isPinned: boolean
  /** By the database's clock. */
  readonly madeAt: number
}

/** What the database said at one time. */
export interface Sighting {
  /** The database's clock. */
  readonly at: number
  /** Of each cell whose lease runs. The others are free. */
  readonly owners: ReadonlyMap<CellName, CellOwner>
  /** Of nodes that live, without those whose lease of a cell ran out. Empty while there is one cell. */
  readonly offers: readonly Offer[]
  /** Pins of nodes that live, and all other plans. */
  readonly plans: ReadonlyMap<CellName, Plan>
  /** The newest first, at most two. */
  readonly hopKeys: readonly HopKey[]
}

/** A lease that a node has. */
export interface HeldCell {
  readonly cell: CellName
  readonly term: number
}

/**
 * The leases of the cells, and the nodes that live. Every method is one statement or one transaction, which reads the database's own clock. A
 * lease says who tries; the epoch in the cell's database decides (ADR 45 decision 14). Rejects when the database does not answer.
 */
export interface LeaseStore extends WitnessStore {
  /**
   * Makes the tables if they are missing, and registers the node. Returns the names of the fingerprints that differ from those of the nodes
   * that live; the node is then not registered. With no other live node, its own fingerprints count from now on. Throws `DataMoved` where the
   * data was moved away, or is being moved.
   */
  join(node: NodeFacts, fingerprints: Readonly<Record<string, string>>): Promise<readonly string[]>
  /** All leases, in one statement. */
  look(): Promise<Sighting>
  /** Says that the node lives, and where there are several cells, which of them it can take. */
  beat(node: NodeFacts, offer?: readonly CellName[]): Promise<void>
  /** Takes the lease of a cell if it is free: its term, which is above every term before and above `above`, or null. Throws if the fingerprints of the nodes are not those with which this one joined. */
  take(cell: CellName, node: Pick<NodeFacts, 'id' | 'url'>, above?: number): Promise<number | null>
  /** Renews all leases of a node: those that are still its own, and not released or evicted, run for LEASE_MS from now. Returns their cells. */
  renew(nodeId: string, held: readonly HeldCell[]): Promise<ReadonlySet<CellName>>
  /** Keeps a lease from being renewed: its owner notices, or it runs out. Until then nobody else takes it. */
  evict(held: HeldCell): Promise<void>
  /** Gives a lease back, so that another node can take it at once. */
  release(nodeId: string, held: HeldCell): Promise<void>
  /**
   * Says which node is to have a cell next; it takes the cell when it is free, whatever its share. Without `isPinned` only one such plan of all
   * nodes is open at a time, for at most PLAN_MS: false if there is another one. A pin counts until its node is gone.
   */
  plan(cell: CellName, nodeId: string, isPinned: boolean): Promise<boolean>
  /** Adds a key for hops, and removes all but the newest two. */
  addHopKey(key: Pick<HopKey, 'id' | 'value'>): Promise<void>
  /** All nodes that were seen within the last hour, the newest first. */
  nodes(): Promise<readonly NodeState[]>
  /** Removes the node: it ends. */
  leave(nodeId: string): Promise<void>
  close(): Promise<void>
}

export function otherFingerprints(names: readonly string[]): Error {
  return new Error(
    `${names.join(' and ')} of the other nodes changed while this one was away; set the same and restart it`,
  )
}

/** The database of a cell was opened under `term` before, and no lower one opens it: a successor was faster, or the leases are an older copy. */
export class TermTooLow extends Error {
  readonly term: number

  constructor(term: number) {
    super(
      `another node took the lease meanwhile, or the control database is an older copy: it was opened as term ${term}`,
    )
    this.term = term
  }
}

/** A lease that this node took. `monotonic` never goes back, and is not the time of day. */
export class Lease {
  readonly term: number
  private readonly monotonic: () => number
  private heldUntil: number
  private isDropped = false

  /** `sentAt`: `monotonic` from before the statement was sent that took it. */
  constructor(term: number, sentAt: number, monotonic: () => number) {
    this.term = term
    this.monotonic = monotonic
    this.heldUntil = sentAt + HELD_MS
  }

  /** Whether this node may decide now. No other node can have the lease while it is true, unless this process freezes right after. */
  readonly isHeld = (): boolean => !this.isDropped && this.monotonic() < this.heldUntil

  /** When it should be renewed, by `monotonic`. */
  get dueAt(): number {
    return this.heldUntil - HELD_MS + RENEW_MS
  }

  /** A renewal succeeded that was sent at `sentAt`. */
  renewed(sentAt: number): void {
    this.heldUntil = Math.max(this.heldUntil, sentAt + HELD_MS)
  }

  /** From here on it is not held, whatever the database says, also of a renewal that is on its way. */
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

  /** How far this clock is ahead for certain: nearer to the truth with every measurement, and never away from it by a slow one. */
  get certainMs(): number {
    return this.ahead
  }

  get ms(): number {
    return this.latest
  }

  /** Whether the last measurement was beyond: such a node takes nothing. */
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
