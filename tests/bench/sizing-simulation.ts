import { type CallCosts, cellsOfNode, type Layout } from './sizing'

/** How long the upstream takes for each call. */
const UPSTREAM_US = 50_000
/** Callers for each node, beside those who wait for the upstream: enough that a full part always has work, and few enough that lines fill in time. */
const WAITING_EACH = 40
/** As long as all callers take to come to a part that few of their calls need, such as the control database. */
const WARM_SECONDS = 6

export interface Simulated {
  readonly callsPerSecond: number
  /** The busiest node, and the busiest database, as the share of the time that it worked. */
  readonly busiestNode: number
  readonly busiestDatabase: number
}

/** A part with one core: work waits in line. */
class Server {
  private freeAt = 0
  private worked = 0

  /** When work of this length, that comes now, is done. */
  take(now: number, us: number): number {
    this.freeAt = Math.max(now, this.freeAt) + us
    this.worked += us
    return this.freeAt
  }

  /** How much it worked until a time, of what it took. */
  busyUntil(now: number): number {
    return this.worked - Math.max(0, this.freeAt - now)
  }
}

interface Call {
  readonly node: number
  readonly cell: number
  /** When its next step is. */
  time: number
  step: 'arrives' | 'at its node' | 'at its owner' | 'has its response' | 'is booked'
}

/**
 * Lets callers call one after the other for some seconds, each at a random node for a random cell, with service times that are distributed
 * exponentially about the measured ones. Nothing of `capacityOf` is in it but which node owns which cell; the same seed gives the same result.
 */
export function simulate(layout: Layout, costs: CallCosts, seconds: number, seed: number): Simulated {
  const random = randomOf(seed)
  const drawn = (mean: number) => -mean * Math.log(1 - random())
  const some = (count: number) => Math.floor(random() * count)
  const nodes = Array.from({ length: layout.nodes }, () => new Server())
  const databases = Array.from({ length: layout.cells }, () => new Server())
  const ownerOf = nodes.flatMap((_, node) => Array.from({ length: cellsOfNode(node, layout) }, () => node))
  const at = (servers: readonly Server[], i: number): Server => {
    const server = servers[i]
    if (!server) throw new Error(`no part ${i}`)
    return server
  }
  const events = new Events()
  const newCall = (): Call => ({ node: some(layout.nodes), cell: some(layout.cells), time: 0, step: 'arrives' })
  const callers = layout.nodes * (UPSTREAM_US / Math.min(costs.owner, costs.ownerOfForwarded) + WAITING_EACH)
  for (let i = 0; i < callers; i++) events.add(random() * UPSTREAM_US, newCall())
  const [from, until] = [WARM_SECONDS * 1e6, (WARM_SECONDS + seconds) * 1e6]
  let served = 0
  const busyAtStart: { nodes: number[]; databases: number[] } = { nodes: [], databases: [] }
  const busy = (servers: readonly Server[], now: number) => servers.map((server) => server.busyUntil(now))
  for (let call = events.next(); call && call.time < until; call = events.next()) {
    const { time } = call
    if (time >= from && busyAtStart.nodes.length === 0)
      Object.assign(busyAtStart, { nodes: busy(nodes, time), databases: busy(databases, time) })
    const owner = ownerOf[call.cell] ?? 0
    if (call.step === 'arrives') {
      const isLookedUp = layout.cells > 1 && random() < layout.lookUps
      call.step = 'at its node'
      events.add(isLookedUp ? at(databases, 0).take(time, drawn(costs.lookUp)) : time, call)
    } else if (call.step === 'at its node') {
      call.step = 'at its owner'
      events.add(owner === call.node ? time : at(nodes, call.node).take(time, drawn(costs.forwarder)), call)
    } else if (call.step === 'at its owner') {
      const work = owner === call.node ? costs.owner : costs.ownerOfForwarded
      call.step = 'has its response'
      events.add(at(nodes, owner).take(time, drawn(work)) + UPSTREAM_US, call)
    } else if (call.step === 'has its response') {
      call.step = 'is booked'
      events.add(at(databases, call.cell).take(time, drawn(costs.database)), call)
    } else {
      if (time >= from) served++
      events.add(time, newCall())
    }
  }
  const busiest = (servers: readonly Server[], before: readonly number[]) =>
    Math.max(...busy(servers, until).map((us, i) => us - (before[i] ?? 0))) / (until - from)
  return {
    callsPerSecond: served / seconds,
    busiestNode: busiest(nodes, busyAtStart.nodes),
    busiestDatabase: busiest(databases, busyAtStart.databases),
  }
}

/** Numbers from 0 to 1 that follow from a seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** What happens next: a heap by time. */
class Events {
  private readonly heap: Call[] = []

  add(time: number, call: Call): void {
    const { heap } = this
    call.time = time
    let at = heap.length
    for (;;) {
      const above = (at - 1) >> 1
      const parent = at > 0 ? heap[above] : undefined
      if (!parent || parent.time <= time) break
      heap[at] = parent
      at = above
    }
    heap[at] = call
  }

  next(): Call | undefined {
    const { heap } = this
    const [first] = heap
    const last = heap.pop()
    if (!first || !last || heap.length === 0) return first
    let at = 0
    for (;;) {
      const left = heap[2 * at + 1]
      const right = heap[2 * at + 2]
      const child = left && right && right.time < left.time ? right : left
      if (!child || child.time >= last.time) break
      heap[at] = child
      at = child === left ? 2 * at + 1 : 2 * at + 2
    }
    heap[at] = last
    return first
  }
}
