import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { eventSource } from '../../support/agents/event-source'
import { openCluster, openSpender, ownerOf, search, type TestNode } from '../../support/cluster/cluster'
import { hasSqld } from '../../support/databases/sqld'
import { reconcile } from '../../support/reconcile'
import { control, dataFolder, removeFolder, startServer } from '../../support/servers/server-process'
import { until } from '../../support/until'

/** Issue 23: many nodes, one cap. */
describe.skipIf(!hasSqld)('three nodes on one database', () => {
  let cluster: Awaited<ReturnType<typeof openCluster>>
  let a: TestNode
  let b: TestNode
  let c: TestNode
  beforeAll(async () => {
    cluster = await openCluster({ migrated: false })
    a = await cluster.start()
    ;[b, c] = await Promise.all([cluster.start(), cluster.start({ TRUSTED_PROXIES: '127.0.0.1' })])
  })
  afterAll(() => cluster.close())

  test('the first one owns the accounts, all are ready, and each says who owns', async () => {
    for (const node of [a, b, c]) {
      expect(await ownerOf(node)).toBe(a.url)
      expect(await (await fetch(`${node.url}/ready`)).json()).toEqual({ status: 'ready' })
    }
    const roles = [a, b].map((node) => /^Gateway ready .* as (.*)$/m.exec(node.output())?.[1])
    expect(roles).toEqual(['the owner', 'a standby'])
  })

  test('what one node disables, lowers, rotates or makes counts in the next request to another one', async () => {
    const spender = await openSpender(a, 'changes@example.com', 1)
    const { api, keyId, secret } = spender
    const status = async (node: TestNode, of = secret) => (await search(node, of)).status
    expect(await status(b)).toBe(200)
    await api(`/api/keys/${keyId}/disable`, {}, c.url)
    expect([await status(b), await status(a)]).toEqual([401, 401])
    await api(`/api/keys/${keyId}/enable`, {}, b.url)
    expect(await status(c)).toBe(200)
    const lower = await fetch(`${b.url}/api/keys/${keyId}`, {
      method: 'PATCH',
      headers: { cookie: spender.cookie, 'content-type': 'application/json' },
      body: JSON.stringify({ spending_limit: 0.01 }),
    })
    expect(lower.status).toBe(200)
    expect([await status(c), await status(a)]).toEqual([402, 402])
    const made = await api('/api/keys', { name: 'made through b' }, b.url)
    const rotated = await api(`/api/keys/${made.key.id}/rotate`, { grace_period_seconds: 0 }, c.url)
    expect([await status(a, made.secret), await status(a, rotated.secret)]).toEqual([401, 200])
  })

  test('a node that starts ends nothing of the others: live events go on, here and through another node', async () => {
    const spender = await openSpender(a, 'events@example.com', 1)
    const open = (node: TestNode) => fetch(`${node.url}/api/events`, { headers: { cookie: spender.cookie } })
    const streams = (await Promise.all([open(a), open(b)])).map(eventSource)
    const fourth = await cluster.start()
    expect(await ownerOf(fourth)).toBe(a.url)
    expect((await search(fourth, spender.secret)).status).toBe(200)
    for (const stream of streams) expect((await stream.nextOf('call')).event).toBe('call')
    expect(await fourth.kill('SIGTERM')).toBe(0)
    expect((await search(c, spender.secret)).status).toBe(200)
    for (const stream of streams) expect((await stream.nextOf('call')).event).toBe('call')
  })

  test('a node whose clock is off says so, is not ready, and still reaches the owner', async () => {
    const spender = await openSpender(a, 'clock@example.com', null)
    const folder = await dataFolder()
    const preload = join(folder, 'clock.js')
    await Bun.write(preload, 'const { now } = Date; Date.now = () => now() + 5_000')
    const ahead = await cluster.start({ BUN_OPTIONS: `--preload=${preload}` })
    await until(() => ahead.output().includes('the clock of this node is off'))
    expect((await fetch(`${ahead.url}/ready`)).status).toBe(503)
    expect((await search(ahead, spender.secret)).status).toBe(200)
    expect(await ahead.kill('SIGTERM')).toBe(0)
    await removeFolder(folder)
  })

  test('an operator commands every account from any node', async () => {
    const spender = await openSpender(c, 'operator@example.com', null)
    const { nodes, checks } = await (await control(c.folder, 'ready', {})).json()
    expect(nodes.map(({ url, role }: Record<string, string>) => [url, role])).toContainEqual([a.url, 'owner'])
    expect(checks.node).toBe(true)
    await control(b.folder, 'limits', { account: spender.id, limits: { rpm: 1, tpm: 1000, concurrency: 1 } })
    expect([(await search(a, spender.secret)).status, (await search(b, spender.secret)).status]).toEqual([200, 429])
  })

  test('nobody can command or choose an address from outside', async () => {
    const headers = { 'content-type': 'application/json', 'x-gateway-hop': 'k;1;1;1;1;req_1;operator;00' }
    for (const node of [a, b]) {
      const forged = await fetch(`${node.url}/internal/command/list`, { method: 'POST', headers, body: '{}' })
      expect(forged.status).toBe(421)
      const plain = await fetch(`${node.url}/internal/command/list`, { method: 'POST', body: '{}' })
      expect(plain.status).toBe(404)
    }
  })

  test('the node that a caller reached determines its address, once, whatever the caller claims', async () => {
    const spender = await openSpender(a, 'address@example.com', null)
    const keyFor = async (address: string) =>
      String((await spender.api('/api/keys', { name: address, allowed_ips: [address] })).secret)
    const [near, far] = [await keyFor('127.0.0.1'), await keyFor('198.51.100.7')]
    const call = async (node: TestNode, secret: string, claims: Record<string, string>) => {
      const headers = { authorization: `Bearer ${secret}`, ...claims }
      return (await fetch(`${node.url}/v1/models`, { headers })).status
    }
    // Only the third node is behind a proxy.
    const claims = [
      {},
      { 'x-forwarded-for': '198.51.100.7' },
      { forwarded: 'for=198.51.100.7', 'x-real-ip': '198.51.100.7' },
    ]
    for (const claim of claims)
      for (const node of [a, b])
        expect([await call(node, near, claim), await call(node, far, claim)]).toEqual([200, 403])
    const proxied = { 'x-forwarded-for': '127.0.0.1, 198.51.100.7' }
    expect([await call(c, near, proxied), await call(c, far, proxied)]).toEqual([403, 200])
    expect(await call(c, far, { 'x-forwarded-for': '198.51.100.7, 198.51.100.8' })).toBe(403)
  })

  test('a node with another secret does not start, and neither does a process that is no node', async () => {
    const folder = await dataFolder()
    const start = (env: Record<string, string>) =>
      startServer(folder, { DATABASE_URL: cluster.database.url, SOCIAL_PROVIDER: 'none', ...env }).then(
        () => 'started',
        (error: Error) => error.message,
      )
    const node = { NODE_URL: 'http://127.0.0.1:9', BASE_URL: 'http://gateway.test' }
    expect(await start({ ...node, SECRET_KEY: 'another secret, also of 32 bytes and more' })).toContain(
      'gateway: SECRET_KEY must be the same as on the other nodes',
    )
    expect(await start({ ...node, BASE_URL: 'http://other.test' })).toContain(
      'gateway: BASE_URL must be the same as on the other nodes',
    )
    // One dot ends a sentence, whatever the system says.
    expect(await start({ ...node, DATABASE_URL: 'http://127.0.0.1:1' })).toContain('the url. Check DATABASE_URL')
    expect(await start({})).toContain(`The node at ${a.url} owns this database. Set NODE_URL`)
    await removeFolder(folder)
    expect(await ownerOf(b)).toBe(a.url)
    expect((await reconcile(cluster.database.url)).problems).toEqual([])
  })
})
