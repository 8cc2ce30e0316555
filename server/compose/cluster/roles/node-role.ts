import { type CellName, MAIN_CELL } from '../../../core/cluster/cells'
import type { Peer } from '../../../core/cluster/hop'
import { ClockSkew, LEASE_MS, MAX_SKEW_MS, type Offer, RENEW_MS, type Sighting } from '../../../core/cluster/leases'
import { nextOwners, type Successor, surplus, takesNow } from '../../../core/cluster/shares'
import { reasonOf } from '../../../core/result'
import { type CellParts, CellRole, type Role } from './cell-role'
import type { OwnedGateway } from './owned-gateway'
import { WaitingRequests } from './waiting-requests'

/** How often a node looks at the leases, unless it has them all. */
const LOOK_MS = 1_000
/** While nobody owns a cell, or requests wait. */
const SOON_MS = 100
/** While requests wait, for the first second, or a cell is prepared: at a planned hand-over it is free within milliseconds. */
const AT_ONCE_MS = 20
const TURNS_AT_ONCE = 50
/** While both is so. */
const PREPARED_MS = 5
/** After the database did not answer: several tries fit into a lease. */
const RETRY_MS = 300
/** How long calls may take that are in progress when a node that goes on gives a cell to another one. */
const YIELD_MS = 10_000

interface RoleParts<G extends OwnedGateway> extends CellParts<G> {
  readonly onSighting: (sighting: Sighting) => void
  /** Whether a node with the secrets of this one named itself as the owner at this address. Nothing is sent to another. */
  readonly isGenuine: (owner: Peer) => boolean
  readonly now: () => number
  /** Asks another node to prepare a cell that it gets soon. Resolves to whether it has: not if it cannot, or takes too long. Never rejects. */
  readonly askToPrepare?: (cell: CellName, at: Pick<Offer, 'nodeId' | 'url'>) => Promise<boolean>
  /** For tests. */
  readonly sleep?: (ms: number) => Promise<void>
}

/**
 * What this node is for each cell: a standby, or the owner of its accounts (ADR 46). It never decides by itself that another node is gone: the
 * leases do, by the database's clock.
 */
export class NodeRole<G extends OwnedGateway> {
  private readonly parts: RoleParts<G>
  private readonly skew = new ClockSkew()
  private readonly waiting = new WaitingRequests(() => this.hurry())
  private readonly byCell: ReadonlyMap<CellName, CellRole<G>>
  private readonly roles: readonly CellRole<G>[]
  readonly main: CellRole<G>
  /** Why the database could not be asked the last time. */
  private trouble: string | null = null
  private latest: Sighting | null = null
  private mayTake = true
  private isOver = false
  private seenAt = Number.NEGATIVE_INFINITY
  /** What this node offered to take the last time. */
  private offered = ''
  /** Since when each cell has been without an owner. */
  private readonly freeSince = new Map<CellName, number>()
  private readonly startedAt: number
  private isUrlSaid = false
  /** How many turns of the loop in a row found requests waiting. */
  private turnsAwaited = 0
  /** Cells of this node whose next owners prepare them. */
  private readonly giving = new Set<CellName>()
  private looping: Promise<void> = Promise.resolve()
  private hurried = Promise.withResolvers<void>()

  constructor(parts: RoleParts<G>) {
    this.parts = parts
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

  /** What this node is for a cell; null if there is no such cell. */
  of(cell: CellName): CellRole<G> | null {
    return this.byCell.get(cell) ?? null
  }

  /** What the database said the last time that it answered. */
  get sighting(): Sighting | null {
    return this.latest
  }

  get name(): Role {
    return this.main.name
  }

  /** How far this node's clock is ahead of the database's, for certain. */
  get aheadMs(): number {
    return this.skew.certainMs
  }

  /** The number of this node's ownership of `main`, also while it opens the accounts; null if it owns nothing, or ends. */
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

  /** The process before this one had the same address, and its lease may still run. */
  private sharedUrl(): string | null {
    const { self, monotonic } = this.parts
    const isSeen = this.roles.some((role) => role.owner()?.url === self.url)
    const isShared = isSeen && monotonic() - this.startedAt > LEASE_MS + RENEW_MS
    return isShared ? `another node has the same NODE_URL, ${self.url}; give each node an address of its own` : null
  }

  /** Takes part from now on. Resolves when each cell has an owner, or this node cannot help; to what prevents that if no cell has one. */
  async start(): Promise<string | null> {
    this.looping = this.loop()
    const isKnown = (role: CellRole<G>) => role.owned() !== null || role.owner() !== null
    const isTaking = () => this.roles.some(({ name }) => name === 'taking')
    const hasFailed = ({ name, failure }: CellRole<G>) => name !== 'taking' && failure !== null
    const isSettled = () =>
      this.roles.every((role) => isKnown(role) || hasFailed(role)) || (!isTaking() && this.problem() !== null)
    // To open the accounts takes as long as an upgrade of their tables.
    do await this.until(() => isSettled() || null)
    while (isTaking())
    return this.roles.some(isKnown) ? null : (this.problem() ?? 'no node took the accounts in time')
  }

  /** Handles a request of `main` here. A hand-over waits for it. */
  during<T>(handle: () => T | Promise<T>): Promise<T> {
    return this.main.during(handle)
  }

  /** What `look` finds, now or as soon as the role of this node for some cell changes; null if it finds nothing in time. */
  until<T>(look: () => T | null, signal?: AbortSignal): Promise<T | null> {
    return this.waiting.until(look, signal)
  }

  /** From here on this node takes no cell: it stops. What it owns it serves until `leave`. */
  withdraw(): void {
    this.mayTake = false
  }

  /**
   * Stops taking part. An owner grants nothing more, waits for its calls, closes the accounts, and gives its leases back: other nodes take them
   * at once. Requests that come here meanwhile wait for that.
   */
  async leave(drainMs: number): Promise<void> {
    this.withdraw()
    // The shares of the others are larger from now on.
    if (this.roles.length > 1) await this.beat().catch(() => undefined)
    await this.prepareSuccessors()
    await Promise.all(this.roles.map((role) => role.leave(drainMs)))
    // What waits here goes to the next owners, if there is a node that can become it.
    if (this.waiting.count > 0 && (await this.hasSuccessor()))
      await this.until(() => this.roles.every((role) => role.owner()) || null)
  }

  /** Gives a cell of this node to another one, which keeps it as long as it lives. Resolves when the lease is given back. */
  async give(cell: CellName, to: Offer): Promise<void> {
    await this.parts.leases.plan(cell, to.nodeId, true)
    if (to.nodeId !== this.parts.self.id) await this.yieldTo(cell, to)
  }

  /**
   * Prepares a cell that another node gives away soon, and looks for it more often from now on. Resolves to whether it is prepared: not if it
   * cannot be, or this node would not take it.
   */
  async prepare(cell: CellName): Promise<boolean> {
    const role = this.of(cell)
    if (!role || !this.isAble || this.trouble !== null) return false
    const prepared = role.prepare()
    this.hurry()
    await prepared
    return role.isPrepared
  }

  /** Gives a cell away once the next owner has prepared it: requests wait for that node only as long as it takes to begin. */
  private async yieldTo(cell: CellName, to: Pick<Offer, 'nodeId' | 'url'> | null): Promise<void> {
    if (this.giving.has(cell)) return
    this.giving.add(cell)
    try {
      if (to) await this.parts.askToPrepare?.(cell, to)
      await this.of(cell)?.yieldWithin(YIELD_MS)
    } finally {
      this.giving.delete(cell)
    }
  }

  /** Has the nodes prepare the cells of this one that will probably take them: who has fewest takes the next. */
  private async prepareSuccessors(): Promise<void> {
    const { askToPrepare, leases } = this.parts
    const owned = this.roles.filter(({ name }) => name === 'owner')
    if (!askToPrepare || owned.length === 0) return
    const cells = owned.map(({ cell }) => cell)
    const successors = await this.successors()
    const next = nextOwners(cells, successors, this.latest)
    const prepared = await Promise.all([...next].map(([cell, to]) => askToPrepare(cell, to)))
    // Of several cells each goes to who has fewest. The only one would go to whoever sees first that it is free.
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

  /** Whether another node can take what this one gives back. */
  private async hasSuccessor(): Promise<boolean> {
    return (await this.successors()).length > 0
  }

  /** The other nodes that can take cells, and which; null for any. With one cell nodes do not say whether they stop, too. */
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
    this.saySharedUrl()
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

  private saySharedUrl(): void {
    const reason = this.sharedUrl()
    if (reason !== null && !this.isUrlSaid) this.parts.log.error('NODE_URL is also used by another node', { reason })
    this.isUrlSaid = reason !== null
  }

  /** With a wrong clock budgets and limits count in the wrong time: a node with a right clock, if there is one, owns better. */
  private async yieldIfOff(): Promise<void> {
    const owned = this.roles.filter(({ name }) => name === 'owner')
    if (owned.length === 0 || this.skew.problem() === null || !(await this.hasSuccessor())) return
    await this.beat()
    const [to = null] = await this.successors()
    for (const { cell } of owned) void this.yieldTo(cell, to)
  }

  /** Gives a cell away if this node has more than its share, or another one is to have it; one at a time among all nodes. */
  private async balance(sighting: Sighting): Promise<void> {
    if (this.roles.length === 1 || !this.mayTake || this.roles.some(({ name }) => name === 'releasing')) return
    if (this.giving.size > 0) return
    const { leases, self, log } = this.parts
    const given = surplus({ nodeId: self.id, cells: this.cells, sighting })
    const role = given && this.of(given.cell)
    if (!given || role?.name !== 'owner') return
    const { isPinned, ...said } = given
    if (!isPinned && !(await leases.plan(given.cell, given.to, false))) return
    if (isPinned) log.info('returning a cell to the node that an operator chose', said)
    else log.info('handing a cell to a node that has fewer', said)
    void this.yieldTo(given.cell, sighting.offers.find(({ nodeId }) => nodeId === given.to) ?? null)
  }

  /** Whether this node takes cells: it does not stop, and its clock is right. */
  private get isAble(): boolean {
    return this.mayTake && this.skew.problem() === null
  }

  /** Says that this node lives, and at once if it can take other cells than before. */
  private async beat(): Promise<void> {
    const { leases, self, monotonic } = this.parts
    const offer = this.isAble ? this.roles.filter(({ isWilling }) => isWilling).map(({ cell }) => cell) : []
    const isNews = this.roles.length > 1 && offer.join() !== this.offered
    if (!isNews && monotonic() - this.seenAt < RENEW_MS) return
    this.seenAt = monotonic()
    const facts = { ...self, skewMs: this.skew.ms }
    if (this.roles.length === 1) return leases.beat(facts)
    await leases.beat(facts, offer)
    this.offered = offer.join()
  }

  /** Looks at the leases now. */
  private hurry(): void {
    this.hurried.resolve()
  }

  /** Whether this node soon gets a cell. */
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
    // However many requests are in a hurry, the loop comes round no sooner.
    const soon = Math.min(ms, this.soonMs)
    await sleep(soon)
    if (ms === soon || this.isOver) return
    await Promise.race([sleep(ms - soon), this.hurried.promise])
    this.hurried = Promise.withResolvers()
  }
}
