import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { AccountId, PoolId } from '../../server/core/ids'
import { appended, type Journal } from '../../server/core/ledger/journal'
import { accountId, call, charge, opening, requestId } from '../support/ledger-parts'

export interface JournalUnderTest {
  readonly journal: Journal
  /** The durable state, read past the journal. */
  account(id: AccountId): Promise<{ credit: number; paid: number; entries: number } | null>
  spent(pool: PoolId): Promise<number>
  /** Status and cost of a call in the log. */
  logged(id: string): Promise<{ status: number; cost: number } | null>
  /** A pool with nothing spent. */
  pool(account: AccountId): Promise<PoolId>
  /** Resolves when what was noted so far has ended. */
  drained(): Promise<void>
  close(): Promise<void>
}

/** The rules of every journal. */
export function journalContract(name: string, open: () => Promise<JournalUnderTest>): void {
  describe(`journal: ${name}`, () => {
    const { parts, account } = opened(open)

    test('opens an account together with its first credit', async () => {
      const id = await account(100)
      expect(await parts().account(id)).toEqual({ credit: 100, paid: 0, entries: 100 })
    })

    test('has a charge, its call, its balance and its spent together, when it reports it committed', async () => {
      const id = await account(100)
      const pool = await parts().pool(id)
      const record = charge(id, 30, { pool })
      expect(await appended(parts().journal, record)).toEqual({ kind: 'committed' })
      expect(await parts().account(id)).toEqual({ credit: 70, paid: 0, entries: 70 })
      expect(await parts().spent(pool)).toBe(30)
      expect(await parts().logged(record.call?.id ?? '')).toEqual({ status: 200, cost: 30 })
    })

    test('books a reference once, however many ask at once', async () => {
      const ids = Array.from({ length: 10 }, accountId)
      const outcomes = await Promise.all(ids.map((id) => appended(parts().journal, opening(id, 5, 'opening:the same'))))
      expect(outcomes.filter((outcome) => outcome.kind === 'committed')).toHaveLength(1)
      expect(
        outcomes.filter((outcome) => outcome.kind === 'refused' && outcome.constraint === 'reference'),
      ).toHaveLength(9)
    })

    test('distinguishes a reference that is already booked from any other rule', async () => {
      const id = await account(100)
      const again = await appended(parts().journal, opening(id, 5, 'opening:another reference'))
      expect(again).toMatchObject({ kind: 'refused', constraint: 'other' })
      expect(await parts().account(id)).toEqual({ credit: 100, paid: 0, entries: 100 })
    })

    test('sums what concerns one account and one pool in one group', async () => {
      const id = await account(1000)
      const pool = await parts().pool(id)
      await Promise.all(Array.from({ length: 100 }, () => appended(parts().journal, charge(id, 7, { pool }))))
      expect(await parts().account(id)).toEqual({ credit: 300, paid: 0, entries: 300 })
      expect(await parts().spent(pool)).toBe(700)
    })

    test('reverses a charge: the money is back, nothing is spent, and the call is the 503 that its caller received', async () => {
      const id = await account(100)
      const pool = await parts().pool(id)
      const record = charge(id, 30, { pool })
      await appended(parts().journal, record)
      const [entry] = record.entries
      if (!entry || !record.call) throw new Error('a charge has an entry and a call')
      const back = { ...entry, kind: 'reversal' as const, debit: entry.credit, credit: entry.debit }
      const undo = {
        undoes: record.call,
        entries: [back],
        change: { accountId: id, credit: 30, paid: 0, toppedUp: 0 },
        spent: { poolId: pool, amount: -30 },
      }
      expect(await appended(parts().journal, undo)).toEqual({ kind: 'committed' })
      expect(await parts().account(id)).toEqual({ credit: 100, paid: 0, entries: 100 })
      expect(await parts().spent(pool)).toBe(0)
      expect(await parts().logged(record.call.id)).toEqual({ status: 503, cost: 0 })
    })

    test('writes a note with the next commit', async () => {
      const id = await account(100)
      const note = call(id, null)
      parts().journal.note(note)
      await parts().drained()
      expect(await parts().logged(note.id)).toEqual({ status: 502, cost: 0 })
      expect(await parts().logged(requestId())).toBeNull()
    })
  })
}

/** The further rules of a journal when the database itself judges each record before it is acknowledged. */
export function judgingJournalContract(name: string, open: () => Promise<JournalUnderTest>): void {
  describe(`journal with rules: ${name}`, () => {
    const { parts, account } = opened(open)

    test('writes nothing of a record that it refuses, and names the rule', async () => {
      const id = await account(100)
      const pool = await parts().pool(id)
      const record = charge(id, 101, { pool })
      expect(await appended(parts().journal, record)).toMatchObject({ kind: 'refused', constraint: 'other' })
      expect(await parts().account(id)).toEqual({ credit: 100, paid: 0, entries: 100 })
      expect(await parts().spent(pool)).toBe(0)
      expect(await parts().logged(record.call?.id ?? '')).toBeNull()
    })

    test('charges a request once, even if it is submitted twice at the same time', async () => {
      const id = await account(100)
      const record = charge(id, 10)
      const outcomes = await Promise.all([appended(parts().journal, record), appended(parts().journal, record)])
      expect(outcomes.map((outcome) => outcome.kind).sort()).toEqual(['committed', 'refused'])
      expect(await parts().account(id)).toEqual({ credit: 90, paid: 0, entries: 90 })
    })

    test('treats records separately: of many at once only those that break a rule are refused', async () => {
      const ids = await Promise.all(Array.from({ length: 30 }, (_, i) => account(i % 3 === 0 ? 4 : 100)))
      const outcomes = await Promise.all(ids.map((id) => appended(parts().journal, charge(id, 5))))
      for (const [i, outcome] of outcomes.entries()) expect(outcome.kind).toBe(i % 3 === 0 ? 'refused' : 'committed')
    })
  })
}

/** Opened before the tests of the block it is called in, and closed after them. */
function opened(open: () => Promise<JournalUnderTest>) {
  let journal: JournalUnderTest | null = null
  const parts = () => {
    if (!journal) throw new Error('not open')
    return journal
  }
  beforeAll(async () => {
    journal = await open()
  })
  afterAll(() => journal?.close())
  return {
    parts,
    async account(credit: number): Promise<AccountId> {
      const id = accountId()
      expect(await appended(parts().journal, opening(id, credit))).toEqual({ kind: 'committed' })
      return id
    },
  }
}
