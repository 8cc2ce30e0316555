import { afterEach, beforeEach, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { appended } from '../../../server/core/ledger/journal'
import { Ledger } from '../../../server/core/ledger/ledger'
import { micros } from '../../../server/core/money'
import { call, NOON, openTestStores, requestId, type TestStores } from '../../support/ledger-parts'
import { reconcile } from '../../support/reconcile'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-card-moves-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

const ledgerOf = ({ holds, journal, bookings }: TestStores) =>
  new Ledger({ holds, journal, bookings, clock: { now: () => NOON }, onReversalFailure: () => undefined })

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
  const outcome = await appended(stores.journal, {
    undoes: charged,
    entries: [
      {
        ...back,
        kind: 'reversal',
        debit: 'house/revenue',
        credit: `${account}/paid`,
        requestId: request,
        reference: null,
      },
    ],
    change: { accountId: account, credit: 0, paid: 50, toppedUp: 0 },
  })
  expect(outcome.kind).toBe('committed')
  stores.holds.credited({ account, part: 'paid', amount: micros(50), toppedUp: micros(0) })
  const refund = { account, kind: 'refund', amount: micros(50), description: '', reference: 'out' } as const
  expect((await ledger.takeBack(refund)).ok).toBe(true)
  await stores.close()
  expect([stores.trouble, (await reconcile(stores.file)).problems]).toEqual([[], []])
})
