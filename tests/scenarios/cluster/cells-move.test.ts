import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { OperatorAccountPage } from '../../../server/http/operator/record'
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

/**
 * Issue 23: what an operator asks of two cells, which goes over a hop where another node owns the cell; and planned hand-overs of cells, with real
 * processes under load.
 */
describe.skipIf(!hasSqld)('cells of two nodes, with an account in each:', () => {
  let cluster: Awaited<ReturnType<typeof openCluster>>
  let nodes: TestNode[] = []
  let spenders: Awaited<ReturnType<typeof openSpender>>[] = []
  beforeAll(async () => {
    cluster = await openCluster({ moreCells: 1 })
    nodes = await Promise.all([cluster.start(NOTICE), cluster.start(NOTICE)])
    await until(async () => new Set(Object.values(await owners())).size === 2, owners)
    const [a] = nodes as [TestNode]
    spenders = [await openSpender(a, 'in-main@example.com', null), await openSpender(a, 'in-c2@example.com', null)]
    for (const { id } of spenders) await control(a.folder, 'role', { account: id, role: 'operator' })
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

  test('an operator lists, changes and exports what is in both cells, through either node, wherever the own account is', async () => {
    for (const [at, me] of spenders.entries())
      for (const { url } of nodes) {
        const page: OperatorAccountPage = await me.api('/api/operator/accounts', undefined, url)
        expect(page.accounts.map(({ email }) => email)).toEqual(['in-c2@example.com', 'in-main@example.com'])
        expect(page).not.toHaveProperty('missing_cells')
        for (const { id, secret } of spenders) {
          const before = Number((await me.api(`/api/operator/accounts/${id}`, undefined, url)).account.balance_usd)
          const body = { usd: '1', note: 'by hand', reference: `${at} ${url} ${id}` }
          const { account } = await me.api(`/api/operator/accounts/${id}/grants`, body, url)
          expect(Number(account.balance_usd)).toBe(before + 1)
          expect((await search({ url }, secret)).status).toBe(200)
        }
      }
  })

  test('the audit log has the grants of both cells once, each with who gave it', async () => {
    for (const { url } of nodes) {
      const { entries } = await spenders[0]!.api('/api/operator/audit?action=account.grant&limit=200', undefined, url)
      const byHand = entries.filter(({ after }: { after: { note?: string } }) => after.note === 'by hand')
      expect(byHand).toHaveLength(8)
      expect(new Set(byHand.map(({ actor_id }: { actor_id: string }) => actor_id)).size).toBe(2)
      expect(byHand.every(({ ip }: { ip: string }) => ip === '127.0.0.1')).toBe(true)
    }
  })

  test('either node says of each cell who owns it, what is left to do in it and how its database answers', async () => {
    const none = { long_calls: 0, kept_holds: 0, unfinished_payments: 0, stuck_records: 0 }
    const well = { owner: expect.any(String), since: expect.any(String), accounts: 1, database_ms: expect.any(Number) }
    for (const { folder } of nodes) {
      const ready = await (await control(folder, 'ready', {})).json()
      expect(new Set(ready.cells.map(({ owner }: { owner: string }) => owner)).size).toBe(2)
      expect(ready.warnings).not.toHaveProperty('cells')
      expect(ready).toMatchObject({
        status: 'ready',
        cells: ['main', 'c2'].map((name) => ({ name, ...well, ...none, commit_wait_ms: 0 })),
      })
    }
  })

  test('the books of all cells are compared, and come to zero', async () => {
    const run = await spenders[1]!.api('/api/operator/reconcile', {}, nodes[1]!.url)
    expect(run).toMatchObject({ ledger: [], complete: true })
    const answer = await control(nodes[0]!.folder, 'books', {
      from: '2020-01-01T00:00:00Z',
      to: '2100-01-01T00:00:00Z',
      entries: true,
    })
    const lines = (await answer.text()).trim().split('\r\n')
    expect(lines.at(-1)).toMatch(/^total,.*,0,,\d+ entries,$/)
    for (const { id } of spenders)
      expect(lines.some((line) => line.startsWith('closing,') && line.includes(id))).toBe(true)
  })

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

  test('a frozen node is named as a warning, loses its cells to the other one, and takes its share again when it wakes up', async () => {
    const { c2 } = await owners()
    // The one of `main` gives the warning.
    const [a, b] = nodes.toSorted((x, y) => Number(y.url === c2) - Number(x.url === c2)) as [TestNode, TestNode]
    nodes = [a, b]
    const warning = async () => (await (await control(b.folder, 'ready', {})).json()).warnings.cells
    process.kill(a.pid, 'SIGSTOP')
    expect(await warning()).toBe(`c2 is owned by ${a.url}, which does not say how it does`)
    await cluster.endLease()
    await until(async () => (await warning()) === undefined, warning)
    await until(async () => Object.values(await owners()).every((url) => url === b.url))
    for (const { secret } of spenders) await until(async () => (await search(b, secret)).status === 200)
    process.kill(a.pid, 'SIGCONT')
    await until(() => a.output().includes('this node no longer owns the accounts'), a.output)
    await until(async () => new Set(Object.values(await owners())).size === 2, owners)
    for (const { secret } of spenders) for (const node of nodes) expect((await search(node, secret)).status).toBe(200)
  }, 90_000)
})
