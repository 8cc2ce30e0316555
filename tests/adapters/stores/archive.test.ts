import { afterEach, beforeEach, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { ArchiveRows } from '../../../server/adapters/stores/libsql/archive/archive-rows'
import { LibsqlArchive } from '../../../server/adapters/stores/libsql/archive/libsql-archive'
import { LibsqlAccounting } from '../../../server/adapters/stores/libsql/ledger/accounting'
import { LibsqlDayClosings } from '../../../server/adapters/stores/libsql/ledger/day-closings'
import { libsqlLedgerCheck } from '../../../server/adapters/stores/libsql/ledger/ledger-check'
import { ArchiveProblem, archiveMonth, isArchivable, type RemovedMonth } from '../../../server/core/archive/archive'
import { DAY_MS, HOUR_MS } from '../../../server/core/clock'
import type { AccountId } from '../../../server/core/ids'
import { appended } from '../../../server/core/ledger/journal'
import { audit, call, entry, NOON, openTestStores, requestIdAt, type TestStores } from '../../support/ledger-parts'

const SEPTEMBER = archiveMonth('2025-09')
const OCTOBER = archiveMonth('2025-10')
if (!SEPTEMBER || !OCTOBER) throw new Error('no months')
const START = SEPTEMBER.firstDay * DAY_MS
const CALLS = 120

let stores: TestStores
let owners: readonly AccountId[]
let archive: LibsqlArchive
beforeEach(async () => {
  stores = await openTestStores()
  owners = await Promise.all([1, 2, 3].map(() => stores.account(1_000_000)))
  archive = new LibsqlArchive(stores.db, 7)
  for (let i = 0; i < CALLS; i++) await charged(i, START + i * 0.5 * DAY_MS)
  await stores.applied()
  await append({ kind: 'grant', amount: 30, at: START + DAY_MS, owner: 1, reference: 'grant:ticket-1' })
  await stores.applied()
})
afterEach(() => stores.close())

/** A call of an account, and its charge at a time of its own. */
async function charged(i: number, at: number, chargedAt = at, owner = i % 3): Promise<void> {
  const account = owners[owner] as AccountId
  const record = call(account, 10 + i, { id: requestIdAt(at, i), at })
  const taken = entry(account, 10 + i, {
    kind: 'charge',
    debit: `${account}/credit`,
    credit: 'house/revenue',
    at: chargedAt,
    requestId: record.id,
  })
  const change = { accountId: account, credit: -10 - i, paid: 0, toppedUp: 0 }
  expect(await appended(stores.journal, { call: record, entries: [taken], change })).toEqual({ kind: 'committed' })
}

interface Given {
  readonly kind: 'grant' | 'charge_refund'
  readonly amount: number
  readonly at: number
  readonly owner: number
  readonly reference: string
}

async function append({ owner, amount, ...given }: Given, more: object = {}): Promise<void> {
  const account = owners[owner] as AccountId
  const change = { accountId: account, credit: amount, paid: 0, toppedUp: 0 }
  await appended(stores.journal, { entries: [entry(account, amount, { ...given, ...more })], change })
}

async function close(): Promise<void> {
  for await (const _ of new LibsqlDayClosings(stores.db, stores.applied).close(NOON + 2 * DAY_MS));
}

const all = <T = Record<string, unknown>>(text: string) => stores.db.all<T>(sql.raw(text))
const problems = () => libsqlLedgerCheck(stores.db, stores.applied, { rows: 5, unmatched: 10 })()
const count = async (text: string) => Number((await all(`SELECT count(*) AS n FROM ${text}`))[0]?.['n'])
const run = (text: string) => stores.db.run(sql.raw(text)).then(() => 'done')

async function removedMonth(month = SEPTEMBER): Promise<RemovedMonth> {
  if (!month) throw new Error('no month')
  const rows = await ArchiveRows.open(stores.db, month)
  return {
    month,
    name: `gateway-archive-${month.text}`,
    location: '/archives',
    manifest: 'a'.repeat(64),
    ...(await rows.charges()),
  }
}

async function begin(changes: Partial<RemovedMonth> = {}, month = SEPTEMBER): Promise<void> {
  await archive.begin({ ...(await removedMonth(month)), ...changes }, NOON, audit())
}

const statement = async (month = SEPTEMBER) => {
  const from = (month?.firstDay ?? 0) * DAY_MS
  const books = await new LibsqlAccounting(stores.db, stores.applied).books({ from, to: from + 30 * DAY_MS })
  return { flows: await books.flows(), balances: await Array.fromAsync(books.balances()) }
}

test('a month can be archived once it ended 13 months ago', () => {
  const at = (month: typeof SEPTEMBER, now: number) => month && isArchivable(month, now)
  expect(at(SEPTEMBER, Date.UTC(2026, 10, 1))).toBe(true)
  expect(at(SEPTEMBER, Date.UTC(2026, 10, 1) - 1)).toBe(false)
  expect(at(OCTOBER, NOON)).toBe(false)
  expect([archiveMonth('2025-13'), archiveMonth('2025-9'), archiveMonth('x')]).toEqual([null, null, null])
})

test('calls and charges of an archived month leave in small commits, and the books agree and say the same after each', async () => {
  await append(
    { kind: 'charge_refund', amount: 5, at: NOON, owner: 2, reference: 'refund:x' },
    { requestId: requestIdAt(START + 2.5 * DAY_MS, 5) },
  )
  await stores.applied()
  await close()
  expect(await problems()).toEqual([])
  const before = await statement()
  const others = await all("SELECT * FROM entries WHERE kind <> 'charge' ORDER BY seq")
  await begin()
  let [steps, charges, calls] = [0, 0, 0]
  for (let done = false; !done; steps++) {
    const step = await archive.remove((await removedMonth()).month)
    charges += step.charges
    calls += step.calls
    done = step.done
    expect([step.charges <= 7, step.calls <= 7, await problems()]).toEqual([true, true, []])
    expect(await statement()).toEqual(before)
  }
  // 60 half days, one of whose calls was refunded.
  expect([charges, calls, steps]).toEqual([60, 59, 10])
  expect(await count("entries WHERE kind = 'charge'")).toBe(CALLS - 60)
  expect(await all("SELECT * FROM entries WHERE kind <> 'charge' ORDER BY seq")).toEqual(others)
  expect(await count('requests')).toBe(CALLS - 59)
  expect(await stores.reports.archiveOfCall(requestIdAt(START + 3 * DAY_MS, 6))).toBe('gateway-archive-2025-09')
  expect(await stores.reports.archiveOfCall(requestIdAt(START + 33 * DAY_MS, 6))).toBeNull()
  expect(await stores.reports.archivesOf(owners[0] as AccountId)).toEqual(['gateway-archive-2025-09'])
  expect(await stores.reports.archivesOf('acct_other')).toEqual([])
})

test('a removal that ends after any step goes on with another process', async () => {
  await close()
  await begin()
  const { month } = await removedMonth()
  for (let steps = 0; ; steps++) {
    const { done } = await new LibsqlArchive(stores.db, 7).remove(month)
    expect(await problems()).toEqual([])
    if (done) break
    expect(steps).toBeLessThan(20)
  }
  expect(await count(`entries WHERE kind = 'charge' AND at < ${(month.lastDay + 1) * DAY_MS}`)).toBe(0)
})

test('the database lets no entry go but charges of archived months, and changes no sum of them', async () => {
  await close()
  const refused = async (text: string) => expect(run(text)).rejects.toThrow()
  await refused('DELETE FROM entries WHERE seq = 5')
  await begin()
  await refused("DELETE FROM entries WHERE kind = 'grant'")
  await refused(`DELETE FROM entries WHERE at >= ${(SEPTEMBER.lastDay + 1) * DAY_MS}`)
  await refused('UPDATE entries SET amount = amount + 1')
  await archive.remove(SEPTEMBER)
  for (const text of [
    'DELETE FROM archived_sums',
    'DELETE FROM archived_flows',
    'UPDATE archived_sums SET debits = debits - 1',
    'DELETE FROM archived_months',
    'UPDATE archived_months SET last_day = last_day + 31',
  ])
    await refused(text)
  expect(await problems()).toEqual([])
  await run('UPDATE archived_sums SET debits = debits + 1 WHERE day = (SELECT min(day) FROM archived_sums)')
  expect((await problems()).map(({ what }) => what)).toContain('a closed day is not the sum of its entries')
})

test('a month may not go that is open, whose predecessor is there, or whose archive has other charges', async () => {
  await expect(begin()).rejects.toThrow('not closed')
  await close()
  await expect(begin({}, OCTOBER)).rejects.toThrow('an earlier month has charges that are not archived')
  const { charges, charged } = await removedMonth()
  await expect(begin({ charges: charges - 1 })).rejects.toThrow(ArchiveProblem)
  await expect(begin({ charged: charged + 1 })).rejects.toThrow('other charges than were closed')
  expect(await archive.months()).toEqual([])
  await expect(archive.remove(SEPTEMBER)).rejects.toThrow('no archive has this month')
  await begin()
  await begin()
  await expect(begin({ manifest: 'b'.repeat(64) })).rejects.toThrow(
    'has begun to leave for /archives/gateway-archive-2025-09',
  )
  await begin({}, OCTOBER)
  expect((await archive.months()).map(({ month }) => month.text)).toEqual(['2025-09', '2025-10'])
})

test('calls whose charge is of another month because the clock was set leave with their charge or after it', async () => {
  const end = (SEPTEMBER.lastDay + 1) * DAY_MS
  await charged(900, end + HOUR_MS, end - HOUR_MS, 0)
  await charged(901, end - HOUR_MS, end + HOUR_MS, 0)
  await stores.applied()
  await close()
  const rows = await ArchiveRows.open(stores.db, SEPTEMBER, 9)
  const listed = (await Array.fromAsync(rows.calls())).flat().map((row) => row['id'])
  expect(listed).toHaveLength(62)
  expect(listed.at(-1)).toBe(requestIdAt(end + HOUR_MS, 900))
  await begin()
  for (let done = false; !done; ) {
    done = (await archive.remove(SEPTEMBER)).done
    expect(await problems()).toEqual([])
  }
  expect(
    await count(`requests WHERE id IN ('${requestIdAt(end + HOUR_MS, 900)}', '${requestIdAt(end - HOUR_MS, 901)}')`),
  ).toBe(0)
})

test('lists with balances begin after what left, and later entries have the balance that they had', async () => {
  await append({ kind: 'grant', amount: 40, at: NOON, owner: 1, reference: 'grant:ticket-2' })
  await stores.applied()
  await close()
  const owner = owners[1] as AccountId
  const lists = async () => ({
    lines: (await stores.statements.transactions(owner, 100, null))?.rows ?? [],
    days: (await stores.statements.daily(owner, 'UTC', 100, null))?.rows ?? [],
    adjustments: (await stores.statements.adjustments(owner, 100, null))?.rows ?? [],
  })
  const before = await lists()
  await begin()
  while (!(await archive.remove(SEPTEMBER)).done);
  const after = await lists()
  expect(after.lines).toEqual(before.lines.slice(0, after.lines.length))
  // Its 20 charges since, and both grants, which were written after all charges.
  expect(after.lines).toHaveLength(22)
  expect(after.days).toEqual(before.days.slice(0, after.days.length))
  expect(after.adjustments).toEqual(before.adjustments)
})

test('a report that needs charges which left names their archive', async () => {
  await close()
  const books = new LibsqlAccounting(stores.db, stores.applied)
  const [from, to] = [START, (SEPTEMBER.lastDay + 1) * DAY_MS]
  expect(await books.archiveOf({ from, to }, 'entries')).toBeNull()
  await begin()
  expect(await books.archiveOf({ from, to }, 'entries')).toBe('gateway-archive-2025-09')
  expect(await books.archiveOf({ from, to }, 'sums')).toBeNull()
  expect(await books.archiveOf({ from: from + HOUR_MS, to }, 'sums')).toBe('gateway-archive-2025-09')
  expect(await books.archiveOf({ from: to, to: to + HOUR_MS }, 'sums')).toBeNull()
  expect(await books.archiveOf({ from: to, to: NOON }, 'entries')).toBeNull()
})

test('the end of a removal is refused if other charges left than were closed', async () => {
  await close()
  await begin()
  for (;;) if ((await archive.remove(SEPTEMBER)).charges === 0) break
  await run('UPDATE archived_flows SET amount = amount + 1 WHERE day = (SELECT min(day) FROM archived_flows)')
  await expect(archive.remove(SEPTEMBER)).rejects.toThrow('are not those that were closed')
})
