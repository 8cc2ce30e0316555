import { afterAll, beforeAll, expect, test } from 'bun:test'
import { micros } from '../../../server/core/money'
import { compareWithChain } from '../../../server/core/payments/chain-check'
import { Payments } from '../../../server/core/payments/payments'
import { recheckReceipts } from '../../../server/core/payments/receipt-check'
import { NOON, openTestStores, requestId, type TestStores } from '../../support/ledger-parts'
import { FixturePayment } from '../../support/payments/fixture-payment'
import { newClaim } from '../../support/payments/payment-claim'
import { reconcile } from '../../support/reconcile'

const DAY_MS = 86_400_000
const network = new FixturePayment()
let now = NOON
const clock = { now: () => now }
let stores: TestStores
let payments: Payments
beforeAll(async () => {
  stores = await openTestStores()
  payments = new Payments({
    methods: async () => [network],
    secret: 'of this test',
    claims: stores.paymentClaims,
    clock,
    pause: async () => undefined,
    onTrouble: () => undefined,
  })
})
afterAll(async () => {
  expect((await reconcile(stores.file)).problems).toEqual([])
  await stores.close()
})

/** One call that was paid for and, unless told otherwise, answered. Gives the transaction that paid for it. */
async function paid({ served = true } = {}): Promise<string> {
  const purchase = {
    purpose: 'call' as const,
    operation: 'image-search',
    amount: micros(5000),
    description: 'one call',
    fingerprint: 'a request',
    requestId: requestId(),
    clientRequestId: null,
    account: null,
    resource: { method: 'GET', url: '/search' },
    addressGroup: null,
    workMs: 0,
  }
  await payments.offers(purchase)
  const begun = await payments.begin(purchase, network.pay())
  if (!begun.ok) throw new Error(begun.error.code)
  await begun.value.settle()
  await (served ? begun.value.served() : begun.value.release('the answer was lost'))
  return begun.value.claim.transaction
}
const check = async () => {
  const { checked, missing } = await recheckReceipts({
    methods: async () => [network],
    claims: stores.paymentClaims,
    clock,
  })
  return [checked, missing.map(({ transaction }) => transaction)]
}

test('a payment that its network lost after it was answered is reported, and nothing is changed', async () => {
  const [first, second, owed] = [await paid(), await paid(), await paid({ served: false })]
  expect(await check()).toEqual([3, []])
  network.forget(second)
  network.forget(owed)
  expect(await check()).toEqual([3, [owed, second]])
  const states = (await stores.paymentClaims.list({ state: null, account: null, purpose: null }, 10, null))?.rows
  expect(states?.map(({ transaction, state, paid }) => [transaction, state, paid])).toEqual([
    [owed, 'paid_unserved', true],
    [second, 'served', true],
    [first, 'served', true],
  ])
})

test('one older than two days, of another method, or unpaid is not checked; a silent network proves nothing', async () => {
  now += 2 * DAY_MS + 1
  expect(await check()).toEqual([0, []])
  await stores.paymentClaims.take(newClaim({ method: 'fixture', createdAt: now }), now)
  const forgotten = await paid()
  network.forget(forgotten)
  network.isDead = true
  expect(await check()).toEqual([1, []])
  network.isDead = false
  expect(await check()).toEqual([1, [forgotten]])
})

test('one that was refused after it was sent, and then submitted by someone else, is owed; one never sent is not checked', async () => {
  now += 3 * DAY_MS
  const claims = stores.paymentClaims
  const [sent, gone, unsent] = [0, 1, 2].map(() => newClaim({ method: 'fixture', createdAt: now }))
  if (!sent || !gone || !unsent) throw new Error('three claims')
  for (const claim of [sent, gone, unsent]) {
    await claims.take(claim, now)
    if (claim !== unsent) await claims.settling(claim.key, 1, now)
    await claims.release(claim.key, 'reverted', true, now)
  }
  network.moved.push(sent.transaction, unsent.transaction)
  const parts = { methods: async () => [network], claims, clock }
  const { checked, missing, found } = await recheckReceipts(parts)
  expect([checked, missing, found.map(({ key }) => key)]).toEqual([2, [], [sent.key]])
  expect(await claims.find(sent.key)).toMatchObject({ state: 'paid_unserved', paid: true })
  expect(await claims.take(sent, now)).toMatchObject({ kind: 'prepaid' })
  expect((await recheckReceipts(parts)).found).toEqual([])
})

test('of any period, one that was refused and then went through is named by the comparison, and owed once with apply', async () => {
  now += 3 * DAY_MS
  const claims = stores.paymentClaims
  const claim = newClaim({ method: 'fixture', createdAt: now })
  await claims.take(claim, now)
  await claims.settling(claim.key, 1, now)
  await claims.release(claim.key, 'reverted', true, now)
  network.moved.push(claim.transaction)
  const made = now
  now += 30 * DAY_MS
  const parts = { methods: async () => [network], claims, clock, onTrouble: () => undefined }
  const compare = (apply: boolean, to = made + 1) => compareWithChain(parts, { from: made - DAY_MS, to }, apply)
  const problem = { kind: 'not_booked', payment: claim.id, reference: claim.transaction, here: 0 }
  expect(await compare(false)).toMatchObject({ booked: 0, problems: [problem] })
  expect((await compare(true, made)).problems).toEqual([])
  expect(await compare(true)).toMatchObject({ booked: 1, problems: [problem] })
  expect(await compare(true)).toMatchObject({ booked: 0, problems: [] })
  expect(await claims.find(claim.key)).toMatchObject({ state: 'paid_unserved', paid: true })
})

test('a thousand transfers of dust hide neither a payment without a transfer nor the largest unexplained transfer', async () => {
  now += 40 * DAY_MS
  const lost = await paid()
  now += DAY_MS
  const dust = Array.from({ length: 1500 }, (_, n) => ({ reference: `0x${n}`, payer: '0xa', units: 1n, at: now }))
  const received = {
    network: 'fixture',
    between: async () => [...dust, { reference: '0xbig', payer: '0xb', units: 7_000_000n, at: now }],
  }
  const parts = { methods: async () => [Object.assign(network, { received })], claims: stores.paymentClaims, clock }
  const asked = { from: now - 2 * DAY_MS, to: now }
  const { problems, transfers } = await compareWithChain({ ...parts, onTrouble: () => undefined }, asked, false)
  expect(transfers).toBe(1501)
  expect(problems).toHaveLength(1000)
  const claim = (await stores.paymentClaims.list({ state: null, account: null, purpose: null }, 1, null))?.rows[0]
  expect(claim?.transaction).toBe(lost)
  expect(problems[0]).toMatchObject({ kind: 'transfer_missing', payment: claim?.id, here: 5000 })
  expect(problems[1]).toMatchObject({ kind: 'payment_unknown', reference: '0xbig' })
})
