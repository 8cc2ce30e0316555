import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createClient } from '@libsql/client'
import {
  load,
  openCluster,
  openSpender,
  otherThan,
  ownersOf,
  search,
  type TestNode,
} from '../../support/cluster/cluster'
import { hasSqld } from '../../support/databases/sqld'
import { reconcile } from '../../support/reconcile'
import { control } from '../../support/servers/server-process'
import { until } from '../../support/until'

type Spender = Awaited<ReturnType<typeof openSpender>>

/** Two processes, each of which owns one of two cells (ADR 52). */
describe.skipIf(!hasSqld)('two nodes with two cells', () => {
  let cluster: Awaited<ReturnType<typeof openCluster>>
  let nodes: TestNode[] = []
  const spenders: { readonly cell: string; readonly owner: Spender }[] = []
  /** Its account is from the time before there were cells. */
  let earlier: Spender
  beforeAll(async () => {
    cluster = await openCluster({ moreCells: 1, migrated: false })
    const alone = await cluster.start({ CELL_DATABASE_URLS: '' })
    earlier = await openSpender(alone, 'earlier@example.com', 0.1)
    await alone.kill('SIGTERM')
    nodes = await Promise.all([cluster.start(), cluster.start()])
  })
  afterAll(() => cluster.close())

  const node = (i: number): TestNode => {
    const found = nodes[i]
    if (!found) throw new Error(`no node ${i}`)
    return found
  }
  const owners = async () => new Map(Object.entries(await ownersOf(node(0))))

  test('each node gets a cell, and accounts are divided between them', async () => {
    await until(
      async () => new Set((await owners()).values()).size === 2 && ![...(await owners()).values()].includes(null),
    )
    for (const i of [0, 1]) {
      await until(async () => (await fetch(`${node(i).url}/ready`)).ok)
      const owner = await openSpender(node(i), `spender${i}@example.com`, 0.1)
      spenders.push({ cell: await cluster.cellOf(owner.id), owner })
    }
    spenders.push({ cell: await cluster.cellOf(earlier.id), owner: earlier })
    // The first new account goes to the empty cell.
    expect(spenders.map(({ cell }) => cell)).toEqual(['c2', 'main', 'main'])
  })

  test('of 200 calls at once over both nodes exactly as many are served as the cap of the key pays, in each cell', async () => {
    for (const { owner } of spenders) {
      const all = await Promise.all(Array.from({ length: 200 }, (_, i) => search(node(i % 2), owner.secret)))
      expect(all.filter(({ status }) => status === 200).length).toBe(20)
      expect(all.filter(({ status }) => status === 402).length).toBe(180)
    }
  })

  test('a key that is made or disabled through one node is so on the other at once', async () => {
    for (const { owner } of spenders) {
      const { key, secret } = await owner.api('/api/keys', { name: 'second' }, node(0).url)
      expect((await search(node(1), secret)).status).toBe(200)
      await owner.api(`/api/keys/${key.id}/disable`, {}, node(0).url)
      expect((await search(node(1), secret)).status).toBe(401)
    }
  })

  test('a price that an operator changes applies to the next call in every cell', async () => {
    const set = await control(node(1).folder, 'price', { operation: 'image-search', usd: '0.02' })
    expect(`${set.status} ${await set.text()}`).toStartWith('200 ')
    for (const { owner } of spenders) {
      const at = (path: string, body?: unknown) => owner.api(path, body, node(1).url)
      const before = (await at('/api/account')).balance_micros_usd
      const { secret } = await at('/api/keys', { name: 'third' })
      expect((await search(node(0), secret)).status).toBe(200)
      expect(before - (await at('/api/account')).balance_micros_usd).toBe(20_000)
    }
  })

  test('a cell is moved by command without a failed call', async () => {
    const secrets = await Promise.all(
      spenders.map(
        async ({ owner }) => (await owner.api('/api/keys', { name: 'moved' }, node(0).url)).secret as string,
      ),
    )
    const calls = secrets.map((secret, i) => load(secret, 2, () => node(i % 2)))
    const from = (await owners()).get('c2')
    const to = nodes.find(({ url }) => url !== from)?.url
    const moved = await control(node(0).folder, 'cells-move', { cell: 'c2', to })
    expect(`${moved.status} ${await moved.text()}`).toStartWith('200 ')
    expect((await owners()).get('c2')).toBe(to ?? '')
    for (const each of calls) expect(otherThan(await each.stop(), 200)).toEqual([])
  })

  test('a node that stops gives both of its cells to the other without a failed call, and a new node gets its share', async () => {
    const c2Owner = (await owners()).get('c2')
    const stopping = nodes.find(({ url }) => url === c2Owner)
    const left = nodes.find((one) => one !== stopping)
    if (!stopping || !left) throw new Error('nobody owns c2')
    const secrets = await Promise.all(
      spenders.map(async ({ owner }) => (await owner.api('/api/keys', { name: 'stopped' }, left.url)).secret as string),
    )
    const calls = secrets.map((secret) => load(secret, 2, () => left))
    expect(await stopping.kill('SIGTERM')).toBe(0)
    for (const each of calls) expect(otherThan(await each.stop(), 200)).toEqual([])
    nodes = [left, await cluster.start()]
    expect([...(await owners()).values()]).toEqual([left.url, left.url])
    await until(async () => new Set((await owners()).values()).size === 2)
  })

  test('the cell of a node that is killed is taken over by the other, and nothing that was served is lost', async () => {
    const secrets = await Promise.all(
      spenders.map(
        async ({ owner }) => (await owner.api('/api/keys', { name: 'lasting' }, node(0).url)).secret as string,
      ),
    )
    const served: string[] = []
    const call = async (at: TestNode, secret: string) => {
      const { status, id } = await search(at, secret)
      if (status === 200) served.push(id)
      return status
    }
    for (const secret of secrets) for (let i = 0; i < 10; i++) expect(await call(node(i % 2), secret)).toBe(200)
    const owning = (await owners()).get('c2')
    const dying = nodes.find(({ url }) => url === owning)
    const left = nodes.find((one) => one !== dying)
    if (!dying || !left) throw new Error('nobody owns a cell')
    await dying.kill('SIGKILL')
    await cluster.endLease(dying)
    for (const secret of secrets) await until(async () => (await call(left, secret)) === 200)
    const charged = [cluster.database, ...cluster.cellDatabases].map(async ({ url }) => {
      const client = createClient({ url })
      const { rows } = await client.execute({
        sql: 'SELECT count(*) AS n FROM requests WHERE cost > 0 AND id IN (SELECT value FROM json_each(?))',
        args: [JSON.stringify(served)],
      })
      client.close()
      return Number(rows[0]?.['n'])
    })
    const counts = await Promise.all(charged)
    expect(counts.every((n) => n > 0)).toBe(true)
    expect(counts.reduce((sum, n) => sum + n)).toBe(served.length)
    for (const { url } of [cluster.database, ...cluster.cellDatabases])
      expect((await reconcile(url)).problems).toEqual([])
  })
})
