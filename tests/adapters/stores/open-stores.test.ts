import { afterEach, describe, expect, test } from 'bun:test'
import { mkdtemp, realpath, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { DatabaseError } from '../../../server/adapters/stores/libsql/driver/worker/worker-connection'
import { appended } from '../../../server/core/ledger/journal'
import { micros } from '../../../server/core/money'
import { isUnavailable } from '../../../server/core/unavailable'
import {
  accountId,
  apiKey,
  audit,
  call,
  charge,
  NOON,
  opening,
  openTestStores,
  raiseEpoch,
  type TestStores,
} from '../../support/ledger-parts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function open(folder?: string): Promise<TestStores> {
  const stores = await openTestStores(folder ? { folder } : {})
  closers.push(() => stores.close())
  return stores
}
async function sharedFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-shared-'))
  closers.push(() => rm(folder, { recursive: true, force: true }))
  return folder
}
const errorOf = (act: Promise<unknown>) =>
  act.then(
    () => null,
    (error: unknown) => error,
  )
const failureOf = (act: Promise<unknown>) =>
  act.then(
    () => null,
    (error: Error) => String(error.cause ?? error),
  )

describe('the settings of the writing connection', () => {
  test('are WAL with synchronous=FULL and foreign keys, read through the driver, also after a failed batch', async () => {
    const { db, journal } = await open()
    const settings = async () =>
      Promise.all(
        ['journal_mode', 'synchronous', 'foreign_keys'].map(async (name) => {
          const [row] = await db.all<Record<string, unknown>>(sql.raw(`PRAGMA ${name}`))
          return Object.values(row ?? {})[0]
        }),
      )
    expect(await settings()).toEqual(['wal', 2, 1])
    const [first, second] = [accountId(), accountId()]
    expect((await appended(journal, opening(first, 5, 'once'))).kind).toBe('committed')
    expect((await appended(journal, opening(second, 5, 'once'))).kind).toBe('refused')
    expect(await settings()).toEqual(['wal', 2, 1])
  })

  test('allow no write through the reading connection', async () => {
    const { db } = await open()
    expect(await failureOf(db.all(sql.raw('WITH x AS (SELECT 1) DELETE FROM prices')))).toContain('readonly')
  })
})

describe('the owner fence', () => {
  test('fails every batch of an owner whose epoch ended, and stops it; its log keeps what was charged', async () => {
    const folder = await sharedFolder()
    const first = await open(folder)
    const account = await first.account(100)
    await raiseEpoch(first.file)
    expect(await appended(first.journal, opening(accountId(), 5))).toMatchObject({ kind: 'refused', constraint: null })
    expect(first.fatal).toEqual(['another process owns the database now'])
    expect(await appended(first.journal, charge(account, 5))).toEqual({ kind: 'committed' })
    expect(isUnavailable(await errorOf(first.applied()))).toBe(true)
    expect(await first.db.all(sql`SELECT count(*) AS n FROM entries WHERE kind = 'charge'`)).toEqual([{ n: 0 }])
    await first.close()
    const second = await open(folder)
    expect(await second.holds.balance(account)).toMatchObject({ posted: micros(95) })
    expect(second.fatal).toEqual([])
  })

  test('refuses management changes too, as if the database did not respond', async () => {
    const first = await open()
    const key = apiKey(await first.account())
    await raiseEpoch(first.file)
    const refused = await errorOf(first.credentials.create(key, { limit: null, budgets: [] }, audit()))
    expect(isUnavailable(refused)).toBe(true)
    expect(await first.credentials.byId(key.id)).toBeNull()
    expect(await first.db.all(sql`SELECT count(*) AS n FROM keys`)).toEqual([{ n: 0 }])
  })

  test('gives a database file, however it is named, to one owner until that one has closed it', async () => {
    const folder = await sharedFolder()
    const first = await open(folder)
    const link = `${folder}-link`
    await symlink(folder, link)
    closers.push(() => rm(link))
    for (const name of [folder, link])
      expect(String(await errorOf(openTestStores({ folder: name })))).toBe(
        `Error: the database ${await realpath(first.file)} is in use by another gateway; stop it first`,
      )
    await first.close()
    await open(link)
  })

  test('is not mistaken for a broken rule of the record', () => {
    const lost = new DatabaseError({
      message: 'CHECK constraint failed: owner_epoch_is_current',
      code: 'SQLITE_CONSTRAINT_CHECK',
    })
    expect([lost.isLostOwnership, lost.isConstraint, lost.unavailable]).toEqual([true, false, true])
  })
})

describe('a restart', () => {
  test('restores every counter: balances, top-ups, spent and limits', async () => {
    const folder = await sharedFolder()
    const before = await openTestStores({ folder })
    const accounts = [await before.account(500), await before.account(700)]
    const limited = await before.key(accounts[0] as `acct_${string}`, 300)
    const free = await before.key(accounts[1] as `acct_${string}`)
    for (const [account, key, cost] of [
      [accounts[0], limited, 120],
      [accounts[1], free, 7],
      [accounts[1], free, 8],
    ] as const) {
      const record = call(account as `acct_${string}`, cost, { keyId: key.id })
      before.holds.hold({
        request: record.id,
        account: record.accountId,
        pool: key.poolId,
        amount: micros(cost),
        creditPays: true,
        at: NOON,
      })
      before.holds.fix(record.id, micros(cost))
      await appended(before.journal, charge(record.accountId, cost, { call: record, pool: key.poolId }))
      before.holds.captured(record.id)
    }
    const counters = async ({ holds }: TestStores) => ({
      balances: await Promise.all(accounts.map((id) => holds.balance(id as `acct_${string}`))),
      pools: await Promise.all([limited, free].map((key) => holds.pool(key.poolId, NOON))),
    })
    const expected = await counters(before)
    await before.close()
    const after = await open(folder)
    expect(await counters(after)).toEqual(expected)
    expect(expected.pools.map((pool) => [pool?.limit, pool?.spent])).toEqual([
      [micros(300), micros(120)],
      [null, micros(15)],
    ])
  })

  test('drops a hold that was never captured, uncharged', async () => {
    const folder = await sharedFolder()
    const before = await openTestStores({ folder })
    const account = await before.account(500)
    const amount = micros(100)
    before.holds.hold({ request: 'req_open', account, pool: null, amount, creditPays: true, at: NOON })
    await before.close()
    const after = await open(folder)
    expect(await after.holds.balance(account)).toMatchObject({ posted: micros(500), held: micros(0) })
  })
})

describe('the last guards of the schema', () => {
  test('entries cannot be changed or deleted by any connection', async () => {
    const { db, account } = await open()
    await account()
    const wrong = [
      'UPDATE entries SET amount = 1',
      'UPDATE entries SET description = description',
      'DELETE FROM entries',
    ]
    for (const statement of wrong) expect(await failureOf(db.run(sql.raw(statement)))).toContain('append-only')
  })

  test('no part of a posted balance is ever below zero', async () => {
    const { db, account } = await open()
    await account(10)
    for (const part of ['credit', 'paid'])
      expect(await failureOf(db.run(sql.raw(`UPDATE accounts SET ${part} = -1`)))).toContain(
        'account_posted_not_negative',
      )
  })

  test('an entry moves a positive amount between two places of an existing account', async () => {
    const { db, account } = await open()
    const id = await account()
    const insert = (amount: number, debit: string, owner: string) =>
      db.run(sql`INSERT INTO entries (transaction_id, kind, account_id, debit, credit, amount, at, description)
        VALUES ('txn_1', 'grant', ${owner}, ${debit}, 'house/revenue', ${amount}, 1, '')`)
    expect(await failureOf(insert(0, 'house/grants', id))).toContain('entry_amount_positive')
    expect(await failureOf(insert(-5, 'house/grants', id))).toContain('entry_amount_positive')
    expect(await failureOf(insert(5, 'house/revenue', id))).toContain('entry_moves')
    expect(await failureOf(insert(5, 'house/grants', 'acct_none'))).toContain('FOREIGN KEY')
  })
})

test('close first completes what was submitted before: charges, notes and management changes', async () => {
  const folder = await sharedFolder()
  const stores = await openTestStores({ folder })
  const account = await stores.account()
  const [one, two] = [apiKey(account), apiKey(account)]
  const given = [
    stores.credentials.create(one, { limit: null, budgets: [] }, audit()),
    stores.credentials.create(two, { limit: null, budgets: [] }, audit()),
    appended(stores.journal, charge(account, 5)),
  ]
  stores.journal.note(call(account, null))
  await stores.close()
  await Promise.all(given)
  const again = await open(folder)
  expect(await again.credentials.byAccount(account)).toHaveLength(2)
  expect(await again.db.all(sql`SELECT count(*) AS n FROM requests`)).toEqual([{ n: 2 }])
})

test('a request to closed stores is refused, as if the database did not respond', async () => {
  const stores = await openTestStores({ folder: await sharedFolder() })
  const account = await stores.account()
  await stores.close()
  for (const asked of [
    stores.db.all(sql`SELECT 1`),
    stores.credentials.create(apiKey(account), { limit: null, budgets: [] }, audit()),
  ])
    expect(isUnavailable(await errorOf(asked))).toBe(true)
})
