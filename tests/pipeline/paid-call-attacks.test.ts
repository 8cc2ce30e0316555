import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { MAX_STORED_BYTES } from '../../server/core/idempotency/idempotency-record'
import type { ShownPayment } from '../../server/core/payments/method'
import { err, ok } from '../../server/core/result'
import { endAndReconcile } from '../http/wire'
import { openPaidCalls, verdict } from '../support/payments/paid-calls'
import { until } from '../support/until'

let calls: Awaited<ReturnType<typeof openPaidCalls>>
beforeEach(async () => {
  calls = await openPaidCalls()
})
afterEach(() => endAndReconcile(calls.gateway))

const FIXTURE = '{"fixture":true}'
const upstreamFails = () => {
  calls.gateway.images.answer = async () => err({ kind: 'error', reason: 'down' } as const)
}
/** The upstream answers, and its caller has left before it does. */
const leaving = (body = FIXTURE) => {
  const gone = new AbortController()
  calls.gateway.images.answer = async () => {
    gone.abort()
    return ok({ body })
  }
  return gone.signal
}
/** A call whose caller leaves while it is worked on. */
const left = async (shown: ShownPayment, body = FIXTURE) => calls.call(shown, { hangUp: leaving(body) })

/** A call whose caller leaves as soon as its payment is claimed. */
async function leftOnceClaimed(shown: ShownPayment): Promise<void> {
  const gone = new AbortController()
  const { paymentClaims } = calls.gateway.core.stores
  const take = paymentClaims.take.bind(paymentClaims)
  paymentClaims.take = async (...taking) => {
    const taken = await take(...taking)
    gone.abort()
    return taken
  }
  await calls.call(shown, { hangUp: gone.signal })
  paymentClaims.take = take
}

describe('one signature, many upstream calls', () => {
  test('150 hang-ups with one signature: one upstream call, one payment, and the answer is returned when the signature is sent again', async () => {
    const shown = await calls.bought()
    await left(shown)
    for (let i = 1; i < 150; i++) await leftOnceClaimed(shown)
    expect([calls.asked(), calls.network.moved.length]).toEqual([1, 1])
    expect(await calls.call(shown)).toMatchObject({ kind: 'served', body: FIXTURE, receipt: { status: 'success' } })
    expect(verdict(await calls.call(shown))).toBe('invalid_challenge +challenge')
    expect([calls.asked(), calls.network.moved.length]).toEqual([1, 1])
  })

  test('one signature calls a failing upstream at most five times', async () => {
    upstreamFails()
    const shown = await calls.bought()
    const verdicts = []
    for (let i = 0; i < 8; i++) verdicts.push(verdict(await calls.call(shown)))
    expect(verdicts).toEqual([...Array(5).fill('upstream_error'), ...Array(3).fill('invalid_challenge +challenge')])
    expect([calls.asked(), calls.network.moved.length]).toEqual([5, 0])
  })

  test('a paid request without an answer gets more attempts, and then a failure that says it is owed, without a new challenge', async () => {
    const shown = await calls.bought()
    const begun = await left(shown, 'x'.repeat(MAX_STORED_BYTES + 1))
    expect(verdict(begun)).toBe('payment_pending')
    upstreamFails()
    const verdicts = []
    for (let i = 0; i < 40; i++) verdicts.push(verdict(await calls.call(shown)))
    expect(verdicts.slice(0, 19)).toEqual(Array(19).fill('upstream_error'))
    expect(new Set(verdicts.slice(19))).toEqual(new Set(['answer_not_kept']))
    expect([calls.asked(), calls.network.moved.length]).toEqual([20, 1])
    expect(await calls.claimOf(shown)).toMatchObject({ state: 'paid_unserved', paid: true })
  })

  test('only settled payments are returned to the window of the address', async () => {
    calls.setWindow(3)
    for (let i = 0; i < 5; i++) {
      const shown = calls.network.pay({ challengeId: await challenge() })
      expect(verdict(await calls.call(shown))).toBe('served')
    }
    upstreamFails()
    const shown = calls.network.pay({ challengeId: await challenge() })
    for (let i = 0; i < 3; i++) expect(verdict(await calls.call(shown))).toBe('upstream_error')
    await expect(calls.call(shown)).rejects.toThrow('the window of the address is full')
  })

  /** A new challenge, asked for from elsewhere. */
  async function challenge(): Promise<string> {
    await calls.call(null, { from: `198.51.100.${Math.floor(Math.random() * 250)}` })
    return calls.network.newestChallenge
  }
})

describe('a payment that is about to expire', () => {
  test('a hundred payments that expire in three seconds: no upstream call', async () => {
    const { clock } = calls.gateway
    const verdicts = new Set<string>()
    for (let i = 0; i < 100; i++) {
      const shown = await calls.bought({ validBefore: clock.now() + 3_000 })
      verdicts.add(verdict(await calls.call(shown, { from: `192.0.2.${i}` })))
    }
    expect([...verdicts]).toEqual(['verification_failed +challenge'])
    expect([calls.asked(), calls.network.moved.length]).toEqual([0, 0])
  })

  test('the remaining lifetime is checked after the claim: a slow database may leave none', async () => {
    const { clock, core } = calls.gateway
    const { paymentClaims } = core.stores
    const take = paymentClaims.take.bind(paymentClaims)
    paymentClaims.take = async (...taking) => {
      const taken = await take(...taking)
      clock.advance(20_000)
      return taken
    }
    const shown = await calls.bought({ validBefore: clock.now() + 25_000 })
    expect(verdict(await calls.call(shown))).toBe('verification_failed +challenge')
    expect([calls.asked(), await calls.claimOf(shown)]).toMatchObject([0, { state: 'released', paid: false }])
  })

  test('a client that signs for 25 s, the usual time, is served, and its upstream gets its full time', async () => {
    const { clock, images } = calls.gateway
    const shown = await calls.bought({ validBefore: clock.now() + 25_000 })
    images.answer = async (_, signal) => {
      clock.advance(10_000)
      return signal.aborted ? err({ kind: 'timeout', reason: 'cut off' } as const) : ok({ body: FIXTURE })
    }
    expect(verdict(await calls.call(shown))).toBe('served')
  })
})

describe('one wallet, many payments', () => {
  test('forty concurrent authorizations on a balance for one: one upstream call, one payment', async () => {
    calls.network.balances.set('mallory', 5000n)
    const all = []
    for (let i = 0; i < 40; i++) all.push(await calls.bought({ payer: 'mallory' }))
    const verdicts = await Promise.all(
      all.map(async (shown, i) => verdict(await calls.call(shown, { from: `192.0.2.${i}` }))),
    )
    expect(verdicts.filter((said) => said === 'served')).toHaveLength(1)
    expect(verdicts.filter((said) => said === 'verification_failed +challenge')).toHaveLength(39)
    expect([calls.asked(), calls.network.moved.length]).toEqual([1, 1])
  })

  test('a payer with enough for ten gets ten at once', async () => {
    calls.network.balances.set('ada', 50_000n)
    const all = []
    for (let i = 0; i < 12; i++) all.push(await calls.bought())
    const verdicts = await Promise.all(all.map(async (shown) => verdict(await calls.call(shown))))
    expect(verdicts.filter((said) => said === 'served')).toHaveLength(10)
    expect(calls.asked()).toBe(10)
  })

  test('a wallet that is emptied while forty of its calls run: at most eight unpaid upstream calls', async () => {
    const { network } = calls
    network.balances.set('mallory', 200_000n)
    const opened = Promise.withResolvers<void>()
    calls.gateway.images.answer = async () => {
      await opened.promise
      return ok({ body: FIXTURE })
    }
    const all: ShownPayment[] = []
    for (let i = 0; i < 40; i++) all.push(await calls.bought({ payer: 'mallory' }))
    const under = all.map((shown, i) => calls.call(shown, { from: `192.0.2.${i}` }))
    await until(() => calls.asked() >= 40)
    network.settle = async () => ({ kind: 'refused', reason: 'the payer has no money' })
    opened.resolve()
    const verdicts = (await Promise.all(under)).map(verdict)
    expect(verdicts.filter((said) => said === 'served')).toHaveLength(network.moved.length)
    expect(calls.asked() - network.moved.length).toBeWithin(0, 9)
  })

  test('many wallets of one address that are emptied at once: at most eight as well', async () => {
    const { network } = calls
    const opened = Promise.withResolvers<void>()
    calls.gateway.images.answer = async () => {
      await opened.promise
      return ok({ body: FIXTURE })
    }
    const all: ShownPayment[] = []
    for (let i = 0; i < 20; i++) all.push(await calls.bought({ payer: `purse ${i}` }))
    const under = all.map((shown) => calls.call(shown))
    await until(() => calls.asked() >= 20)
    network.settle = async () => ({ kind: 'refused', reason: 'the payer has no money' })
    opened.resolve()
    await Promise.all(under)
    expect(calls.asked() - network.moved.length).toBeWithin(0, 9)
  })

  test('thirty wallets of one address that never pay: three upstream calls, then payment comes first', async () => {
    for (let i = 0; i < 30; i++) {
      calls.network.sendings.push('refuse')
      const shown = await calls.bought({ payer: `purse ${i}` })
      expect(verdict(await calls.call(shown, { from: `2001:db8::${i}` }))).toBe('verification_failed +challenge')
    }
    expect([calls.asked(), calls.network.moved.length]).toEqual([3, 0])
    // An honest caller is still served.
    expect(verdict(await calls.call(await calls.bought(), { from: '2001:db8::ada' }))).toBe('served')
    expect(verdict(await calls.call(await calls.bought({ payer: 'bob' }), { from: '2001:db8:1::1' }))).toBe('served')
  })

  test('a payment that was sent but never settled counts as refused', async () => {
    const { network } = calls
    for (let i = 0; i < 3; i++) {
      const shown = await calls.bought({ payer: 'mallory' })
      network.sendings.push('never arrive', 'never arrive')
      expect(verdict(await calls.call(shown))).toBe('payment_pending')
      network.dead.add((await calls.claimOf(shown))?.transaction ?? '')
      expect(await calls.payments.finishOpen(async () => false)).toBe(1)
    }
    network.sendings.push('refuse')
    expect(verdict(await calls.call(await calls.bought({ payer: 'mallory' })))).toBe('verification_failed +challenge')
    expect([calls.asked(), network.moved.length]).toEqual([3, 0])
  })

  test('a payment that did not settle through our fault or our shutdown counts against no payer', async () => {
    const { network, payments } = calls
    const cutOff = async (shown: ShownPayment) => {
      const sending = Promise.withResolvers<void>()
      const settle = network.settle.bind(network)
      network.settle = () => {
        sending.resolve()
        return new Promise(() => undefined)
      }
      void calls.call(shown)
      await sending.promise
      network.settle = settle
      await payments.recover()
    }
    const dies = async (shown: ShownPayment) => {
      const read = await network.read(shown)
      if (read?.ok) network.dead.add(read.value.handle.transaction)
    }
    const inTrouble = () => network.sendings.push('meet trouble of ours', 'meet trouble of ours')
    for (let i = 0; i < 3; i++) {
      const [waiting, ended, dead] = [await calls.bought(), await calls.bought(), await calls.bought()]
      inTrouble()
      expect(verdict(await calls.call(waiting))).toBe('payment_pending')
      await cutOff(ended)
      for (const shown of [waiting, ended, dead]) await dies(shown)
      expect(await payments.finishOpen(async () => false)).toBe(2)
      inTrouble()
      expect(verdict(await calls.call(dead))).toBe('verification_failed +challenge')
      network.sendings.length = 0
      for (const shown of [waiting, ended, dead])
        expect(await calls.claimOf(shown)).toMatchObject({ state: 'released', paid: false })
    }
    // Its upstream is still called before it pays.
    upstreamFails()
    expect(verdict(await calls.call(await calls.bought()))).toBe('upstream_error')
    expect(network.moved).toEqual([])
  })

  test('after paying first, the upstream gets its full time, however long the payment took, and a failure says what is owed', async () => {
    const { network, gateway, payments } = calls
    for (let i = 0; i < 3; i++) {
      network.sendings.push('refuse')
      await calls.call(await calls.bought())
    }
    const settle = network.settle.bind(network)
    network.settle = async (read) => {
      gateway.clock.advance(24_000)
      return settle(read)
    }
    const left: number[] = []
    const begin = payments.begin.bind(payments)
    payments.begin = async (...asked) => {
      const begun = await begin(...asked)
      if (begun.ok) left.push(begun.value.deadline - gateway.clock.now())
      return begun
    }
    upstreamFails()
    const shown = await calls.bought({ validBefore: gateway.clock.now() + 25_000 })
    const failed = await calls.call(shown)
    expect([left.map((ms) => ms >= 15_000), network.moved.length]).toEqual([[true], 1])
    expect(failed).toMatchObject({ kind: 'refused', failure: { code: 'upstream_error' } })
    expect(JSON.stringify(failed)).toContain('Your payment went through')
    expect(JSON.stringify(failed)).not.toContain('not charged')
    gateway.images.answer = async () => ok({ body: FIXTURE })
    expect(verdict(await calls.call(shown))).toBe('served')
    expect(network.moved).toHaveLength(1)
  })

  test('a database that fails while money moves: payment_pending, never a new challenge, and the answer is stored', async () => {
    const { paymentClaims } = calls.gateway.core.stores
    const settled = paymentClaims.settled.bind(paymentClaims)
    paymentClaims.settled = () => Promise.reject(Object.assign(new Error('away'), { unavailable: true }))
    const shown = await calls.bought()
    expect(verdict(await calls.call(shown))).toBe('payment_pending')
    expect(await calls.claimOf(shown)).toMatchObject({ state: 'settling', paid: false })
    paymentClaims.settled = settled
    calls.network.isDead = true
    expect(verdict(await calls.call(shown))).toBe('payment_pending')
    calls.network.isDead = false
    expect(await calls.call(shown)).toMatchObject({ kind: 'served', body: FIXTURE })
    expect([calls.asked(), calls.network.moved.length]).toEqual([1, 1])
  })

  test('stores the address of a payment only as a hash', async () => {
    const shown = await calls.bought()
    await calls.call(shown, { from: '192.0.2.77' })
    const claim = await calls.claimOf(shown)
    expect(claim?.addressGroup).toMatch(/^[\w-]{43}$/)
    expect(JSON.stringify(claim)).not.toContain('192.0.2')
  })
})

describe('a client that hangs up while its payment settles', () => {
  test('gets its paid answer with the same credential, once; a different request does not', async () => {
    const shown = await calls.bought()
    const gone = new AbortController()
    const settle = calls.network.settle.bind(calls.network)
    calls.network.settle = async (read) => {
      gone.abort()
      return settle(read)
    }
    expect(verdict(await calls.call(shown, { hangUp: gone.signal }))).toBe('payment_pending')
    expect(await calls.claimOf(shown)).toMatchObject({ state: 'paid_unserved', paid: true })
    expect(verdict(await calls.call(shown, { q: 'other' }))).toBe('payment_in_progress')
    const tries = await Promise.all(Array.from({ length: 5 }, () => calls.call(shown)))
    expect(tries.filter(({ kind }) => kind === 'served')).toHaveLength(1)
    expect(verdict(await calls.call(shown))).toBe('invalid_challenge +challenge')
    expect([calls.asked(), calls.network.moved.length]).toEqual([1, 1])
  })

  test('may hang up again before the answer arrives, and it is not counted as delivered', async () => {
    const shown = await calls.bought()
    await left(shown)
    for (let i = 0; i < 3; i++) await leftOnceClaimed(shown)
    expect(await calls.call(shown)).toMatchObject({ kind: 'served', body: FIXTURE })
    expect([calls.asked(), calls.network.moved.length]).toEqual([1, 1])
  })

  test('whose answer is too large to store gets it produced once more, and not again', async () => {
    const large = 'x'.repeat(MAX_STORED_BYTES + 1)
    const shown = await calls.bought()
    await left(shown, large)
    await left(shown, large)
    expect(verdict(await calls.call(shown))).toBe('invalid_challenge +challenge')
    expect([calls.asked(), calls.network.moved.length]).toEqual([2, 1])
    const other = await calls.bought()
    await left(other, large)
    calls.gateway.images.answer = async () => ok({ body: large })
    expect(verdict(await calls.call(other))).toBe('served')
  })

  test('the answer is stored for a day; after that it is produced once more', async () => {
    const shown = await calls.bought()
    await left(shown)
    calls.gateway.clock.advance(24 * 3_600_000)
    calls.gateway.images.answer = async () => ok({ body: '{"new":true}' })
    expect(await calls.call(shown)).toMatchObject({ kind: 'served', body: '{"new":true}' })
    expect(calls.network.moved).toHaveLength(1)
  })

  test('the answer for a payment with an unknown outcome is stored until the network reports it, and then returned', async () => {
    const shown = await calls.bought()
    calls.network.isDead = false
    calls.gateway.images.answer = async () => {
      calls.network.isDead = true
      return ok({ body: FIXTURE })
    }
    expect(verdict(await calls.call(shown))).toBe('payment_pending')
    calls.gateway.images.answer = async () => ok({ body: '{"another":true}' })
    expect(verdict(await calls.call(shown))).toBe('payment_pending')
    calls.network.isDead = false
    expect(await calls.call(shown)).toMatchObject({ kind: 'served', body: FIXTURE })
    expect([calls.asked(), calls.network.moved.length]).toEqual([1, 1])
  })
})

describe('a payment that may still settle is never reported as refused', () => {
  test('with payments switched off, one that is settling is pending, and a served one stays used', async () => {
    const open = await calls.bought()
    calls.network.sendings.push('never arrive', 'never arrive')
    expect(verdict(await calls.call(open))).toBe('payment_pending')
    const served = await calls.bought()
    expect(verdict(await calls.call(served))).toBe('served')
    const owed = await calls.bought()
    await left(owed)
    const never = await calls.bought()
    calls.switchOff()
    expect(verdict(await calls.call(open))).toBe('payment_pending')
    expect(verdict(await calls.call(owed))).toBe('payment_pending')
    expect(verdict(await calls.call(served))).toBe('invalid_challenge')
    expect(verdict(await calls.call(never))).toBe('invalid_challenge')
  })

  test('one that was refused after it was sent, but is then submitted by someone else, buys its answer', async () => {
    const shown = await calls.bought()
    calls.network.sendings.push('refuse')
    expect(verdict(await calls.call(shown))).toBe('verification_failed +challenge')
    calls.network.moved.push((await calls.claimOf(shown))?.transaction ?? '')
    expect(verdict(await calls.call(shown))).toBe('served')
    expect(calls.network.moved).toHaveLength(1)
  })
})
