import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { hasSqld, openSqld } from '../../support/databases/sqld'
import { charge, openTestStores } from '../../support/ledger-parts'
import { reconcile } from '../../support/reconcile'
import { openTcpProxy } from '../../support/servers/tcp-proxy'

/** What a node has open of a database server that accepts what it is sent and does nothing. */
describe.skipIf(!hasSqld)('the stores of a node whose database freezes', () => {
  let database: Awaited<ReturnType<typeof openSqld>>
  let wire: Awaited<ReturnType<typeof openTcpProxy>>
  beforeAll(async () => {
    database = await openSqld()
    wire = await openTcpProxy(Number(new URL(database.url).port))
  })
  afterAll(async () => {
    await wire.close()
    await database.close()
  })
  const open = (term: number) => openTestStores({ url: wire.url, lease: { nodeId: `node-${term}`, term, cell: 'c2' } })

  test('fail after 10 s as unavailable, close at once, and commit nothing after their successor', async () => {
    const stores = await open(1)
    const account = await stores.account(100)
    wire.stall()
    const began = performance.now()
    const read = stores.db.all('SELECT 1').catch((error: unknown) => error)
    const writes = [1, 2].map(() => stores.db.run('DELETE FROM settings').catch((error: unknown) => error))
    const sent = charge(account, 10)
    const outcome = stores.journal.append(sent)
    for (const failed of await Promise.all([read, ...writes]))
      expect(Object(failed).cause ?? failed).toMatchObject({ unavailable: true })
    expect((await outcome).kind).toBe('unknown')
    // Without that limit they wait as long as the server is silent. A busy machine takes a while to notice.
    expect(performance.now() - began).toBeLessThan(20_000)
    expect(stores.fatal).toEqual(['the database did not answer for 10 s'])
    expect(stores.trouble).toContain(`unknown outcome: may be charged: ${sent.call?.id}`)
    const closing = performance.now()
    await stores.close()
    expect(performance.now() - closing).toBeLessThan(9_000)
    wire.flow()
    const next = await open(2)
    const [row] = await next.db.all<{ credit: number }>(`SELECT credit FROM accounts WHERE id = '${account}'`)
    expect([90, 100]).toContain(Number(row?.credit))
    expect(await next.journal.append(charge(account, 10))).toEqual({ kind: 'committed' })
    await next.close()
    expect((await reconcile(database.url)).problems).toEqual([])
  }, 30_000)
})
