import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { AccountId } from '../../server/core/ids'
import type { AccountStatements, AccountTransaction } from '../../server/core/ledger/account-statement'
import type { JournalRecord } from '../../server/core/ledger/journal'
import { plus } from '../../server/core/money'
import { accountId, charge, NOON, opening } from '../support/ledger-parts'

export interface StatementsUnderTest {
  readonly statements: AccountStatements
  append(record: JournalRecord): Promise<void>
  /** A cursor of another list of this store. */
  foreignCursor(account: AccountId): Promise<string>
  close(): Promise<void>
}

/** The rules of every source of statements. */
export function statementsContract(name: string, open: () => Promise<StatementsUnderTest>): void {
  describe(`statements: ${name}`, () => {
    let parts: StatementsUnderTest
    beforeAll(async () => {
      parts = await open()
    })
    afterAll(() => parts.close())

    async function account(credit: number): Promise<AccountId> {
      const id = accountId()
      await parts.append(opening(id, credit))
      return id
    }
    /** A charge out of both parts of the balance: one transaction of two entries. */
    async function chargeBoth(id: AccountId, credit: number, paid: number): Promise<void> {
      const [one, two] = [charge(id, credit), charge(id, paid, { part: 'paid' })]
      const [first, second] = [one.entries[0], two.entries[0]]
      if (!first || !second) throw new Error('a charge has an entry')
      await parts.append({
        ...one,
        entries: [first, { ...second, transaction: first.transaction, requestId: first.requestId }],
        change: { accountId: id, credit: -credit, paid: -paid, toppedUp: 0 },
      })
    }
    async function topUp(id: AccountId, amount: number): Promise<void> {
      const { entries } = opening(id, amount, `top-up:${id}:${amount}`)
      await parts.append({
        entries: entries.map((entry) => ({ ...entry, kind: 'top_up', debit: 'house/top_ups', credit: `${id}/paid` })),
        change: { accountId: id, credit: 0, paid: amount, toppedUp: amount },
      })
    }
    const page = async (id: AccountId, limit: number, cursor: string | null) => {
      const found = await parts.statements.transactions(id, limit, cursor)
      if (!found) throw new Error('the cursor was refused')
      return found
    }
    /** All pages, with `between` run after each. */
    async function walk(id: AccountId, limit: number, between: () => Promise<void> = async () => undefined) {
      const all: AccountTransaction[] = []
      let cursor: string | null = null
      do {
        const next: Awaited<ReturnType<typeof page>> = await page(id, limit, cursor)
        all.push(...next.rows)
        cursor = next.next
        await between()
      } while (cursor !== null)
      return all
    }

    test('list what moved, newest first, and the balance after it', async () => {
      const id = await account(100)
      await topUp(id, 50)
      await chargeBoth(id, 100, 20)
      const { rows, next } = await page(id, 10, null)
      expect(rows.map((row) => [row.kind, Number(row.amount), Number(row.balanceAfter)])).toEqual([
        ['charge', -120, 30],
        ['top_up', 50, 150],
        ['signup_credit', 100, 100],
      ])
      expect(rows[0]?.requestId).toStartWith('req_')
      expect(next).toBeNull()
    })

    test('have no gaps and no repeats for any page size, though all entries have the same time', async () => {
      const id = await account(1000)
      await topUp(id, 1000)
      for (let i = 1; i <= 9; i++) await (i % 2 ? chargeBoth(id, i, i) : parts.append(charge(id, i)))
      const whole = await walk(id, 200)
      expect(whole).toHaveLength(11)
      for (const limit of [1, 2, 3, 4, 5, 10, 11, 12]) expect(await walk(id, limit)).toEqual(whole)
    })

    test('keep every balance right while new charges arrive between pages', async () => {
      const id = await account(1000)
      for (let i = 1; i <= 6; i++) await parts.append(charge(id, i))
      const before = await walk(id, 200)
      const during = await walk(id, 2, () => parts.append(charge(id, 50)))
      expect(during).toEqual(before)
      let balance = 0
      for (const row of (await walk(id, 3)).reverse()) {
        balance += row.amount
        expect(Number(row.balanceAfter)).toBe(balance)
      }
    })

    test.each(['UTC', 'Asia/Kathmandu', 'America/New_York'])(
      'by the day in %s add up the charges between two other transactions, with true balances and for any page size',
      async (timezone) => {
        const id = await account(10_000)
        const later = (record: JournalRecord, hours: number): JournalRecord => ({
          ...record,
          entries: record.entries.map((entry) => ({ ...entry, at: NOON + hours * 3_600_000 })),
        })
        for (const [step, hours] of [0, 1, 5, 11, 12, 13, 13, 25, 40, 41].entries()) {
          await parts.append(later(charge(id, step + 1), hours))
          if (step === 5) await topUp(id, 500)
          if (step === 7) await chargeBoth(id, 3, 4)
        }
        const dayOf = (at: number) => new Date(at).toLocaleDateString('sv-SE', { timeZone: timezone })
        const expected: (AccountTransaction & { charges: number | null })[] = []
        for (const row of await walk(id, 200)) {
          const last = expected.at(-1)
          if (row.kind === 'charge' && last?.kind === 'charge' && dayOf(last.at) === dayOf(row.at))
            expected[expected.length - 1] = {
              ...last,
              amount: plus(last.amount, row.amount),
              charges: (last.charges ?? 0) + 1,
              description: '',
              requestId: null,
            }
          else expected.push({ ...row, charges: row.kind === 'charge' ? 1 : null })
        }
        expect(expected.length).toBeLessThan(10)
        for (const limit of [1, 2, 3, 50]) {
          const found: unknown[] = []
          let cursor: string | null = null
          do {
            const next: Awaited<ReturnType<AccountStatements['daily']>> = await parts.statements.daily(
              id,
              timezone,
              limit,
              cursor,
            )
            found.push(...(next?.rows ?? []))
            cursor = next?.next ?? null
          } while (cursor !== null)
          expect(found).toEqual(expected)
        }
      },
    )

    test('are of one account alone', async () => {
      const [mine, theirs] = [await account(10), await account(20)]
      await parts.append(charge(theirs, 5))
      expect(await walk(mine, 1)).toHaveLength(1)
      expect(await walk(accountId(), 10)).toEqual([])
    })

    test('refuse a cursor that no page returned', async () => {
      const id = await account(10)
      const forged = [
        '',
        'x',
        '!!',
        '%',
        '0',
        'a'.repeat(500),
        btoa('1:abc'),
        btoa('1:--5'),
        btoa('x:5'),
        btoa('1:'),
        btoa('1'),
      ]
      forged.push(btoa(`1:${'9'.repeat(40)}`), btoa('1:5 OR 1=1'), await parts.foreignCursor(id))
      for (const cursor of forged) {
        expect(await parts.statements.transactions(id, 5, cursor)).toBeNull()
        expect(await parts.statements.daily(id, 'UTC', 5, cursor)).toBeNull()
      }
    })
  })
}
