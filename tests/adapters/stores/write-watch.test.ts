import { expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { TOKEN_TABLES, WriteWatch } from '../../../server/adapters/stores/libsql/driver/write-watch'
import { openTestStores } from '../../support/ledger-parts'

const touching = [{ sql: 'delete from "oauth_consent" where 1' }]

test('counts a write to its tables when it starts and when it ends, also when it fails', async () => {
  const watch = new WriteWatch(/\boauth_/)
  const seen: number[] = []
  await watch.during(touching, async () => void seen.push(watch.count))
  seen.push(watch.count)
  await expect(watch.during(touching, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect([...seen, watch.count]).toEqual([1, 2, 4])
})

test('does not count a write to other tables, whatever its values contain', async () => {
  const watch = new WriteWatch(/\boauth_/)
  expect(await watch.during([{ sql: 'insert into keys values (?)' }], async () => 7)).toBe(7)
  expect(watch.count).toBe(0)
})

test('the tables of access tokens are all those whose rows cascade to one', async () => {
  const stores = await openTestStores()
  const seen = new Set<string>()
  const walk = async (table: string) => {
    if (seen.has(table)) return
    seen.add(table)
    const parents = await stores.db.all<{ table: string; on_delete: string }>(
      sql`SELECT "table", on_delete FROM pragma_foreign_key_list(${table})`,
    )
    for (const parent of parents) if (parent.on_delete === 'CASCADE') await walk(parent.table)
  }
  await walk('oauth_access_token')
  await stores.close()
  expect([...seen].sort()).toEqual(['identity_user', 'oauth_access_token', 'oauth_client', 'oauth_refresh_token'])
  for (const table of seen)
    for (const text of [`delete from "${table}"`, `DELETE FROM ${table} WHERE 1`])
      expect(TOKEN_TABLES.test(text)).toBe(true)
  for (const table of ['oauth_device_code', 'oauth_client_resource', 'identity_session'])
    expect(TOKEN_TABLES.test(`update "${table}" set x = 1`)).toBe(false)
})
