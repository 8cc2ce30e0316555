import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { anApi, saving } from '../support/apis'
import { openTestStores } from '../support/ledger-parts'
import { apiStoreContract } from './api-store.contract'

apiStoreContract('libSQL', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-apis-'))
  let stores = await openTestStores({ folder })
  return {
    store: stores.apis,
    async reopened() {
      await stores.close()
      stores = await openTestStores({ folder })
      return stores.apis
    },
    audited: async () => (await stores.db.all(sql`SELECT 1 FROM audit_log`)).length,
    async close() {
      await stores.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
})

test.each(['api_prices', 'api_tools'])('no statement changes or deletes a row of %s', async (table) => {
  const stores = await openTestStores()
  await stores.apis.write([saving(anApi())])
  for (const statement of [`DELETE FROM ${table}`, `UPDATE ${table} SET operation = 'other.one'`]) {
    const failure = await stores.db.run(sql.raw(statement)).then(
      () => 'done',
      (error: Error) => String(error.cause),
    )
    expect(failure).toContain('append-only')
  }
  expect(await stores.db.all<unknown>(sql.raw(`SELECT operation FROM ${table}`))).toEqual([
    { operation: 'weather.forecast' },
  ])
  await stores.close()
})
