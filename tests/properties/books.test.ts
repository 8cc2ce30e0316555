import { expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { LibsqlAccounting } from '../../server/adapters/stores/libsql/ledger/accounting'
import { LibsqlDayClosings } from '../../server/adapters/stores/libsql/ledger/day-closings'
import { DAY_MS, HOUR_MS, isoDay } from '../../server/core/clock'
import type { AccountId } from '../../server/core/ids'
import type { DayBalance, LedgerBalance } from '../../server/core/ledger/accounting'
import type { EntryKind, LedgerAccount } from '../../server/core/ledger/entry'
import { appended } from '../../server/core/ledger/journal'
import { micros } from '../../server/core/money'
import { entry, NOON, openTestStores } from '../support/ledger-parts'

/** Each kind of move, between which ledger accounts. */
const MOVES: readonly (readonly [
  EntryKind,
  LedgerAccount | 'credit' | 'paid' | 'debt',
  LedgerAccount | 'credit' | 'paid' | 'debt',
])[] = [
  ['signup_credit', 'house/signup_credit', 'credit'],
  ['grant', 'house/grants', 'credit'],
  ['charge', 'credit', 'house/revenue'],
  ['charge', 'paid', 'house/revenue'],
  ['reversal', 'house/revenue', 'paid'],
  ['top_up', 'house/top_ups', 'paid'],
  ['refund', 'debt', 'house/top_ups'],
  ['offset', 'paid', 'debt'],
  ['overrun', 'house/overrun', 'house/revenue'],
  ['payment', 'house/payments', 'house/revenue'],
]

const UNIT_MS = 2 * HOUR_MS

const move = fc.record({
  move: fc.nat(MOVES.length - 1),
  owner: fc.nat(3),
  amount: fc.integer({ min: 1, max: 1_000_000 }),
  /** Not in the order of commits: a clock may be set back. */
  at: fc.integer({ min: -50, max: 50 }),
})

/** When an entry counts: from its time on, but not before the end of a day that was closed before it was written. */
type Counted = (entry: { readonly seq: number; readonly at: number }) => number

test('opening + entries = closing for every ledger account of any history, any cut and any closed days, and all accounts sum to zero', async () => {
  const stores = await openTestStores()
  const owners = await Promise.all([1, 2, 3, 4].map(() => stores.account(500)))
  // Small pieces, so that one account's entries fall into several.
  const accounting = new LibsqlAccounting(stores.db, stores.applied, { entries: 7, closings: 3, accounts: 3 })
  const closings = new LibsqlDayClosings(stores.db, stores.applied, { entries: 7, accounts: 3, written: 2 })
  let closedUntil = 0
  let done = 0
  await fc.assert(
    fc.asyncProperty(
      fc.array(move, { minLength: 1, maxLength: 40 }),
      fc.tuple(fc.integer({ min: -60, max: 60 }), fc.nat(60)),
      fc.record({ until: fc.integer({ min: -70, max: 40 }), steps: fc.nat(24) }),
      async (moves, [first, length], closing) => {
        const records = moves.map(({ move: which, owner, amount, at }) =>
          moved(which, owners[owner] as AccountId, amount, at),
        )
        await Promise.all(records.map((one) => appended(stores.journal, { entries: [one] })))
        done += records.length
        // Ended at any step, as by a crash. Time goes on from run to run, at times.
        closedUntil = Math.max(closedUntil, NOON + closing.until * UNIT_MS)
        const run = closings.close(closedUntil)
        for (let step = 0; step < closing.steps && !(await run.next()).done; step++);
        const closed = await stores.db.all<{ day: number; sealed: number }>(sql`SELECT day, sealed FROM closed_days`)
        const countedAt: Counted = ({ seq, at }) =>
          Math.max(at, ...closed.filter(({ sealed }) => sealed < seq).map(({ day }) => (day + 1) * DAY_MS))
        const period = { from: NOON + first * UNIT_MS, to: NOON + (first + length) * UNIT_MS }
        const books = await accounting.books(period)
        const [rows, listed] = [(await all(books.balances())).flat(), (await all(books.entries())).flat()]
        const days = (await all(books.days())).flat()
        expect(new Set(rows.map(({ account }) => account)).size).toBe(rows.length)
        const entries = await all((await accounting.books({ from: 0, to: 2 * NOON })).entries()).then((pieces) =>
          pieces.flat(),
        )
        expect(entries).toHaveLength(done + owners.length)
        expect(listed).toEqual(entries.filter((one) => countedAt(one) >= period.from && countedAt(one) < period.to))
        const kinds = (of: typeof entries) =>
          MOVES.map(([kind]) => of.filter((one) => one.kind === kind).reduce((n, { amount }) => n + amount, 0))
        const flows = await books.flows()
        const flowKinds = (of: 'earlier' | 'amount') =>
          MOVES.map(([kind]) => flows.filter((flow) => flow.kind === kind).reduce((n, flow) => n + flow[of], 0))
        expect(flowKinds('amount')).toEqual(kinds(listed))
        expect(flowKinds('earlier')).toEqual(kinds(entries.filter((one) => countedAt(one) < period.from)))
        expect(flows.reduce((n, flow) => n + flow.entries, 0)).toBe(listed.length)
        const sum = (account: string, of: typeof entries) =>
          of.reduce(
            (n, { debit, credit, amount }) => n + (credit === account ? amount : 0) - (debit === account ? amount : 0),
            0,
          )
        const known = new Map(rows.map((row) => [row.account, row]))
        for (const account of new Set(entries.flatMap(({ debit, credit }) => [debit, credit]))) {
          const row: Pick<LedgerBalance, 'opening' | 'closing'> | undefined = known.get(account)
          expect(row?.opening ?? 0).toBe(
            sum(
              account,
              entries.filter((one) => countedAt(one) < period.from),
            ) as never,
          )
          expect((row?.opening ?? 0) + sum(account, listed)).toBe(row?.closing ?? 0)
        }
        // By day: the same balances in the same order, one line a day, each begun with what the last one ended with.
        expect(joinedDays(days)).toEqual(rows)
        const sums = new Map<string, number>()
        for (const { seq, at, debit, credit, amount } of listed) {
          const own = closed.find((c) => c.sealed >= seq && c.day >= Math.floor(at / DAY_MS))
          const day = own ? isoDay(own.day * DAY_MS) : 'open'
          for (const name of [`debit ${debit} ${day}`, `credit ${credit} ${day}`])
            sums.set(name, (sums.get(name) ?? 0) + amount)
        }
        for (const { account, day, debits, credits } of days)
          expect([debits, credits] as number[]).toEqual(
            ['debit', 'credit'].map((side) => sums.get(`${side} ${account} ${day}`) ?? 0),
          )
        for (const { opening, debits, credits, closing } of rows) expect(opening + credits - debits).toBe(closing)
        expect(rows.reduce((n, { closing }) => n + closing, 0)).toBe(0)
      },
    ),
    { numRuns: 40 },
  )
  const [closed] = await stores.db.all<{ days: number }>(sql`SELECT count(*) AS days FROM closed_days`)
  // Mostly four to seven, as the first entries of the history have it.
  expect(closed?.days).toBeGreaterThan(0)
  await stores.close()
})

function moved(which: number, owner: AccountId, amount: number, units: number) {
  const [kind, debit, credit] = MOVES[which] ?? ['grant', 'house/grants', 'credit']
  const place = (side: string) => (side.includes('/') ? side : `${owner}/${side}`) as LedgerAccount
  const accountId = kind === 'payment' ? null : owner
  return entry(owner, amount, {
    kind,
    accountId,
    debit: place(debit),
    credit: place(credit),
    at: NOON + units * UNIT_MS,
  })
}

/** Lines of days put together by account; each must begin where the one before ended, on a later day. */
function joinedDays(days: readonly DayBalance[]): readonly LedgerBalance[] {
  const found: LedgerBalance[] = []
  let before = ''
  for (const { day, ...row } of days) {
    const last = found.at(-1)
    if (last?.account !== row.account) found.push(row)
    else {
      expect([row.opening, day > before]).toEqual([last.closing, true])
      found[found.length - 1] = {
        account: row.account,
        opening: last.opening,
        closing: row.closing,
        debits: micros(last.debits + row.debits),
        credits: micros(last.credits + row.credits),
      }
    }
    before = day
  }
  return found
}

async function all<T>(rows: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const row of rows) list.push(row)
  return list
}
