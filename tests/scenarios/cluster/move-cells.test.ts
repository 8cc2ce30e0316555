import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join, resolve } from 'node:path'
import { createClient } from '@libsql/client'
import { openCluster, openSpender, search, type TestNode } from '../../support/cluster/cluster'
import { hasSqld, openSqld } from '../../support/databases/sqld'
import { reconcile } from '../../support/reconcile'
import { COMPILED, SECRET_KEY } from '../../support/servers/server-process'
import { until } from '../../support/until'

const ROOT = resolve(import.meta.dir, '../../..')

/** Issue 23: `migrate-database` where accounts are divided into cells. */
describe.skipIf(!hasSqld)('the databases of two cells', () => {
  let cluster: Awaited<ReturnType<typeof openCluster>>
  let places: Awaited<ReturnType<typeof openSqld>>[] = []
  const urls = { main: '', c2: '', newMain: '', newC2: '' }
  let nodes: TestNode[] = []
  const gates: Bun.Server<undefined>[] = []
  /** In the environment of the command. */
  let tokens: Readonly<Record<string, string>> = {}
  const people: Awaited<ReturnType<typeof openSpender>>[] = []
  beforeAll(async () => {
    cluster = await openCluster({ moreCells: 1 })
    places = [await openSqld(), await openSqld()]
    const given = [cluster.database, ...cluster.cellDatabases, ...places].map(({ url }) => url)
    Object.assign(urls, { main: given[0], c2: given[1], newMain: given[2], newC2: given[3] })
    nodes = [await cluster.start()]
    for (const name of ['one', 'two']) people.push(await openSpender(nodes[0] as TestNode, `${name}@example.com`, null))
    await expectServed()
  }, 60_000)
  afterAll(async () => {
    await cluster.close()
    for (const gate of gates) await gate.stop(true)
    for (const place of places) await place.close()
  })

  async function expectServed() {
    const [node] = nodes as [TestNode]
    for (const { secret } of people) await until(async () => (await search(node, secret)).status === 200)
  }
  /** The way to a database server for those who have its token. */
  function gated(url: string, token: string) {
    const gate = Bun.serve({
      ...{ port: 0, hostname: '127.0.0.1' },
      fetch(request) {
        if (request.headers.get('authorization') !== `Bearer ${token}`)
          return Response.json({ error: 'Authentication failed' }, { status: 401 })
        const { pathname, search: query } = new URL(request.url)
        const { method, headers, body } = request
        return fetch(url + pathname + query, { method, headers, body })
      },
    })
    gates.push(gate)
    return `http://127.0.0.1:${gate.port}`
  }
  async function run(...args: readonly string[]) {
    const child = Bun.spawn([process.execPath, 'server/cli/main.ts', 'operator', 'migrate-database', ...args], {
      cwd: ROOT,
      env: {
        ...{ PATH: process.env['PATH'] ?? '', BUN_RUNTIME_TRANSPILER_CACHE_PATH: COMPILED, SECRET_KEY },
        ...{ DATA_DIR: (nodes[0] as TestNode).folder, DATABASE_SYNC: 'promised' },
        ...{ DATABASE_URL: urls.main, CELL_DATABASE_URLS: urls.c2 },
        ...tokens,
      },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
    return { code: await child.exited, out, err }
  }
  const failing = async (...args: readonly string[]) => {
    const { code, err } = await run(...args)
    return `${code} ${err}`
  }
  const termsIn = async (url: string) => {
    const client = createClient({ url })
    const { rows } = await client.execute("SELECT term FROM leases WHERE name = 'cell/c2'")
    client.close()
    return rows.map(({ term }) => Number(term))
  }

  test('are not moved while a node lives, not as another cell, and not into a file', async () => {
    expect(await failing('--cell', 'c2', '--to', urls.newC2)).toMatch(/^1 .*is in use by http/)
    expect(await failing('--cell', 'c2', '--to', urls.newC2, '--dry-run')).toMatch(/^1 .*is in use by http/)
    await expectServed()
    const [node] = nodes as [TestNode]
    expect(await node.kill('SIGTERM')).toBe(0)
    const file = `file:${join(node.folder, 'moved', 'gateway.db')}`
    const [ofC2, intoFile, c2IntoFile, other, both] = await Promise.all([
      failing('--from', urls.c2, '--to', urls.newC2, '--dry-run'),
      failing('--from', urls.main, '--to', file, '--dry-run'),
      failing('--cell', 'c2', '--to', file, '--dry-run'),
      failing('--cell', 'c9', '--to', urls.newC2),
      failing('--cell', 'c2', '--from', urls.c2, '--to', urls.newC2),
    ])
    expect(ofC2).toMatch(/^1 .* is the database of the cell c2: move it with --cell c2/)
    expect(intoFile).toMatch(/^1 .*accounts are divided into cells \(main and c2\)/)
    expect(c2IntoFile).toMatch(/^1 .*accounts are divided into cells/)
    expect(other).toMatch(/^2 .*there is no cell "c9".*CELL_DATABASE_URLS names c2/)
    expect(both).toMatch(/^2 .*omit --from/)
  }, 60_000)

  test('are moved to other servers, one after the other, and their accounts are served there at once', async () => {
    const terms = await termsIn(urls.main)
    const c2 = await run('--cell', 'c2', '--to', urls.newC2)
    expect(c2).toMatchObject({ code: 0, out: expect.stringContaining('in CELL_DATABASE_URLS, at the position of c2') })
    urls.c2 = urls.newC2
    const [from, to] = [gated(urls.main, 'old token'), gated(urls.newMain, 'new token')]
    tokens = { DATABASE_AUTH_TOKEN: 'old token' }
    expect(await failing('--from', from, '--to', to)).toMatch(
      /^1 .* does not answer: .*Check the address and its token/,
    )
    tokens = { DATABASE_AUTH_TOKEN: 'old token', TARGET_DATABASE_AUTH_TOKEN: 'new token' }
    const main = await run('--from', from, '--to', to)
    expect(main).toMatchObject({ code: 0, out: expect.stringContaining(`DATABASE_URL=${to}`) })
    for (const token of ['old token', 'new token']) expect(main.out + main.err).not.toContain(token)
    expect(await failing('--reopen', from)).toMatch(/^1 .* has the data now/)
    // From a lower term each try to open the cell would fail.
    expect(await termsIn(urls.newMain)).toEqual(terms)
    const [old] = cluster.cellDatabases.map(({ url }) => url)
    // The one token of all cells is not that of this server.
    const ofC2 = `${gated(urls.newC2, 'c2-token')}?authToken=c2-token`
    const settings = { DATABASE_URL: urls.newMain, CELL_DATABASE_URLS: ofC2, CELL_DATABASE_AUTH_TOKEN: 'others' }
    nodes = [await cluster.start(settings)]
    await expectServed()
    for (const text of ['could not open the accounts', 'c2-token'])
      expect((nodes[0] as TestNode).output()).not.toContain(text)
    for (const url of [urls.newMain, urls.newC2]) expect((await reconcile(url)).problems).toEqual([])
    expect(await (nodes[0] as TestNode).kill('SIGTERM')).toBe(0)
    nodes = [await cluster.start({ ...settings, CELL_DATABASE_URLS: old ?? '' })]
    await until(() => (nodes[0] as TestNode).output().includes(`this data was moved to ${urls.newC2}`))
  }, 90_000)
})
