import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { AccountId } from '../../server/core/ids'
import type { CallRecord } from '../../server/core/usage/call-record'
import type { RequestFilter, UsageCell, UsageReports } from '../../server/core/usage/reports'
import { accountId, call, charge, NOON } from '../support/ledger-parts'

export interface ReportsUnderTest {
  readonly reports: UsageReports
  account(): Promise<AccountId>
  /** Writes calls, the charged ones with their charge; resolves when all are durable. */
  write(calls: readonly CallRecord[]): Promise<void>
  /** Undoes a written charge, as after an outcome that became known too late. */
  undo(call: CallRecord): Promise<void>
  foreignCursor(account: AccountId): Promise<string>
  close(): Promise<void>
}

const MINUTE = 60_000
const SLOT = 15 * MINUTE
const HOUR = 4 * SLOT

/** What every source of usage reports keeps to. `free` is the one operation that is not counted. */
export function usageReportsContract(name: string, open: () => Promise<ReportsUnderTest>): void {
  describe(`usage reports: ${name}`, () => {
    let parts: ReportsUnderTest
    let account: AccountId
    const tokens = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 }
    const written: CallRecord[] = []
    beforeAll(async () => {
      parts = await open()
      account = await parts.account()
      // Three hours: a call every five minutes, some failed, of two keys and two operations, and free calls between.
      for (let minute = 0; minute < 180; minute += 5) {
        const more = {
          at: NOON + minute * MINUTE + 1,
          keyId: minute % 2 ? 'key_a' : 'key_b',
          operation: minute % 3 ? 'image-search' : 'llm-context',
          clientRequestId: minute % 10 ? null : 'mine',
          tokens,
        } as const
        written.push(call(account, minute % 4 ? 5 : null, more))
        written.push(call(account, null, { at: more.at, operation: 'free', counted: false, status: 200, code: null }))
      }
      await parts.write(written)
      await parts.write([call(await parts.account(), 5)])
    })
    afterAll(() => parts.close())

    const question = { keyId: null, operation: null, status: null }
    const filter = (more: Partial<RequestFilter> = {}): RequestFilter => ({
      ...{ accountId: account, keyId: null, operation: null, status: null, from: null, to: null },
      ...more,
    })
    const sum = (cells: readonly UsageCell[]) => ({
      requests: cells.reduce((total, cell) => total + cell.requests, 0),
      failed: cells.reduce((total, cell) => total + cell.failedRequests, 0),
      input: cells.reduce((total, cell) => total + cell.inputTokens, 0),
      cacheWrite: cells.reduce((total, cell) => total + cell.cacheWriteTokens, 0),
      charged: cells.reduce((total, cell) => total + cell.charged, 0),
    })
    const expected = (chosen: (record: CallRecord) => boolean) => {
      const calls = written.filter((record) => record.counted && chosen(record))
      return {
        requests: calls.length,
        failed: calls.filter((record) => record.status >= 400).length,
        input: calls.length,
        cacheWrite: calls.length * 4,
        charged: calls.reduce((total, record) => total + (record.charged?.cost ?? 0), 0),
      }
    }
    async function pages(asked: RequestFilter, limit: number): Promise<CallRecord[]> {
      const all: CallRecord[] = []
      let cursor: string | null = null
      do {
        const page: Awaited<ReturnType<UsageReports['requests']>> = await parts.reports.requests(asked, limit, cursor)
        if (!page) throw new Error('the cursor was refused')
        all.push(...page.rows)
        cursor = page.next
      } while (cursor !== null)
      return all
    }

    test('sum exactly what was called from the one edge up to the other, for any range', async () => {
      const edge = fc.oneof(
        fc.integer({ min: NOON - HOUR, max: NOON + 4 * HOUR }),
        fc.integer({ min: 0, max: 12 }).map((slot) => NOON + slot * SLOT),
        fc.integer({ min: 0, max: 36 }).map((step) => NOON + step * 5 * MINUTE + 1),
      )
      await fc.assert(
        fc.asyncProperty(edge, edge, async (one, two) => {
          const [from, to] = [Math.min(one, two), Math.max(one, two)]
          const cells = await parts.reports.usage({ ...question, accountId: account, from, to })
          expect(sum(cells)).toEqual(expected(({ at }) => at >= from && at < to))
        }),
        { numRuns: 60 },
      )
    })

    test('put no cell across a quarter of an hour, so that every bucket of every time zone gets its own', async () => {
      const edge = fc.integer({ min: NOON, max: NOON + 3 * HOUR })
      await fc.assert(
        fc.asyncProperty(edge, fc.integer({ min: 1, max: 40 * MINUTE }), async (from, length) => {
          const to = from + length
          const cells = await parts.reports.usage({ ...question, accountId: account, from, to })
          for (let slot = Math.floor(from / SLOT) * SLOT; slot < to; slot += SLOT) {
            const within = ({ at }: { at: number }) => at >= slot && at < slot + SLOT
            const mine = cells.filter((cell) => within({ at: Math.max(cell.at, from) }))
            expect(sum(mine)).toEqual(expected((record) => record.at >= from && record.at < to && within(record)))
          }
        }),
        { numRuns: 40 },
      )
    })

    test('are cut by key, operation and status, from the rollup and from the log alike', async () => {
      for (const [from, to] of [
        [NOON, NOON + 3 * HOUR],
        [NOON + 7 * MINUTE, NOON + 12 * MINUTE],
      ] as const) {
        const inside = (record: CallRecord) => record.at >= from && record.at < to
        const ask = { ...question, accountId: account, from, to }
        const byKey = await parts.reports.usage({ ...ask, keyId: 'key_a' })
        expect(sum(byKey)).toEqual(expected((record) => inside(record) && record.keyId === 'key_a'))
        const byOperation = await parts.reports.usage({ ...ask, operation: 'llm-context' })
        expect(sum(byOperation)).toEqual(expected((record) => inside(record) && record.operation === 'llm-context'))
        const byStatus = await parts.reports.usage({ ...ask, status: 502 })
        expect(sum(byStatus)).toEqual(expected((record) => inside(record) && record.status === 502))
      }
    })

    test('count a reversed charge as the failure that its caller was told, from the rollup and from the log', async () => {
      const other = await parts.account()
      const undone = call(other, 5, { at: NOON + 20 * MINUTE })
      await parts.write([undone, call(other, 5, { at: NOON + 21 * MINUTE })])
      await parts.undo(undone)
      for (const [from, to] of [
        [NOON, NOON + HOUR],
        [NOON + 16 * MINUTE, NOON + 29 * MINUTE],
      ] as const) {
        const cells = await parts.reports.usage({ ...question, accountId: other, from, to })
        expect(sum(cells)).toMatchObject({ requests: 2, failed: 1, charged: 5 })
      }
    })

    test('list calls newest first, with no gaps and no repeats, though many carry the same time', async () => {
      const whole = await pages(filter(), 500)
      expect(whole).toHaveLength(written.length)
      expect(whole.map((record) => record.id)).toEqual(
        [...written].sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1)).map((record) => record.id),
      )
      for (const limit of [1, 7, 36, 71, 72, 73]) expect(await pages(filter(), limit)).toEqual(whole)
    })

    test('keep the pages of a walk as they were while new calls arrive', async () => {
      const busy = await parts.account()
      await parts.write([1, 2, 3, 4].map((i) => call(busy, 5, { at: NOON + i })))
      const asked = filter({ accountId: busy })
      const first = await parts.reports.requests(asked, 2, null)
      await parts.write([call(busy, 5, { at: NOON + 9 })])
      const second = await parts.reports.requests(asked, 2, first?.next ?? null)
      expect([...(first?.rows ?? []), ...(second?.rows ?? [])].map((record) => record.at - NOON)).toEqual([4, 3, 2, 1])
      expect(second?.next).toBeNull()
    })

    test('give a call back as it was written', async () => {
      const found = new Map((await pages(filter(), 500)).map((record) => [record.id, record]))
      for (const record of written) expect(found.get(record.id)).toEqual(record)
    })

    test('filter the list by key, operation, status and time', async () => {
      const chosen = {
        keyId: 'key_a',
        operation: 'image-search',
        status: 200,
        from: NOON + HOUR,
        to: NOON + 2 * HOUR,
      } as const
      const ids = written
        .filter((r) => r.keyId === 'key_a' && r.operation === 'image-search' && r.status === 200)
        .filter((r) => r.at >= chosen.from && r.at < chosen.to)
        .map((r) => r.id)
      expect(ids.length).toBeGreaterThan(0)
      expect((await pages(filter(chosen), 3)).map((record) => record.id)).toEqual(ids.reverse())
    })

    test("find one call by our id or the caller's, the newest of several, and never another account's", async () => {
      const named = written.filter((record) => record.clientRequestId === 'mine')
      expect(await parts.reports.request(account, null, 'mine')).toEqual(named.at(-1) ?? null)
      const [one] = written
      expect(await parts.reports.request(account, null, one?.id ?? '')).toEqual(one ?? null)
      expect(await parts.reports.request(accountId(), null, one?.id ?? '')).toBeNull()
      expect(await parts.reports.request(account, null, 'nothing')).toBeNull()
    })

    test("find a key's own call by an id that another key of the account used later", async () => {
      const named = written.filter((record) => record.clientRequestId === 'mine')
      for (const key of new Set(named.map((record) => record.keyId))) {
        const own = named.filter((record) => record.keyId === key)
        expect(await parts.reports.request(account, key, 'mine')).toEqual(own.at(-1) ?? null)
      }
      expect(await parts.reports.request(account, 'key_none', 'mine')).toBeNull()
    })

    test('refuse a cursor that none of their pages gave', async () => {
      const forged = ['', 'x', '!!', btoa('1'), btoa('1:abc'), btoa('x:req_1'), btoa("1:req_' OR 1=1"), btoa('1:req_')]
      forged.push(await parts.foreignCursor(account))
      for (const cursor of forged) expect(await parts.reports.requests(filter(), 5, cursor)).toBeNull()
    })
  })
}

/** The charge of a charged call. */
export const chargeOf = (record: CallRecord) => charge(record.accountId, record.charged?.cost ?? 0, { call: record })
