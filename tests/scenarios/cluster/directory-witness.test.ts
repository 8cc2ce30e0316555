import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createClient } from '@libsql/client'
import { newSecret } from '../../../server/core/credentials/secret'
import { openCluster, openSpender, ownersOf, search, type TestNode, untilOwner } from '../../support/cluster/cluster'
import { hasSqld } from '../../support/databases/sqld'
import { control } from '../../support/servers/server-process'
import { until } from '../../support/until'

const LOST = 'the control database lost writes of this node'

/** ADR 61: what one silent cell costs the others when `main` is opened anew. */
describe.skipIf(!hasSqld)('two nodes with two cells, of which one database is silent', () => {
  let cluster: Awaited<ReturnType<typeof openCluster>>
  let client: ReturnType<typeof createClient>
  let a: TestNode
  let b: TestNode
  let inMain: Awaited<ReturnType<typeof openSpender>>
  beforeAll(async () => {
    cluster = await openCluster({ moreCells: 1 })
    client = createClient({ url: cluster.database.url })
    a = await cluster.start()
    b = await cluster.start()
    await until(async () => !Object.values(await ownersOf(a)).includes(null))
    inMain = await openSpender(a, 'main@example.com', null)
  })
  afterAll(async () => {
    client.close()
    await cluster.close()
  })

  const vouching = async () => {
    const { rows } = await client.execute(
      "SELECT 1 FROM secrets WHERE name LIKE 'witness/%' AND value LIKE '% complete'",
    )
    return rows.length
  }
  /** What a made-up key gets at `main`. */
  const ofUnknownKey = async (node: TestNode) => (await search(node, newSecret().secret)).status
  /** What becomes of a grant, whose reference counts once in all cells. */
  const granted = (node: TestNode, reference: string) =>
    control(node.folder, 'grant', { account: inMain.id, usd: '1', reference }).then(
      () => 'booked',
      (error: unknown) => `${error}`.match(/service_unavailable/)?.[0] ?? `${error}`,
    )
  const answers = async (node: TestNode, reference: string) => [
    await ofUnknownKey(node),
    await granted(node, reference),
  ]
  const mainTo = async (node: TestNode) => {
    await control(node.folder, 'cells-move', { cell: 'main', to: node.url })
    await untilOwner(node)
  }

  test('the next owners of main refuse unknown keys with 401 and book references, also on a node that started meanwhile', async () => {
    await until(async () => (await vouching()) === 2)
    cluster.wires[0]?.stall()
    await until(async () => (await (await fetch(`${a.url}/ready`)).json()).missing_cells?.[0] === 'c2')
    const [from, to] = (await ownersOf(a))['main'] === a.url ? [a, b] : [b, a]
    await mainTo(to)
    expect(await answers(to, 'moved')).toEqual([401, 'booked'])
    await from.kill('SIGKILL')
    const fresh = await cluster.start()
    // The words of the one that was killed stay.
    await until(async () => (await vouching()) === 3)
    await to.kill('SIGKILL')
    await cluster.endLease(to)
    await untilOwner(fresh)
    expect(await answers(fresh, 'taken over')).toEqual([401, 'booked'])
    a = fresh
  }, 120_000)

  test('an older control database is noticed: both get 503 again until the cell has synced the directory', async () => {
    await client.execute("UPDATE secrets SET value = 'older' WHERE name LIKE 'witness/%'")
    await until(() => a.output().includes(LOST), a.output)
    expect(await answers(a, 'put back')).toEqual([503, 'service_unavailable'])
    cluster.wires[0]?.flow()
    await until(async () => (await ofUnknownKey(a)) === 401, a.output)
    // It was refused, so its reference is free. To be asked once: booked, it is not booked again.
    expect(await granted(a, 'put back')).toBe('booked')
  }, 60_000)
})
