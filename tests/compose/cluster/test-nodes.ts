import { MemoryLeases } from '../../../server/adapters/stores/memory/leases'
import { NodeRole } from '../../../server/compose/cluster/roles/node-role'
import type { OwnedGateway, Ownership } from '../../../server/compose/cluster/roles/owned-gateway'
import { type CellName, MAIN_CELL } from '../../../server/core/cluster/cells'
import type { LeaseStore, NodeFacts } from '../../../server/core/cluster/leases'
import { oneCellLeases } from '../../support/cluster/one-cell-leases'

/** Time that passes when the test says so, in steps in which everything that waits can go on. */
class TestTime {
  now = 1_700_000_000_000
  private sleepers: { readonly at: number; readonly wake: () => void }[] = []

  readonly sleep = (ms: number): Promise<void> => new Promise((wake) => this.sleepers.push({ at: this.now + ms, wake }))

  async pass(ms: number): Promise<void> {
    for (const end = this.now + ms; this.now < end; ) {
      this.now += 50
      const due = this.sleepers.filter(({ at }) => at <= this.now)
      this.sleepers = this.sleepers.filter(({ at }) => at > this.now)
      for (const { wake } of due) wake()
      for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

/** What one node opened, and whether it is closed. */
export interface TestGateway extends OwnedGateway {
  readonly node: string
  readonly cell: CellName
  readonly mayGrant: () => boolean
  readonly lose: Ownership['onLost']
  /** Whether it was prepared before the node had the cell. */
  readonly isPrepared: boolean
  isDraining: boolean
  isClosed: boolean
}

/** Nodes in one process that share leases in memory, and a time of the test. */
export function testNodes(
  cells: readonly CellName[] = [MAIN_CELL],
  answer: (node: string, cell: CellName, request: Request) => Response | Promise<Response> = (node) =>
    new Response(node),
) {
  const time = new TestTime()
  const shared = new MemoryLeases({ now: () => time.now })
  const opened: TestGateway[] = []
  /** In the order in which they were prepared; the term of each is read when it begins. */
  const prepared: (TestGateway & { term: number | null })[] = []
  const roles = new Map<string, NodeRole<TestGateway>>()
  const lines: string[] = []
  /** The same lines with their fields. */
  const details: object[] = []
  const start = (id: string, { skewMs = 0, url = `http://${id}` } = {}) => {
    const self: Omit<NodeFacts, 'skewMs'> = { id, url, version: '0.2.0', zones: null }
    const faults = { failure: null as Error | null, failing: [] as CellName[], silent: [] as CellName[] }
    /** What a prepared cell throws when it is prepared, and when it begins. */
    const preparing = { unprepared: null as Error | null, unbegun: null as Error | null }
    /** The answer to taking a lease arrives when this resolves. */
    const late = { taking: Promise.resolve(), beginning: Promise.resolve() }
    const link = { isCut: false, losesAnswers: false, canSearch: true, skewMs, ...faults, ...preparing, ...late }
    const log = (level: string) => (message: string, fields?: object) => {
      lines.push(`${id} ${level}: ${message}`)
      details.push({ message, ...fields })
    }
    const role = new NodeRole<TestGateway>({
      ...{ self, cells, leases: linked(shared, link), onSighting: () => undefined },
      isGenuine: ({ nodeId }) => !nodeId.startsWith('thief'),
      askDatabase: async (cell) => (link.silent.includes(cell) ? 'no answer' : null),
      canSearch: async () => link.canSearch,
      onStuck: (reason) => lines.push(`${id} stuck: ${reason}`),
      log: { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') },
      now: () => time.now + link.skewMs,
      monotonic: () => time.now,
      sleep: time.sleep,
      async open(ownership, cell) {
        refuse(cell)
        const gateway = gatewayOf(ownership, cell, false)
        opened.push(gateway)
        return gateway
      },
      async prepare(ownership, cell) {
        refuse(cell)
        if (link.unprepared) throw link.unprepared
        const gateway = Object.assign(gatewayOf(ownership, cell, true), { term: null as number | null })
        prepared.push(gateway)
        return {
          async begin() {
            await link.beginning
            if (link.unbegun) {
              await gateway.close()
              throw link.unbegun
            }
            gateway.term = ownership.lease.term
            opened.push(gateway)
            return gateway
          },
          close: () => gateway.close(),
        }
      },
      askToPrepare: async (cell, { nodeId }) => (await roles.get(nodeId)?.prepare(cell)) ?? false,
    })
    const refuse = (cell: CellName) => {
      if (link.failure && (link.failing.length === 0 || link.failing.includes(cell))) throw link.failure
    }
    const gatewayOf = ({ mayGrant, onLost }: Ownership, cell: CellName, isPrepared: boolean): TestGateway => {
      const gateway: TestGateway = {
        ...{ node: id, cell, mayGrant, lose: onLost, isPrepared, isDraining: false, isClosed: false },
        fetch: (request) => answer(id, cell, request),
        control: async (request) => answer(id, cell, request),
        stopping: {
          drain() {
            gateway.isDraining = true
          },
        },
        streamsEnded: async () => undefined,
        async close() {
          gateway.isClosed = true
        },
      }
      return gateway
    }
    roles.set(id, role)
    const started = role.start()
    return { role, link, started }
  }
  return {
    ...{ time, start, opened, prepared, lines, details, leases: oneCellLeases(shared), allLeases: shared },
    /** The nodes that may grant now. */
    granting: () => opened.filter(({ mayGrant }) => mayGrant()).map(({ node }) => node),
  }
}

/** A node's connection to the leases. */
function linked(
  leases: LeaseStore,
  link: { readonly isCut: boolean; readonly losesAnswers: boolean; readonly taking: Promise<void> },
): LeaseStore {
  return new Proxy(leases, {
    get:
      (target, name) =>
      async (...args: unknown[]) => {
        if (link.isCut) throw new Error('the database does not answer')
        const answer = await Reflect.get(target, name).apply(target, args)
        if (name === 'take') await link.taking
        if (link.losesAnswers && name !== 'look') throw new Error('the answer was lost')
        return answer
      },
  })
}
