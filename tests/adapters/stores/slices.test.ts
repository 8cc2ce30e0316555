import { afterEach, beforeEach, expect, test } from 'bun:test'
import { type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { LibsqlAccountSettings } from '../../../server/adapters/stores/libsql/account-settings'
import { LibsqlRevenue } from '../../../server/adapters/stores/libsql/usage/revenue'
import { DAY_MS } from '../../../server/core/clock'
import { appended } from '../../../server/core/ledger/journal'
import { call, charge, NOON, openTestStores, requestIdAt, type TestStores } from '../../support/ledger-parts'

let stores: TestStores
beforeEach(async () => {
  stores = await openTestStores()
})
afterEach(() => stores.close())

/** The database with a count of the rows that each statement gave to `all`. */
function counted() {
  const rows: number[] = []
  const all = async (query: SQL) => {
    const found = await stores.db.all(query)
    rows.push(found.length)
    return found
  }
  const db = new Proxy(stores.db, {
    get: (target, name) => {
      const value = name === 'all' ? all : Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  return { rows, db: db as LibSQLDatabase }
}

test('revenue is the same whatever the number of accounts that are read at once', async () => {
  const owners = await Promise.all(Array.from({ length: 7 }, () => stores.account(1_000_000)))
  for (const [n, owner] of owners.entries())
    for (const day of [0, 1, 2].slice(0, 1 + (n % 3))) {
      const made = call(owner, 100 + n, { id: requestIdAt(NOON + n, day), at: NOON + day * DAY_MS })
      await appended(stores.journal, charge(owner, 100 + n, { call: made }))
    }
  const first = Math.floor(NOON / DAY_MS)
  for (const grouping of ['day', 'operation', 'account', null] as const) {
    const question = { first, end: first + 2, grouping }
    const rowsOf = async (atOnce: number) =>
      (await new LibsqlRevenue(stores.db, stores.applied, atOnce).rows(question)).toSorted((a, b) =>
        a.name < b.name ? -1 : 1,
      )
    const all = await rowsOf(1000)
    expect(all.reduce((sum, { charged }) => sum + charged, 0)).toBe(721 + 412)
    expect(all.reduce((sum, { calls }) => sum + calls, 0)).toBe(11)
    for (const atOnce of [1, 2, 7]) expect(await rowsOf(atOnce)).toEqual(all)
  }
})

test('the traces of a closed account are removed some calls at a time, and each call is looked at once', async () => {
  const [owner, other] = [await stores.account(1_000_000), await stores.account(1_000_000)]
  for (let n = 0; n < 20; n++) {
    // Several in one millisecond, and some without a trace.
    const made = call(n % 5 ? owner : other, 10, {
      id: requestIdAt(NOON, n),
      at: NOON + (n >> 2),
      clientRequestId: `mine ${n}`,
    })
    await appended(
      stores.journal,
      charge(made.accountId, 10, { call: n % 3 ? made : { ...made, address: '', clientRequestId: null } }),
    )
  }
  const { db, rows } = counted()
  await new LibsqlAccountSettings(db, stores.applied, 3).forgetTraces(owner)
  expect(rows).toEqual([3, 3, 3, 3, 3, 1, 0])
  const left = await stores.db.all(
    sql`SELECT account_id AS account, count(*) AS calls FROM requests WHERE address <> '' OR client_request_id IS NOT NULL GROUP BY 1`,
  )
  expect(left).toMatchObject([{ account: other, calls: 2 }])
})
