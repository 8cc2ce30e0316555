import { afterEach, beforeEach, expect, test } from 'bun:test'
import { type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { LibsqlAccounting } from '../../../server/adapters/stores/libsql/ledger/accounting'
import { LibsqlDayClosings } from '../../../server/adapters/stores/libsql/ledger/day-closings'
import { libsqlLedgerCheck } from '../../../server/adapters/stores/libsql/ledger/ledger-check'
import { LowestSums } from '../../../server/adapters/stores/libsql/ledger/lowest-sums'
import { DAY_MS } from '../../../server/core/clock'
import type { AccountId } from '../../../server/core/ids'
import { appended } from '../../../server/core/ledger/journal'
import { entry, NOON, openTestStores, type TestStores } from '../../support/ledger-parts'

const TINY = { entries: 4, accounts: 3, written: 2 }
const TODAY = Math.floor(NOON / DAY_MS)

let stores: TestStores
let owners: readonly AccountId[]
beforeEach(async () => {
  stores = await openTestStores()
  owners = await Promise.all([1, 2, 3].map(() => stores.account(1_000_000)))
})
afterEach(() => stores.close())

/** A grant on a day from today on. Every account that has one opened today. */
async function grant(day: number, owner = 0, amount = 10): Promise<void> {
  const account = owners[owner] as AccountId
  const granted = entry(account, amount, { at: NOON + day * DAY_MS })
  const change = { accountId: account, credit: amount, paid: 0, toppedUp: 0 }
  expect(await appended(stores.journal, { entries: [granted], change })).toEqual({ kind: 'committed' })
  await stores.applied()
}

/** Closes every day that ended by noon of a day from today on. Resolves to the number of writes; `most` ends it after so many. */
async function close(day: number, most = Number.POSITIVE_INFINITY): Promise<number> {
  let writes = 0
  for await (const _ of new LibsqlDayClosings(stores.db, stores.applied, TINY).close(NOON + day * DAY_MS))
    if (++writes === most) break
  return writes
}

const all = <T = object>(text: string) => stores.db.all<T>(sql.raw(text))
const closings = () => all('SELECT account, day, debits, credits FROM closings ORDER BY account, day')
const problems = async () =>
  (await libsqlLedgerCheck(stores.db, stores.applied, { rows: 4, unmatched: 5 })()).map(
    ({ what, subject, one, other }) => ({
      what,
      subject,
      one,
      other,
    }),
  )
/** The credit of an account within days from today on. */
async function creditsOf(owner: number, from: number, to: number): Promise<number> {
  const start = (day: number) => (TODAY + day) * DAY_MS
  const books = await new LibsqlAccounting(stores.db, stores.applied).books({ from: start(from), to: start(to) })
  for (const row of (await Array.fromAsync(books.balances())).flat())
    if (row.account === `${owners[owner]}/credit`) return row.credits
  return 0
}

test('a day is closed once, and the database refuses to change what is closed', async () => {
  await grant(1)
  await grant(2, 1)
  expect(await close(2)).toBeGreaterThan(2)
  const before = await closings()
  expect(await all('SELECT day FROM closed_days ORDER BY day')).toMatchObject([{ day: TODAY }, { day: TODAY + 1 }])
  expect(before).toContainEqual(
    expect.objectContaining({ account: `${owners[0]}/credit`, day: TODAY + 1, credits: 1_000_010 }),
  )
  expect(await close(2)).toBe(0)
  for (const statement of [
    `UPDATE closings SET credits = credits + 1 WHERE day = ${TODAY}`,
    `UPDATE closings SET day = ${TODAY + 9} WHERE day = ${TODAY}`,
    `DELETE FROM closings WHERE day = ${TODAY}`,
    `INSERT INTO closings VALUES ('acct_x/paid', ${TODAY}, 0, 1)`,
    `UPDATE closed_flows SET amount = amount + 1`,
    'DELETE FROM closed_flows',
    `INSERT INTO closed_flows VALUES (${TODAY}, 'grant', 'house/x', 'house/y', 1, 1)`,
    'UPDATE closed_days SET sealed = sealed + 1',
    'DELETE FROM closed_days',
    `INSERT INTO closed_days VALUES (${TODAY - 5}, 9, 9, 9)`,
  ])
    await expect(stores.db.run(sql.raw(statement)).then(() => 'done')).rejects.toThrow()
  expect(await closings()).toEqual(before)
  expect(await problems()).toEqual([])
})

test('an entry that is written after its day was closed keeps its time, and counts in the next day that is closed', async () => {
  await close(1)
  await grant(0, 0, 7)
  await grant(1, 0, 5)
  expect([await creditsOf(0, 0, 1), await creditsOf(0, 1, 2)]).toEqual([1_000_000, 12])
  await close(2)
  await grant(0, 0, 100)
  expect([await creditsOf(0, 0, 1), await creditsOf(0, 1, 2), await creditsOf(0, 2, 3)]).toEqual([1_000_000, 12, 100])
  const books = await new LibsqlAccounting(stores.db, stores.applied).books({
    from: (TODAY + 1) * DAY_MS,
    to: (TODAY + 2) * DAY_MS,
  })
  const listed = (await Array.fromAsync(books.entries())).flat()
  expect(listed.map(({ amount, at }) => [amount as number, at])).toEqual([
    [7, NOON],
    [5, NOON + DAY_MS],
  ])
  expect(await problems()).toEqual([])
})

test('a closing that ends after any of its writes is begun again, also with entries of earlier days that came meanwhile', async () => {
  for (const day of [1, 2, 4]) for (const owner of [0, 1, 2]) await grant(day, owner)
  const wanted = await close(5)
  const [expected, days] = [await closings(), await all('SELECT day FROM closed_days')]
  for (let most = 1; most < wanted; most++) {
    const interrupted = stores
    stores = await openTestStores()
    owners = await Promise.all([1, 2, 3].map(() => stores.account(1_000_000)))
    for (const day of [1, 2, 4]) for (const owner of [0, 1, 2]) await grant(day, owner)
    await close(5, most)
    expect(await problems()).toEqual([])
    const late = most % 2 === 0
    if (late) await grant(0, 1, 3)
    await close(5)
    // A late entry opens the day after those that are closed, which had none.
    if (!late) expect(await all('SELECT day FROM closed_days')).toEqual(days)
    const credited = (rows: readonly object[]) => rows.reduce((sum, row) => sum + Number(Object(row).credits), 0)
    if (!late) expect(credited(await closings())).toBe(credited(expected))
    expect(await problems()).toEqual([])
    await stores.close()
    stores = interrupted
  }
})

test('the comparison finds a closing that is not the sum of its entries, one that is missing, and one too many', async () => {
  for (const day of [0, 1, 1, 2]) for (const owner of [0, 1]) await grant(day, owner)
  await close(3)
  const triggers = await all<{ name: string }>(
    "SELECT name FROM sqlite_master WHERE type = 'trigger' AND name LIKE 'clos%'",
  )
  for (const { name } of triggers) await stores.db.run(sql.raw(`DROP TRIGGER ${name}`))
  const day = (n: number) => new Date((TODAY + n) * DAY_MS).toISOString().slice(0, 10)
  const what = 'a closed day is not the sum of its entries'
  const found = async (statement: string, undo: string) => {
    await stores.db.run(sql.raw(statement))
    const list = await problems()
    await stores.db.run(sql.raw(undo))
    return list
  }
  const of = (owner: number, n: number) => `account = '${owners[owner]}/credit' AND day = ${TODAY + n}`
  expect(
    await found(
      `UPDATE closings SET credits = credits + 5 WHERE ${of(1, 2)}`,
      `UPDATE closings SET credits = credits - 5 WHERE ${of(1, 2)}`,
    ),
  ).toEqual([{ what, subject: `${owners[1]}/credit ${day(2)}`, one: 15, other: 10 }])
  expect(
    await found(
      `UPDATE closings SET debits = debits + 5 WHERE account = 'house/grants' AND day = ${TODAY + 2}`,
      `UPDATE closings SET debits = debits - 5 WHERE account = 'house/grants' AND day = ${TODAY + 2}`,
    ),
  ).toEqual([{ what, subject: `house/grants ${day(2)}`, one: 25, other: 20 }])
  const [kept] = await all<{ debits: number; credits: number }>(
    `SELECT debits, credits FROM closings WHERE ${of(0, 2)}`,
  )
  expect(
    await found(
      `DELETE FROM closings WHERE ${of(0, 2)}`,
      `INSERT INTO closings VALUES ('${owners[0]}/credit', ${TODAY + 2}, ${kept?.debits}, ${kept?.credits})`,
    ),
  ).toEqual([{ what, subject: `${owners[0]}/credit ${day(2)}`, one: 0, other: 10 }])
  for (const account of ['acct_0/paid', `${owners[2]}/paid`, 'acct_z/paid'])
    expect(
      await found(
        `INSERT INTO closings VALUES ('${account}', ${TODAY}, 0, 4)`,
        `DELETE FROM closings WHERE account = '${account}'`,
      ),
    ).toEqual([{ what, subject: `${account} ${day(0)}`, one: 4, other: 0 }])
  const flow = `kind = 'grant' AND day = ${TODAY + 1}`
  expect(
    await found(
      `UPDATE closed_flows SET entries = entries + 1 WHERE ${flow}`,
      `UPDATE closed_flows SET entries = entries - 1 WHERE ${flow}`,
    ),
  ).toEqual([{ what, subject: `grant house/grants customers/credit ${day(1)}`, one: 5, other: 4 }])
  const both = (sign: string) =>
    `UPDATE closings SET credits = credits ${sign} CASE day WHEN ${TODAY + 1} THEN iif(account LIKE '${owners[0]}/%', 5, -5) ELSE 0 END
      WHERE account IN ('${owners[0]}/credit', '${owners[1]}/credit')`
  expect((await found(both('+'), both('-'))).map(({ subject, one, other }) => [subject, one - other])).toEqual([
    [`${owners[0]}/credit ${day(1)}`, 5],
    [`${owners[1]}/credit ${day(1)}`, -5],
    [`${owners[0]}/credit ${day(2)}`, -5],
    [`${owners[1]}/credit ${day(2)}`, 5],
  ])
  expect(await problems()).toEqual([])
})

test('a wrong balance is found together with a wrong closing of the same account, each with its own figures', async () => {
  for (const day of [0, 1, 2]) await grant(day)
  await close(3)
  await grant(4)
  await stores.db.run(sql.raw('DROP TRIGGER closings_are_not_changed'))
  await stores.db.run(sql.raw(`UPDATE closings SET credits = credits + 5 WHERE account = '${owners[0]}/credit'`))
  await stores.db.run(sql.raw(`UPDATE accounts SET credit = credit + 3 WHERE id = '${owners[0]}'`))
  expect(await problems()).toEqual([
    {
      what: 'a closed day is not the sum of its entries',
      subject: `${owners[0]}/credit ${new Date(TODAY * DAY_MS).toISOString().slice(0, 10)}`,
      one: 1_000_015,
      other: 1_000_010,
    },
    {
      what: 'the credit of an account is not the sum of its entries',
      subject: owners[0] as string,
      one: 1_000_043,
      other: 1_000_040,
    },
  ])
})

test('the comparison reads closed entries in the order of commits, each slice as often however many accounts and days it has', async () => {
  for (const day of [0, 1, 2, 3, 4]) for (const owner of [0, 1, 2]) await grant(day, owner)
  await close(5)
  const [last] = await all<{ seq: number }>('SELECT max(seq) AS seq FROM entries')
  const read = recorded()
  expect(await libsqlLedgerCheck(read.db, stores.applied, { rows: 4, unmatched: 5 })()).toEqual([])
  const ofSlices = read.texts.filter((text) => /"?entries"?\s+WHERE\s+seq > /.test(text))
  // The charges, the newest of them, and what they moved.
  expect(ofSlices.length).toBeLessThanOrEqual(3 * (Math.ceil((last?.seq ?? 0) / 4) + 1))
  expect(
    read.texts.filter((text) => text.includes('entries_account')).every((text) => text.includes('e.seq > ?')),
  ).toBe(true)
})

/** The database, and the statements that are read from it. */
function recorded() {
  const texts: string[] = []
  const all = async (query: SQL) => {
    const { sql: text } = (
      stores.db as unknown as { dialect: { sqlToQuery(query: SQL): { sql: string } } }
    ).dialect.sqlToQuery(query)
    texts.push(text)
    return stores.db.all(query)
  }
  return { texts, db: { all } as unknown as LibSQLDatabase } // reports and checks read by nothing else
}

test('the sums of a closed month are read without an entry, whatever it has', async () => {
  for (const day of [0, 1, 2]) for (const owner of [0, 1, 2]) await grant(day, owner)
  await close(4)
  const { texts: read, db } = recorded()
  const books = await new LibsqlAccounting(db, stores.applied).books({
    from: (TODAY + 1) * DAY_MS,
    to: (TODAY + 3) * DAY_MS,
  })
  expect((await Array.fromAsync(books.balances())).flat().length).toBeGreaterThan(3)
  expect((await Array.fromAsync(books.days())).flat().length).toBeGreaterThan(6)
  expect((await books.flows()).length).toBeGreaterThan(0)
  const ofEntries = read.filter((text) =>
    /FROM "?entries/.test(text.replace(/SELECT coalesce\(max\(seq\), 0\) FROM entries/, '')),
  )
  expect(read.length).toBeGreaterThan(2)
  expect(ofEntries).toEqual([])
})

test('sums of accounts that are too many to hold come in passes, each account once and in order', () => {
  const names = Array.from({ length: 20 }, (_, i) => `acct_${(i * 7) % 20}`)
  const passes: string[][] = []
  for (let from: string | null = ''; from !== null; ) {
    const sums: LowestSums = new LowestSums(from, 5)
    for (const name of [...names, ...names]) {
      const of = sums.of(name)
      if (of) of.debits += 1
    }
    for (const [, { debits }] of sums.sorted()) expect(debits).toBe(2)
    expect(sums.sorted().length).toBeLessThanOrEqual(5)
    passes.push(sums.sorted().map(([name]) => name))
    from = sums.end
  }
  expect(passes.flat()).toEqual(names.toSorted())
})
