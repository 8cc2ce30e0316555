import type { Peer } from '../../core/cluster/hop'
import {
  ClockSkew,
  LEASE_MS,
  Lease,
  type LeaseStore,
  MAX_SKEW_MS,
  type NodeFacts,
  RENEW_MS,
  type Sighting,
} from '../../core/cluster/leases'
import { reasonOf } from '../../core/result'
import type { Log } from '../../log'

/** How long a request waits for an owner. Another node owns the accounts within this time after a crash. */
const MAX_WAIT_MS = 15_000
/** Beyond this many, a request is refused at once. */
const MAX_WAITING = 10_000
/** How often a standby looks at the lease. */
const LOOK_MS = 1_000
/** While nobody owns the accounts, or requests wait. */
const SOON_MS = 100
/** After the database did not answer: several tries fit into a lease. */
const RETRY_MS = 300
/** After the accounts could not be opened, other nodes go first. */
const BACK_OFF_MS = 5_000
/** How long calls may take that are in progress when an owner finds its clock wrong. */
const YIELD_MS = 10_000
/** Closing waits for a database that does not answer, which has a limit of its own. */
const MAX_CLOSE_MS = 20_000

/** A gateway that owns the accounts. */
export interface OwnedGateway {
  readonly fetch: (request: Request) => Response | Promise<Response>
  readonly control: (request: Request) => Promise<Response>
  readonly stopping: { drain(): void }
  /** Resolves when no call is in progress. Aborts those that still run after `maxMs`. */
  streamsEnded(maxMs: number): Promise<void>
  close(): Promise<void>
}

/** What a gateway needs to know about the lease under which it runs. */
export interface Ownership {
  readonly lease: { readonly nodeId: string; readonly term: number }
  readonly mayGrant: () => boolean
  /** Another process owns the database, or an essential part died. */
  readonly onLost: (reason: string) => void
}

export type Role = 'standby' | 'taking' | 'owner' | 'releasing'

export interface RoleParts<G extends OwnedGateway> {
  readonly self: Omit<NodeFacts, 'skewMs'>
  readonly leases: LeaseStore
  /** Opens the accounts: raises the epoch, which fences every older owner, and restores the counters. */
  readonly open: (ownership: Ownership) => Promise<G>
  readonly onSighting: (sighting: Sighting) => void
  /** Whether a node with the secrets of this one named itself as the owner at this address. Nothing is sent to another. */
  readonly isGenuine: (owner: Peer) => boolean
  /** The process must end: it cannot be trusted any more. */
  readonly onStuck: (reason: string) => void
  readonly log: Log
  readonly now: () => number
  /** Milliseconds of a clock that never steps. */
  readonly monotonic: () => number
  /** For tests. */
  readonly sleep?: (ms: number) => Promise<void>
}

/**
 * What this node is: a standby, or the owner of the accounts, and how it becomes one or the other (ADR 46). It never decides by itself that
 * another node is gone: the lease does, by the database's clock.
 */
export class NodeRole<G extends OwnedGateway> {
  private readonly parts: RoleParts<G>
  private readonly skew = new ClockSkew()
  private current: Role = 'standby'
  private lease: Lease | null = null
  private gateway: G | null = null
  private peer: Peer | null = null
  /** Why the database could not be asked, or the accounts not be opened, the last time. */
  private trouble: string | null = null
  private failure: string | null = null
  private mayTake = true
  private isOver = false
  private notBefore = Number.NEGATIVE_INFINITY
  private seenAt = Number.NEGATIVE_INFINITY
  private readonly startedAt: number
  private isUrlSaid = false
  /** Resolves when what was lost is closed. */
  private closing: Promise<void> | null = null
  private opening: Promise<void> | null = null
  private yielding: Promise<void> | null = null
  private looping: Promise<void> = Promise.resolve()
  private inside = 0
  private onIdle: (() => void) | null = null
  private waiting = 0
  private changed = Promise.withResolvers<void>()
  private hurried = Promise.withResolvers<void>()

  constructor(parts: RoleParts<G>) {
    this.parts = parts
    this.startedAt = parts.monotonic()
  }

  get name(): Role {
    return this.current
  }

  /** How far this node's clock is ahead of the database's, for certain. */
  get aheadMs(): number {
    return this.skew.certainMs
  }

  /** The number of this node's ownership, also while it opens the accounts; null if it owns nothing, or ends. */
  get term(): number | null {
    return this.current === 'taking' || this.owned() ? (this.lease?.term ?? null) : null
  }

  /** The gateway, while this node owns the accounts. */
  owned(): G | null {
    return this.current === 'owner' && this.lease?.isHeld() ? this.gateway : null
  }

  /** The owner, if it is another node. */
  owner(): Peer | null {
    return this.peer
  }

  /** What prevents this node from being ready, apart from the gateway itself. */
  problem(): string | null {
    return this.skew.problem() ?? this.trouble ?? this.failure ?? this.sharedUrl()
  }

  /** The process before this one had the same address, and its lease may still run. */
  private sharedUrl(): string | null {
    const { self, monotonic } = this.parts
    const isShared = this.peer?.url === self.url && monotonic() - this.startedAt > LEASE_MS + RENEW_MS
    return isShared ? `another node has the same NODE_URL, ${self.url}; give each node an address of its own` : null
  }

  /** Takes part from now on. Resolves when this node owns the accounts, or knows who does; else to what prevents that. */
  async start(): Promise<string | null> {
    this.looping = this.loop()
    const known = () => this.owned() ?? this.peer ?? (this.current === 'taking' ? null : this.problem())
    // To open the accounts takes as long as an upgrade of their tables.
    do await this.until(known)
    while (this.current === 'taking')
    return this.owned() || this.peer ? null : (this.problem() ?? 'no node took the accounts in time')
  }

  /** Handles a request here. A hand-over waits for it. */
  async during<T>(handle: () => T | Promise<T>): Promise<T> {
    this.inside++
    try {
      return await handle()
    } finally {
      if (--this.inside === 0) this.onIdle?.()
    }
  }

  /** What `look` finds, now or as soon as the role changes; null if it finds nothing in time. */
  async until<T>(look: () => T | null, signal?: AbortSignal): Promise<T | null> {
    const found = look()
    if (found !== null || this.waiting >= MAX_WAITING || signal?.aborted) return found
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, MAX_WAIT_MS)
    signal?.addEventListener('abort', () => late.resolve(), { once: true })
    let isLate = false
    void late.promise.then(() => {
      isLate = true
    })
    this.waiting++
    this.hurry()
    try {
      for (;;) {
        await Promise.race([this.changed.promise, late.promise])
        const next = look()
        if (next !== null || isLate) return next
      }
    } finally {
      clearTimeout(timer)
      this.waiting--
    }
  }

  /**
   * Stops taking part. An owner grants nothing more, waits for its calls, closes the accounts, and gives the lease back: another node takes it
   * at once. Requests that come here meanwhile wait for that.
   */
  async leave(drainMs: number): Promise<void> {
    this.mayTake = false
    await this.opening
    await this.closing
    await this.yielding
    const { gateway, lease } = this
    if (gateway && lease) await this.handOver(gateway, lease, drainMs)
    // What waits here goes to the next owner, if there is a node that can become it.
    if (this.waiting > 0 && (await this.hasSuccessor())) await this.until(() => this.peer)
  }

  /** Ends the loop, after `leave`. */
  async end(): Promise<void> {
    this.isOver = true
    this.hurry()
    await this.looping
    await this.parts.leases.leave(this.parts.self.id).catch(() => undefined)
  }

  private async hasSuccessor(): Promise<boolean> {
    const { leases, self } = this.parts
    const nodes = await leases.nodes().catch(() => [])
    return nodes.some(({ id, isLive, skewMs }) => isLive && id !== self.id && Math.abs(skewMs) <= MAX_SKEW_MS)
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
    await leases.release(self.id, lease.term).catch((error: unknown) => {
      log.warn('the lease was not given back; it ends by itself', { reason: reasonOf(error) })
    })
    this.enter('standby')
    log.info('this node gave the accounts back; another one takes them', { term: lease.term })
  }

  private async loop(): Promise<void> {
    while (!this.isOver) {
      let pauseMs = this.lease ? RENEW_MS : this.waiting > 0 || this.peer === null ? SOON_MS : LOOK_MS
      try {
        await this.step()
        this.trouble = null
      } catch (error) {
        const reason = reasonOf(error)
        if (this.trouble === null) this.parts.log.error('the lease could not be read or renewed', { reason })
        this.trouble = reason
        this.tell()
        pauseMs = RETRY_MS
      }
      if (this.lease && !this.lease.isHeld()) this.lose('the lease ran out before it could be renewed')
      await this.pause(pauseMs)
    }
  }

  private async step(): Promise<void> {
    const { leases, self, monotonic, now, onSighting, isGenuine, log } = this.parts
    const { lease } = this
    if (lease) {
      const sentAt = monotonic()
      if (await leases.renew(self.id, lease.term)) lease.renewed(sentAt)
      else if (this.lease === lease) this.lose('another node took the lease')
    }
    const sentAt = now()
    const sighting = await leases.look()
    const wasOff = this.skew.problem() !== null
    this.skew.measure(sentAt, now(), sighting.at)
    const reason = this.skew.problem()
    if (reason !== null && !wasOff) log.error('the clock of this node is off', { reason })
    if (sighting.owner && !isGenuine(sighting.owner))
      throw new Error(`the lease names ${sighting.owner.url}, which is not a node with this SECRET_KEY`)
    onSighting(sighting)
    await this.saw(sighting)
    await this.yieldIfOff()
    if (monotonic() - this.seenAt < RENEW_MS) return
    this.seenAt = monotonic()
    await leases.beat({ ...self, skewMs: this.skew.ms })
  }

  /** With a wrong clock budgets and limits count in the wrong time: a node with a right clock, if there is one, owns better. */
  private async yieldIfOff(): Promise<void> {
    const { gateway, lease } = this
    if (!gateway || !lease || this.current !== 'owner' || this.skew.problem() === null) return
    if (await this.hasSuccessor())
      this.yielding = this.handOver(gateway, lease, YIELD_MS).catch((error: unknown) =>
        this.parts.onStuck(reasonOf(error)),
      )
  }

  private async saw({ owner }: Sighting): Promise<void> {
    const { leases, self, monotonic, log } = this.parts
    const isOwn = owner?.nodeId === self.id
    // The answer to taking it was lost: nobody knows how long it is held.
    if (isOwn && !this.lease && !this.opening && !this.closing) await leases.release(self.id, owner.term)
    const before = this.peer
    this.peer = isOwn ? null : owner
    if (before?.term !== this.peer?.term) this.tell()
    const sharedUrl = this.sharedUrl()
    if (sharedUrl !== null && !this.isUrlSaid) log.error('NODE_URL is not of this node alone', { reason: sharedUrl })
    this.isUrlSaid = sharedUrl !== null
    const isFree = owner === null && this.lease === null && this.opening === null && this.closing === null
    if (!isFree || !this.mayTake || this.skew.isOff || monotonic() < this.notBefore) return
    const sentAt = monotonic()
    const term = await leases.take(self)
    if (term === null) return
    const lease = new Lease(term, sentAt, monotonic)
    this.lease = lease
    this.enter('taking')
    this.opening = this.opened(lease).finally(() => (this.opening = null))
  }

  private async opened(lease: Lease): Promise<void> {
    const { leases, self, open, log, monotonic } = this.parts
    const startedAt = monotonic()
    try {
      const gateway = await open({
        lease: { nodeId: self.id, term: lease.term },
        mayGrant: lease.isHeld,
        onLost: (reason) => {
          if (this.lease === lease) this.lose(reason)
        },
      })
      if (this.lease !== lease) return await this.closed(gateway, lease)
      this.gateway = gateway
      this.failure = null
      this.enter('owner')
      log.info('this node owns the accounts', { term: lease.term, ms: Math.round(monotonic() - startedAt) })
    } catch (error) {
      if (this.lease === lease) this.lease = null
      lease.drop()
      this.notBefore = monotonic() + BACK_OFF_MS
      this.failure = reasonOf(error)
      log.error('this node could not open the accounts', { reason: this.failure })
      await leases.release(self.id, lease.term).catch(() => undefined)
      this.enter('standby')
    }
  }

  /** From here on another node may own the accounts. Calls in progress get a 503, and commit nothing. */
  private lose(reason: string): void {
    const { lease, gateway } = this
    if (!lease) return
    lease.drop()
    // A hand-over goes on: the fence refuses what comes too late.
    if (this.current === 'releasing') return
    this.parts.log.error('this node does not own the accounts any more', { reason, term: lease.term })
    this.lease = null
    this.gateway = null
    if (gateway) this.closing = this.closed(gateway, lease).finally(() => (this.closing = null))
    this.enter('standby')
  }

  private async closed(gateway: G, lease: Lease): Promise<void> {
    const { leases, self, onStuck } = this.parts
    const timer = setTimeout(() => onStuck('what this node lost could not be closed in time'), MAX_CLOSE_MS)
    try {
      gateway.stopping.drain()
      await gateway.streamsEnded(0)
      await gateway.close()
    } catch (error) {
      onStuck(`what this node lost could not be closed: ${reasonOf(error)}`)
    }
    clearTimeout(timer)
    await leases.release(self.id, lease.term).catch(() => undefined)
  }

  private enter(role: Role): void {
    this.current = role
    this.tell()
  }

  private tell(): void {
    this.changed.resolve()
    this.changed = Promise.withResolvers()
  }

  /** Looks at the lease now. */
  private hurry(): void {
    this.hurried.resolve()
  }

  private async pause(ms: number): Promise<void> {
    const { sleep = Bun.sleep } = this.parts
    // The loop comes round at most each SOON_MS, however many requests are in a hurry.
    const soon = Math.min(ms, SOON_MS)
    await sleep(soon)
    if (ms === soon || this.isOver) return
    await Promise.race([sleep(ms - soon), this.hurried.promise])
    this.hurried = Promise.withResolvers()
  }
}
