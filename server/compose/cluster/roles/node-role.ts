import { type CellName, MAIN_CELL } from '../../../core/cluster/cells'
import type { Peer } from '../../../core/cluster/hop'
import {
  ClockSkew,
  LEASE_MS,
  type LeaseCandidate,
  MAX_SKEW_MS,
  RENEW_MS,
  type Sighting,
} from '../../../core/cluster/leases'
import { nextOwners, type Successor, surplus, takesNow } from '../../../core/cluster/shares'
import { reasonOf } from '../../../core/result'
import { type CellParts, CellRole, type CellState } from './cell-role'
import { Heartbeat, type HeartbeatParts } from './heartbeat'
import type { OwnedGateway } from './owned-gateway'
import { WaitingRequests } from './waiting-requests'

/** How often a node reads the leases, unless it has them all. */
const LOOK_MS = 1_000
/** While a cell has no owner, or requests wait. */
const SOON_MS = 100
/** During the first second in which requests wait, or while a cell is prepared: at a planned hand-over it becomes free within milliseconds. */
const AT_ONCE_MS = 20
const TURNS_AT_ONCE = 50
/** While both are true. */
const PREPARED_MS = 5
/** After the database did not answer. Several tries fit into the time of a lease. */
const RETRY_MS = 300
/** How long calls in progress may take when a running node hands a cell over. */
const YIELD_MS = 10_000

interface RoleParts<G extends OwnedGateway> extends CellParts<G>, HeartbeatParts {
  readonly onSighting: (sighting: Sighting) => void
  /** Whether the owner is a node with this node's secrets. Nothing is sent to any other. */
  readonly isGenuine: (owner: Peer) => boolean
  readonly now: () => number
  /** Asks another node to prepare a cell that it will soon get. Resolves to false if it cannot or takes too long. Never rejects. */
  readonly askToPrepare?: (cell: CellName, at: Pick<LeaseCandidate, 'nodeId' | 'url'>) => Promise<boolean>
  /** For tests. */
  readonly sleep?: (ms: number) => Promise<void>
}

/**
 * The role of this node for each cell: standby, or owner of its accounts (ADR 46). It never decides by itself that another node is gone: the leases
 * decide, by the database's clock.
 */
export class NodeRole<G extends OwnedGateway> {
  private readonly parts: RoleParts<G>
  private readonly skew = new ClockSkew()
  private readonly heartbeat: Heartbeat
  private readonly waiting = new WaitingRequests(() => this.hurry())
  private readonly byCell: ReadonlyMap<CellName, CellRole<G>>
  private readonly roles: readonly CellRole<G>[]
  readonly main: CellRole<G>
  /** Why the database could not be read last time. */
  private trouble: string | null = null
  private latest: Sighting | null = null
  private mayTake = true
  private isOver = false
  /** Since when each cell has been without an owner. */
  private readonly freeSince = new Map<CellName, number>()
  private readonly startedAt: number
  private isUrlReported = false
  /** How many consecutive turns of the loop found waiting requests. */
  private turnsAwaited = 0
  /** Cells of this node that are being handed over. */
  private readonly handingOver = new Set<CellName>()
  private looping: Promise<void> = Promise.resolve()
  private hurried = Promise.withResolvers<void>()

  constructor(parts: RoleParts<G>) {
    this.parts = parts
    this.heartbeat = new Heartbeat(parts, this.skew)
    this.main = new CellRole(MAIN_CELL, parts, this.waiting)
    const others = (parts.cells ?? []).filter((cell) => cell !== MAIN_CELL)
    this.roles = [this.main, ...others.map((cell) => new CellRole(cell, parts, this.waiting))]
    this.byCell = new Map(this.roles.map((role) => [role.cell, role]))
    this.startedAt = parts.monotonic()
  }

  /** All cells, `main` first. */
  get cells(): readonly CellName[] {
    return this.roles.map(({ cell }) => cell)
  }

  /** This node's role for a cell; null if there is no such cell. */
  of(cell: CellName): CellRole<G> | null {
    return this.byCell.get(cell) ?? null
  }

  /** The last answer of the database. */
  get sighting(): Sighting | null {
    return this.latest
  }

  get name(): CellState {
    return this.main.name
  }

  /** How far this node's clock is certainly ahead of the database's. */
  get aheadMs(): number {
    return this.skew.certainMs
  }

  /** The term of this node's ownership of `main`, also while it opens the accounts; null if it does not own it or is giving it up. */
  get term(): number | null {
    return this.main.term
  }

  /** The gateway of `main`, while this node owns it. */
  owned(): G | null {
    return this.main.owned()
  }

  /** The owner of `main`, if it is another node. */
  owner(): Peer | null {
    return this.main.owner()
  }

  /** What prevents this node from being ready, apart from the gateways themselves. */
  problem(): string | null {
    const failures = this.roles.map(({ failure }) => failure)
    const failure = failures.includes(null) ? null : (failures[0] ?? null)
    return this.skew.problem() ?? this.trouble ?? failure ?? this.sharedUrl()
  }

  /** The problem of an address that another node also uses; null without one. Ignored at first: the lease of this node's previous process may still run. */
  private sharedUrl(): string | null {
    const { self, monotonic } = this.parts
    const isSeen = this.roles.some((role) => role.owner()?.url === self.url)
    const isShared = isSeen && monotonic() - this.startedAt > LEASE_MS + RENEW_MS
    return isShared ? `another node has the same NODE_URL, ${self.url}; give each node its own address` : null
  }

  /** Starts taking part. Resolves when each cell has an owner or this node cannot take it: to null, or to the reason if no cell has an owner. */
  async start(): Promise<string | null> {
    this.looping = this.loop()
    const isKnown = (role: CellRole<G>) => role.owned() !== null || role.owner() !== null
    const isTaking = () => this.roles.some(({ name }) => name === 'taking')
    const hasFailed = ({ name, failure }: CellRole<G>) => name !== 'taking' && failure !== null
    const isSettled = () =>
      this.roles.every((role) => isKnown(role) || hasFailed(role)) || (!isTaking() && this.problem() !== null)
    // Opening the accounts can take as long as an upgrade of their tables.
    do await this.until(() => isSettled() || null)
    while (isTaking())
    return this.roles.some(isKnown) ? null : (this.problem() ?? 'no node took the accounts in time')
  }

  /** Counts a request of `main` as in progress while `handle` runs. A hand-over waits for it. */
  during<T>(handle: () => T | Promise<T>): Promise<T> {
    return this.main.during(handle)
  }

  /** Resolves to what `look` finds, now or after a change of this node's roles; null if it finds nothing in time. */
  until<T>(look: () => T | null, signal?: AbortSignal): Promise<T | null> {
    return this.waiting.until(look, signal)
  }

  /** From now on this node takes no cells, because it stops. It serves those that it owns until `leave`. */
  withdraw(): void {
    this.mayTake = false
  }

  /**
   * Stops taking part. An owner stops granting, waits for its calls, closes the accounts and releases its leases: other nodes take them immediately.
   * Requests that arrive here meanwhile wait for that.
   */
  async leave(drainMs: number): Promise<void> {
    this.withdraw()
    // The other nodes' shares grow from now on.
    if (this.roles.length > 1) await this.beat().catch(() => undefined)
    await this.prepareSuccessors()
    await Promise.all(this.roles.map((role) => role.leave(drainMs)))
    // Requests that wait here go to the next owners, if another node can become one.
    if (this.waiting.count > 0 && (await this.hasSuccessor()))
      await this.until(() => this.roles.every((role) => role.owner()) || null)
  }

  /** Hands a cell of this node to another one, which keeps it as long as it is alive. Resolves when the lease is released. */
  async handOver(cell: CellName, to: LeaseCandidate): Promise<void> {
    await this.parts.leases.plan(cell, to.nodeId, true)
    if (to.nodeId !== this.parts.self.id) await this.yieldTo(cell, to)
  }

  /**
   * Prepares a cell that another node is about to hand over, and reads the leases more often from now on. Resolves to false if the cell cannot be prepared
   * or this node would not take it.
   */
  async prepare(cell: CellName): Promise<boolean> {
    const role = this.of(cell)
    if (!role || !this.isAble || this.trouble !== null) return false
    const prepared = role.prepare()
    this.hurry()
    await prepared
    return role.isPrepared
  }

  /** Hands a cell over once the next owner has prepared it: requests then wait only as long as that node takes to begin. */
  private async yieldTo(cell: CellName, to: Pick<LeaseCandidate, 'nodeId' | 'url'> | null): Promise<void> {
    if (this.handingOver.has(cell)) return
    this.handingOver.add(cell)
    try {
      if (to) await this.parts.askToPrepare?.(cell, to)
      await this.of(cell)?.yieldWithin(YIELD_MS)
    } finally {
      this.handingOver.delete(cell)
    }
  }

  /** Asks the probable next owners to prepare the cells of this node: the node with the fewest cells gets the next one. */
  private async prepareSuccessors(): Promise<void> {
    const { askToPrepare, leases } = this.parts
    const owned = this.roles.filter(({ name }) => name === 'owner')
    if (!askToPrepare || owned.length === 0) return
    const cells = owned.map(({ cell }) => cell)
    const successors = await this.successors()
    const next = nextOwners(cells, successors, this.latest)
    const prepared = await Promise.all([...next].map(([cell, to]) => askToPrepare(cell, to)))
    // Several cells go to the nodes with the fewest. A single cell would go to the first node that sees that it is free.
    const [to] = next.values()
    if (to && prepared[0] && this.roles.length === 1 && successors.length > 1)
      await leases.plan(MAIN_CELL, to.nodeId, false).catch(() => undefined)
  }

  /** Ends the loop, after `leave`. */
  async end(): Promise<void> {
    this.isOver = true
    this.hurry()
    await this.looping
    await this.parts.leases.leave(this.parts.self.id).catch(() => undefined)
  }

  /** Whether another node can take the cells that this one releases. */
  private async hasSuccessor(): Promise<boolean> {
    return (await this.successors()).length > 0
  }

  /** The other nodes that can take cells. With one cell, nodes do not report whether they are stopping too. */
  private async successors(): Promise<readonly Successor[]> {
    const { leases, self } = this.parts
    if (this.roles.length > 1) {
      const sighting = await leases.look().catch(() => null)
      return sighting?.offers.filter(({ nodeId, cells }) => nodeId !== self.id && cells.length > 0) ?? []
    }
    const nodes = await leases.nodes().catch(() => [])
    return nodes
      .filter(({ id, isLive, skewMs }) => isLive && id !== self.id && Math.abs(skewMs) <= MAX_SKEW_MS)
      .map(({ id, url }) => ({ nodeId: id, url, cells: null }))
  }

  private async loop(): Promise<void> {
    while (!this.isOver) {
      let isTrouble = false
      try {
        await this.step()
        this.trouble = null
      } catch (error) {
        const reason = reasonOf(error)
        if (this.trouble === null) this.parts.log.error('the lease could not be read or renewed', { reason })
        this.trouble = reason
        this.waiting.notify()
        isTrouble = true
      }
      for (const role of this.roles)
        if (role.held && !role.held.isHeld()) role.lose('the lease ran out before it could be renewed')
      this.turnsAwaited = this.waiting.count > 0 ? this.turnsAwaited + 1 : 0
      await this.pause(isTrouble ? RETRY_MS : this.pauseMs())
    }
  }

  private async step(): Promise<void> {
    const { leases, now, onSighting, isGenuine, log } = this.parts
    await this.renew()
    const sentAt = now()
    const sighting = await leases.look()
    const wasOff = this.skew.problem() !== null
    this.skew.measure(sentAt, now(), sighting.at)
    const reason = this.skew.problem()
    if (reason !== null && !wasOff) log.error('the clock of this node is off', { reason })
    for (const owner of sighting.owners.values())
      if (!isGenuine(owner)) throw new Error(`the lease names ${owner.url}, which is not a node with this SECRET_KEY`)
    this.latest = sighting
    onSighting(sighting)
    if (this.roles.length > 1) await this.beat()
    for (const role of this.roles) await this.saw(role, sighting)
    this.reportSharedUrl()
    await this.yieldIfOff()
    await this.balance(sighting)
    await this.beat()
  }

  /** Renews all leases of this node together, when the first of them is due. */
  private async renew(): Promise<void> {
    const { leases, self, monotonic } = this.parts
    const sentAt = monotonic()
    const held = this.roles.flatMap(({ cell, held: lease }) => (lease ? [{ cell, lease, term: lease.term }] : []))
    if (!held.some(({ lease }) => lease.dueAt <= sentAt)) return
    const renewed = await leases.renew(
      self.id,
      held.map(({ cell, term }) => ({ cell, term })),
    )
    for (const { cell, lease } of held) {
      const role = this.of(cell)
      if (renewed.has(cell)) lease.renewed(sentAt)
      else if (role?.held === lease) role.lose('another node took the lease')
    }
  }

  private async saw(role: CellRole<G>, sighting: Sighting): Promise<void> {
    const { self, monotonic } = this.parts
    const { cell } = role
    if (!(await role.saw(sighting.owners.get(cell) ?? null))) return void this.freeSince.delete(cell)
    const since = this.freeSince.get(cell) ?? monotonic()
    this.freeSince.set(cell, since)
    if (!this.mayTake || this.skew.isOff) return
    const own = this.roles.filter(({ held }) => held !== null).length
    const view = { nodeId: self.id, cells: this.cells, sighting }
    if (takesNow(cell, view, own, monotonic() - since)) await role.take()
  }

  private reportSharedUrl(): void {
    const reason = this.sharedUrl()
    if (reason !== null && !this.isUrlReported)
      this.parts.log.error('NODE_URL is also used by another node', { reason })
    this.isUrlReported = reason !== null
  }

  /** With a wrong clock, budgets and limits count at the wrong time: hands the cells to a node with a correct clock, if there is one. */
  private async yieldIfOff(): Promise<void> {
    const owned = this.roles.filter(({ name }) => name === 'owner')
    if (owned.length === 0 || this.skew.problem() === null || !(await this.hasSuccessor())) return
    await this.beat()
    const [to = null] = await this.successors()
    for (const { cell } of owned) void this.yieldTo(cell, to)
  }

  /** Hands a cell over if this node has more than its share or another node should have it. All nodes together move one cell at a time. */
  private async balance(sighting: Sighting): Promise<void> {
    if (this.roles.length === 1 || !this.mayTake || this.roles.some(({ name }) => name === 'releasing')) return
    if (this.handingOver.size > 0) return
    const { leases, self, log } = this.parts
    const given = surplus({ nodeId: self.id, cells: this.cells, sighting })
    const role = given && this.of(given.cell)
    if (!given || role?.name !== 'owner') return
    const { isPinned, ...fields } = given
    if (!isPinned && !(await leases.plan(given.cell, given.to, false))) return
    if (isPinned) log.info('returning a cell to the node that an operator chose', fields)
    else log.info('handing a cell to a node that has fewer', fields)
    void this.yieldTo(given.cell, sighting.offers.find(({ nodeId }) => nodeId === given.to) ?? null)
  }

  /** Whether this node can take cells: it is not stopping, and its clock is correct. */
  private get isAble(): boolean {
    return this.mayTake && this.skew.problem() === null
  }

  /** Reports that this node is alive, with the cells that it can take. */
  private beat(): Promise<void> {
    const willing = () => this.roles.filter(({ isWilling }) => this.isAble && isWilling).map(({ cell }) => cell)
    return this.heartbeat.beat(this.roles.length === 1 ? null : willing)
  }

  /** Makes the loop read the leases now. */
  private hurry(): void {
    this.hurried.resolve()
  }

  /** Whether this node will soon get a cell. */
  private get hasPrepared(): boolean {
    return this.roles.some(({ isPrepared }) => isPrepared)
  }

  /** The least time from one turn of the loop to the next. */
  private get soonMs(): number {
    const isAwaited = this.turnsAwaited > 0 && this.turnsAwaited <= TURNS_AT_ONCE
    if (this.hasPrepared) return isAwaited ? PREPARED_MS : AT_ONCE_MS
    return isAwaited ? AT_ONCE_MS : SOON_MS
  }

  private pauseMs(): number {
    const { soonMs } = this
    const now = this.parts.monotonic()
    const leases = this.roles.map(({ held }) => held)
    const dueMs = Math.min(...leases.map((lease) => (lease ? lease.dueAt - now : RENEW_MS)))
    if (!leases.includes(null)) return Math.max(soonMs, dueMs)
    const isFree = this.roles.some((role) => !role.held && !role.owner() && role.silence === null)
    const isSoon = isFree || this.waiting.count > 0 || this.hasPrepared
    return Math.max(soonMs, Math.min(dueMs, isSoon ? soonMs : LOOK_MS))
  }

  private async pause(ms: number): Promise<void> {
    const { sleep = Bun.sleep } = this.parts
    // The loop never runs more often than this, however many requests are waiting.
    const soon = Math.min(ms, this.soonMs)
    await sleep(soon)
    if (ms === soon || this.isOver) return
    await Promise.race([sleep(ms - soon), this.hurried.promise])
    this.hurried = Promise.withResolvers()
  }
}
