import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
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

/** What a balancer needs to notice. */
const NOTICE = { DRAIN_NOTICE_SECONDS: '1' }
/** So many calls of an account, through both nodes in turn, show that it is served. */
const SOME = 4
/** A restart takes seconds, so calls at this distance are under way at each of its moments. */
const RESTART_PAUSE_MS = { served: 200, refused: 200 }

/** Issue 23: planned hand-overs of cells, with real processes under load. */
describe.skipIf(!hasSqld)('cells of two nodes, while accounts of each are called:', () => {
  let cluster: Awaited<ReturnType<typeof openCluster>>
  let nodes: TestNode[] = []
  let spenders: Awaited<ReturnType<typeof openSpender>>[] = []
  beforeAll(async () => {
    cluster = await openCluster({ moreCells: 1 })
    nodes = await Promise.all([cluster.start(NOTICE), cluster.start(NOTICE)])
    await until(async () => new Set(Object.values(await owners())).size === 2, owners)
    const [a] = nodes as [TestNode]
    spenders = [await openSpender(a, 'in-main@example.com', null), await openSpender(a, 'in-c2@example.com', null)]
  })
  afterAll(() => cluster.close())

  /** The cell that a node took last, and whether it had prepared it. */
  const taken = async (node: TestNode) => {
    const lines = node.output().split('\n')
    const line = lines.findLast((each) => each.includes('this node owns the accounts')) ?? ''
    return { cell: /"?cell"?[=:] ?"?(\w+)/.exec(line)?.[1], prepared: /"?prepared"?[=:] ?true/.test(line) }
  }
  const owners = () => ownersOf(nodes.at(-1) as TestNode)
  async function expectAllServed(calls: readonly ReturnType<typeof load>[]) {
    for (const call of calls) expect(otherThan(await call.stop(), 200)).toEqual([])
    for (const { url } of [cluster.database, ...cluster.cellDatabases])
      expect((await reconcile(url)).problems).toEqual([])
  }
  const more = (calls: readonly ReturnType<typeof load>[], count: number) => {
    const before = calls.map(({ outcomes }) => outcomes.length)
    return until(
      () => calls.every(({ outcomes }, i) => outcomes.length > (before[i] ?? 0) + count),
      () => calls.map(({ outcomes }) => outcomes.at(-1)),
    )
  }

  test('an operator moves each cell to and fro from either node, and no call fails', async () => {
    let turn = 0
    const calls = spenders.map(({ secret }) => load(secret, 2, () => nodes[turn++ % 2] as TestNode))
    await more(calls, SOME)
    // Pinned where they are: a node that gets a second cell would share the other one, and in the end each node has one, as at first.
    for (const [cell, to] of Object.entries(await owners()))
      await control(nodes[0]?.folder ?? '', 'cells-move', { cell, to })
    for (const cell of ['c2', 'main', 'c2', 'main']) {
      const from = (await owners())[cell]
      const to = nodes.find(({ url }) => url !== from) as TestNode
      const moved = await control(nodes[turn++ % 2]?.folder ?? '', 'cells-move', { cell, to: to.url })
      expect(await moved.json()).toMatchObject({ cell: { name: cell, owner: to.url, is_pinned: true, accounts: 1 } })
      expect(await taken(to)).toEqual({ cell, prepared: true })
      await more(calls, SOME)
    }
    await expectAllServed(calls)
  }, 90_000)

  test('both nodes restart, one after the other, and no call fails; each has a cell again', async () => {
    let serving = nodes
    let turn = 0
    const pick = () => serving[turn++ % serving.length] as TestNode
    const calls = spenders.map(({ secret }) => load(secret, 2, pick, RESTART_PAUSE_MS))
    await more(calls, SOME)
    for (const node of nodes) {
      serving = serving.filter(({ url }) => url !== node.url)
      expect(await node.kill('SIGTERM')).toBe(0)
      const fresh = await cluster.start(NOTICE)
      serving = [...serving, fresh]
      await until(async () => new Set(Object.values(await ownersOf(fresh))).size === 2)
      await more(calls, SOME)
    }
    nodes = [...serving]
    await expectAllServed(calls)
  }, 120_000)

  test('a frozen node loses its cells to the other one, and takes its share again when it wakes up', async () => {
    const [a, b] = nodes as [TestNode, TestNode]
    process.kill(a.pid, 'SIGSTOP')
    await cluster.endLease()
    await until(async () => Object.values(await owners()).every((url) => url === b.url))
    for (const { secret } of spenders) await until(async () => (await search(b, secret)).status === 200)
    process.kill(a.pid, 'SIGCONT')
    await until(() => a.output().includes('this node no longer owns the accounts'), a.output)
    await until(async () => new Set(Object.values(await owners())).size === 2, owners)
    for (const { secret } of spenders) for (const node of nodes) expect((await search(node, secret)).status).toBe(200)
  }, 90_000)
})
