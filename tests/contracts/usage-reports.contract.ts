import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import type { AccountId } from '../../server/core/ids'
import type { CallRecord } from '../../server/core/usage/call-record'
import { latencyBucket } from '../../server/core/usage/latency'
import type { RequestFilter, UsageQuestion, UsageReports } from '../../server/core/usage/reports'
import type { UsageSums } from '../../server/core/usage/sums'
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

/** The rules of every source of usage reports. `free` is the one operation that is not counted. */
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
          ...(minute % 3 ? {} : { model: minute % 2 ? 'gpt' : 'claude' }),
        } as const
        written.push(call(account, minute % 4 ? 5 : null, more))
        written.push(call(account, null, { at: more.at, operation: 'free', counted: false, status: 200, code: null }))
      }
      await parts.write(written)
      await parts.write([call(await parts.account(), 5)])
    })
    afterAll(() => parts.close())

    const question = { keyId: null, operation: null, status: null, model: null }
    const filter = (more: Partial<RequestFilter> = {}): RequestFilter => ({
      accountId: account,
      keyId: null,
      operation: null,
      status: null,
      model: null,
      from: null,
      to: null,
      ...more,
    })
    const sum = (list: readonly UsageSums[]) => ({
      requests: list.reduce((total, sums) => total + sums.requests, 0),
      failed: list.reduce((total, sums) => total + sums.failedRequests, 0),
      input: list.reduce((total, sums) => total + sums.inputTokens, 0),
      output: list.reduce((total, sums) => total + sums.outputTokens, 0),
      cacheRead: list.reduce((total, sums) => total + sums.cacheReadTokens, 0),
      cacheWrite: list.reduce((total, sums) => total + sums.cacheWriteTokens, 0),
      charged: list.reduce((total, sums) => total + sums.charged, 0),
    })
    const expected = (chosen: (record: CallRecord) => boolean) => {
      const calls = written.filter((record) => record.counted && chosen(record))
      return {
        requests: calls.length,
        failed: calls.filter((record) => record.status >= 400).length,
        input: calls.length,
        output: calls.length * 2,
        cacheRead: calls.length * 3,
        cacheWrite: calls.length * 4,
        charged: calls.reduce((total, record) => total + (record.charged?.cost ?? 0), 0),
      }
    }
    /** The sums of the whole range as one bucket. */
    const whole = async (asked: UsageQuestion) =>
      sum((await parts.reports.usage(asked, [asked.from, asked.to], null)).buckets)
    /** The starts of the slots, or of the minutes, that cover a range. */
    const slotEdges = (from: number, to: number, step = SLOT) => {
      const edges = [Math.floor(from / step) * step]
      while ((edges.at(-1) ?? to) < to) edges.push((edges.at(-1) ?? to) + step)
      return edges
    }
    const within = (from: number, to: number, record: CallRecord) => record.at >= from && record.at < to
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

    test('sum exactly the calls from one end to the other, for any range', async () => {
      const edge = fc.oneof(
        fc.integer({ min: NOON - HOUR, max: NOON + 4 * HOUR }),
        fc.integer({ min: 0, max: 12 }).map((slot) => NOON + slot * SLOT),
        fc.integer({ min: 0, max: 36 }).map((step) => NOON + step * 5 * MINUTE + 1),
      )
      await fc.assert(
        fc.asyncProperty(edge, edge, async (one, two) => {
          const [from, to] = [Math.min(one, two), Math.max(one, two)]
          const sums = await whole({ ...question, accountId: account, from, to })
          expect(sums).toEqual(expected((record) => within(from, to, record)))
        }),
        { numRuns: 60 },
      )
    })

    test.each([
      ['quarters of an hour', SLOT],
      ['minutes', MINUTE],
    ])('give every bucket its own sums, though its edges be at any %s', async (_, step) => {
      const edge = fc.integer({ min: NOON, max: NOON + 3 * HOUR })
      const length = fc.integer({ min: 1, max: 100 * MINUTE })
      await fc.assert(
        fc.asyncProperty(edge, length, fc.infiniteStream(fc.boolean()), async (from, length, kept) => {
          const to = from + length
          const all = slotEdges(from, to, step)
          const edges = all.filter((_, i) => i === 0 || i === all.length - 1 || kept.next().value)
          const { buckets } = await parts.reports.usage({ ...question, accountId: account, from, to }, edges, null)
          expect(buckets).toHaveLength(edges.length - 1)
          for (const [i, bucket] of buckets.entries()) {
            const own = [Math.max(edges[i] ?? from, from), Math.min(edges[i + 1] ?? to, to)] as const
            expect(sum([bucket])).toEqual(expected((record) => within(...own, record)))
          }
        }),
        { numRuns: 60 },
      )
    })

    test('give every group its own sums of the whole range, from the rollup and from the log alike', async () => {
      const nameOf = {
        key: (record: CallRecord) => record.keyId,
        operation: (record: CallRecord) => record.operation,
        status: (record: CallRecord) => String(record.status),
        model: (record: CallRecord) => record.model ?? '',
      } as const
      for (const [from, to] of [
        [NOON, NOON + 3 * HOUR],
        [NOON + 7 * MINUTE, NOON + 128 * MINUTE],
        [NOON + 7 * MINUTE, NOON + 12 * MINUTE],
        [NOON - HOUR, NOON],
      ] as const)
        for (const grouping of ['key', 'operation', 'status', 'model'] as const) {
          const asked = { ...question, accountId: account, from, to }
          const { groups, buckets } = await parts.reports.usage(asked, slotEdges(from, to), grouping)
          const inside = written.filter((record) => record.counted && within(from, to, record))
          const names = [...new Set(inside.map(nameOf[grouping]))]
          expect(groups.map((group) => group.name).sort()).toEqual(names.sort())
          for (const group of groups) {
            const own = (record: CallRecord) => within(from, to, record) && nameOf[grouping](record) === group.name
            expect(sum([group])).toEqual(expected(own))
          }
          expect(sum(groups)).toEqual(sum(buckets))
          expect((await parts.reports.usage(asked, slotEdges(from, to), null)).groups).toEqual([])
        }
    })

    test('are cut by key, operation, status and model, from the rollup and from the log alike', async () => {
      for (const [from, to] of [
        [NOON, NOON + 3 * HOUR],
        [NOON + 7 * MINUTE, NOON + 12 * MINUTE],
      ] as const) {
        const inside = (record: CallRecord) => within(from, to, record)
        const ask = { ...question, accountId: account, from, to }
        const byKey = await whole({ ...ask, keyId: 'key_a' })
        expect(byKey).toEqual(expected((record) => inside(record) && record.keyId === 'key_a'))
        const byOperation = await whole({ ...ask, operation: 'llm-context' })
        expect(byOperation).toEqual(expected((record) => inside(record) && record.operation === 'llm-context'))
        const byStatus = await whole({ ...ask, status: 502 })
        expect(byStatus).toEqual(expected((record) => inside(record) && record.status === 502))
        const byModel = await whole({ ...ask, model: 'claude' })
        expect(byModel).toEqual(expected((record) => inside(record) && record.model === 'claude'))
      }
    })

    test('give every day of every time zone its own sums, and every group of months, from the days and from the slots', async () => {
      const DAY = 24 * HOUR
      const start = Math.floor(NOON / DAY) * DAY
      const other = await parts.account()
      // A call every 97 minutes for nine days, of three keys; one of five is undone.
      const log = Array.from({ length: (9 * 24 * 60) / 97 }, (_, i) =>
        call(other, i % 4 ? 5 : null, {
          at: start + i * 97 * MINUTE,
          keyId: `key_${i % 3}`,
          tokens,
          ...(i % 2 && { model: 'gpt' }),
        }),
      )
      await parts.write(log)
      const undone = new Set(log.filter((record, i) => record.charged && i % 5 === 0))
      for (const record of undone) await parts.undo(record)
      const requests = (own: (record: CallRecord) => boolean) => {
        const calls = log.filter(own)
        const charged = calls.filter((record) => record.charged && !undone.has(record)).length * 5
        const failed = calls.filter((record) => record.status >= 400 || undone.has(record)).length
        return { requests: calls.length, failed, input: calls.length, output: calls.length * 2, charged }
      }
      const at = fc.integer({ min: start - HOUR, max: start + 9 * DAY })
      const offset = fc.integer({ min: -48, max: 56 }).map((slots) => slots * SLOT)
      const width = fc.oneof(
        fc.constantFrom(DAY, 7 * DAY),
        fc.integer({ min: 12, max: 400 }).map((slots) => slots * SLOT),
      )
      await fc.assert(
        fc.asyncProperty(at, at, offset, width, async (one, two, offset, width) => {
          const [from, to] = [Math.min(one, two), Math.max(one, two) + 1]
          const edges = [Math.floor((from - offset) / width) * width + offset]
          while ((edges.at(-1) ?? to) < to) edges.push((edges.at(-1) ?? to) + width)
          const ask = { ...question, accountId: other, from, to }
          const { buckets, groups } = await parts.reports.usage(ask, edges, 'key')
          for (const [i, bucket] of buckets.entries()) {
            const own = [Math.max(edges[i] ?? from, from), Math.min(edges[i + 1] ?? to, to)] as const
            expect(sum([bucket])).toMatchObject(requests((record) => within(...own, record)))
          }
          const names = new Set(log.filter((record) => within(from, to, record)).map((record) => record.keyId))
          expect(groups.map(({ name }) => name).sort()).toEqual([...names].sort())
          for (const group of groups)
            expect(sum([group])).toMatchObject(
              requests((record) => within(from, to, record) && record.keyId === group.name),
            )
        }),
        { numRuns: 60 },
      )
    })

    test('lose no call where an edge is not at a quarter of an hour', async () => {
      const ask = { ...question, accountId: account, from: NOON + 3 * MINUTE, to: NOON + 2 * HOUR + 4 * MINUTE }
      const edges = [NOON - 50 * MINUTE, NOON + 10.5 * MINUTE, NOON + 70.5 * MINUTE, NOON + 130.5 * MINUTE]
      const { buckets } = await parts.reports.usage(ask, edges, null)
      expect(sum(buckets)).toEqual(expected((record) => within(ask.from, ask.to, record)))
    })

    test('count a reversed charge as the failure that its caller received, from the rollup and from the log', async () => {
      const other = await parts.account()
      const undone = call(other, 5, { at: NOON + 20 * MINUTE })
      await parts.write([undone, call(other, 5, { at: NOON + 21 * MINUTE })])
      await parts.undo(undone)
      for (const [from, to] of [
        [NOON, NOON + HOUR],
        [NOON + 16 * MINUTE, NOON + 29 * MINUTE],
      ] as const) {
        const sums = await whole({ ...question, accountId: other, from, to })
        expect(sums).toMatchObject({ requests: 2, failed: 1, charged: 5 })
      }
    })

    test('list calls newest first, with no gaps and no repeats, though many have the same time', async () => {
      const log = await pages(filter(), 500)
      expect(log).toHaveLength(written.length)
      expect(log.map((record) => record.id)).toEqual(
        [...written].sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1)).map((record) => record.id),
      )
      for (const limit of [1, 7, 36, 71, 72, 73]) expect(await pages(filter(), limit)).toEqual(log)
    })

    test('keep the pages of a listing stable while new calls arrive', async () => {
      const busy = await parts.account()
      await parts.write([1, 2, 3, 4].map((i) => call(busy, 5, { at: NOON + i })))
      const asked = filter({ accountId: busy })
      const first = await parts.reports.requests(asked, 2, null)
      await parts.write([call(busy, 5, { at: NOON + 9 })])
      const second = await parts.reports.requests(asked, 2, first?.next ?? null)
      expect([...(first?.rows ?? []), ...(second?.rows ?? [])].map((record) => record.at - NOON)).toEqual([4, 3, 2, 1])
      expect(second?.next).toBeNull()
    })

    test('return a call as it was written', async () => {
      const found = new Map((await pages(filter(), 500)).map((record) => [record.id, record]))
      for (const record of written) expect(found.get(record.id)).toEqual(record)
    })

    test('filter the list by key, operation, status, model and time', async () => {
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
      const ofModel = written.filter((record) => record.model === 'gpt').map((record) => record.id)
      expect(ofModel.length).toBeGreaterThan(0)
      expect((await pages(filter({ model: 'gpt' }), 3)).map((record) => record.id)).toEqual(ofModel.reverse())
    })

    test('group failures by operation, status and code, with the newest of each', async () => {
      const busy = await parts.account()
      const failed = (at: number, operation: string, status: number, code: string) =>
        call(busy, null, {
          at: NOON + at * MINUTE,
          operation,
          status,
          code,
          keyId: at % 2 ? 'key_a' : 'key_b',
          failure: { route: null, message: `failed at ${at}`, param: null, rule: null },
        })
      const log = [
        ...[1, 2, 3].map((at) => failed(at, 'image-search', 429, 'rate_limit_exceeded')),
        ...[4, 5].map((at) => failed(at, 'llm-context', 429, 'rate_limit_exceeded')),
        failed(6, 'image-search', 400, 'missing_parameter'),
        call(busy, 5, { at: NOON + 7 * MINUTE }),
        failed(8, 'free', 404, 'resource_not_found'),
      ]
      await parts.write(log)
      const found = async (more: Partial<RequestFilter> = {}) => {
        const { groups, isPartial } = await parts.reports.errors(filter({ accountId: busy, ...more }))
        expect(isPartial).toBe(false)
        return groups.map(({ operation, status, code, calls, lastAt }) => [
          operation,
          status,
          code,
          calls,
          (lastAt - NOON) / MINUTE,
        ])
      }
      expect(await found()).toEqual([
        ['image-search', 429, 'rate_limit_exceeded', 3, 3],
        ['llm-context', 429, 'rate_limit_exceeded', 2, 5],
        ['image-search', 400, 'missing_parameter', 1, 6],
      ])
      expect((await parts.reports.errors(filter({ accountId: busy }))).groups[0]).toMatchObject({
        lastId: log[2]?.id ?? '',
        lastMessage: 'failed at 3',
      })
      expect(await found({ keyId: 'key_a', operation: 'image-search' })).toEqual([
        ['image-search', 429, 'rate_limit_exceeded', 2, 3],
      ])
      expect(await found({ status: 400 })).toEqual([['image-search', 400, 'missing_parameter', 1, 6]])
      expect(await found({ from: NOON + 2 * MINUTE, to: NOON + 5 * MINUTE })).toEqual([
        ['image-search', 429, 'rate_limit_exceeded', 2, 3],
        ['llm-context', 429, 'rate_limit_exceeded', 1, 4],
      ])
      expect(await found({ accountId: await parts.account() })).toEqual([])
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

    test('count latencies by bucket over any range of slots, as the calls themselves would', async () => {
      const timed = await parts.account()
      let seed = 7
      const random = (n: number) => {
        seed = (seed * 48_271) % 2_147_483_647
        return seed % n
      }
      const calls = Array.from({ length: 400 }, (_, i) => {
        const status = [200, 200, 200, 400, 502][random(5)] ?? 200
        return call(timed, status === 200 ? 5 : null, {
          status,
          at: NOON + random(3 * 96) * SLOT + i,
          latencyMs: random(3000),
          keyId: `key_${random(2)}`,
          operation: ['image-search', 'llm-context'][random(2)] ?? '',
          ...(random(2) && { upstream: { provider: `p${random(2)}`, waitingMs: 1, upstreamMs: 2 } }),
          ...(random(2) && { model: 'gpt' }),
        } as const)
      })
      await parts.write(calls)
      for (const more of [{}, { keyId: 'key_1' }, { operation: 'llm-context' }, { model: 'gpt' }] as const)
        for (const [first, end] of [
          [0, 288],
          [10, 100],
          [95, 97],
          [3, 4],
          [50, 250],
        ] as const) {
          const range = { from: NOON + first * SLOT + 1, to: NOON + end * SLOT - 1 }
          const groups = await parts.reports.latencies({ ...question, accountId: timed, ...more, ...range })
          const seen = groups.flatMap(({ operation, provider, model, counts }) =>
            [...counts].map(([bucket, count]) => `${operation} ${provider} ${model} ${bucket} ${count}`),
          )
          const wanted = new Map<string, number>()
          for (const record of calls) {
            const slot = Math.floor((record.at - NOON) / SLOT)
            const isChosen = Object.entries(more).every(([name, value]) => Reflect.get(record, name) === value)
            if (slot < first || slot >= end || record.status === 400 || !isChosen) continue
            const { operation, upstream, model = '', latencyMs } = record
            const name = `${operation} ${upstream?.provider ?? ''} ${model} ${latencyBucket(latencyMs)}`
            wanted.set(name, (wanted.get(name) ?? 0) + 1)
          }
          expect(seen.sort()).toEqual([...wanted].map(([name, count]) => `${name} ${count}`).sort())
        }
    })

    test('refuse a cursor that no page returned', async () => {
      const forged = ['', 'x', '!!', btoa('1'), btoa('1:abc'), btoa('x:req_1'), btoa("1:req_' OR 1=1"), btoa('1:req_')]
      forged.push(await parts.foreignCursor(account))
      for (const cursor of forged) expect(await parts.reports.requests(filter(), 5, cursor)).toBeNull()
    })
  })
}

/** The charge of a charged call. */
export const chargeOf = (record: CallRecord) => charge(record.accountId, record.charged?.cost ?? 0, { call: record })
