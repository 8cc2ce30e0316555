import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { decodeLog, encodeLine } from '../../../server/adapters/stores/libsql/journal/log-format'
import type { AccountId } from '../../../server/core/ids'
import { appended } from '../../../server/core/ledger/journal'
import { micros } from '../../../server/core/money'
import { accountId, charge, NOON, opening, openTestStores, raiseEpoch } from '../../support/ledger-parts'
import { reconcile } from '../../support/reconcile'

let folder = ''
let log = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-replay-'))
  log = join(folder, 'gateway.db.log')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** A life that acknowledged so many charges of 5 and ended before the tables had one of them. */
async function crashed(charges: number): Promise<AccountId> {
  const stores = await openTestStores({ folder })
  const account = await stores.account(1000)
  await raiseEpoch(stores.file) // from here on no batch comes through, as if the process were dead
  for (let i = 0; i < charges; i++)
    expect(await appended(stores.journal, charge(account, 5))).toEqual({ kind: 'committed' })
  await stores.close()
  expect((await reconcile(stores.file)).charges).toBe(0)
  expect(decodeLog(await readFile(log)).lines).toHaveLength(charges)
  return account
}
const posted = async (account: AccountId) => {
  const stores = await openTestStores({ folder })
  const balance = await stores.holds.balance(account)
  await stores.close()
  expect((await reconcile(stores.file)).problems).toEqual([])
  return { posted: balance?.posted, trouble: stores.trouble }
}
const startFailure = () =>
  openTestStores({ folder }).then(
    () => null,
    (error: Error) => error.message,
  )

describe('a start after a process that ended before its charges were applied', () => {
  test('has every acknowledged charge once, in the tables and in the counters', async () => {
    const account = await crashed(20)
    expect(await posted(account)).toEqual({ posted: micros(900), trouble: [] })
    expect(await posted(account)).toEqual({ posted: micros(900), trouble: [] })
    expect(await readFile(log)).toHaveLength(0)
  })

  test('does not reapply a group that the tables have, if the log still contains it', async () => {
    const account = await crashed(3)
    const kept = await readFile(log)
    expect(await posted(account)).toEqual({ posted: micros(985), trouble: [] })
    await writeFile(log, kept)
    expect(await posted(account)).toEqual({ posted: micros(985), trouble: [] })
  })

  test('continues the numbering of the log, so that a later group is not mistaken for an applied one', async () => {
    const account = await crashed(3)
    const stores = await openTestStores({ folder })
    expect((await appended(stores.journal, charge(account, 5))).kind).toBe('committed')
    expect(decodeLog(await readFile(log)).lines.map((line) => line.number)).toEqual([4])
    await stores.close()
    expect(await posted(account)).toEqual({ posted: micros(980), trouble: [] })
  })

  test('reads a log written before the applier read logs: charges, a reversal, a stored answer', async () => {
    const account = 'acct_019aab2c5e00700080000000000000aa'
    const before = await openTestStores({ folder })
    expect(await appended(before.journal, opening(account, 1000))).toEqual({ kind: 'committed' })
    await before.close()
    await copyFile(join(import.meta.dir, '../../fixtures/charges-of-november-2026.txt'), log)
    const stores = await openTestStores({ folder })
    expect((await stores.holds.balance(account))?.posted).toBe(micros(990))
    const place = { account, operation: 'image-search', key: 'order 7' } as const
    expect(await stores.idempotencyRecords.find(place, NOON)).toMatchObject({ state: 'kept', body: '{"ok":"ü"}' })
    await stores.close()
    expect(await reconcile(stores.file)).toMatchObject({ problems: [], charges: 2 })
  })

  test('drops a torn last line, which no caller saw acknowledged, and says so', async () => {
    const account = await crashed(3)
    const bytes = await readFile(log)
    await writeFile(log, bytes.subarray(0, -7))
    const torn = bytes.length - 7 - decodeLog(bytes.subarray(0, -7)).goodLength
    expect(await posted(account)).toEqual({
      posted: micros(990),
      trouble: [`log: ${torn} bytes of a write that was not finished are dropped`],
    })
  })

  test('ends with one line if the log is damaged in its middle, and leaves it unchanged', async () => {
    await crashed(3)
    const bytes = await readFile(log)
    bytes[100] = 0
    await writeFile(log, bytes)
    const expected = /^the log \S+gateway\.db\.log is damaged: the line at byte 0 is bad, and group 2 stands behind it$/
    expect(await startFailure()).toMatch(expected)
    expect(await startFailure()).toMatch(expected)
    expect(await readFile(log)).toEqual(bytes)
  })

  test('ends with one line if the database is older than its log', async () => {
    await crashed(3)
    const later = decodeLog(await readFile(log)).lines.map((line) => encodeLine({ ...line, number: line.number + 7 }))
    await writeFile(log, Buffer.concat(later))
    expect(await startFailure()).toMatch(/begins with group 8, but the database has groups up to 0 only/)
  })

  test('puts an acknowledged charge aside that breaks a rule of the tables, and applies the others', async () => {
    const account = await crashed(1)
    const kept = await readFile(log)
    const foreign = encodeLine({ number: 2, payload: JSON.stringify([charge(accountId(), 5), charge(account, 5)]) })
    await writeFile(log, Buffer.concat([kept, foreign]))
    const stores = await openTestStores({ folder })
    expect(Number((await stores.holds.balance(account))?.posted)).toBe(990)
    expect(await stores.stuck.page(10, null)).toMatchObject([
      { source: 'log', reason: expect.stringContaining('FOREIGN') },
    ])
    await stores.close()
    expect(await posted(account)).toMatchObject({ posted: micros(990) })
  })

  test('ends with one line if charges of many accounts break a rule of the tables, and applies none of them', async () => {
    await crashed(1)
    const kept = await readFile(log)
    const foreign = Array.from({ length: 9 }, () => charge(accountId(), 5))
    await writeFile(log, Buffer.concat([kept, encodeLine({ number: 2, payload: JSON.stringify(foreign) })]))
    expect(await startFailure()).toMatch(/^the log \S+ cannot be applied up to group 2: [^\n]*FOREIGN KEY[^\n]*$/)
    await writeFile(log, kept)
    expect(await startFailure()).toBeNull()
  })
})

test('after a clean stop finds an empty log and nothing to apply', async () => {
  const stores = await openTestStores({ folder })
  const account = await stores.account(1000)
  await appended(stores.journal, charge(account, 5))
  await stores.close()
  expect(await readFile(log)).toHaveLength(0)
  expect(await reconcile(stores.file)).toMatchObject({ problems: [], charges: 1 })
})

test('shows a reader an acknowledged charge at once', async () => {
  const stores = await openTestStores({ folder })
  const account = await stores.account(1000)
  const record = charge(account, 5)
  await appended(stores.journal, record)
  expect(await stores.reports.request(account, null, record.call?.id ?? '')).toMatchObject({ status: 200 })
  await appended(stores.journal, charge(account, 7))
  const page = await stores.statements.transactions(account, 10, null)
  expect(page?.rows.map((row) => [Number(row.amount), Number(row.balanceAfter)])).toEqual([
    [-7, 988],
    [-5, 995],
    [1000, 1000],
  ])
  await stores.close()
})
