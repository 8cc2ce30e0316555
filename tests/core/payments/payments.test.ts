import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { micros } from '../../../server/core/money'
import { fingerprintOf } from '../../../server/core/payments/binding'
import type { Claim } from '../../../server/core/payments/claim'
import type { PaymentMethod, ShownPayment } from '../../../server/core/payments/method'
import type { Payment } from '../../../server/core/payments/payment'
import { Payments, type Purchase } from '../../../server/core/payments/payments'
import { mayOfferAgain, type PaymentRefusalCode } from '../../../server/core/payments/refusal'
import { err } from '../../../server/core/result'
import { NOON, openTestStores, requestId, type TestStores } from '../../support/ledger-parts'
import { FixturePayment, FixtureUpTo } from '../../support/payments/fixture-payment'
import { reconcile } from '../../support/reconcile'

let stores: TestStores
let network: FixturePayment
let methods: readonly PaymentMethod[] = []
let now = NOON
let trouble: string[] = []
/** Each test's own. */
let address = ''

/** The payments of a process that has just started on the database. */
function payments(): Payments {
  return new Payments({
    methods: async () => methods,
    secret: 'of this test',
    claims: stores.paymentClaims,
    clock: { now: () => now },
    pause: async () => undefined,
    onTrouble: (what, reason) => trouble.push(`${what}: ${reason}`),
  })
}

const fingerprint = (q: string) => fingerprintOf({ method: 'GET', path: '/search', query: [['q', q]], input: { q } })

function purchase(more: Partial<Purchase> = {}): Purchase {
  return {
    purpose: 'call',
    operation: 'image-search',
    amount: micros(5000),
    description: 'An API key or this payment challenge can be used.',
    fingerprint: fingerprint('cats'),
    requestId: requestId(),
    clientRequestId: null,
    resource: { method: 'GET', url: '/search' },
    account: null,
    addressGroup: address,
    workMs: 10_000,
    ...more,
  }
}

/** A credential for a purchase, as a payer makes it from the 402. */
async function bought(what = purchase(), more: Parameters<FixturePayment['pay']>[0] = {}): Promise<ShownPayment> {
  await payments().offers(what)
  return network.pay(more)
}

async function begin(shown: ShownPayment, what = purchase()): Promise<Payment> {
  const begun = await payments().begin(what, shown)
  if (!begun.ok) throw new Error(begun.error.code)
  return begun.value
}

async function refusal(shown: ShownPayment, what = purchase()): Promise<PaymentRefusalCode> {
  const begun = await payments().begin(what, shown)
  if (begun.ok) throw new Error('it was taken')
  return begun.error.code
}

async function claimOf(shown: ShownPayment): Promise<Claim | null> {
  return stores.paymentClaims.find((JSON.parse(shown.text) as { challengeId: string }).challengeId)
}

const noCredit = async () => false

beforeAll(async () => {
  stores = await openTestStores()
})
beforeEach(() => {
  network = new FixturePayment()
  methods = [network]
  // Challenge ids are claimed for ever, so each test has its own.
  Object.assign(network, { challenges: Math.floor(Math.random() * 1e12) })
  now = NOON
  trouble = []
  address = crypto.randomUUID()
})
afterAll(async () => {
  expect((await reconcile(stores.file)).problems).toEqual([])
  await stores.close()
})

describe('a call paid per request (spec 5.3)', () => {
  test('nothing moves before the answer is ready; then it moves once, and the receipt says so', async () => {
    const shown = await bought()
    const payment = await begin(shown)
    expect(network.moved).toEqual([])
    expect((await payment.settle()).ok).toBe(true)
    const receipt = await payment.served()
    expect(network.moved).toHaveLength(1)
    expect(receipt).toMatchObject({ method: 'fixture', status: 'success', reference: network.moved[0] })
    expect(await claimOf(shown)).toMatchObject({ state: 'served', paid: true, payer: 'ada', amount: micros(5000) })
  })

  test('an upstream that fails moves no money, and the same credential may be sent again', async () => {
    const shown = await bought()
    await (await begin(shown)).release('upstream 502')
    expect(await claimOf(shown)).toMatchObject({ state: 'released', paid: false, lastError: 'upstream 502' })
    const payment = await begin(shown)
    await payment.settle()
    await payment.served()
    expect(network.moved).toHaveLength(1)
  })

  test('a used credential is refused as an invalid challenge, also by a process without memory of it', async () => {
    const shown = await bought()
    const payment = await begin(shown)
    await payment.settle()
    await payment.served()
    expect(await refusal(shown)).toBe('invalid_challenge')
    expect(network.moved).toHaveLength(1)
  })

  test('of many concurrent attempts one is served; the others must wait, without a challenge', async () => {
    const shown = await bought()
    const tries = await Promise.all(Array.from({ length: 8 }, () => payments().begin(purchase(), shown)))
    const refused = tries.flatMap((begun) => (begun.ok ? [] : [begun.error]))
    expect(refused.map(({ code }) => code)).toEqual(Array(7).fill('payment_in_progress'))
    expect(refused.some(mayOfferAgain)).toBe(false)
  })

  test('copies that arrive while the first is checked cost no check, and are told to wait; a later one is judged by the claim', async () => {
    const shown = await bought()
    const checked = Promise.withResolvers<void>()
    let checks = 0
    const { validate } = network
    network.validate = async (...asked) => {
      checks++
      await checked.promise
      return validate.apply(network, asked)
    }
    const gateway = payments()
    const first = gateway.begin(purchase(), shown)
    const copies = await Promise.all(Array.from({ length: 7 }, () => gateway.begin(purchase(), shown)))
    expect(copies.map((begun) => !begun.ok && begun.error.code)).toEqual(Array(7).fill('payment_in_progress'))
    checked.resolve()
    const begun = await first
    expect(checks).toBe(1)
    if (!begun.ok) throw new Error(begun.error.code)
    await begun.value.settle()
    await begun.value.served()
    const late = await gateway.begin(purchase(), shown)
    expect(!late.ok && late.error).toMatchObject({ code: 'invalid_challenge', reason: expect.stringContaining('used') })
  })

  test('a copy that is found to fail because the first was served meanwhile is a used one, whichever process checks it', async () => {
    const shown = await bought()
    const checked = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    const { validate } = network
    network.validate = async (...asked) => {
      reached.resolve()
      await checked.promise
      return validate.apply(network, asked)
    }
    const copy = payments().begin(purchase(), shown)
    await reached.promise
    network.validate = validate
    const payment = await begin(shown)
    await payment.settle()
    await payment.served()
    checked.resolve()
    const judged = await copy
    expect(judged.ok || judged.error.code).toBe('invalid_challenge')
  })

  test('more payments at once than can be checked are service_unavailable without a challenge, and stay good', async () => {
    const checked = Promise.withResolvers<void>()
    network.validate = async () => {
      await checked.promise
      return err({ code: 'verification_failed', reason: 'one of many' })
    }
    const gateway = payments()
    const shown = await bought()
    const many = Array.from({ length: 501 }, (_, salt) =>
      gateway.begin(purchase(), { ...shown, text: `${shown.text}${' '.repeat(salt)}` }),
    )
    const over = await (many.at(-1) ?? gateway.begin(purchase(), shown))
    if (over.ok) throw new Error('it was taken')
    expect([over.error.code, mayOfferAgain(over.error)]).toEqual(['service_unavailable', false])
    checked.resolve()
    const codes = (await Promise.all(many)).map((begun) => begun.ok || begun.error.code)
    expect(codes.filter((code) => code === 'verification_failed')).toHaveLength(500)
    network.validate = FixturePayment.prototype.validate
    const later = await gateway.begin(purchase(), shown)
    expect(later.ok).toBe(true)
    if (later.ok) await later.value.release('enough')
  })

  test('an attempt during the first settlement is never invited to pay again', async () => {
    const shown = await bought()
    const payment = await begin(shown)
    await payment.settle()
    expect(await refusal(shown)).toBe('payment_in_progress')
    await payment.served()
  })
})

describe('binding', () => {
  test('a credential buys only the request it was bought for', async () => {
    const shown = await bought()
    expect(await refusal(shown, purchase({ fingerprint: fingerprint('dogs') }))).toBe('invalid_challenge')
    expect(await refusal(shown, purchase({ operation: 'llm-context' }))).toBe('invalid_challenge')
    expect(await refusal(shown, purchase({ amount: micros(50_000) }))).toBe('invalid_challenge')
    expect(await refusal(shown, purchase({ account: 'acct_1' }))).toBe('invalid_challenge')
    await (await begin(shown)).release('enough')
  })

  test('a paid one without an answer is free only for its own request', async () => {
    const shown = await bought()
    const payment = await begin(shown)
    await payment.settle()
    await payment.release('upstream 502')
    expect(await refusal(shown, purchase({ fingerprint: fingerprint('dogs') }))).toBe('payment_in_progress')
    await (await begin(shown)).served()
  })

  test("the caller's own X-Request-ID must be repeated (spec 5.3)", async () => {
    const shown = await bought(purchase({ clientRequestId: 'order-1' }))
    expect(await refusal(shown)).toBe('invalid_challenge')
    expect(await refusal(shown, purchase({ clientRequestId: 'order-2' }))).toBe('invalid_challenge')
    await (await begin(shown, purchase({ clientRequestId: 'order-1' }))).release('enough')
  })

  test('an id that we generated may be omitted, but not replaced', async () => {
    const first = purchase()
    const shown = await bought(first)
    await (await begin(shown)).release('enough')
    await (await begin(shown, purchase({ clientRequestId: first.requestId }))).release('enough')
    expect(await refusal(shown, purchase({ clientRequestId: 'another' }))).toBe('invalid_challenge')
  })

  test('two challenges for one request in one millisecond differ', async () => {
    await Promise.all([payments().offers(purchase()), payments().offers(purchase())])
    const [one, other] = network.offered
    expect(one?.binding['rid']).not.toBe(other?.binding['rid'])
  })

  test('the order of query parameters and members does not matter; a value does, and the user agent does not', () => {
    const parts = {
      method: 'GET',
      path: '/p',
      query: [
        ['a', '1'],
        ['b', '2'],
      ] as [string, string][],
      input: { a: 1, b: { c: 2, d: 3 } },
    }
    const same = {
      ...parts,
      query: [
        ['b', '2'],
        ['a', '1'],
      ] as [string, string][],
      input: { b: { d: 3, c: 2 }, a: 1, 'user-agent': 'x' },
    }
    expect(fingerprintOf(same)).toBe(fingerprintOf(parts))
    for (const other of [
      { method: 'POST' },
      { path: '/q' },
      { query: [['a', '1']] as [string, string][] },
      { input: { a: 1, b: { c: 2 } } },
    ])
      expect(fingerprintOf({ ...parts, ...other })).not.toBe(fingerprintOf(parts))
  })
})

describe('a payment with an unknown outcome', () => {
  test('a lost reply is looked up, and the answer delivered', async () => {
    const shown = await bought()
    network.sendings.push('lose reply')
    const payment = await begin(shown)
    expect((await payment.settle()).ok).toBe(true)
    await payment.served()
    expect(network.moved).toHaveLength(1)
  })

  test('one that never arrived is resent', async () => {
    const shown = await bought()
    network.sendings.push('never arrive')
    const payment = await begin(shown)
    expect((await payment.settle()).ok).toBe(true)
    await payment.served()
    expect(network.moved).toHaveLength(1)
  })

  test('while the network is silent the answer is payment_pending, without a challenge; then the retry is served', async () => {
    const shown = await bought()
    const payment = await begin(shown)
    network.isDead = true
    const settled = await payment.settle()
    expect(settled).toMatchObject({ ok: false, error: { code: 'payment_pending' } })
    if (!settled.ok) expect(mayOfferAgain(settled.error)).toBe(false)
    expect(await refusal(shown)).toBe('payment_pending')
    network.isDead = false
    await (await begin(shown)).served()
    expect(network.moved).toHaveLength(1)
    expect(await refusal(shown)).toBe('invalid_challenge')
  })

  test('one that can no longer happen is released, and its payer may pay again', async () => {
    const shown = await bought()
    const payment = await begin(shown)
    network.isDead = true
    await payment.settle()
    network.isDead = false
    network.dead.add((await claimOf(shown))?.transaction ?? '')
    await payments().finishOpen(noCredit)
    expect(await claimOf(shown)).toMatchObject({ state: 'released', paid: false })
    expect(network.moved).toEqual([])
  })

  test('a dead network before anything was sent is payment_network_unavailable, and the credential stays good', async () => {
    const shown = await bought()
    network.isDead = true
    expect(await refusal(shown)).toBe('payment_network_unavailable')
    network.isDead = false
    await (await begin(shown)).release('enough')
  })
})

describe('a process that ends', () => {
  const restart = async () => {
    now += 1
    const fresh = payments()
    await fresh.recover()
    return fresh
  }

  test('before it sent anything: nothing moved, and the same credential is served', async () => {
    const shown = await bought()
    await begin(shown)
    await restart()
    const payment = await begin(shown)
    await payment.settle()
    await payment.served()
    expect(network.moved).toHaveLength(1)
  })

  test('between its record and the sending: the same credential sends it once', async () => {
    const shown = await bought()
    await begin(shown)
    const { key } = (await claimOf(shown)) ?? { key: '' }
    await stores.paymentClaims.settling(key, 1, now)
    await restart()
    await (await begin(shown)).served()
    expect(network.moved).toHaveLength(1)
  })

  test('after the sending: the money is found, the retry is free', async () => {
    const shown = await bought()
    await begin(shown)
    const claim = await claimOf(shown)
    await stores.paymentClaims.settling(claim?.key ?? '', 1, now)
    network.moved.push(claim?.transaction ?? '')
    await (await restart()).finishOpen(noCredit)
    expect(await claimOf(shown)).toMatchObject({ state: 'paid_unserved', paid: true })
    const payment = await begin(shown)
    expect((await payment.settle()).ok).toBe(true)
    await payment.served()
    expect(network.moved).toHaveLength(1)
  })

  test('after the payment and before the answer: the retry is free', async () => {
    const shown = await bought()
    const payment = await begin(shown)
    await payment.settle()
    await restart()
    await (await begin(shown)).served()
    expect(network.moved).toHaveLength(1)
    expect(await refusal(shown)).toBe('invalid_challenge')
  })

  test('the job resolves what no caller returns for: abandoned claims are released', async () => {
    const shown = await bought()
    await begin(shown)
    await (await restart()).finishOpen(noCredit)
    expect(await claimOf(shown)).toMatchObject({ state: 'released', lastError: 'abandoned' })
  })

  test('a paid top-up is booked by the job, which retries until it is', async () => {
    const what = purchase({ purpose: 'top_up', operation: 'wallet.topup', account: 'acct_1' })
    const shown = await bought(what)
    const payment = await begin(shown, what)
    await payment.settle()
    const fresh = await restart()
    await fresh.finishOpen(noCredit)
    expect(await claimOf(shown)).toMatchObject({ state: 'settled' })
    const booked: string[] = []
    now += 10_000
    await fresh.finishOpen(async (claim) => booked.push(claim.id) > 0)
    await fresh.finishOpen(async (claim) => booked.push(claim.id) > 0)
    expect(booked).toHaveLength(1)
    expect(await claimOf(shown)).toMatchObject({ state: 'served' })
  })
})

describe('a payer without honest intent', () => {
  test('a transfer that the network refuses after the upstream worked delivers nothing', async () => {
    const shown = await bought()
    network.sendings.push('refuse')
    const settled = await (await begin(shown)).settle()
    expect(settled).toMatchObject({ ok: false, error: { code: 'verification_failed' } })
    expect(await claimOf(shown)).toMatchObject({ state: 'released', paid: false })
    expect(network.moved).toEqual([])
  })

  test('after three of those in an hour the payer pays before the upstream is called', async () => {
    const payer = 'mallory'
    for (let i = 0; i < 3; i++) {
      network.sendings.push('refuse')
      await (await begin(await bought(purchase(), { payer }))).settle()
    }
    network.sendings.push('refuse')
    expect(await refusal(await bought(purchase(), { payer }))).toBe('verification_failed')
    const shown = await bought(purchase(), { payer })
    const payment = await begin(shown)
    expect(network.moved).toHaveLength(1)
    await payment.release('upstream 502')
    expect(await claimOf(shown)).toMatchObject({ state: 'paid_unserved', paid: true })
    await (await begin(shown)).served()
    expect(network.moved).toHaveLength(1)
    now += 3_600_001
    await (await begin(await bought(purchase(), { payer }))).release('enough')
    expect(network.moved).toHaveLength(1)
  })

  test("of concurrent payments that together exceed the payer's balance, not all are started", async () => {
    const payer = 'bob'
    network.balances.set(payer, 9999n)
    const first = await begin(await bought(purchase(), { payer }))
    expect(await refusal(await bought(purchase(), { payer }))).toBe('verification_failed')
    await first.release('enough')
    await (await begin(await bought(purchase(), { payer }))).release('enough')
  })
})

describe('a price that follows from the answer, settled up to its maximum', () => {
  let upTo: FixtureUpTo
  beforeEach(() => {
    upTo = new FixtureUpTo()
    network = upTo
    methods = [upTo]
  })
  const metered = (more: Partial<Purchase> = {}) => purchase({ least: micros(1000), ...more })

  test('settles what it costs, which is booked and on the receipt; never more than was signed', async () => {
    const shown = await bought(metered())
    const payment = await begin(shown, metered())
    expect(payment.settle(null, micros(5001))).rejects.toThrow('cannot settle')
    expect((await payment.settle(null, micros(1234))).ok).toBe(true)
    expect(await payment.served()).toMatchObject({ amount: micros(1234) })
    expect(upTo.amounts).toEqual([micros(1234)])
    expect(await claimOf(shown)).toMatchObject({ state: 'served', amount: micros(1234) })
    expect(await refusal(shown, metered())).toBe('invalid_challenge')
  })

  test('whose reply was lost is sent again with the same amount, by the next process too', async () => {
    const shown = await bought(metered())
    const payment = await begin(shown, metered())
    upTo.sendings.push('never arrive', 'never arrive')
    expect(await payment.settle(null, micros(1234))).toMatchObject({ error: { code: 'payment_pending' } })
    await payments().recover()
    const again = await begin(shown, metered())
    expect(again.isPaid).toBe(true)
    // The answer is produced again, and whatever it costs now, nothing more is taken.
    await again.settle(null, micros(4000))
    expect(await again.served()).toMatchObject({ amount: micros(1234) })
    expect(upTo.amounts).toEqual([micros(1234), micros(1234), micros(1234)])
    expect(upTo.moved).toHaveLength(1)
  })

  test('that was refused may cost something else at its next attempt', async () => {
    const shown = await bought(metered(), { payer: 'dora' })
    upTo.sendings.push('refuse')
    await (await begin(shown, metered())).settle(null, micros(1234))
    const again = await begin(shown, metered())
    expect(await claimOf(shown)).toMatchObject({ amount: micros(5000) })
    expect((await again.settle(null, micros(4000))).ok).toBe(true)
    expect(await again.served()).toMatchObject({ amount: micros(4000) })
  })

  test('is not paid by methods of fixed prices, nor the other way round', async () => {
    const fixed = new FixturePayment()
    methods = [fixed, upTo]
    expect(await payments().offers(metered())).toMatchObject([{ method: 'up to' }])
    expect(await payments().offers(purchase())).toMatchObject([{ method: 'fixture' }])
    // The other network never offered what the one knows.
    expect(await refusal(upTo.pay(), purchase())).toBe('invalid_challenge')
    expect(await refusal(fixed.pay(), metered())).toBe('invalid_challenge')
  })

  test('that was paid and lost its answer is served although the price is fixed by now, and the other way round', async () => {
    const fixed = new FixturePayment()
    methods = [fixed, upTo]
    for (const [of, before, after] of [
      [upTo, metered(), purchase()],
      [fixed, purchase(), metered()],
    ] as const) {
      await payments().offers(before)
      const shown = of.pay({ payer: 'erin' })
      const payment = await begin(shown, before)
      await payment.settle()
      await payment.release('the answer was lost')
      const again = await begin(shown, after)
      await again.settle()
      expect(await again.served()).toMatchObject({ amount: before.amount })
      expect(of.moved).toHaveLength(1)
      // One that was never sent pays nothing of the new kind.
      await payments().offers(before)
      const late = of.pay({ payer: 'erin' })
      await (await begin(late, before)).release('upstream 502')
      expect(await refusal(late, after)).toBe('invalid_challenge')
    }
  })

  test('is refused where the payment would have to come first, because the amount is not known yet', async () => {
    const payer = 'trudy'
    for (let i = 0; i < 3; i++) {
      upTo.sendings.push('refuse')
      await (await begin(await bought(metered(), { payer }), metered())).settle(null, micros(1000))
    }
    const shown = await bought(metered(), { payer })
    expect(await refusal(shown, metered())).toBe('verification_failed')
    expect(await claimOf(shown)).toMatchObject({ state: 'released', paid: false })
    now += 3_600_001
    await (await begin(shown, metered())).release('enough')
    expect(upTo.moved).toEqual([])
  })

  test("shares its payer's balance with open payments of other methods", async () => {
    const payer = 'carol'
    const fixed = new FixturePayment()
    methods = [fixed, upTo]
    fixed.balances.set(payer, 9999n)
    upTo.balances.set(payer, 9999n)
    await payments().offers(purchase())
    const first = await begin(fixed.pay({ payer }))
    await payments().offers(metered())
    expect(await refusal(upTo.pay({ payer }), metered())).toBe('verification_failed')
    await first.release('enough')
  })
})
