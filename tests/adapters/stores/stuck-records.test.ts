import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import type { Actor } from '../../../server/core/audit'
import type { ApiKey } from '../../../server/core/credentials/api-key'
import type { AccountId, StuckId } from '../../../server/core/ids'
import { appended } from '../../../server/core/ledger/journal'
import { Ledger } from '../../../server/core/ledger/ledger'
import { StuckRecords } from '../../../server/core/ledger/stuck-records'
import { micros } from '../../../server/core/money'
import { executeOn } from '../../support/databases/database-file'
import { call, charge, NOON, openTestStores, raiseEpoch, requestId, type TestStores } from '../../support/ledger-parts'
import { reconcile } from '../../support/reconcile'
import { until } from '../../support/until'

const OPERATOR: Actor = { kind: 'operator', id: 'test', address: null }
const clock = { now: () => NOON }

let folder = ''
let stores: TestStores
let told: number
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-stuck-'))
  told = 0
  stores = await reopened()
})
afterEach(async () => {
  await stores.close()
  await rm(folder, { recursive: true, force: true })
})

const reopened = () => openTestStores({ folder, onStuck: () => told++ })
const decisions = () => new StuckRecords({ store: stores.stuck, journal: stores.journal, holds: stores.holds, clock })
const onlyStuck = async () => {
  const all = await stores.stuck.page(10, null)
  expect(all).toHaveLength(1)
  return all[0]?.id as StuckId
}
const ledger = () =>
  new Ledger({
    holds: stores.holds,
    journal: stores.journal,
    bookings: stores.bookings,
    clock,
    onReversalFailure: (request, reason) => expect.unreachable(`${request}: ${reason}`),
  })
/** Somebody changes the balance in the tables, behind the gateway's back. */
const setCredit = (account: AccountId, credit: number) =>
  executeOn(stores.file, 'UPDATE accounts SET credit = ? WHERE id = ?', [credit, account])
/** A call that was served, whose charge the tables refuse. */
async function stuckCharge(amount = 40): Promise<{ account: AccountId; key: ApiKey }> {
  const account = await stores.account(1000)
  const key = await stores.key(account)
  await setCredit(account, 10)
  expect(await spent(account, amount, key)).toBe('charged')
  await stores.applied()
  await until(() => told > 0)
  return { account, key }
}
async function spent(account: AccountId, amount: number, key: ApiKey | null = null): Promise<string> {
  const request = requestId()
  const pool = key?.poolId ?? null
  const held = await ledger().hold({ request, account, pool, amount: micros(amount), creditPays: true, at: NOON })
  if (!held.ok) return String(held.error)
  const captured = await ledger().capture(
    micros(amount),
    call(account, amount, { id: request, ...(key && { keyId: key.id }) }),
  )
  return captured.ok ? 'charged' : captured.error
}
const tables = async (account: AccountId) => {
  const [row] = await stores.db.all<{ credit: number }>(sql`SELECT credit FROM accounts WHERE id = ${account}`)
  return row?.credit
}
const memory = async (account: AccountId, { poolId }: ApiKey) => [
  Number((await stores.holds.balance(account))?.credit),
  Number((await stores.holds.pool(poolId, NOON))?.spent),
]

describe('a charge of a group that the tables refuse', () => {
  test('is put aside, and the other 511 of its group are booked; nothing ends', async () => {
    const [rich, poor] = [await stores.account(1000), await stores.account(1000)]
    await setCredit(poor, 10)
    const records = Array.from({ length: 512 }, (_, i) => charge(i === 200 ? poor : rich, i === 200 ? 40 : 1))
    const outcomes = await Promise.all(records.map((record) => appended(stores.journal, record)))
    expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set(['committed']))
    await stores.applied()
    expect([await tables(rich), await tables(poor)]).toEqual([489, 10])
    const [stuck] = await stores.stuck.page(10, null)
    expect(stuck).toMatchObject({ accountId: poor, source: 'log', requestId: records[200]?.call?.id })
    expect(stuck?.reason).toContain('account_posted_not_negative')
    expect([stores.fatal, stores.trouble]).toEqual([[], []])
  })

  test('closes its account for holds, and no other; operators get an event in the same commit', async () => {
    const { account } = await stuckCharge()
    const other = await stores.account(1000)
    expect([await spent(account, 1), await spent(other, 1)]).toEqual(['account_under_review', 'charged'])
    const events = await stores.db.all<{ type: string; data: string }>(sql`SELECT type, data FROM events`)
    const alarms = events.filter(({ type }) => type === 'ledger.alarm')
    expect(alarms).toHaveLength(1)
    expect(JSON.parse(alarms[0]?.data ?? '')).toEqual({
      stuck_record_id: await onlyStuck(),
      workspace_id: account,
      request_id: expect.any(String),
      reason: expect.stringContaining('account_posted_not_negative'),
    })
  })

  test('ends the process when records of many accounts are refused at once: the tables are at fault', async () => {
    const accounts = await Promise.all(Array.from({ length: 12 }, () => stores.account(1000)))
    await executeOn(stores.file, 'UPDATE accounts SET credit = 0')
    await Promise.all(accounts.map((account) => appended(stores.journal, charge(account, 5))))
    await expect(stores.applied()).rejects.toThrow('account_posted_not_negative')
    expect(stores.fatal).toHaveLength(1)
    expect(await stores.stuck.counts()).toEqual({ records: 0, accounts: 0 })
    await executeOn(stores.file, 'UPDATE accounts SET credit = 1000')
  })
})

describe('an operator who decides', () => {
  test('books it once its cause is fixed: tables and counters agree, and the account spends again', async () => {
    const { account, key } = await stuckCharge()
    const id = await onlyStuck()
    const early = await decisions().retry(OPERATOR, id)
    expect(early).toMatchObject({ ok: false, error: { code: 'invalid_state' } })
    expect(await spent(account, 1)).toBe('account_under_review')
    await setCredit(account, 1000)
    expect((await decisions().retry(OPERATOR, id)).ok).toBe(true)
    expect([await tables(account), await memory(account, key)]).toEqual([960, [960, 40]])
    expect(await decisions().retry(OPERATOR, id)).toMatchObject({ error: { code: 'resource_not_found' } })
    expect(await spent(account, 960, key)).toBe('charged')
    await stores.applied()
    expect(await reconcile(stores.file)).toMatchObject({ problems: [], charges: 2 })
  })

  test('discards it: the account is not charged, and the gateway bears an overrun', async () => {
    const { account, key } = await stuckCharge()
    await setCredit(account, 1000)
    expect((await decisions().discard(OPERATOR, await onlyStuck(), 'our fault')).ok).toBe(true)
    expect([await tables(account), await memory(account, key)]).toEqual([1000, [1000, 0]])
    expect(await stores.db.all(sql`SELECT kind, debit, credit, amount FROM entries WHERE kind = 'overrun'`)).toEqual([
      { kind: 'overrun', debit: 'house/overrun', credit: 'house/revenue', amount: 40 },
    ])
    expect(await stores.db.all(sql`SELECT status, cost FROM requests`)).toEqual([{ status: 200, cost: 0 }])
    const [{ action, detail } = { action: '', detail: '' }] = await stores.db.all<{ action: string; detail: string }>(
      sql`SELECT action, detail FROM audit_log WHERE action LIKE 'stuck.%'`,
    )
    expect([action, JSON.parse(detail)]).toMatchObject(['stuck.discard', { amount: 40, note: 'our fault' }])
    expect(await spent(account, 1000, key)).toBe('charged')
    await stores.applied()
    expect((await reconcile(stores.file)).problems).toEqual([])
  })

  test('gives up a charge whose call the tables have already', async () => {
    const account = await stores.account(1000)
    const record = charge(account, 40)
    for (let i = 0; i < 2; i++) {
      await appended(stores.journal, record)
      await stores.applied()
    }
    expect((await decisions().discard(OPERATOR, await onlyStuck(), 'a call is charged once')).ok).toBe(true)
    expect(await tables(account)).toBe(960)
    expect((await reconcile(stores.file)).problems).toEqual([])
  })

  test('opens an account only when its last stuck record is decided', async () => {
    const account = await stores.account(1000)
    await setCredit(account, 0)
    for (const amount of [30, 40]) await appended(stores.journal, charge(account, amount))
    await stores.applied()
    await until(() => told > 0)
    await setCredit(account, 1000)
    const [one, two] = await stores.stuck.page(10, null)
    expect((await decisions().retry(OPERATOR, one?.id as StuckId)).ok).toBe(true)
    expect(await spent(account, 1)).toBe('account_under_review')
    expect((await decisions().retry(OPERATOR, two?.id as StuckId)).ok).toBe(true)
    expect(await spent(account, 1)).toBe('charged')
  })
})

describe('a start', () => {
  /** The log of a process that dies before its tables have it. */
  async function diedWith(account: AccountId, amount: number): Promise<void> {
    await raiseEpoch(stores.file) // as if it were dead: its batches do not come through
    expect(await appended(stores.journal, charge(account, amount))).toEqual({ kind: 'committed' })
    await stores.close()
  }

  test('with a log that has a refused charge puts it aside, and serves everybody else', async () => {
    const [rich, poor] = [await stores.account(1000), await stores.account(1000)]
    await setCredit(poor, 10)
    await diedWith(poor, 40)
    stores = await reopened()
    expect([await spent(poor, 1), await spent(rich, 1)]).toEqual(['account_under_review', 'charged'])
    await stores.close()
    stores = await reopened()
    expect([await spent(poor, 1), told]).toEqual(['account_under_review', 2])
    await setCredit(poor, 1000)
    expect((await decisions().retry(OPERATOR, await onlyStuck())).ok).toBe(true)
    // The counters know nothing of the mended table until the next start. Until then they allow less than there is, never more.
    expect([await tables(poor), Number((await stores.holds.balance(poor))?.credit)]).toEqual([960, 0])
    await stores.close()
    stores = await reopened()
    expect(await spent(poor, 960)).toBe('charged')
  })

  test('gives up a charge that was stuck before, and leaves the counters as they are', async () => {
    const { account } = await stuckCharge()
    await setCredit(account, 1000)
    await stores.close()
    stores = await reopened()
    expect((await decisions().discard(OPERATOR, await onlyStuck(), 'given up')).ok).toBe(true)
    expect(Number((await stores.holds.balance(account))?.credit)).toBe(1000)
    expect(await spent(account, 1000)).toBe('charged')
  })
})

describe('a reversal', () => {
  const undoing = (account: AccountId, amount: number) => {
    const record = charge(account, amount)
    const [entry] = record.entries
    if (!entry || !record.call) throw new Error('a charge has an entry and a call')
    const reversal = {
      undoes: record.call,
      entries: [{ ...entry, kind: 'reversal' as const, debit: entry.credit, credit: entry.debit }],
      change: { accountId: account, credit: amount, paid: 0, toppedUp: 0 },
    }
    return { record, reversal, id: record.call.id }
  }
  const status = async (id: string) =>
    (await stores.db.all<{ status: number; cost: number }>(sql`SELECT status, cost FROM requests WHERE id = ${id}`))[0]

  test('of a stuck charge removes it: no account is charged, and none gets money', async () => {
    const account = await stores.account(1000)
    await setCredit(account, 10)
    const { record, reversal, id } = undoing(account, 40)
    await appended(stores.journal, record)
    await stores.applied()
    expect((await stores.stuck.counts()).records).toBe(1)
    await appended(stores.journal, reversal)
    await stores.applied()
    expect(await stores.stuck.counts()).toEqual({ records: 0, accounts: 0 })
    expect([await tables(account), await status(id)]).toEqual([10, { status: 503, cost: 0 }])
    await setCredit(account, 1000)
    expect((await reconcile(stores.file)).problems).toEqual([])
  })

  test('in one batch with its charge and with one that is refused does the same', async () => {
    const account = await stores.account(1000)
    await setCredit(account, 10)
    const { record, reversal, id } = undoing(account, 40)
    await Promise.all([record, reversal, charge(account, 50)].map((one) => appended(stores.journal, one)))
    await stores.applied()
    expect([await tables(account), await status(id)]).toEqual([10, { status: 503, cost: 0 }])
    expect((await stores.stuck.counts()).records).toBe(1)
    await setCredit(account, 1000)
    expect((await decisions().retry(OPERATOR, await onlyStuck())).ok).toBe(true)
    expect((await reconcile(stores.file)).problems).toEqual([])
  })
})
