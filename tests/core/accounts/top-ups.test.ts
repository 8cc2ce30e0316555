import { afterAll, beforeAll, expect, test } from 'bun:test'
import { TopUps } from '../../../server/core/accounts/top-ups'
import type { AccountId } from '../../../server/core/ids'
import { appended } from '../../../server/core/ledger/journal'
import { Ledger } from '../../../server/core/ledger/ledger'
import { micros } from '../../../server/core/money'
import { Payments } from '../../../server/core/payments/payments'
import { openFile } from '../../support/databases/database-file'
import { accountId, NOON, opening, openTestStores, type TestStores } from '../../support/ledger-parts'
import { newClaim } from '../../support/payments/payment-claim'
import { reconcile } from '../../support/reconcile'

let now = NOON + 60_000
const clock = { now: () => now }
let stores: TestStores
let topUps: TopUps
let job: () => Promise<number>
const trouble: string[] = []
beforeAll(async () => {
  stores = await openTestStores()
  const { holds, journal, bookings, paymentClaims: claims } = stores
  const onReversalFailure = (_request: string, reason: string) => trouble.push(reason)
  const ledger = new Ledger({ holds, journal, bookings, clock, onReversalFailure })
  topUps = new TopUps({ claims, ledger, clock })
  const payments = new Payments({
    methods: async () => [],
    secret: 'of this test',
    claims,
    clock,
    // The network took it, and calls it by this name.
    elsewhere: async () => ({ kind: 'settled', reference: '0xreceipt' }),
    pause: async () => undefined,
    onTrouble: (what, reason) => trouble.push(`${what}: ${reason}`),
  })
  job = () => payments.finishOpen((claim) => topUps.credit(claim))
})
afterAll(async () => {
  expect((await reconcile(stores.file)).problems).toEqual([])
  await stores.close()
})

/** A top-up that was sent, and whose reply was lost. */
async function sent(account: AccountId) {
  const claim = newClaim({ account, purpose: 'top_up', operation: 'wallet-topup', amount: micros(10_000_000) })
  const taken = await stores.paymentClaims.take(claim, NOON)
  if (taken.kind === 'refused') throw new Error('refused')
  await stores.paymentClaims.settling(claim.key, taken.attempt, NOON)
  return claim
}

async function described(id: string): Promise<unknown[]> {
  const client = openFile(stores.file)
  const { rows } = await client.execute({
    sql: 'SELECT description FROM entries WHERE reference = ?',
    args: [`top_up:${id}`],
  })
  client.close()
  return rows.map(({ description }) => description)
}

test('a top-up booked by the job names the payment in the ledger, like one that its payer waited for', async () => {
  const claim = await sent(await stores.account())
  await job()
  expect(await described(claim.id)).toEqual(['Top-up of 10 USD by tempo, 0xreceipt'])
  expect(await stores.paymentClaims.find(claim.key)).toMatchObject({ state: 'served', reference: '0xreceipt' })
})

test('a paid top-up that the ledger refuses for any reason but being booked is not reported as booked: it stays open, the operator is informed, and it is booked once possible', async () => {
  // Its account is not in the database: another rule than that of the reference.
  const account = accountId()
  const claim = await sent(account)
  trouble.length = 0
  await job()
  expect(await stores.paymentClaims.find(claim.key)).toMatchObject({ state: 'settled', paid: true })
  expect(trouble).toEqual([`payment: ${claim.id} is paid but not booked; it will be tried again`])
  expect(stores.trouble.filter((told) => told.startsWith('entry refused'))).toHaveLength(1)
  await appended(stores.journal, opening(account, 1))
  await stores.holds.openAccount(account)
  now += 10_000
  await job()
  expect(await stores.paymentClaims.find(claim.key)).toMatchObject({ state: 'served' })
  expect(await described(claim.id)).toHaveLength(1)
})

test('one that is already booked is reported as booked, once', async () => {
  const claim = await sent(await stores.account())
  await job()
  const known = await stores.paymentClaims.find(claim.key)
  if (!known) throw new Error('no claim')
  expect(await Promise.all([topUps.credit(known), topUps.credit(known)])).toEqual([true, true])
  expect(await described(claim.id)).toHaveLength(1)
})
