import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { type CheckSizes, libsqlLedgerCheck } from '../../../server/adapters/stores/libsql/ledger/ledger-check'
import { UnmatchedCharges } from '../../../server/adapters/stores/libsql/ledger/unmatched-charges'
import type { AccountId } from '../../../server/core/ids'
import { appended } from '../../../server/core/ledger/journal'
import type { CallRecord } from '../../../server/core/usage/call-record'
import { call, charge, entry, NOON, openTestStores, requestIdAt, type TestStores } from '../../support/ledger-parts'

/** Smaller than any history here. */
const TINY: CheckSizes = { rows: 4, unmatched: 5 }

let stores: TestStores
beforeEach(async () => {
  stores = await openTestStores()
})
afterEach(() => stores.close())

/** The database with a count of the rows that each statement gave; `between` runs before each statement. */
function watched(db: LibSQLDatabase, between: () => Promise<unknown> = async () => undefined) {
  const rows: number[] = []
  const all = async (query: SQL) => {
    await between()
    const found = await db.all(query)
    rows.push(found.length)
    return found
  }
  return { rows, db: { all } as unknown as LibSQLDatabase } // a check uses nothing else
}

const problemsOf = async (db: LibSQLDatabase = stores.db, sizes = TINY) =>
  (await libsqlLedgerCheck(db, stores.applied, sizes)()).map(({ what, subject, one, other }) => ({
    what: what.split(' ').slice(0, 3).join(' '),
    subject,
    one,
    other,
  }))

async function append(...records: Parameters<typeof stores.journal.append>[0][]) {
  for (const record of records) expect(await appended(stores.journal, record)).toEqual({ kind: 'committed' })
  await stores.applied()
}

const charged = (account: AccountId, n: number, id = requestIdAt(NOON + n, n)) =>
  charge(account, 10 + n, { call: call(account, 10 + n, { id }) })

function reversal(account: AccountId, undone: CallRecord, amount: number) {
  return {
    undoes: undone,
    entries: [
      entry(account, amount, {
        kind: 'reversal',
        debit: 'house/revenue',
        credit: `${account}/credit`,
        requestId: undone.id,
      }),
    ],
    change: { accountId: account, credit: amount, paid: 0, toppedUp: 0 },
  }
}

/** Three accounts with many calls each, in turns, uncharged ones between them, and one without any. */
async function history(calls = 30) {
  const accounts = await Promise.all([1, 2, 3, 4].map(() => stores.account(1_000_000)))
  for (let n = 0; n < calls; n++) await append(charged(accounts[n % 3] as AccountId, n))
  stores.journal.note(call(accounts[0] as AccountId, null, { id: requestIdAt(NOON + 5, 999) }))
  await stores.journal.drained()
  return accounts as [AccountId, AccountId, AccountId, AccountId]
}

const at = (n: number) => requestIdAt(NOON + n, n)
const run = (text: string) => stores.db.run(sql.raw(text))

describe('a comparison of the books, a few rows at a time,', () => {
  test('finds nothing in books that agree, however calls and charges are ordered', async () => {
    const [one, two] = await history()
    // Charged in the opposite order of their ids: at the end nothing is near its other side.
    for (let n = 130; n > 100; n--) await append(charged(n % 2 ? one : two, n))
    const undone = charged(one, 200)
    await append(undone, reversal(one, undone.call as CallRecord, 210))
    expect(await problemsOf()).toEqual([])
  })

  test('finds every kind of difference', async () => {
    const [one, two, , four] = await history()
    await run(`UPDATE accounts SET credit = credit + 7 WHERE id = '${one}'`)
    await run(`UPDATE accounts SET paid = 3, debt = 2 WHERE id = '${two}'`)
    await run(`INSERT INTO accounts (id, user_id, created_at, paid) VALUES ('acct_z', 'nobody', 0, 9)`)
    await run(`UPDATE requests SET cost = cost + 1 WHERE id = '${at(3)}'`)
    await run(`DELETE FROM requests WHERE id = '${at(4)}'`)
    await run(`UPDATE requests SET account_id = '${four}' WHERE id = '${at(5)}'`)
    const found = await problemsOf()
    const balance = (part: string) => `the ${part} of`
    const calls = 'a call was'
    const sortOf = (rows: typeof found) => rows.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
    const sum = (of: number) =>
      1_000_000 - [...Array(30).keys()].filter((n) => n % 3 === of).reduce((s, n) => s + 10 + n, 0)
    expect(sortOf(found)).toEqual(
      sortOf([
        { what: balance('credit'), subject: one, one: sum(0) + 7, other: sum(0) },
        { what: balance('paid'), subject: two, one: 3, other: 0 },
        { what: balance('debt'), subject: two, one: 2, other: 0 },
        { what: balance('paid'), subject: 'acct_z', one: 9, other: 0 },
        { what: calls, subject: at(3), one: 14, other: 13 },
        { what: calls, subject: at(4), one: 0, other: 14 },
        { what: calls, subject: at(5), one: 15, other: 0 },
        { what: calls, subject: at(5), one: 0, other: 15 },
      ]),
    )
    expect(sortOf(await problemsOf(stores.db, { rows: 1000, unmatched: 1000 }))).toEqual(sortOf(found))
  })

  test('reports no more than a hundred, of however many', async () => {
    await history()
    await run(`UPDATE requests SET cost = cost + 1 WHERE cost > 0`)
    expect(await problemsOf()).toHaveLength(30)
    for (let n = 0; n < 120; n++)
      await run(`INSERT INTO accounts (id, user_id, created_at, paid) VALUES ('acct_z${n}', 'nobody ${n}', 0, 9)`)
    expect(await problemsOf()).toHaveLength(100)
  })

  test('holds as many rows at once as it may, whatever the history', async () => {
    const [one] = await history(60)
    for (let n = 160; n > 100; n--) await append(charged(one, n))
    const { db, rows } = watched(stores.db)
    expect(await problemsOf(db)).toEqual([])
    expect(Math.max(...rows)).toBeLessThanOrEqual(2 * TINY.rows)
    expect(rows.length).toBeGreaterThan(120 / TINY.rows)
  })

  test('is not confused by what is charged, reversed and paid in meanwhile', async () => {
    const [one, two] = await history()
    let n = 300
    const undone: CallRecord[] = [...Array(30).keys()]
      .filter((i) => i % 3 === 0)
      .map((i) => call(one, 10 + i, { id: at(i) }))
    const { db } = watched(stores.db, async () => {
      if (n > 345) return
      const call = undone.pop()
      // An id from before all others, as that of a stream that ends now.
      const late = charged(two, n, requestIdAt(NOON - 1000 - n, n))
      await append(charged(one, ++n), late)
      if (call) await append(reversal(one, call, call.charged?.cost ?? 0))
    })
    expect(await problemsOf(db)).toEqual([])
    expect(undone).toEqual([])
  })
})

describe('charges that were not found yet', () => {
  const row = (n: number, cost: number, paid: number) => ({ id: at(n), account: 'acct_1', cost, charged: paid })

  test('are forgotten as soon as both sides agree, and more than may be held are refused', () => {
    const unmatched = new UnmatchedCharges(3, { parts: 1, part: 0 })
    for (let n = 0; n < 100; n++) {
      unmatched.add([row(n, 5, 0)])
      expect(unmatched.waiting).toBe(1)
      unmatched.add([row(n, 0, 5)])
    }
    expect([unmatched.isFull, unmatched.waiting, unmatched.list()]).toEqual([false, 0, []])
    unmatched.add([1, 2, 3].map((n) => row(n, 0, 1)))
    expect(unmatched.list()).toHaveLength(3)
    unmatched.add([row(4, 1, 0)])
    expect([unmatched.isFull, unmatched.list()]).toEqual([true, []])
  })

  test('are of exactly one part each, and stay together when parts are divided', () => {
    const partsOf = (parts: number, n: number) =>
      [...Array(parts).keys()].filter((part) => {
        const unmatched = new UnmatchedCharges(9, { parts, part })
        unmatched.add([row(n, 1, 0)])
        return unmatched.list().length > 0
      })
    for (let n = 0; n < 50; n++) {
      const [few, many] = [partsOf(16, n), partsOf(256, n)]
      expect([few.length, many.length]).toEqual([1, 1])
      expect(Math.floor((many[0] as number) / 16)).toBe(few[0] as number)
    }
  })
})
