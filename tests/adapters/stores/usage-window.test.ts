import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ReportTurns } from '../../../server/adapters/stores/libsql/usage/report-turns'
import { LibsqlUsageReports } from '../../../server/adapters/stores/libsql/usage/usage-reports'
import type { AccountId } from '../../../server/core/ids'
import type { CallRecord } from '../../../server/core/usage/call-record'
import type { RequestFilter } from '../../../server/core/usage/reports'
import { call, NOON, openTestStores, type TestStores } from '../../support/ledger-parts'

const WINDOW = 7
const EVERYTHING = { keyId: null, operation: null, status: null, model: null, from: null, to: null }

let stores: TestStores
let account: AccountId
let reports: LibsqlUsageReports
let log: CallRecord[]

beforeAll(async () => {
  stores = await openTestStores()
  account = await stores.account()
  reports = new LibsqlUsageReports(stores.db, () => true, new ReportTurns(async () => undefined), WINDOW)
  // Two calls at each moment; one of thirty is of the idle key.
  log = Array.from({ length: 60 }, (_, i) =>
    call(account, null, {
      at: NOON + (i >> 1),
      keyId: i % 30 === 3 ? 'key_idle' : 'key_busy',
      operation: i % 20 === 4 ? 'llm-context' : 'image-search',
      status: i % 2 ? 502 : 200,
      ...(i % 20 === 7 && { model: 'rare' }),
      ...(i % 4 === 1 && { clientRequestId: 'service' }),
    }),
  )
  for (const record of log) stores.journal.note(record)
  await stores.journal.drained()
})
afterAll(() => stores.close())

async function pages(filter: Partial<RequestFilter>, limit: number) {
  const found: (readonly CallRecord[])[] = []
  let cursor: string | null = null
  do {
    const page: Awaited<ReturnType<typeof reports.requests>> = await reports.requests(
      { ...EVERYTHING, accountId: account, ...filter },
      limit,
      cursor,
    )
    if (!page) throw new Error('the cursor was refused')
    found.push(page.rows)
    cursor = page.next
  } while (cursor !== null)
  return found
}
const idsOf = (list: readonly CallRecord[]) => list.map((record) => record.id)
const newestFirst = (chosen: (record: CallRecord) => boolean) => idsOf(log.filter(chosen)).reverse()

test('paging in small steps finds every call of a filter once, for any page size', async () => {
  const filters: [Partial<RequestFilter>, (record: CallRecord) => boolean][] = [
    [{ keyId: 'key_idle' }, (r) => r.keyId === 'key_idle'],
    [{ keyId: 'key_none' }, () => false],
    [{ operation: 'llm-context' }, (r) => r.operation === 'llm-context'],
    [{ model: 'rare' }, (r) => r.model === 'rare'],
    [{ status: 200 }, (r) => r.status === 200],
    [{ status: 502 }, (r) => r.status === 502],
    [{ keyId: 'key_busy', status: 502 }, (r) => r.keyId === 'key_busy' && r.status === 502],
    [{ search: { by: 'status', status: 502 } }, (r) => r.status === 502],
    [{ search: { by: 'operations', operations: ['llm-context'] } }, (r) => r.operation === 'llm-context'],
    [{ search: { by: 'operations', operations: [] } }, () => false],
    [{ search: { by: 'name', text: 'image-search' } }, (r) => r.operation === 'image-search'],
    [{ search: { by: 'name', text: 'service' }, status: 404 }, (r) => r.clientRequestId === 'service'],
    [{ search: { by: 'address', address: '203.0.113.1' } }, () => false],
    [
      { keyId: 'key_busy', from: NOON + 5, to: NOON + 20 },
      (r) => r.keyId === 'key_busy' && r.at >= NOON + 5 && r.at < NOON + 20,
    ],
  ]
  for (const [filter, chosen] of filters)
    for (const limit of [1, 3, WINDOW, WINDOW + 1, 100])
      expect(idsOf((await pages(filter, limit)).flat())).toEqual(newestFirst(chosen))
})

test('a page for a key, an operation or a model reads no more calls than the window has', async () => {
  expect((await pages({ keyId: 'key_none' }, 50)).length).toBe(Math.floor(log.length / WINDOW) + 1)
  expect((await pages({ operation: 'llm-context' }, 50)).length).toBe(Math.floor(log.length / WINDOW) + 1)
  expect((await pages({ model: 'rare' }, 50)).length).toBe(Math.floor(log.length / WINDOW) + 1)
  expect((await pages({ search: { by: 'operations', operations: [] } }, 50)).length).toBe(1)
  const search = { by: 'address', address: '203.0.113.1' } as const
  expect((await pages({ search }, 50)).length).toBe(Math.floor(log.length / WINDOW) + 1)
})

test('a page without a filter, or by time or failure, is full', async () => {
  expect((await pages({}, 50)).map((page) => page.length)).toEqual([50, 10])
  expect((await pages({ status: 502 }, 50)).map((page) => page.length)).toEqual([30])
  expect((await pages({ from: NOON + 10, to: NOON + 20 }, 50)).map((page) => page.length)).toEqual([20])
})
