import { describe, expect, test } from 'bun:test'
import { hopOf } from '../../../server/adapters/cluster/hop-gate'
import { HopHeaders } from '../../../server/adapters/cluster/hop-header'
import { CellChanges } from '../../../server/compose/cluster/calls/cell-changes'
import { unavailableResponse } from '../../../server/compose/cluster/calls/not-forwarded'
import { GatewayNode, REFRESH } from '../../../server/compose/cluster/gateway-node'
import { type CellRouter, DirectoryUnavailable, type StaffClaim } from '../../../server/core/cluster/cells'
import { type Forwarding, HOP_HEADER, type HopClaim } from '../../../server/core/cluster/hop'
import { formatAddress, parseAddress, UNKNOWN_ADDRESS } from '../../../server/core/credentials/address'
import { testNodes } from './test-nodes'

const KEY = { id: 'k1', secret: new Uint8Array(32).fill(7) }
const ID = `req_${'0a'.repeat(16)}` as const
const STAFF: StaffClaim = {
  userId: 'user_1',
  accountId: 'acct_1' as StaffClaim['accountId'],
  email: 'zoë@example.com',
  name: 'Zoë',
  role: 'operator',
  address: '203.0.113.9',
  signedInAt: 1_700_000_000_000,
  secondFactor: true,
}

/** What a gateway got. */
interface Seen {
  readonly node: string
  readonly cell: string
  readonly path: string
  readonly text: string
  readonly headers: Headers
}

/** Two nodes in this process: the first owns `main` and c3, the other one c2, until that changes. */
async function twoNodes() {
  const seen: Seen[] = []
  const unready = new Set<string>()
  /** The nodes that read the control database anew. */
  const refreshed: string[] = []
  const world = testNodes(['main', 'c2', 'c3'], async (node, cell, request) => {
    const { pathname } = new URL(request.url)
    if (pathname === '/ready') return new Response(null, { status: unready.has(cell) ? 503 : 200 })
    if (pathname === '/health') return new Response('ok')
    seen.push({ node, cell, path: pathname, text: await request.text(), headers: request.headers })
    return new Response(`${node} ${cell}`)
  })
  const { time, start, allLeases } = world
  const members = new Map<string, GatewayNode>()
  const cut = new Set<string>()
  const troubles: string[] = []
  const router: CellRouter = {
    async cellOf({ headers }) {
      const key = headers.get('x-api-key')
      if (key === 'lost') throw new DirectoryUnavailable('the directory of cells cannot be read')
      return key ?? 'main'
    },
  }
  const signer = new HopHeaders({ signing: KEY, accepted: [KEY] })
  const signed = (claim: HopClaim, request: Request) => {
    const headers = new Headers(request.headers)
    headers.set(HOP_HEADER, signer.sign(claim, time.now))
    return new Request(request, { headers })
  }
  const forwarding: Forwarding = {
    async forward(request, to, call) {
      const member = members.get(to.url)
      if (!member || cut.has(to.url)) return unavailableResponse(request, call)
      const { method, url } = request
      const { pathname, search } = new URL(url)
      const { cell, term } = to
      const { address, requestId, staff } = call
      const target = pathname + search
      const hop = { method, target, cell, term, address, requestId, staff, deadlineMs: 60_000 }
      return member.handle(signed(hop, request))
    },
    send: async () => null,
    ended: async () => undefined,
    abandon: () => undefined,
    close: async () => undefined,
  }
  const join = (id: string) => {
    const started = start(id)
    const headers = new HopHeaders({ signing: KEY, accepted: [KEY] })
    const node = new GatewayNode({
      ...{ role: started.role, nodeId: id, leases: allLeases, forwarding, router, now: () => time.now },
      addressOf: () => parseAddress('198.51.100.1') ?? UNKNOWN_ADDRESS,
      hopOf: (request, term) => hopOf(request, headers, time.now, term),
      onTrouble: (reason) => troubles.push(reason),
      refresh: async () => void refreshed.push(id),
    })
    members.set(`http://${id}`, node)
    return { ...started, node }
  }
  const a = join('a')
  await time.pass(1_000)
  const b = join('b')
  await time.pass(15_000)
  const owners = async () =>
    Object.fromEntries([...(await allLeases.look()).owners].map(([cell, { nodeId }]) => [cell, nodeId]))
  expect(await owners()).toEqual({ main: 'a', c2: 'a', c3: 'b' })
  const get = (key?: string, path = '/v1/models') =>
    new Request(`http://gateway.test${path}`, { headers: key === undefined ? {} : { 'x-api-key': key } })
  const text = async (node: GatewayNode, request: Request) => (await node.handle(request)).text()
  const command = async (node: GatewayNode, name: string, body: object = {}) => {
    const post = new Request(`http://gateway/${name}`, { method: 'POST', body: JSON.stringify(body) })
    const answered = node.control(post)
    await time.pass(6_000)
    return answered
  }
  return { ...world, a, b, seen, unready, refreshed, cut, troubles, forwarding, signed, get, text, command, owners }
}

/** Issue 23: requests of accounts in several cells. */
describe('a node of several cells', () => {
  test('answers each request by the gateway of its cell, here or on the node that owns it', async () => {
    const { a, b, get, text, seen } = await twoNodes()
    const answers = (node: GatewayNode) => Promise.all([undefined, 'c2', 'c3'].map((key) => text(node, get(key))))
    expect([await answers(a.node), await answers(b.node)]).toEqual([
      ['a main', 'a c2', 'b c3'],
      ['a main', 'a c2', 'b c3'],
    ])
    // Who was hopped has the address that the first node determined.
    const addresses = seen.map(({ headers }) => formatAddress(b.node.callers.addressOf(UNKNOWN_ADDRESS, headers)))
    expect(new Set(addresses)).toEqual(new Set(['198.51.100.1']))
    expect(seen.some(({ headers }) => headers.has(HOP_HEADER))).toBe(false)
  })

  test('answers 503 in the shape of the path, never 401, while the directory cannot be read or there is no such cell', async () => {
    const { a, get, seen, troubles } = await twoNodes()
    for (const key of ['lost', 'c9']) {
      const answer = await a.node.handle(get(key))
      expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
      expect(await answer.json()).toMatchObject({ error: { code: 'service_unavailable' } })
    }
    const google = await (await a.node.handle(get('lost', '/v1beta/models'))).json()
    expect(google).toMatchObject({ error: { status: 'UNAVAILABLE' } })
    expect([seen, troubles.length, troubles[0]]).toEqual([[], 2, 'the directory of cells cannot be read'])
  })

  test('refuses a hop to a cell that it does not own, or of another term, before it reads any of the body', async () => {
    const { a, b, signed, seen } = await twoNodes()
    const send = async (node: GatewayNode, cell: string, term: number) => {
      const claim = { method: 'POST', target: '/v1/x', cell, term, address: '203.0.113.7', requestId: ID }
      const request = signed(claim, new Request('http://gateway.test/v1/x', { method: 'POST', body: 'all of it' }))
      return [(await node.handle(request)).status, request.bodyUsed]
    }
    const term = b.role.of('c3')?.term ?? 0
    expect([await send(a.node, 'c3', term), await send(b.node, 'main', 1)]).toEqual([
      [421, false],
      [421, false],
    ])
    expect([await send(b.node, 'c3', term + 1), await send(b.node, 'c9', 1), seen]).toEqual([
      [421, false],
      [421, false],
      [],
    ])
    expect((await send(b.node, 'c3', term))[0]).toBe(200)
  })

  test('asks the gateway of another cell for an operator, here or by a hop, and nobody else can claim to be one', async () => {
    const { a, b, seen, get, signed } = await twoNodes()
    const { calls, staffOf } = a.node.surroundings
    expect(calls.cells()).toEqual(['main', 'c2', 'c3'])
    const post = () =>
      new Request('http://gateway.test/api/operator/accounts/acct_2/credit', {
        method: 'POST',
        body: '{"usd":1}',
        headers: { cookie: 'session=1' },
      })
    expect([
      await (await calls.ask('c2', post(), STAFF)).text(),
      await (await calls.ask('c3', post(), STAFF)).text(),
    ]).toEqual(['a c2', 'b c3'])
    const [here, there] = seen
    expect([here?.text, there?.text, there?.headers.get('cookie')]).toEqual(['{"usd":1}', '{"usd":1}', 'session=1'])
    expect([
      staffOf(here?.headers ?? new Headers()),
      b.node.surroundings.staffOf(there?.headers ?? new Headers()),
    ]).toEqual([STAFF, STAFF])
    const addressOf = b.node.callers.addressOf
    expect(formatAddress(addressOf(UNKNOWN_ADDRESS, there?.headers ?? new Headers()))).toBe(STAFF.address)
    // Another process has other names.
    expect(b.node.surroundings.staffOf(here?.headers ?? new Headers())).toBeNull()
    const atConsole = await calls.ask('c3', post(), { ...STAFF, address: '' })
    expect([
      atConsole.status,
      formatAddress(addressOf(UNKNOWN_ADDRESS, seen.at(-1)?.headers ?? new Headers())),
    ]).toEqual([200, 'unknown'])
    // A request that was asked for as an operator, and is passed on without one.
    const copied = new Request('http://gateway.test/api/account', { headers: here?.headers ?? {} })
    await calls.ask('c2', copied)
    expect(staffOf(seen.at(-1)?.headers ?? new Headers())).toBeNull()
    // A caller with the header of another hop, or with parts of it.
    const claim = { method: 'GET', target: '/v1/models', cell: 'c3', term: 2, address: '203.0.113.7', requestId: ID }
    const header = signed({ ...claim, staff: STAFF }, get()).headers.get(HOP_HEADER) ?? ''
    const without = signed(claim, get()).headers.get(HOP_HEADER) ?? ''
    const forged = [
      header.replace(/;[\w-]+;([0-9a-f]{64})$/, ';$1'),
      without.replace(/;([0-9a-f]{64})$/, `;${Buffer.from(JSON.stringify(STAFF)).toString('base64url')};$1`),
    ]
    for (const value of forged) {
      const request = get()
      request.headers.set(HOP_HEADER, value)
      expect([value === header || value === without, (await b.node.handle(request)).status]).toEqual([false, 421])
    }
  })

  test('stays ready while a cell has no owner, and names it; a node that alone does not reach an owner is not', async () => {
    const { a, b, time, get, unready, cut, allLeases } = await twoNodes()
    const ready = async ({ node }: typeof a) => {
      const answer = await node.handle(get(undefined, '/ready'))
      return [answer.status, await answer.json()]
    }
    const all = [200, { status: 'ready' }]
    expect([await ready(a), await ready(b)]).toEqual([all, all])
    expect(await (await a.node.handle(get(undefined, '/health'))).json()).toEqual({ status: 'ok' })
    unready.add('c2')
    expect(await ready(a)).toEqual([200, { status: 'ready', missing_cells: ['c2'] }])
    unready.clear()
    // c3 is on a node that cannot be reached: it may be dead, and all others see the same.
    cut.add('http://b')
    expect(await ready(a)).toEqual([200, { status: 'ready', missing_cells: ['c3'] }])
    await time.pass(14_000)
    // It renews its lease, so it lives for others.
    expect(await ready(a)).toEqual([503, { status: 'not_ready', code: 'owner_unavailable' }])
    cut.clear()
    expect(await ready(a)).toEqual(all)
    // Nobody can open c3.
    b.link.failure = new Error('the disk is full')
    a.link.failure = b.link.failure
    Object.assign(a.link, { failing: ['c3'] })
    Object.assign(b.link, { failing: ['c3'] })
    b.role.of('c3')?.lose('the disk is full')
    await time.pass(8_000)
    expect([(await allLeases.look()).owners.has('c3'), await ready(a), await ready(b)]).toEqual([
      false,
      [200, { status: 'ready', missing_cells: ['c3'] }],
      [200, { status: 'ready', missing_cells: ['c3'] }],
    ])
    b.link.isCut = true
    await time.pass(1_000)
    expect(await ready(b)).toEqual([503, { status: 'not_ready', code: 'node_unavailable' }])
    a.node.announceStop()
    expect(await ready(a)).toEqual([503, { status: 'draining' }])
  })

  test("shows an operator the cells, and moves one to a node, from any node; the node's other cells go on", async () => {
    const { a, b, command, owners, text, get, opened } = await twoNodes()
    const main = opened[0]
    const report = await (await command(b.node, 'cells')).json()
    const open = { kept_holds: null, unfinished_payments: null, stuck_records: null }
    const unsaid = { accounts: null, long_calls: null, ...open, commit_wait_ms: null, database_ms: null }
    const loads = { ...unsaid, requests: 0, since: expect.any(String), is_pinned: false }
    expect(report.cells).toEqual([
      { name: 'main', owner: 'http://a', ...loads },
      { name: 'c2', owner: 'http://a', ...loads },
      { name: 'c3', owner: 'http://b', ...loads },
    ])
    const moved = await command(b.node, 'cells-move', { cell: 'c2', to: 'http://b/' })
    expect(await moved.json()).toMatchObject({ cell: { name: 'c2', owner: 'http://b', is_pinned: true } })
    expect([await owners(), main?.isClosed, await text(a.node, get('c2'))]).toEqual([
      { main: 'a', c2: 'b', c3: 'b' },
      false,
      'b c2',
    ])
    // The other way round, from the node that owns it, to the one that answers.
    expect((await command(b.node, 'cells-move', { cell: 'c3', to: 'http://a' })).status).toBe(200)
    expect((await command(b.node, 'cells-move', { cell: 'main', to: 'http://b' })).status).toBe(200)
    expect([await owners(), await text(a.node, get())]).toEqual([{ main: 'b', c2: 'b', c3: 'a' }, 'b main'])
    const refusals = [{ cell: 'c9', to: 'http://b' }, { cell: 'c2', to: 'http://c' }, {}]
    for (const body of refusals) {
      const refusal = await command(a.node, 'cells-move', body)
      expect([refusal.status, (await refusal.json()).error.code]).toEqual([400, 'invalid_request'])
    }
    const nodes = await (await command(a.node, 'nodes')).json()
    expect(nodes.nodes.map((node: Record<string, unknown>) => [node['url'], node['role'], node['cells']])).toEqual([
      ['http://b', 'owner', ['main', 'c2']],
      ['http://a', 'owner', ['c3']],
    ])
    // All other commands go to the gateway of main.
    expect(await (await command(a.node, 'list')).text()).toBe('b main')
  })

  test('makes sure that no gateway serves with older copies: each node read anew, or has lost its cells', async () => {
    const { b, time, cut, forwarding, allLeases, lines, granting, refreshed } = await twoNodes()
    const changes = new CellChanges({
      ...{ nodeId: 'a', leases: allLeases, forwarding, now: () => time.now, monotonic: () => time.now },
      log: { error: (line) => lines.push(line) },
      sleep: time.sleep,
    })
    const told = async (ms: number) => {
      let isTold = false
      const telling = changes.notifyOtherNodes(REFRESH).then(() => (isTold = true))
      await time.pass(ms)
      return { isTold: () => isTold, telling }
    }
    expect([(await told(50)).isTold(), refreshed]).toEqual([true, ['b']])
    // One that gives its cell back still handles the calls that it has.
    const { promise, resolve } = Promise.withResolvers<void>()
    const handled = b.role.of('c3')?.during(() => promise)
    const given = b.role.of('c3')?.yieldWithin(10_000)
    expect([b.role.of('c3')?.name, (await told(50)).isTold(), refreshed]).toEqual(['releasing', true, ['b', 'b']])
    resolve()
    await handled
    await time.pass(3_000)
    await given
    expect(granting().includes('b')).toBe(true)
    // A node that this one cannot reach, and which renews its lease all the time.
    cut.add('http://b')
    const older = b.role.of('c3')?.owned()
    const during = await told(9_500)
    expect([during.isTold(), older?.mayGrant()]).toEqual([false, true])
    while (!during.isTold()) {
      await time.pass(50)
      expect(during.isTold() && older?.mayGrant()).toBe(false)
    }
    await during.telling
    // It takes the cell again, and reads what is new.
    await time.pass(3_000)
    expect([older?.isClosed, granting().includes('b')]).toEqual([true, true])
    expect(lines).toContain('the owner of a cell did not apply a change in time; its lease is revoked')
    // One that dies meanwhile is waited for as long as its lease runs.
    const dead = await told(1_000)
    b.link.isCut = true
    await time.pass(6_000)
    expect(dead.isTold()).toBe(false)
    await time.pass(6_000)
    expect(dead.isTold()).toBe(true)
  })
})
