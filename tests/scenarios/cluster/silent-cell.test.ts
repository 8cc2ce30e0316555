import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { createClient } from '@libsql/client'
import {
  counted,
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
import { openTcpProxy } from '../../support/servers/tcp-proxy'
import { until } from '../../support/until'

/** A caller waits so long for the commit of a charge, and a node so long for a connection that takes no writes. */
const BOUND_MS = 17_000
/** The calls are there to be served or refused for all of these seconds, not to be many. */
const PAUSE_MS = { served: 1000, refused: 1000 }
/** So many calls show that callers call. */
const SOME = 4
const SILENT = 'The database of this account is not responding. The request did not run. Try again.'

/** One process that owns two cells. */
describe.skipIf(!hasSqld)('one node with two cells:', () => {
  let cluster: Awaited<ReturnType<typeof openCluster>>
  let controlWire: Awaited<ReturnType<typeof openTcpProxy>>
  let node: TestNode
  let inMain: Awaited<ReturnType<typeof openSpender>>
  let inC2: Awaited<ReturnType<typeof openSpender>>
  beforeAll(async () => {
    cluster = await openCluster({ moreCells: 1 })
    controlWire = await openTcpProxy(Number(new URL(cluster.database.url).port))
    node = await cluster.start({ DATABASE_URL: controlWire.url })
    await until(async () => Object.values(await ownersOf(node)).every((owner) => owner === node.url))
    inMain = await openSpender(node, 'main@example.com', null)
    inC2 = await openSpender(node, 'c2@example.com', null)
  })
  afterEach(() => cluster.wires[0]?.flow())
  afterAll(async () => {
    await controlWire.close()
    await cluster.close()
  })

  const statusOf = async (path: string, body: object) => {
    const headers = { cookie: inC2.cookie, 'content-type': 'application/json' }
    return (await fetch(node.url + path, { method: 'POST', headers, body: JSON.stringify(body) })).status
  }
  const ready = async () => (await fetch(`${node.url}/ready`)).json()
  /** The accounts are closed, and any node may open them. */
  const isFree = async (lease: string) => {
    const client = createClient({ url: cluster.database.url })
    const { rows } = await client.execute({ sql: 'SELECT expires_at FROM leases WHERE name = ?', args: [lease] })
    client.close()
    return rows[0]?.['expires_at'] === 0
  }
  /** All that was served is in the books, and the books agree with themselves. */
  async function expectBooked(...all: (readonly { readonly status: number; readonly id: string }[])[]) {
    const served = all.flat().flatMap(({ status, id }) => (status === 200 ? [id] : []))
    expect((await cluster.charged(served)).size).toBe(served.length)
    for (const { url } of [cluster.database, ...cluster.cellDatabases])
      expect((await reconcile(url)).problems).toEqual([])
  }

  test('a charge that was written, but never confirmed, is given back by the next owner of the cell', async () => {
    const database = createClient({ url: cluster.cellDatabases[0]?.url ?? '' })
    const rows = async (sql: string, id: string) =>
      (await database.execute({ sql, args: [id] })).rows.map((row) => Array.from(row))
    let id = ''
    const kinds = () => rows('SELECT kind FROM entries WHERE request_id = ? ORDER BY seq', id)
    // The first call writes when the key was last used, the second one nothing but its charge: behind another write the charge is not sent, which
    // a job of the gateway can make at that moment.
    for (let attempt = 1; attempt <= 3 && (await kinds()).length === 0; attempt++) {
      cluster.wires[0]?.flow()
      await until(async () => (await search(node, inC2.secret)).status === 200)
      expect((await search(node, inC2.secret)).status).toBe(200)
      cluster.wires[0]?.mute()
      const unanswered = await search(node, inC2.secret)
      expect(unanswered.status).toBe(503)
      id = unanswered.id
      await until(() => isFree('cell/c2'))
    }
    expect(await kinds()).toEqual([['charge']])
    cluster.wires[0]?.flow()
    await until(async () => (await kinds()).length > 1)
    expect(await kinds()).toEqual([['charge'], ['reversal']])
    expect(await rows('SELECT status, cost FROM requests WHERE id = ?', id)).toEqual([[503, 0]])
    expect(
      await rows(
        'SELECT spent FROM pools WHERE id = (SELECT pool_id FROM keys WHERE id = (SELECT key_id FROM requests WHERE id = ?))',
        id,
      ),
    ).toEqual(
      await rows(
        'SELECT (SELECT coalesce(sum(cost), 0) FROM requests r WHERE r.key_id = q.key_id) FROM requests q WHERE q.id = ?',
        id,
      ),
    )
    database.close()
    expect((await search(node, inC2.secret)).status).toBe(200)
    await expectBooked()
  }, 90_000)

  for (const [what, fault] of [
    ['freezes', () => cluster.wires[0]?.stall()],
    ['cannot be connected', () => cluster.wires[0]?.refuse()],
    ['answers new connections only', () => cluster.wires[0]?.stall({ isHalfOpen: true })],
  ] as const)
    test(`a cell whose database ${what} is given up alone, and taken again when it answers`, async () => {
      const others = load(inMain.secret, 2, () => node, PAUSE_MS)
      const calls = load(inC2.secret, 2, () => node, PAUSE_MS)
      await until(() => calls.outcomes.length > SOME && others.outcomes.length > SOME)
      const began = performance.now()
      fault()
      const answers = await Promise.all([
        search(node, inC2.secret).then(({ status }) => status),
        statusOf('/api/keys', { name: 'late' }),
        control(node.folder, 'grant', { account: inC2.id, usd: '1' }).then(() => 'done', String),
      ])
      expect(answers).toEqual([503, 503, expect.stringContaining('service_unavailable')])
      expect(performance.now() - began).toBeLessThan(BOUND_MS)
      if (what !== 'answers new connections only') {
        await until(() => isFree('cell/c2'))
        const refused = await fetch(`${node.url}/v1/me`, { headers: { authorization: `Bearer ${inC2.secret}` } })
        expect([refused.status, Object(await refused.json()).error?.message]).toEqual([503, SILENT])
        expect(await ready()).toEqual({ status: 'ready', missing_cells: ['c2'] })
        const list = await control(node.folder, 'list', {})
        expect(await list.json()).toMatchObject({ accounts: [{ id: inMain.id }], missing_cells: ['c2'] })
      }
      cluster.wires[0]?.flow()
      await until(async () => (await search(node, inC2.secret)).status === 200)
      expect(await ready()).toEqual({ status: 'ready' })
      await calls.stop()
      await others.stop()
      expect(otherThan(others.outcomes, 200)).toEqual([])
      expect(Object.keys(counted(calls.outcomes))).toEqual(['200', '503'])
      await expectBooked(calls.outcomes, others.outcomes)
    }, 90_000)

  test('a control database that freezes takes all cells from the node, which stays and takes them again', async () => {
    const calls = [inMain, inC2].map(({ secret }) => load(secret, 2, () => node, PAUSE_MS))
    await until(() => calls.every(({ outcomes }) => outcomes.length > SOME))
    controlWire.stall()
    await until(() => calls.every(({ outcomes }) => outcomes.at(-1)?.status === 503))
    controlWire.flow()
    for (const { secret } of [inMain, inC2]) await until(async () => (await search(node, secret)).status === 200)
    await expectBooked(...(await Promise.all(calls.map((each) => each.stop()))))
  }, 90_000)
})
