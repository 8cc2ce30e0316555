import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Connection } from '../../../server/adapters/stores/libsql/driver/worker/worker-connection'
import { countsOf, inMessages } from '../../../server/adapters/stores/libsql/move/row-counts'
import { TEST_THREADS } from '../../support/test-threads'

test('a large table is counted to its last row, and changed in a message of its own', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'counts-'))
  const place = { url: `file:${join(folder, 'rows.db')}`, authToken: null, threads: TEST_THREADS }
  const connection = await Connection.open({ role: 'writer', ...place }, () => undefined)
  const sizes = { empty: 0, small: 999, large: 1_000, 'larger "one"': 2_345 }
  await connection.send({
    op: 'migrate',
    statements: Object.entries(sizes).flatMap(([name, rows]) => {
      const table = `"${name.replaceAll('"', '""')}"`
      const numbers = `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ${rows}) SELECT x FROM n`
      const inserts = rows > 0 ? [{ sql: `INSERT INTO ${table} ${numbers}`, args: [] }] : []
      return [{ sql: `CREATE TABLE ${table} (a)`, args: [] }, ...inserts]
    }),
  })
  const counts = await countsOf(connection, Object.keys(sizes))
  expect(Object.fromEntries(counts)).toEqual(sizes)
  expect(await countsOf(connection, [])).toEqual(new Map())

  const changes = ['empty', 'small', 'large', 'larger "one"', 'small', 'empty', 'large'].map((table) => ({ table }))
  const messages = inMessages(changes, counts).map((message) => message.map(({ table }) => table))
  expect(messages).toEqual([['empty', 'small'], ['large'], ['larger "one"'], ['small', 'empty'], ['large']])
  await connection.close()
  await rm(folder, { recursive: true, force: true })
})
