import { afterEach, beforeEach, expect, test } from 'bun:test'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drizzle } from 'drizzle-orm/libsql'
import { migrate } from 'drizzle-orm/libsql/migrator'
import { Ledger } from '../../../server/core/ledger/ledger'
import { micros } from '../../../server/core/money'
import { openFile } from '../../support/databases/database-file'
import { call, NOON, openTestStores, requestId, type TestStores } from '../../support/ledger-parts'
import { reconcile } from '../../support/reconcile'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-card-moves-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const ledgerOf = ({ holds, journal, bookings }: TestStores) =>
  new Ledger({ holds, journal, bookings, clock: { now: () => NOON }, onReversalFailure: () => undefined })

/** The migrations up to one of them, as a gateway of then had them. */
async function migrationsUpTo(last: number): Promise<string> {
  const then = join(folder, 'migrations')
  await cp(new URL('../../../server/adapters/stores/libsql/migrations', import.meta.url).pathname, then, {
    recursive: true,
  })
  const journal = join(then, 'meta/_journal.json')
  const all = (await Bun.file(journal).json()) as { entries: { idx: number }[] }
  await Bun.write(journal, JSON.stringify({ ...all, entries: all.entries.filter(({ idx }) => idx <= last) }))
  return then
}

test('a database whose debt fell below zero opens: the balance is the sum of its entries, all of it can be spent, and the log says so', async () => {
  const client = openFile(join(folder, 'gateway.db'))
  await migrate(drizzle({ client }), { migrationsFolder: await migrationsUpTo(10) })
  // Paid 50 and disputed it; the dispute was won, and its money repaid a debt that a duplicate message had only feigned.
  const entry = (debit: string, credit: string, amount: number, reference: string) =>
    `INSERT INTO entries (transaction_id, kind, account_id, debit, credit, amount, at, description, reference)
     VALUES ('txn_${reference}', 'dispute', 'acct_1', '${debit}', '${credit}', ${amount}, 1, '', '${reference}')`
  for (const statement of [
    `INSERT INTO accounts (id, user_id, operator, paid, topped_up, debt, created_at) VALUES ('acct_1', 'u', 0, 0, 50, -50, 1)`,
    entry('house/top_ups', 'acct_1/paid', 50, 'top_up:1'),
    entry('acct_1/paid', 'house/top_ups', 50, 'card:dp_1'),
    entry('house/top_ups', 'acct_1/debt', 50, 'card:dp_1:won'),
  ])
    await client.execute(statement)
  client.close()
  const stores = await openTestStores({ folder })
  expect(await stores.holds.balance('acct_1')).toMatchObject({ paid: micros(50), debt: 0, available: micros(50) })
  expect(stores.trouble.join()).toContain('1 accounts had debt below zero')
  const page = await stores.statements.transactions('acct_1', 10, null)
  expect(page?.rows.map(({ kind, amount, balanceAfter }) => [kind, Number(amount), Number(balanceAfter)])).toEqual([
    ['offset', 0, 50],
    ['dispute', 50, 50],
    ['dispute', -50, 0],
    ['dispute', 50, 50],
  ])
  await stores.close()
  expect((await reconcile(stores.file)).problems).toEqual([])
  const again = await openTestStores({ folder })
  expect(again.trouble).toEqual([])
  await expect(Promise.resolve(again.db.run("UPDATE accounts SET debt = -1 WHERE id = 'acct_1'"))).rejects.toThrow()
  await expect(Promise.resolve(again.db.run('DELETE FROM entries'))).rejects.toThrow()
  await again.close()
})

test('a refund of money that a reversal returned is booked at once, before the tables have the reversal', async () => {
  const stores = await openTestStores({ folder })
  const account = await stores.account(1)
  const ledger = ledgerOf(stores)
  await ledger.credit({ account, part: 'paid', kind: 'top_up', amount: micros(50), description: '', reference: 'in' })
  const request = requestId()
  await ledger.hold({ request, account, pool: null, amount: micros(50), creditPays: false, at: NOON })
  const charged = call(account, 50, { id: request })
  expect((await ledger.capture(micros(50), charged)).ok).toBe(true)
  await stores.applied()
  const back = { transaction: 'txn_back', accountId: account, amount: micros(50), at: NOON, description: '' } as const
  const outcome = await stores.journal.append({
    undoes: charged,
    entries: [
      {
        ...back,
        ...{ kind: 'reversal', debit: 'house/revenue', credit: `${account}/paid`, requestId: request, reference: null },
      },
    ],
    change: { accountId: account, credit: 0, paid: 50, toppedUp: 0 },
  })
  expect(outcome.kind).toBe('committed')
  await stores.holds.credited({ account, part: 'paid', amount: micros(50), toppedUp: micros(0) })
  const refund = { account, kind: 'refund', amount: micros(50), description: '', reference: 'out' } as const
  expect((await ledger.takeBack(refund)).ok).toBe(true)
  await stores.close()
  expect([stores.trouble, (await reconcile(stores.file)).problems]).toEqual([[], []])
})
