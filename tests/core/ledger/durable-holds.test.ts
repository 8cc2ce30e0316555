import { afterEach, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ApiKey } from '../../../server/core/credentials/api-key'
import type { Hold } from '../../../server/core/ledger/hold'
import { Ledger } from '../../../server/core/ledger/ledger'
import { micros } from '../../../server/core/money'
import { openFile } from '../../support/databases/database-file'
import { call, NOON, openTestStores, requestId } from '../../support/ledger-parts'
import { reconcile } from '../../support/reconcile'

const folders: string[] = []
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true })
})

async function opened(folder?: string) {
  const place = folder ?? (await mkdtemp(join(tmpdir(), 'gateway-kept-')))
  if (!folder) folders.push(place)
  const parts = await openTestStores({ folder: place })
  const alarms: string[] = []
  const ledger = new Ledger({
    holds: parts.holds,
    journal: parts.journal,
    bookings: parts.bookings,
    clock: { now: () => NOON },
    onReversalFailure: (_request, reason) => alarms.push(reason),
  })
  return { ...parts, place, ledger, alarms }
}

type Opened = Awaited<ReturnType<typeof opened>>

/** A hold of a stream, kept with what a start would charge. */
async function kept(parts: Opened, key: ApiKey, amount: number, soFar: number) {
  const request = requestId()
  const held = await parts.ledger.hold({
    request,
    account: key.accountId,
    pool: key.poolId,
    amount: micros(amount),
    creditPays: true,
    at: NOON,
  })
  if (!held.ok) throw new Error(String(held.error))
  const record = call(key.accountId, soFar, { id: request, keyId: key.id, operation: 'chat-completions' })
  expect(await parts.ledger.keep({ hold: held.value, call: record })).toBe(true)
  return { hold: held.value, record }
}

async function leftOver(parts: Opened): Promise<number> {
  await parts.applied()
  const client = openFile(parts.file)
  const { rows } = await client.execute('SELECT count(*) AS n FROM kept_holds')
  client.close()
  return Number(rows[0]?.['n'])
}

describe('a hold of a stream (spec D4)', () => {
  test('is charged at the next start for the last recorded usage, once, and the rest is released', async () => {
    const first = await opened()
    const account = await first.account(1_000_000)
    const key = await first.key(account)
    const { hold, record } = await kept(first, key, 500_000, 100)
    const later = { ...record, charged: { cost: micros(2500), priceVersion: 'v', units: 1, unitPrice: micros(2500) } }
    expect(await first.ledger.keep({ hold, call: later })).toBe(true)
    await first.close() // as a process that was killed leaves it: the log replayed or the tables up to date

    const second = await opened(first.place)
    expect(second.durableHolds).toHaveLength(1)
    expect((await second.holds.balance(account))?.held).toBe(micros(500_000))
    for (const left of second.durableHolds) expect(await second.ledger.settleDurable(left)).toBe(true)
    expect(await second.holds.balance(account)).toMatchObject({ posted: 997_500, held: 0 })
    expect(await leftOver(second)).toBe(0)
    await second.close()

    const third = await opened(first.place)
    expect(third.durableHolds).toHaveLength(0)
    expect((await third.holds.balance(account))?.posted).toBe(micros(997_500))
    await third.close()
    expect(await reconcile(third.file)).toMatchObject({ charges: 1, chargedMicros: 2500, problems: [] })
  })

  test('that was charged or released leaves nothing to do at a start', async () => {
    const parts = await opened()
    const account = await parts.account(1_000_000)
    const key = await parts.key(account)
    const charged = await kept(parts, key, 1000, 10)
    const released = await kept(parts, key, 1000, 10)
    expect(
      (await parts.ledger.capture(micros(700), call(account, 700, { id: charged.record.id, keyId: key.id }))).ok,
    ).toBe(true)
    await parts.ledger.release(released.record.id)
    expect(await leftOver(parts)).toBe(0)
    expect(await parts.holds.balance(account)).toMatchObject({ posted: 999_300, held: 0 })
    expect(parts.alarms).toEqual([])
    await parts.close()
    expect((await reconcile(parts.file)).problems).toEqual([])
  })

  test('is charged at the start even if the owner lowered the limit in between', async () => {
    const first = await opened()
    const account = await first.account(1_000_000)
    const key = await first.key(account, 600_000)
    const { hold }: { hold: Hold } = await kept(first, key, 500_000, 4000)
    await first.close()
    const second = await opened(first.place)
    await second.holds.setPoolLimit(key.poolId, micros(1))
    for (const left of second.durableHolds) expect(await second.ledger.settleDurable(left)).toBe(true)
    expect((await second.holds.balance(account))?.posted).toBe(micros(996_000))
    expect(hold.amount).toBe(micros(500_000))
    await second.close()
    expect((await reconcile(second.file)).problems).toEqual([])
  })

  test('is paid by the caller; what a call cost above it is booked to the house account', async () => {
    const parts = await opened()
    const account = await parts.account(1_000_000)
    const key = await parts.key(account)
    const { record } = await kept(parts, key, 1000, 10)
    const outcome = await parts.ledger.capture(
      micros(1000),
      call(account, 1000, { id: record.id, keyId: key.id }),
      micros(234),
    )
    expect(outcome.ok).toBe(true)
    await parts.applied()
    const page = await parts.statements.transactions(account, 10, null)
    expect(page?.rows.map(({ kind, amount }) => [kind, Number(amount)])).toEqual([
      ['charge', -1000],
      ['signup_credit', 1_000_000],
    ])
    const client = openFile(parts.file)
    const { rows } = await client.execute("SELECT debit, credit, amount FROM entries WHERE kind = 'overrun'")
    client.close()
    expect(rows.map((row) => [row['debit'], row['credit'], row['amount']])).toEqual([
      ['house/overrun', 'house/revenue', 234],
    ])
    await parts.close()
    expect((await reconcile(parts.file)).problems).toEqual([])
  })
})
