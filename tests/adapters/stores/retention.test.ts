import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { makeId } from '../../../server/core/ids'
import { appended } from '../../../server/core/ledger/journal'
import type { CallRecord } from '../../../server/core/usage/call-record'
import { audit, call, charge, NOON, openTestStores, requestIdAt } from '../../support/ledger-parts'
import { reconcile } from '../../support/reconcile'

const SLOT = 15 * 60_000
const MINUTE = 60_000
const DAY = 96 * SLOT
/** In the middle of a slot: the boundary is its start. */
const CUTOFF = NOON + DAY + 7 * MINUTE
const BOUNDARY = NOON + DAY

type Stores = Awaited<ReturnType<typeof openTestStores>>

const FAILURE = { route: '/v1/usage', message: 'no', param: null, rule: null }

describe('old rows of the request log', () => {
  let folder: string
  let stores: Stores
  let account: `acct_${string}`
  const written: CallRecord[] = []
  const ask = () => ({ accountId: account, keyId: null, operation: null, status: null, model: null })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-retention-'))
    stores = await openTestStores({ folder })
    account = await stores.account()
    // Two days: a call every seven minutes, of which every third fails and every fifth is free.
    for (let i = 0; i < 400; i++) {
      const at = NOON + i * 7 * MINUTE
      const isFree = i % 5 === 0
      written.push(
        call(account, i % 3 && !isFree ? 5 : null, {
          id: requestIdAt(at, i),
          at,
          clientRequestId: `mine-${i}`,
          ...(isFree && { operation: 'free', counted: false, status: 200, code: null }),
          ...(!isFree && i % 3 === 0 && { failure: FAILURE }),
        }),
      )
    }
    for (const record of written)
      if (record.charged) await appended(stores.journal, charge(account, 5, { call: record }))
      else stores.journal.note(record)
    await stores.journal.drained()
  })
  afterAll(async () => {
    await stores.close()
    expect((await reconcile(join(folder, 'gateway.db'))).problems).toEqual([])
    await rm(folder, { recursive: true, force: true })
  })

  const prune = async (before: number, rows = 7) => {
    for (let steps = 1; ; steps++) if (!(await stores.retention.prune('requests', before, rows))) return steps
  }
  const rows = () =>
    stores.db.all<{ id: string; at: number; address: string; client_request_id: string | null; cost: number }>(
      sql`SELECT * FROM requests WHERE account_id = ${account} ORDER BY id`,
    )

  test('go in steps; those of charged calls stay without address and the id of the caller, younger ones as they are', async () => {
    const before = await stores.reports.usage(
      { ...ask(), from: NOON, to: NOON + 2 * DAY },
      [NOON, NOON + 2 * DAY],
      'status',
    )
    const old = written.filter(({ at }) => at < BOUNDARY)
    expect(await prune(CUTOFF)).toBe(Math.ceil(old.length / 7) + (old.length % 7 === 0 ? 1 : 0))
    const kept = await rows()
    const expected = written.filter(({ at, charged }) => at >= BOUNDARY || charged)
    expect(kept.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
    for (const row of kept)
      expect([row.address, row.client_request_id === null]).toEqual(
        row.at < BOUNDARY ? ['', true] : ['192.0.2.1', false],
      )
    const [first] = expected
    expect(await stores.reports.request(account, null, first?.id ?? '')).toMatchObject({
      keyId: 'key_test',
      operation: 'image-search',
      clientRequestId: null,
      address: '',
      charged: { cost: 5, priceVersion: '2.0.0' },
    } as never)
    // Whole slots: the same sums as before, and it says so.
    const after = await stores.reports.usage(
      { ...ask(), from: NOON, to: NOON + 2 * DAY },
      [NOON, NOON + 2 * DAY],
      'status',
    )
    expect(after).toEqual({ ...before, wholeQuarterHoursBefore: BOUNDARY })
    // A step that finds nothing changes nothing.
    expect(await prune(CUTOFF)).toBe(1)
    expect(await rows()).toEqual(kept)
  })

  test('are counted in whole slots by reports that begin or end among them, by the hour and by the minute', async () => {
    const counted = (from: number, to: number) =>
      written.filter(({ counted, at }) => counted && at >= from && at < to).length
    const total = async (from: number, to: number, edges: readonly number[]) => {
      const figures = await stores.reports.usage({ ...ask(), from, to }, edges, 'operation')
      const sum = figures.buckets.reduce((all, { requests }) => all + requests, 0)
      expect(figures.groups.reduce((all, { requests }) => all + requests, 0)).toBe(sum)
      return [sum, figures.wholeQuarterHoursBefore]
    }
    const hours = (first: number, count: number) =>
      Array.from({ length: count }, (_, i) => NOON + (first + i) * 4 * SLOT)
    const [from, to] = [NOON + SLOT + 3 * MINUTE, NOON + 9 * SLOT - 4 * MINUTE]
    expect(await total(from, to, hours(0, 4))).toEqual([counted(NOON + SLOT, NOON + 9 * SLOT), BOUNDARY])
    const minutes = (a: number, b: number) => Array.from({ length: (b - a) / MINUTE + 1 }, (_, i) => a + i * MINUTE)
    expect(await total(from, to, minutes(from, to))).toEqual([counted(NOON + SLOT, NOON + 9 * SLOT), BOUNDARY])
    // Over the boundary: whole slots on one side, the log on the other.
    const late = BOUNDARY + 100 * MINUTE
    const early = BOUNDARY - 20 * MINUTE
    const exact = [counted(BOUNDARY - 2 * SLOT, late), BOUNDARY]
    expect(await total(early, late, minutes(early, late))).toEqual(exact)
    expect(await total(early, late, hours(23, 4))).toEqual(exact)
    expect(await total(early, early + MINUTE, [early, early + MINUTE])).toEqual([
      counted(BOUNDARY - 2 * SLOT, BOUNDARY - SLOT),
      BOUNDARY,
    ])
    // Behind it nothing changes.
    expect(await total(BOUNDARY, late, hours(24, 3))).toEqual([counted(BOUNDARY, late), null])
  })

  test('go on after a restart; a clock that was set back and right again leaves no hole', async () => {
    await stores.close()
    stores = await openTestStores({ folder })
    expect(await prune(CUTOFF)).toBe(1)
    // The clock is a day behind: nothing goes, and a call of that time is written.
    expect(await prune(CUTOFF - DAY)).toBe(1)
    const at = BOUNDARY - 3 * SLOT
    const late = call(account, null, { id: requestIdAt(at, 0), at })
    stores.journal.note(late)
    await stores.journal.drained()
    expect((await rows()).map(({ id }) => id)).toContain(late.id)
    expect(await prune(CUTOFF)).toBeGreaterThan(1)
    expect((await rows()).map(({ id }) => id)).not.toContain(late.id)
    const { wholeQuarterHoursBefore } = await stores.reports.usage(
      { ...ask(), from: NOON, to: NOON + 1 },
      [NOON, NOON + SLOT],
      null,
    )
    expect(wholeQuarterHoursBefore).toBe(BOUNDARY)
  })

  test('a report during a step counts every call, whatever is removed between its reads', async () => {
    const range = { from: BOUNDARY + 3 * MINUTE, to: BOUNDARY + DAY - 3 * MINUTE }
    const wanted = written.filter(({ counted, at }) => counted && at >= range.from && at < range.to).length
    const edges = [BOUNDARY, BOUNDARY + DAY]
    let isPruning = true
    const pruning = prune(BOUNDARY + DAY, 3).finally(() => {
      isPruning = false
    })
    const seen = new Set<number>()
    while (isPruning) {
      const { buckets, wholeQuarterHoursBefore } = await stores.reports.usage({ ...ask(), ...range }, edges, null)
      const sum = buckets[0]?.requests ?? 0
      if (wholeQuarterHoursBefore === null) expect(sum).toBe(wanted)
      else expect(sum).toBeGreaterThanOrEqual(wanted)
      seen.add(sum)
    }
    await pruning
    expect(seen.size).toBeGreaterThan(0)
  })
})

test('old entries of the audit log, events that were sent, and deliveries that ended go; what waits stays', async () => {
  const stores = await openTestStores()
  const old = NOON - 10 * DAY
  for (const at of [old, old + 1, NOON]) {
    await stores.audit.write({ ...audit(), id: makeId('audit', at), at })
    const event = { type: 'key.expiring', accountId: null, keyId: null, at, data: {} } as const
    await stores.webhooks.addEvents([{ ...event, id: `evt_${at}` }])
  }
  await stores.db.run(sql`UPDATE events SET dispatched = 1 WHERE id <> ${`evt_${old + 1}`}`)
  for (const [id, state, at] of [
    ['dlv_1', 'delivered', old],
    ['dlv_2', 'pending', old],
    ['dlv_3', 'failed', old],
    ['dlv_4', 'delivered', NOON],
  ] as const)
    await stores.db.run(sql`INSERT INTO webhook_deliveries (id, webhook_id, event_id, type, body, state, created_at, next_at, expires_at)
      VALUES (${id}, 'hook_1', ${id}, 't', '{}', ${state}, ${at}, ${at}, ${at})`)
  for (const table of ['audit_log', 'events', 'webhook_deliveries'] as const) {
    expect(await stores.retention.prune(table, NOON - DAY, 1)).toBe(true)
    while (await stores.retention.prune(table, NOON - DAY, 100));
  }
  const left = async (query: ReturnType<typeof sql>) => (await stores.db.all<{ x: unknown }>(query)).map(({ x }) => x)
  expect(await left(sql`SELECT at AS x FROM audit_log`)).toEqual([NOON])
  expect(await left(sql`SELECT id AS x FROM events ORDER BY seq`)).toEqual([`evt_${old + 1}`, `evt_${NOON}`])
  expect(await left(sql`SELECT id AS x FROM webhook_deliveries ORDER BY id`)).toEqual(['dlv_2', 'dlv_4'])
  await stores.close()
})

test('old deliveries that are sent again, and events that wait, keep none behind them', async () => {
  const stores = await openTestStores()
  const old = NOON - 10 * DAY
  const numbers = sql.raw(`json_each('[${Array.from({ length: 30 }, (_, i) => i + 100)}]')`)
  await stores.db.run(sql`INSERT INTO webhook_deliveries (id, webhook_id, event_id, type, body, state, created_at, next_at, expires_at)
    SELECT 'dlv_' || value, 'hook_1', value, 't', '{}', iif(value < 110, 'pending', 'delivered'), ${old}, ${old}, ${old} FROM ${numbers}`)
  await stores.db.run(sql`INSERT INTO events (id, type, at, data, dispatched)
    SELECT 'evt_' || value, 'key.expiring', ${old}, '{}', value >= 110 FROM ${numbers}`)
  for (const table of ['webhook_deliveries', 'events'] as const) {
    while (await stores.retention.prune(table, NOON - DAY, 5));
    const left = await stores.db.all<{ rows: number }>(sql`SELECT count(*) AS rows FROM ${sql.identifier(table)}`)
    expect(left).toEqual([{ rows: 10 }])
  }
  await stores.close()
})
