import { afterEach, beforeEach, expect, test } from 'bun:test'
import type { PaymentFate } from '../../../server/core/payments/method'
import { Payments } from '../../../server/core/payments/payments'
import { NOON, openTestStores, type TestStores } from '../../support/ledger-parts'
import { FixturePayment } from '../../support/payments/fixture-payment'
import { newClaim } from '../../support/payments/payment-claim'
import { reconcile } from '../../support/reconcile'

const MINUTE_MS = 60_000
let stores: TestStores
let network: FixturePayment
let now = NOON
let looks: string[] = []

beforeEach(async () => {
  stores = await openTestStores()
  network = new FixturePayment()
  now = NOON
  looks = []
  const lookUp = network.lookUp.bind(network)
  network.lookUp = async (handle): Promise<PaymentFate> => {
    looks.push(handle.transaction)
    return lookUp(handle)
  }
})
afterEach(async () => {
  expect((await reconcile(stores.file)).problems).toEqual([])
  await stores.close()
})

/** A round of the job. */
const round = () =>
  new Payments({
    methods: async () => [network],
    secret: 'of this test',
    claims: stores.paymentClaims,
    clock: { now: () => now },
    pause: async () => undefined,
    onTrouble: () => undefined,
  }).finishOpen(async () => false)

/** So many payments that were sent, and whose fate is unknown. */
async function sent(count: number): Promise<string[]> {
  const made = Array.from({ length: count }, () => newClaim({ method: 'fixture', leaseUntil: now, validBefore: null }))
  for (const claim of made) {
    const taken = await stores.paymentClaims.take(claim, now)
    if (taken.kind === 'refused') throw new Error(taken.why)
    await stores.paymentClaims.settling(claim.key, taken.attempt, now)
  }
  return made.map(({ transaction }) => transaction)
}

test('200 payments with an open outcome do not block the one behind them', async () => {
  const open = await sent(200)
  now += 1
  const [paid = ''] = await sent(1)
  network.moved.push(paid)
  await round()
  expect(looks.toSorted()).toEqual(open.toSorted())
  await round()
  expect(looks.slice(200)).toEqual([paid])
  const { rows } = (await stores.paymentClaims.list(
    { state: 'paid_unserved', account: null, purpose: null },
    9,
    null,
  )) ?? { rows: [] }
  expect(rows.map(({ transaction }) => transaction)).toEqual([paid])
})

test('one with an open outcome is checked less and less often, but at least every ten minutes', async () => {
  await sent(1)
  const at: number[] = []
  for (; now <= NOON + 60 * MINUTE_MS; now += 10_000) {
    const before = looks.length
    await round()
    if (looks.length > before) at.push((now - NOON) / 1000)
  }
  expect(at).toEqual([0, 10, 30, 70, 150, 310, 630, 1230, 1830, 2430, 3030])
})

test('a network that hangs on one delays no other', async () => {
  const [slow = '', ...others] = await sent(40)
  const hang = Promise.withResolvers<void>()
  const lookUp = network.lookUp.bind(network)
  const ended = Promise.withResolvers<void>()
  network.lookUp = async (handle) => {
    if (handle.transaction === slow) await hang.promise
    const fate = await lookUp(handle)
    if (looks.length === others.length) ended.resolve()
    return fate
  }
  const job = round()
  await ended.promise
  expect(looks).not.toContain(slow)
  hang.resolve()
  expect(await job).toBe(40)
})

test('a start immediately checks everything that its predecessor had postponed', async () => {
  const open = await sent(1)
  for (let i = 0; i < 5; i++) {
    await round()
    now += 10 * MINUTE_MS
  }
  await round()
  const before = looks.length
  now += 1
  await round()
  expect(looks).toHaveLength(before)
  await stores.paymentClaims.endLeases(now)
  await round()
  expect(looks.slice(before)).toEqual(open)
})
