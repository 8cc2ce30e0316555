import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createClient } from '@libsql/client'
import type { StuckPage } from '../../../server/http/operator/money/stuck-record'
import { openCluster, openSpender, ownerOf, search, type TestNode, untilOwner } from '../../support/cluster/cluster'
import { hasSqld } from '../../support/databases/sqld'
import { reconcile } from '../../support/reconcile'
import { control } from '../../support/servers/server-process'
import { until } from '../../support/until'

/** Issue 23: a record that the tables refuse, when its owner dies. */
describe.skipIf(!hasSqld)('a charge that the tables of a libSQL server refuse', () => {
  let cluster: Awaited<ReturnType<typeof openCluster>>
  let nodes: TestNode[] = []
  beforeAll(async () => {
    cluster = await openCluster()
    nodes = [await cluster.start(), await cluster.start()]
  })
  afterAll(() => cluster.close())

  const listed = async (node: TestNode) => (await (await control(node.folder, 'stuck-list', {})).json()) as StuckPage

  test('closes its account alone, on this node and on the one that takes over, until an operator gives it up', async () => {
    const url = await ownerOf(nodes[0] as TestNode)
    const owner = nodes.find((node) => node.url === url) as TestNode
    const next = nodes.find((node) => node !== owner) as TestNode
    const [poor, rich] = [
      await openSpender(owner, 'ada@example.com', null),
      await openSpender(owner, 'grace@example.com', null),
    ]
    const client = createClient({ url: cluster.database.url })
    const credit = async (change: string) =>
      client.execute({ sql: `UPDATE accounts SET credit = credit ${change} WHERE id = ?`, args: [poor.id] })
    await credit('- 1002000000')
    expect((await search(owner, poor.secret)).status).toBe(503)
    await until(() => owner.output().includes('records of the ledger are stuck'))
    const answer = await fetch(`${owner.url}/apis/v1/websearch/images/search?q=card`, {
      headers: { authorization: `Bearer ${poor.secret}` },
    })
    expect(await answer.json()).toMatchObject({ error: { code: 'account_under_review' } })
    expect((await search(owner, rich.secret)).status).toBe(200)
    await owner.kill('SIGKILL')
    await credit('+ 1002000000')
    client.close()
    await cluster.endLease()
    await untilOwner(next)
    expect([(await search(next, poor.secret)).status, (await search(next, rich.secret)).status]).toEqual([503, 200])
    const [record] = (await listed(next)).records
    expect(record).toMatchObject({ account: poor.id, kind: 'charge', due: false, amount_micros_usd: 5000 })
    const id = record?.id
    expect(control(next.folder, 'stuck-retry', { id })).rejects.toThrow('Discard it')
    await control(next.folder, 'stuck-discard', { id, note: 'the balance was changed by hand' })
    expect((await search(next, poor.secret)).status).toBe(200)
    expect((await reconcile(cluster.database.url)).problems).toEqual([])
  }, 60_000)
})
