import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { Opened } from '../../../server/adapters/stores/libsql/driver/opened'
import { openSharedDatabase } from '../../../server/adapters/stores/libsql/shared-database'
import { NO_OTHER_COPIES } from '../../../server/core/cluster/control-changes'
import { isUnavailable } from '../../../server/core/unavailable'
import { writeMigratedDatabase } from '../../support/databases/migrated-database'
import { TEST_THREADS } from '../../support/test-threads'

describe('a control database that another process owns', () => {
  let opened = new Opened()
  let folder = ''
  let changes = 0
  beforeEach(async () => {
    opened = new Opened()
    changes = 0
    folder = await mkdtemp(join(tmpdir(), 'shared-database-'))
    await writeMigratedDatabase(join(folder, 'gateway.db'))
  })
  afterEach(async () => {
    await opened.close()
    await rm(folder, { recursive: true, force: true })
  })

  const open = (url = `file:${join(folder, 'gateway.db')}`, maxWaitMs = 5000) =>
    openSharedDatabase(
      {
        ...{ url, authToken: null, maxWaitMs, threads: TEST_THREADS, onFatal: () => undefined },
        changes: { ...NO_OTHER_COPIES, changed: async () => void changes++ },
      },
      opened,
    )
  const failure = (run: PromiseLike<unknown>) => Promise.resolve(run).then(String, (error: unknown) => error)
  const version = async ({ db }: Awaited<ReturnType<typeof open>>) =>
    (await db.all<{ version: number }>(sql`SELECT version FROM control_version`))[0]?.version

  test('takes writes to the tables of identity and the directory, and none to what only its owner changes', async () => {
    const shared = await open()
    await shared.db.run(sql`INSERT INTO key_directory (hash, cell) VALUES ('a', 'c2') ON CONFLICT DO NOTHING`)
    expect(await shared.db.all<unknown>(sql`SELECT cell FROM key_directory`)).toEqual([{ cell: 'c2' }])
    for (const statement of [
      "INSERT INTO prices (id) VALUES ('p')",
      'DELETE FROM models',
      "UPDATE apis SET name = 'x'",
      'INSERT OR REPLACE INTO owner (id) VALUES (1)',
      'DROP TABLE prices',
    ])
      expect(await failure(shared.db.run(sql.raw(statement)))).toMatchObject({
        cause: { message: expect.stringContaining('only the owner of the control database') },
      })
  })

  test('raises the version and announces what gateways have copies of, and nothing else', async () => {
    const shared = await open()
    await shared.db.run(
      sql`INSERT INTO account_directory (account_id, user_id, created_at, cell) VALUES ('acct_1', 'u', 1, 'c2')`,
    )
    expect([await version(shared), changes]).toEqual([undefined, 0])
    await shared.db.run(sql`UPDATE account_directory SET role = 'support' WHERE account_id = 'acct_1'`)
    expect([await version(shared), changes]).toEqual([1, 1])
    await shared.db.run(
      sql`INSERT INTO api_closings (operation, account_id, price_version, at) VALUES ('shop.buy', 'acct_1', 'price_1', 1)`,
    )
    expect([await version(shared), changes]).toEqual([2, 2])
  })

  test('is given up after some seconds of silence, so that a gateway that lost its cell can close', async () => {
    const silent = Bun.serve({ port: 0, fetch: () => new Promise<Response>(() => undefined) })
    const shared = await open(`http://127.0.0.1:${silent.port}`, 50)
    const read = await failure(shared.db.all(sql`SELECT 1`))
    const write = await failure(shared.db.run(sql`DELETE FROM events`))
    expect([isUnavailable(read), isUnavailable(write)]).toEqual([true, true])
    // The request and the wait for it end at the same time: either says so.
    expect(await shared.problem()).toMatch(/did not answer in time|timed out/)
    await silent.stop(true)
  })
})
