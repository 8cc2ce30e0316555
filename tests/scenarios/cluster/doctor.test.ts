import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createClient } from '@libsql/client'
import { doctorCommand } from '../../../server/cli/local/doctor-command'
import { openCluster, openSpender, type TestNode } from '../../support/cluster/cluster'
import { hasSqld } from '../../support/databases/sqld'
import { SECRET_KEY } from '../../support/servers/server-process'

interface Finding {
  readonly check: string
  readonly status: string
  readonly message: string
}

/** Issue 24 point 5, where accounts are divided into cells. */
describe.skipIf(!hasSqld)('gateway doctor beside a node that owns two cells', () => {
  let cluster: Awaited<ReturnType<typeof openCluster>>
  let node: TestNode
  beforeAll(async () => {
    cluster = await openCluster({ moreCells: 1 })
    node = await cluster.start()
    for (const name of ['one', 'two']) await openSpender(node, `${name}@example.com`, null)
  }, 60_000)
  afterAll(() => cluster.close())

  const [ofMain, ofC2] = [() => cluster.database, () => cluster.cellDatabases[0] as (typeof cluster)['database']]
  async function findings(check: string, env: Readonly<Record<string, string>> = {}): Promise<string[]> {
    let text = ''
    const given = {
      ...{ DATA_DIR: node.folder, SECRET_KEY, DATABASE_URL: ofMain().url, CELL_DATABASE_URLS: ofC2().url },
      ...{ NODE_URL: node.url, SOCIAL_PROVIDER: 'none', DATABASE_SYNC: 'promised', ...env },
    }
    const out = (piece: string) => {
      text += piece
    }
    await doctorCommand(['--json'], { env: given, out, now: Date.now }).catch(() => undefined)
    const all = JSON.parse(text).findings as Finding[]
    return all.filter((one) => one.check === check).map(({ status, message }) => `${status} ${message}`)
  }
  /** Runs `sql` in a database while `look` looks, and undoes it. */
  async function changed<T>({ url }: { readonly url: string }, sql: string, undo: string, look: () => Promise<T>) {
    const client = createClient({ url })
    await client.execute(sql)
    const seen = await look()
    await client.execute(undo)
    client.close()
    return seen
  }

  test('finds both databases sound: they answer, are of the right cells, and their books agree', async () => {
    const [main, c2] = await findings('database')
    expect(main).toMatch(/^ok main at http:\S+ answers in \d+ ms, its clock agrees, epoch \d+$/)
    expect(c2).toMatch(/^ok c2 at http:\S+ answers in \d+ ms, its clock agrees, epoch \d+$/)
    expect(await findings('books')).toEqual(['ok the books of main agree', 'ok the books of c2 agree'])
  })

  test('finds books that do not agree in one cell', async () => {
    const look = () => findings('books')
    const change = (by: string) => `UPDATE accounts SET credit = credit ${by}`
    const [main, c2] = await changed(ofC2(), change('+ 7'), change('- 7'), look)
    expect([main, c2]).toEqual([
      'ok the books of main agree',
      expect.stringMatching(/^fail the books of c2 have \d+ mismatch(es)?/),
    ])
  })

  test('finds a database of another cell, another database of the cell, and a control database that is older', async () => {
    const second = async () => (await findings('database'))[1]
    const rename = (from: string, to: string) => `UPDATE cells SET name = '${to}' WHERE name = '${from}'`
    expect(await changed(ofC2(), rename('c2', 'c3'), rename('c3', 'c2'), second)).toMatch(
      /^fail .* is the database of c3$/,
    )
    const id = (change: string) => `UPDATE cells SET database_id = ${change} WHERE name = 'c2'`
    expect(await changed(ofC2(), id("'x' || database_id"), id('substr(database_id, 2)'), second)).toMatch(
      /^fail .* is not the database that this cell had before$/,
    )
    const term = (by: string) => `UPDATE leases SET term = term ${by} WHERE name = 'cell/c2'`
    expect(await changed(ofC2(), term('+ 3'), term('- 3'), second)).toMatch(
      /^warn .* the control database is older than this one, by 3 owners$/,
    )
  })

  test('finds a server that acknowledges before its disk has it, and one that does not answer', async () => {
    const unsynced = await findings('database', { DATABASE_SYNC: 'asked' })
    for (const line of unsynced) expect(line).toMatch(/^fail .*acknowledges commits before they are on disk/)
    await ofC2().kill()
    const [main, c2] = await findings('database')
    expect(main).toStartWith('ok main')
    expect(c2).toMatch(/^fail c2: http:\S+ does not answer/)
    expect((await findings('books'))[1]).toBe('warn the books of c2 were not read')
  }, 60_000)
})
