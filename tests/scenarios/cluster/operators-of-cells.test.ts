import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { OperatorAccountPage } from '../../../server/http/operator/record'
import { openCluster, openSpender, ownersOf, search, type TestNode } from '../../support/cluster/cluster'
import { hasSqld } from '../../support/databases/sqld'
import { control } from '../../support/servers/server-process'
import { until } from '../../support/until'

type Spender = Awaited<ReturnType<typeof openSpender>>

/** Each of two processes owns one of two cells, so what an operator asks goes over a hop. */
describe.skipIf(!hasSqld)('an operator of two nodes with two cells', () => {
  let cluster: Awaited<ReturnType<typeof openCluster>>
  let nodes: TestNode[] = []
  let people: Spender[] = []
  beforeAll(async () => {
    cluster = await openCluster({ moreCells: 1 })
    nodes = await Promise.all([cluster.start(), cluster.start()])
    await until(async () => {
      const owners = Object.values(await ownersOf(nodes[0] as TestNode))
      return new Set(owners).size === 2 && !owners.includes(null)
    })
    const [node] = nodes
    if (!node) throw new Error('no node')
    people = [await openSpender(node, 'one@example.com', null), await openSpender(node, 'two@example.com', null)]
    for (const { id } of people) await control(node.folder, 'role', { account: id, role: 'operator' })
  })
  afterAll(() => cluster.close())

  test('lists, changes and exports what is in both cells, through either node, wherever the own account is', async () => {
    for (const [at, me] of people.entries())
      for (const { url } of nodes) {
        const page: OperatorAccountPage = await me.api('/api/operator/accounts', undefined, url)
        expect(page.accounts.map(({ email }) => email)).toEqual(['two@example.com', 'one@example.com'])
        expect(page).not.toHaveProperty('missing_cells')
        for (const { id, secret } of people) {
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
      const { entries } = await people[0]!.api('/api/operator/audit?action=account.grant&limit=200', undefined, url)
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
    const run = await people[1]!.api('/api/operator/reconcile', {}, nodes[1]!.url)
    expect(run).toMatchObject({ ledger: [], complete: true })
    const answer = await control(nodes[0]!.folder, 'books', {
      from: '2020-01-01T00:00:00Z',
      to: '2100-01-01T00:00:00Z',
    })
    const lines = (await answer.text()).trim().split('\r\n')
    expect(lines.at(-1)).toMatch(/^total,.*,0,,\d+ entries,$/)
    for (const { id } of people)
      expect(lines.some((line) => line.startsWith('closing,') && line.includes(id))).toBe(true)
  })

  test('a cell whose owner does not answer, or that nobody owns, is named as a warning', async () => {
    const owners = await ownersOf(nodes[0] as TestNode)
    const [of, left] = ['c2', 'main'].map((cell) => nodes.find(({ url }) => url === owners[cell])) as [
      TestNode,
      TestNode,
    ]
    process.kill(of.pid, 'SIGSTOP')
    const warning = async () => (await (await control(left.folder, 'ready', {})).json()).warnings.cells
    expect(await warning()).toBe(`c2 is owned by ${of.url}, which does not say how it does`)
    await until(async () => (await warning()) !== `c2 is owned by ${of.url}, which does not say how it does`)
    await until(async () => (await warning()) === undefined)
  }, 60_000)
})
