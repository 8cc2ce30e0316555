import { describe, expect, test } from 'bun:test'
import { hopOf } from '../../../server/adapters/cluster/hop-gate'
import { HopHeaders } from '../../../server/adapters/cluster/hop-header'
import { GatewayNode } from '../../../server/compose/cluster/gateway-node'
import { HOP_HEADER, type Hopped, OPERATOR } from '../../../server/core/cluster/hop'
import { formatAddress, UNKNOWN_ADDRESS } from '../../../server/core/credentials/address'
import { isFromThisMachine } from '../../../server/http/middleware/caller/client-address'
import { testNodes } from './test-nodes'

const KEY = { id: 'k1', secret: new Uint8Array(32).fill(7) }
const ID = `req_${'0a'.repeat(16)}` as const
const LOOPBACK = { family: 4, bits: 0x7f000001 } as const

/** Issue 23: what the owner believes of a request that another node forwarded. */
describe('the owner of the accounts', () => {
  async function owner() {
    const made = await unopened()
    await made.time.pass(500)
    const [gateway] = made.opened
    if (!gateway) throw new Error('it opened nothing')
    made.serves(gateway)
    return made
  }

  /** A node that is about to take the cell. */
  async function unopened() {
    const { time, start, opened, prepared, allLeases } = testNodes()
    const { role, link } = start('a')
    const signer = new HopHeaders({ signing: KEY, accepted: [KEY] })
    const forwarded: Request[] = []
    const node = new GatewayNode({
      ...{ nodeId: 'a', role, leases: allLeases, now: () => time.now, addressOf: () => UNKNOWN_ADDRESS },
      forwarding: {
        async forward(request) {
          forwarded.push(request)
          return new Response('forwarded')
        },
        send: async () => null,
        ended: async () => undefined,
        abandon: () => undefined,
        close: async () => undefined,
      },
      hopOf: (request, term) => hopOf(request, signer, time.now, term),
    })
    const seen: Request[] = []
    const answered = (text: string) => (request: Request) => {
      seen.push(request)
      return new Response(text)
    }
    const serves = (gateway: object) =>
      Object.assign(gateway, { fetch: answered('served'), control: answered('commanded') })
    const hop = (target: string, claim: Partial<Hopped> = {}, headers: Record<string, string> = {}) => {
      const header = signer.sign(
        {
          method: 'POST',
          target,
          cell: 'main',
          address: '203.0.113.7',
          requestId: ID,
          term: 1,
          deadlineMs: 60_000,
          ...claim,
        },
        time.now,
      )
      return new Request(`http://localhost${target}`, { method: 'POST', headers: { ...headers, [HOP_HEADER]: header } })
    }
    return { node, role, link, time, seen, forwarded, hop, opened, prepared, serves, allLeases }
  }

  test('takes the address from the first node, and never from the headers of the caller', async () => {
    const { node, seen, hop } = await owner()
    const answer = await node.handle(hop('/v1/models', {}, { 'x-forwarded-for': '198.51.100.1' }))
    expect(await answer.text()).toBe('served')
    const headers = seen[0]?.headers ?? new Headers()
    expect(formatAddress(node.callers.addressOf(LOOPBACK, headers))).toBe('203.0.113.7')
    expect(headers.has(HOP_HEADER)).toBe(false)
    // What the first node calls "outcome unknown" is in the books under the same id.
    expect(node.callers.requestIdOf(headers)).toBe(ID)
    expect(node.callers.requestIdOf(new Headers({ 'x-request-id': ID }))).toBeNull()
    // The socket is that of a node beside it: the caller is not on this machine, and never the first operator.
    expect(isFromThisMachine(LOOPBACK, headers, 'localhost')).toBe(false)
    // The name of the header that has the address is no help to others.
    const other = await owner()
    const stolen = Object.fromEntries([...headers].filter(([name]) => name.startsWith('x-hopped-')))
    await other.node.handle(new Request('http://localhost/v1/models', { headers: stolen }))
    expect(other.node.callers.addressOf(LOOPBACK, other.seen[0]?.headers ?? new Headers())).toBe(UNKNOWN_ADDRESS)
  })

  test('runs an operator command only as another node signed it', async () => {
    const { node, seen, hop } = await owner()
    expect(await (await node.handle(hop('/internal/command/list', { address: OPERATOR }))).text()).toBe('commanded')
    expect(new URL(seen[0]?.url ?? '').pathname).toBe('/list')
    // A caller's own request to that path is one like any other, also through a node.
    expect(await (await node.handle(hop('/internal/command/list'))).text()).toBe('served')
    expect((await node.handle(hop('/v1/models', { address: OPERATOR }))).status).toBe(404)
    expect((await node.handle(hop('/internal/owner', { address: OPERATOR }))).status).toBe(204)
    expect(await (await node.handle(hop('/internal/owner'))).text()).toBe('served')
    expect(await (await node.handle(new Request('http://localhost/internal/command/list'))).text()).toBe('served')
  })

  test('waits with what another node sends as soon as it sees the lease, until the answer to taking it arrives', async () => {
    const { node, link, time, hop, allLeases, opened } = await unopened()
    const answer = Promise.withResolvers<void>()
    link.taking = answer.promise
    await time.pass(500)
    expect((await allLeases.look()).owners.get('main')).toMatchObject({ nodeId: 'a', term: 1 })
    const calls = [1, 2].map((term) => hop('/v1/models', { term }))
    // Whether it owns is asked before a body that cannot be sent twice.
    const probes = [1, 2].map((term) => hop('/internal/owner', { term, address: OPERATOR }))
    const statuses = [...calls, ...probes].map(async (request) => (await node.handle(request)).status)
    await time.pass(500)
    expect(opened).toEqual([])
    answer.resolve()
    await time.pass(500)
    expect(await Promise.all(statuses)).toEqual([200, 421, 204, 421])
  })

  test('refuses what was sent meanwhile if it did not get the lease', async () => {
    const { node, link, time, hop, allLeases } = await unopened()
    const answer = Promise.withResolvers<void>()
    link.taking = answer.promise
    await allLeases.take('main', { id: 'other', url: 'http://other' })
    await time.pass(11_000)
    const status = node.handle(hop('/v1/models', { term: 1 }))
    link.losesAnswers = true
    answer.resolve()
    await time.pass(100)
    expect((await status).status).toBe(421)
  })

  test('is asked to prepare a cell only by another node, and need not own anything for it', async () => {
    const { node, time, hop, prepared, serves, role } = await unopened()
    const path = '/internal/cell/prepare'
    expect((await node.handle(hop(path, { address: OPERATOR, term: 7 }))).status).toBe(204)
    expect(prepared.map(({ cell }) => cell)).toEqual(['main'])
    expect((await node.handle(hop(path, { address: OPERATOR, cell: 'c9' }))).status).toBe(503)
    await time.pass(500)
    // A caller's own request to that path is one like any other.
    serves(role.owned() ?? {})
    expect(await (await node.handle(hop(path))).text()).toBe('served')
    expect(await (await node.handle(new Request(`http://localhost${path}`, { method: 'POST' }))).text()).toBe('served')
    expect(prepared).toHaveLength(1)
  })

  test('refuses what was meant for another term or is not signed, and forwards nothing that was forwarded', async () => {
    const { node, role, time, seen, forwarded, hop } = await owner()
    for (const request of [
      hop('/v1/models', { term: 2 }),
      new Request('http://localhost/', { headers: { [HOP_HEADER]: 'x' } }),
    ])
      expect((await node.handle(request)).status).toBe(421)
    const left = role.leave(0)
    await time.pass(500)
    await left
    expect((await node.handle(hop('/v1/models'))).status).toBe(421)
    expect([seen, forwarded]).toEqual([[], []])
  })
})

/** A balancer that looks at `/ready` refuses requests itself once it finds no node ready, which would have waited and been served. */
describe('a standby', () => {
  async function standby() {
    const { time, start, allLeases } = testNodes()
    const [a, b] = [start('a'), start('b')]
    const state = { isReached: true, searchProblem: null as string | null }
    const nodeOf = ({ role }: typeof a) =>
      new GatewayNode({
        ...{ nodeId: 'b', role, leases: allLeases, now: () => time.now, addressOf: () => UNKNOWN_ADDRESS },
        forwarding: {
          forward: async () => new Response(null, { status: state.isReached ? 200 : 503 }),
          send: async () => null,
          ended: async () => undefined,
          abandon: () => undefined,
          close: async () => undefined,
        },
        hopOf: () => null,
        searchProblem: async () => state.searchProblem,
      })
    await time.pass(1_000)
    const owning = a.role.owned() ? { owner: a, other: b } : { owner: b, other: a }
    const node = nodeOf(owning.other)
    const ready = async () => {
      const answer = await node.handle(new Request('http://localhost/ready'))
      return [answer.status, ((await answer.json()) as { code?: string }).code ?? null]
    }
    return { time, state, ready, ...owning }
  }
  const READY = [200, null]
  const OUT = [503, 'owner_unavailable']

  test('stays ready while the owner hands the accounts over, and as long as requests wait for the next owner of a dead one', async () => {
    const { time, ready, owner, other } = await standby()
    expect(await ready()).toEqual(READY)
    // The lease of `a` is given back, and nobody takes it.
    other.role.withdraw()
    const left = owner.role.leave(0)
    await time.pass(500)
    await left
    expect([other.role.owner(), await ready()]).toEqual([null, READY])
    await time.pass(12_000)
    expect(await ready()).toEqual(READY)
    await time.pass(2_000)
    expect(await ready()).toEqual(OUT)
  })

  test('that does not reach the owner is ready until the lease of a dead one would have run out', async () => {
    const { time, ready, state } = await standby()
    expect(await ready()).toEqual(READY)
    state.isReached = false
    expect(await ready()).toEqual(READY)
    await time.pass(14_000)
    expect(await ready()).toEqual(OUT)
    state.isReached = true
    expect(await ready()).toEqual(READY)
  })

  test('is not ready while its search index is built: it could answer no search if it took the accounts', async () => {
    const { ready, state } = await standby()
    state.searchProblem = 'the search index is being built'
    expect(await ready()).toEqual([503, 'search_unavailable'])
    state.searchProblem = null
    expect(await ready()).toEqual(READY)
  })

  test('that has never reached an owner is not ready', async () => {
    const { ready, state } = await standby()
    state.isReached = false
    expect(await ready()).toEqual(OUT)
  })
})
