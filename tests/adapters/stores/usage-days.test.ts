import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { piecesOf } from '../../../server/adapters/stores/libsql/usage/usage-quarter-hours'
import { olderDatabase } from '../../support/databases/older-database'
import { NOON, openTestStores } from '../../support/ledger-parts'
import { reconcile } from '../../support/reconcile'

const SLOT = 15 * 60_000
const DAY = 96 * SLOT

test('an older database gets its daily sums at the first start, computed once', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-days-'))
  const account = `acct_${'1'.repeat(32)}` as const
  await olderDatabase(folder, '0020_usage_days', async (client) => {
    await client.execute(
      `INSERT INTO accounts (id, user_id, operator, created_at) VALUES ('${account}', 'ada', 0, ${NOON})`,
    )
    for (let slot = 0; slot < 500; slot++)
      await client.execute({
        sql: `INSERT INTO usage_rollup VALUES (?, ?, 'key_a', 'image-search', ?, '', 2, 1, 1, 1, 1, 0)`,
        args: [account, Math.floor(NOON / SLOT) + slot, slot % 7 ? 200 : 502],
      })
  })
  const ask = { accountId: account, keyId: null, operation: null, status: null, model: null }
  for (let opened = 0; opened < 2; opened++) {
    const { reports, close } = await openTestStores({ folder })
    const to = NOON + 30 * DAY
    const { buckets, groups } = await reports.usage({ ...ask, from: NOON, to }, [NOON, to], 'status')
    expect(buckets).toMatchObject([{ requests: 1000, failedRequests: 144, inputTokens: 500 }])
    expect(groups.map(({ name, requests }) => [name, requests]).sort()).toEqual([
      ['200', 856],
      ['502', 144],
    ])
    await close()
    expect((await reconcile(join(folder, 'gateway.db'))).problems).toEqual([])
  }
  await rm(folder, { recursive: true, force: true })
})

test('ninety days in UTC read ninety daily sums, in Berlin also two hours of each day, and one hour reads its slots', () => {
  const slotsRead = (edges: readonly number[]) =>
    piecesOf(edges, { first: (edges[0] ?? 0) / SLOT, end: (edges.at(-1) ?? 0) / SLOT })
      .filter(({ unit }) => unit === 'quarter_hour')
      .reduce((total, { first, end }) => total + end - first, 0)
  const days = (offset: number) => Array.from({ length: 91 }, (_, i) => 20_000 * DAY + i * DAY + offset)
  expect(slotsRead(days(0))).toBe(0)
  expect(slotsRead(days(-2 * 4 * SLOT))).toBe(91 * 8)
  expect(slotsRead([20_000 * DAY, 20_000 * DAY + 4 * SLOT])).toBe(4)
})
