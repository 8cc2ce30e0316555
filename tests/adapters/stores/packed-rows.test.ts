import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { asc } from 'drizzle-orm'
import { packedRows } from '../../../server/adapters/stores/libsql/driver/packed-rows'
import { restoredRows } from '../../../server/adapters/stores/libsql/journal/restored-rows'
import { keys, pools } from '../../../server/adapters/stores/libsql/schema/keys'
import { apiKey, audit, openTestStores, type TestStores } from '../../support/ledger-parts'
import { hasSqld, openSqld } from '../../support/sqld'

const ROWS = 205

/** What a start reads of large tables. */
function readsOf(name: string, open: () => Promise<TestStores>): void {
  describe(`packed rows of ${name}`, () => {
    let stores: TestStores
    beforeAll(async () => {
      stores = await open()
      const account = await stores.account()
      for (let i = 0; i < ROWS; i++) {
        const more = { name: `"é\n' ${i}`, tags: ['a,]', '"b'], allowedIps: ['10.0.0.1'], disabledAt: i % 2 ? null : i }
        const budget = { limitUsd: 0.5, period: 'day', timezone: 'UTC' } as const
        await stores.credentials.create(apiKey(account, more), { limit: null, budget: i % 3 ? null : budget }, audit())
      }
    })
    afterAll(() => stores.close())

    test('are those that plain rows are, in the same order, for each page', async () => {
      for (const table of [keys, pools] as const) {
        const plain = await stores.db.select().from(table).orderBy(asc(table.id))
        expect(plain).toHaveLength(ROWS)
        expect(await packedRows(stores.db, table, null, 1000)).toEqual(plain)
        const paged = []
        for (let after: string | null = null; ; ) {
          const page: { id: string }[] = await packedRows(stores.db, table, after, 70)
          paged.push(...page)
          after = page.at(-1)?.id ?? null
          if (page.length < 70) break
        }
        expect(paged).toEqual(plain)
      }
      expect(await packedRows(stores.db, keys, 'key_z', 10)).toEqual([])
    })
  })
}

readsOf('a file', () => openTestStores())
if (hasSqld)
  readsOf('a libSQL server', async () => {
    const database = await openSqld()
    const stores = await openTestStores({ url: database.url })
    return {
      ...stores,
      async close() {
        await stores.close()
        await database.close()
      },
    }
  })

test('pages are read while the one before is used, and a page that fails fails the reading', async () => {
  const asked: (string | null)[] = []
  const rows = Array.from({ length: 2000 }, (_, i) => ({ id: String(i) }))
  const reading = restoredRows(async (after: string | null) => {
    asked.push(after)
    if (asked.length === 3) throw new Error('the database is gone')
    return rows
  })
  expect((await reading.next()).value).toEqual({ id: '0' })
  expect(asked).toEqual([null, '1999'])
  let read = 1
  const rest = (async () => {
    for await (const _row of reading) read++
  })()
  await expect(rest).rejects.toThrow('the database is gone')
  expect(read).toBe(4000)
})
