import { type CellName, MAIN_CELL } from '../../../core/cluster/cells'
import type { Peer } from '../../../core/cluster/hop'
import { type CellOwner, Lease, type LeaseStore, type NodeFacts, TermTooLow } from '../../../core/cluster/leases'
import { reasonOf } from '../../../core/result'
import type { Log } from '../../../log'
import { DatabaseReach } from './database-reach'
import type { OwnedGateway, Ownership, PreparedGateway } from './owned-gateway'
import { PreparedCell } from './prepared-cell'
import type { WaitingRequests } from './waiting-requests'

/** After this node failed to open a cell, it lets other nodes try first. */
const BACK_OFF_MS = 5_000
/** How long a node does not offer to take a cell that it could not open. */
const UNWILLING_MS = 300_000
/** A prepared cell is closed if the node has not taken it by then. */
const PREPARED_MS = 30_000
/** Closing may wait for a silent database, which has its own time limit. */
const MAX_CLOSE_MS = 20_000

export type CellState = 'standby' | 'taking' | 'owner' | 'releasing'

export interface CellParts<G extends OwnedGateway> {
  /** All cells, `main` first. Without it, `main` is the only cell. */
  readonly cells?: readonly CellName[]
  readonly self: Omit<NodeFacts, 'skewMs'>
  readonly leases: LeaseStore
  /** Opens the accounts of a cell. Raises the epoch, which fences every earlier owner. */
  readonly open: (ownership: Ownership, cell: CellName) => Promise<G>
  /** Opens a cell as far as possible while another node owns it. Without it, nothing is prepared. */
  readonly prepare?: (ownership: Ownership, cell: CellName) => Promise<PreparedGateway<G>>
  /** Why the database of a cell does not answer this node now; null if it does. Not called for `main`: its database also has the leases. */
  readonly askDatabase?: (cell: CellName) => Promise<string | null>
  /** The process must end: it can no longer be trusted. */
  readonly onStuck: (reason: string) => void
  readonly log: Log
  /** Milliseconds of a clock that never steps. */
  readonly monotonic: () => number
}

/** A node's role for one cell: how it becomes the owner, and stops being it (ADR 46). `NodeRole` decides when. */
export class CellRole<G extends OwnedGateway> {
  readonly cell: CellName
  private readonly parts: CellParts<G>
  private readonly waiting: WaitingRequests
  private current: CellState = 'standby'
  private lease: Lease | null = null
  private gateway: G | null = null
  private peer: CellOwner | null = null
  /** Why opening the accounts failed last time, and when. */
  private failed: { readonly reason: string; readonly at: number } | null = null
  /** The highest term of the cell's database that this node learned of by a refusal. */
  private above = 0
  private readonly reach: DatabaseReach | null
  /** Resolves when the lost gateway is closed. */
  private closing: Promise<void> | null = null
  private prepared: PreparedCell<G> | null = null
  /** Set while the lease is requested. Another node may know first that this node has it. */
  private asking: Promise<unknown> | null = null
  private opening: Promise<void> | null = null
  private yielding: Promise<void> | null = null
  private inside = 0
  private onIdle: (() => void) | null = null

  constructor(cell: CellName, parts: CellParts<G>, waiting: WaitingRequests) {
    this.cell = cell
    this.parts = parts
    this.waiting = waiting
    const { askDatabase, monotonic, log } = parts
    const onChange = (problem: string | null) => {
      if (problem !== null) log.error('the database of a cell does not answer', { cell, reason: problem })
      waiting.notify()
    }
    const isAsked = askDatabase && cell !== MAIN_CELL
    this.reach = isAsked ? new DatabaseReach({ ask: () => askDatabase(cell), monotonic, onChange }) : null
  }

  get name(): CellState {
    return this.current
  }

  /** The term of this node's ownership, also while it opens the accounts; null if it does not own the cell or is giving it up. */
  get term(): number | null {
    return this.current === 'taking' || this.owned() ? (this.lease?.term ?? null) : null
  }

  /** Resolves when this node knows whether it got the lease that it requested; null if it requested none. */
  get decided(): Promise<unknown> | null {
    return this.asking?.catch(() => undefined) ?? null
  }

  /** Whether this node owns the cell under this term, or may be about to. */
  isMeant(term: number): boolean {
    return this.asking !== null || this.term === term
  }

  /** The lease of the cell, if this node has it, also while it releases the cell. */
  get held(): Lease | null {
    return this.lease
  }

  /** How many requests this node is handling for the cell. */
  get inProgress(): number {
    return this.inside
  }

  /** Why the accounts could not be opened here; null if they could or this was not tried. */
  get failure(): string | null {
    return this.silence ?? this.failed?.reason ?? null
  }

  /** For a cell without an owner: why its database does not answer this node; null if it does or was not asked. */
  get silence(): string | null {
    return this.lease || this.peer ? null : (this.reach?.problem ?? null)
  }

  /** Whether this node will soon get the cell. */
  get isPrepared(): boolean {
    return this.prepared !== null
  }

  /** Whether this node offers to take the cell. */
  get isWilling(): boolean {
    if (this.silence !== null) return false
    return this.failed === null || this.parts.monotonic() - this.failed.at >= UNWILLING_MS
  }

  /** The gateway, while this node owns the cell. */
  owned(): G | null {
    return this.current === 'owner' && this.lease?.isHeld() ? this.gateway : null
  }

  /** The owner, if it is another node. */
  owner(): CellOwner | null {
    return this.peer
  }

  /** The owner of the cell: the gateway of this node, or another node. Waits like `until`. */
  found(signal?: AbortSignal): Promise<G | Peer | null> {
    return this.until<G | Peer>(() => this.owned() ?? this.peer, signal)
  }

  /** Resolves to what `look` finds; null if it finds nothing in time or the database of the cell does not answer. */
  async until<T extends object>(look: () => T | null, signal?: AbortSignal): Promise<T | null> {
    const found = await this.waiting.until<T | 'silent'>(
      () => look() ?? (this.silence === null ? null : 'silent'),
      signal,
    )
    return found === 'silent' ? null : found
  }

  /** Counts a request as in progress while `handle` runs. A hand-over waits for it. */
  async during<T>(handle: () => T | Promise<T>): Promise<T> {
    this.inside++
    try {
      return await handle()
    } finally {
      if (--this.inside === 0) this.onIdle?.()
    }
  }

  /** Applies the current owner according to the leases. Returns whether this node can take the cell. */
  async saw(owner: CellOwner | null): Promise<boolean> {
    const { leases, self } = this.parts
    const isOwn = owner?.nodeId === self.id
    const isIdle = this.lease === null && this.opening === null && this.closing === null
    // The answer to taking the lease was lost, so it is unknown how long it is held.
    if (isOwn && isIdle) await leases.release(self.id, owner)
    const before = this.peer
    this.peer = isOwn ? null : owner
    if (before?.term !== this.peer?.term) this.waiting.notify()
    return owner === null && isIdle
  }

  /**
   * Opens the cell as far as possible while another node owns it, so that this node serves it soon after the hand-over. Resolves when done. If this fails,
   * or the cell is not taken within half a minute, the cell is opened when it is taken.
   */
  async prepare(): Promise<void> {
    const { prepare, self, log } = this.parts
    if (!prepare || this.lease || this.opening || this.closing) return
    if (!this.prepared) {
      const { cell } = this
      const onLost = (reason: string, lease: Lease | null) => {
        if (lease === null) void this.discard(prepared)
        else if (this.lease === lease) this.lose(reason)
      }
      const prepared: PreparedCell<G> = new PreparedCell({ cell, nodeId: self.id, prepare, onLost })
      this.prepared = prepared
      setTimeout(() => void this.discard(prepared), PREPARED_MS).unref()
    }
    const { prepared } = this
    await prepared.ready().catch((error: unknown) => {
      if (this.prepared === prepared) this.prepared = null
      log.info('could not prepare a cell; it will be opened when this node takes it', {
        ...{ cell: this.cell, reason: reasonOf(error) },
      })
    })
  }

  /** Closes the prepared cell, unless the node has taken it since. */
  private async discard(prepared = this.prepared): Promise<void> {
    if (!prepared || this.prepared !== prepared) return
    this.prepared = null
    await prepared.close().catch((error: unknown) => {
      this.parts.log.warn('a prepared cell could not be closed', {
        cell: this.cell,
        reason: reasonOf(error),
      })
    })
  }

  /** Tries to take the free cell, and opens its accounts in the background. */
  async take(): Promise<void> {
    const { monotonic } = this.parts
    if (this.failed && monotonic() - this.failed.at < BACK_OFF_MS) return
    if (this.reach && !(await this.reach.answers())) return
    const sentAt = monotonic()
    this.asking = this.takeLease(sentAt)
    await this.asking
  }

  private async takeLease(sentAt: number): Promise<void> {
    const { leases, self, monotonic } = this.parts
    try {
      const term = await leases.take(this.cell, self, this.above)
      if (term === null) return
      const lease = new Lease(term, sentAt, monotonic)
      this.lease = lease
      this.enter('taking')
      this.opening = this.opened(lease).finally(() => (this.opening = null))
    } finally {
      this.asking = null
    }
  }

  /** From now on another node may own the cell. Calls in progress get a 503 and commit nothing. */
  lose(reason: string): void {
    const { lease, gateway } = this
    if (!lease) return
    lease.drop()
    // A hand-over continues: the fence refuses writes that come too late.
    if (this.current === 'releasing') return
    this.parts.log.error('this node no longer owns the accounts', { reason, ...this.named(lease) })
    this.lease = null
    this.gateway = null
    if (gateway) this.closing = this.closed(gateway, lease).finally(() => (this.closing = null))
    // If the database is silent, requests need not wait for a node to take the cell.
    void this.reach?.answers()
    this.enter('standby')
  }

  /** Hands the cell over as `leave` does, while the node keeps its other cells. Resolves when the lease is released. */
  async yieldWithin(drainMs: number): Promise<void> {
    const { gateway, lease } = this
    if (!gateway || !lease || this.current !== 'owner') return
    this.yielding = this.handOver(gateway, lease, drainMs).catch((error: unknown) =>
      this.parts.onStuck(reasonOf(error)),
    )
    await this.yielding
  }

  /**
   * Stops granting, waits for the calls, closes the accounts and releases the lease: another node takes it immediately. Requests that arrive meanwhile
   * wait for that.
   */
  async leave(drainMs: number): Promise<void> {
    await this.discard()
    await this.opening
    await this.closing
    await this.yielding
    const { gateway, lease } = this
    if (gateway && lease) await this.handOver(gateway, lease, drainMs)
  }

  private async handOver(gateway: G, lease: Lease, drainMs: number): Promise<void> {
    const { leases, self, monotonic, log } = this.parts
    const until = monotonic() + drainMs
    this.enter('releasing')
    if (this.inside > 0) {
      const late = Promise.withResolvers<void>()
      const timer = setTimeout(late.resolve, drainMs)
      await Promise.race([new Promise<void>((resolve) => (this.onIdle = resolve)), late.promise])
      clearTimeout(timer)
    }
    gateway.stopping.drain()
    await gateway.streamsEnded(Math.max(0, until - monotonic()))
    await gateway.close()
    this.gateway = null
    this.lease = null
    lease.drop()
    await leases.release(self.id, { cell: this.cell, term: lease.term }).catch((error: unknown) => {
      log.warn('the lease was not released; it expires by itself', { reason: reasonOf(error) })
    })
    this.enter('standby')
    log.info('this node released the accounts to another node', this.named(lease))
  }

  private async opened(lease: Lease): Promise<void> {
    const { leases, self, log, monotonic } = this.parts
    const { cell } = this
    const startedAt = monotonic()
    const { isPrepared } = this
    try {
      const gateway = await this.openedWith(lease)
      if (this.lease !== lease) return await this.closed(gateway, lease)
      this.gateway = gateway
      this.failed = null
      this.enter('owner')
      const ms = Math.round(monotonic() - startedAt)
      log.info('this node owns the accounts', { ...this.named(lease), ms, prepared: isPrepared })
    } catch (error) {
      if (this.lease === lease) this.lease = null
      lease.drop()
      const reason = reasonOf(error)
      if (error instanceof TermTooLow) {
        // The next term will be higher, so there is no need to wait as after other failures.
        this.above = error.term
        log.warn('the lease of a cell is older than its database; the node takes it again', {
          reason,
          ...this.named(lease),
        })
      } else {
        this.failed = { reason, at: monotonic() }
        log.error('this node could not open the accounts', { reason, ...this.named(null) })
      }
      await leases.release(self.id, { cell, term: lease.term }).catch(() => undefined)
      this.enter('standby')
    }
  }

  /** Opens the prepared gateway, or a new one. */
  private async openedWith(lease: Lease): Promise<G> {
    const { open, self, log } = this.parts
    const { cell, prepared } = this
    this.prepared = null
    if (prepared)
      try {
        return await prepared.begin(lease)
      } catch (error) {
        if (error instanceof TermTooLow || this.lease !== lease) throw error
        log.warn('a prepared cell cannot be used; it is opened from scratch', { cell, reason: reasonOf(error) })
      }
    const onLost = (reason: string) => {
      if (this.lease === lease) this.lose(reason)
    }
    return open({ lease: { cell, nodeId: self.id, term: lease.term }, mayGrant: lease.isHeld, onLost }, cell)
  }

  private async closed(gateway: G, lease: Lease): Promise<void> {
    const { leases, self, onStuck } = this.parts
    const timer = setTimeout(() => onStuck('the lost accounts could not be closed in time'), MAX_CLOSE_MS)
    try {
      gateway.stopping.drain()
      await gateway.streamsEnded(0)
      await gateway.close()
    } catch (error) {
      onStuck(`the lost accounts could not be closed: ${reasonOf(error)}`)
    }
    clearTimeout(timer)
    await leases.release(self.id, { cell: this.cell, term: lease.term }).catch(() => undefined)
  }

  private enter(role: CellState): void {
    this.current = role
    this.waiting.notify()
  }

  /** Fields of log lines: the term, and the cell if there are several. */
  private named(lease: Lease | null) {
    const areSeveral = (this.parts.cells?.length ?? 1) > 1
    return { ...(lease && { term: lease.term }), ...(areSeveral && { cell: this.cell }) }
  }
}
