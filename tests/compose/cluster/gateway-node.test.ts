import { describe, expect, test } from 'bun:test'
import { hopOf } from '../../../server/adapters/cluster/hop-gate'
import { HopHeaders } from '../../../server/adapters/cluster/hop-header'
import { GatewayNode } from '../../../server/compose/cluster/gateway-node'
import { HOP_HEADER, type Hopped, OPERATOR } from '../../../server/core/cluster/hop'
import { formatAddress, UNKNOWN_ADDRESS } from '../../../server/core/credentials/address'
import { isFromThisMachine } from '../../../server/http/middleware/client-address'
import { testNodes } from './test-nodes'

const KEY = { id: 'k1', secret: new Uint8Array(32).fill(7) }
const ID = `req_${'0a'.repeat(16)}` as const
const LOOPBACK = { family: 4, bits: 0x7f000001 } as const

/** Issue 23: what the owner believes of a request that another node forwarded. */
describe('the owner of the accounts', () => {
  async function owner() {
    const { time, start, opened, allLeases } = testNodes()
    const { role } = start('a')
    await time.pass(500)
    const signer = new HopHeaders({ signing: KEY, accepted: [KEY] })
    const forwarded: Request[] = []
    const node = new GatewayNode({
      ...{ nodeId: 'a', role, leases: allLeases, now: () => time.now, addressOf: () => UNKNOWN_ADDRESS },
      forwarding: {
        async forward(request) {
          forwarded.push(request)
          return new Response('forwarded')
        },
        ended: async () => undefined,
        abandon: () => undefined,
        close: async () => undefined,
      },
      hopOf: (request, term) => hopOf(request, signer, time.now, term),
    })
    const seen: Request[] = []
    const [gateway] = opened
    if (!gateway) throw new Error('it opened nothing')
    const answered = (text: string) => (request: Request) => {
      seen.push(request)
      return new Response(text)
    }
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
    return { node, role, time, seen, forwarded, hop }
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
    const state = { isReached: true }
    const nodeOf = ({ role }: typeof a) =>
      new GatewayNode({
        ...{ nodeId: 'b', role, leases: allLeases, now: () => time.now, addressOf: () => UNKNOWN_ADDRESS },
        forwarding: {
          forward: async () => new Response(null, { status: state.isReached ? 200 : 503 }),
          ended: async () => undefined,
          abandon: () => undefined,
          close: async () => undefined,
        },
        hopOf: () => null,
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

  test('that has never reached an owner is not ready', async () => {
    const { ready, state } = await standby()
    state.isReached = false
    expect(await ready()).toEqual(OUT)
  })
})
