import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createClient } from '@libsql/client'
import type { StuckPage } from '../../../server/http/operator/money/stuck-record'
import {
  BUSY_MS,
  counted,
  load,
  type Outcome,
  openCluster,
  openSpender,
  otherThan,
  ownerOf,
  search,
  type TestNode,
  untilOwner,
} from '../../support/cluster/cluster'
import { hasSqld } from '../../support/databases/sqld'
import { reconcile } from '../../support/reconcile'
import { control } from '../../support/servers/server-process'
import { until } from '../../support/until'

/** Calls are under way at every moment while a node serves. Nobody needs many that are refused. */
const KEEN_MS = { ...BUSY_MS, refused: 500 }

/** Issue 23: a node that dies or freezes. */
describe.skipIf(!hasSqld)('two nodes on one database:', () => {
  let cluster: Awaited<ReturnType<typeof openCluster>>
  let nodes: TestNode[] = []
  let spender: Awaited<ReturnType<typeof openSpender>>
  beforeAll(async () => {
    cluster = await openCluster()
    nodes = [await cluster.start(), await cluster.start()]
    spender = await openSpender(nodes[0] as TestNode, 'ada@example.com', null)
  })
  afterAll(() => cluster.close())

  const other = (than: TestNode) => nodes.find(({ url }) => url !== than.url) as TestNode
  const owner = async () => {
    const url = await ownerOf(nodes.at(-1) as TestNode)
    return nodes.find((node) => node.url === url) as TestNode
  }
  /** Every call that was served is in the books, and the books agree with themselves. */
  async function expectBooked(outcomes: readonly Outcome[]) {
    const served = outcomes.filter(({ status }) => status === 200).map(({ id }) => id)
    const charged = await cluster.charged(served)
    expect(served.filter((id) => !charged.has(id))).toEqual([])
    expect((await reconcile(cluster.database.url)).problems).toEqual([])
    return served.length
  }

  test('the owner is killed under load: all that was served is booked, and the other one goes on when the lease ends', async () => {
    const dying = await owner()
    const next = other(dying)
    const calls = load(spender.secret, 8, () => next, KEEN_MS)
    await until(() => calls.outcomes.length > 50)
    await dying.kill('SIGKILL')
    // With the whole time of a lease: `crash.test.ts` ends it. No process is left that could use the rest.
    await untilOwner(next)
    const before = calls.outcomes.length
    await until(() => calls.outcomes.slice(before).filter(({ status }) => status === 200).length > 20)
    const outcomes = await calls.stop()
    expect(otherThan(outcomes, 200, 503)).toEqual([])
    expect(await expectBooked(outcomes)).toBeGreaterThan(70)
    nodes = [next, await cluster.start()]
  }, 120_000)

  test('the owner is frozen while it charges, and wakes up when another one serves: it commits nothing more', async () => {
    const frozen = await owner()
    const next = other(frozen)
    const direct = load(spender.secret, 20, () => frozen, KEEN_MS)
    await until(() => direct.outcomes.length > 20)
    process.kill(frozen.pid, 'SIGSTOP')
    // It still believes in its lease when it wakes up: only the fence stops it.
    await cluster.endLease()
    await untilOwner(next)
    const meanwhile = await Promise.all(Array.from({ length: 20 }, () => search(next, spender.secret)))
    expect(counted(meanwhile)).toEqual({ 200: 20 })
    process.kill(frozen.pid, 'SIGCONT')
    await until(() => frozen.output().includes('this node no longer owns the accounts'), frozen.output)
    // From here on it forwards.
    const before = direct.outcomes.length
    await until(() => direct.outcomes.slice(before).filter(({ status }) => status === 200).length > 40)
    const outcomes = await direct.stop()
    expect(otherThan(outcomes, 200, 503)).toEqual([])
    await expectBooked([...outcomes, ...meanwhile])
    expect(await ownerOf(frozen)).toBe(next.url)
  }, 60_000)

  test('the database dies and comes back under load: nothing is lost, and calls go on', async () => {
    const calls = load(spender.secret, 8, () => nodes[Math.random() < 0.5 ? 0 : 1] as TestNode)
    await until(() => calls.outcomes.length > 20)
    await cluster.database.kill()
    await until(async () => !(await fetch(`${nodes[1]?.url}/ready`)).ok)
    await cluster.database.start()
    const before = calls.outcomes.length
    await until(() => calls.outcomes.slice(before).filter(({ status }) => status === 200).length > 20)
    const outcomes = await calls.stop()
    expect(otherThan(outcomes, 200, 503)).toEqual([])
    await expectBooked(outcomes)
  }, 60_000)

  test('a charge that the tables refuse closes its account alone, on this node and on the one that takes over, until an operator discards it', async () => {
    const dying = await owner()
    const next = other(dying)
    const [poor, rich] = [await openSpender(dying, 'grace@example.com', null), spender]
    const client = createClient({ url: cluster.database.url })
    const credit = async (change: string) =>
      client.execute({ sql: `UPDATE accounts SET credit = credit ${change} WHERE id = ?`, args: [poor.id] })
    await credit('- 1002000000')
    expect((await search(dying, poor.secret)).status).toBe(503)
    await until(() => dying.output().includes('records of the ledger are stuck'))
    const answer = await fetch(`${dying.url}/apis/v1/websearch/images/search?q=card`, {
      headers: { authorization: `Bearer ${poor.secret}` },
    })
    expect(await answer.json()).toMatchObject({ error: { code: 'account_under_review' } })
    expect((await search(dying, rich.secret)).status).toBe(200)
    await dying.kill('SIGKILL')
    await credit('+ 1002000000')
    client.close()
    await cluster.endLease()
    await untilOwner(next)
    expect([(await search(next, poor.secret)).status, (await search(next, rich.secret)).status]).toEqual([503, 200])
    const { records } = (await (await control(next.folder, 'stuck-list', {})).json()) as StuckPage
    const [record] = records
    expect(record).toMatchObject({ account: poor.id, kind: 'charge', due: false, amount_micros_usd: 5000 })
    const id = record?.id
    expect(control(next.folder, 'stuck-retry', { id })).rejects.toThrow('Discard it')
    await control(next.folder, 'stuck-discard', { id, note: 'the balance was changed by hand' })
    expect((await search(next, poor.secret)).status).toBe(200)
    expect((await reconcile(cluster.database.url)).problems).toEqual([])
  }, 60_000)
})
