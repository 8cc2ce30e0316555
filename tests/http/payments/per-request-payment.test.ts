import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { Challenge, Credential, Receipt } from 'mppx'
import type { PrivateKeyAccount } from 'viem/accounts'
import { SANDBOX_TOKEN } from '../../../server/adapters/payments/sandbox-chain/sandbox-chain'
import { DAY_MS, HOUR_MS } from '../../../server/core/clock'
import { micros } from '../../../server/core/money'
import { compareWithChain } from '../../../server/core/payments/chain-check'
import { ok } from '../../../server/core/result'
import { type Harness, openHarness } from '../../support/harness'
import { expiredChallenge } from '../../support/payments/expired-challenge'
import { moneyMoved } from '../../support/payments/money-moved'
import { openPayable } from '../../support/payments/payable-harness'
import { MERCHANT, openPaymentSandbox, PAYER, stranger } from '../../support/payments/payment-sandbox'
import { CONTEXT, endAndReconcile, IMAGES_CALL } from '../wire'

const PRICE_UNITS = 5000n
const SECRET = 'a secret that only this test knows, 32 bytes and more'
const BAD_GATEWAY = { kind: 'error', reason: 'fixture' } as const

describe('a request that is paid for by itself (spec 1.2, 2.4, 5.3)', () => {
  let sandbox: Awaited<ReturnType<typeof openPaymentSandbox>>
  let gateway: Harness

  const opened = (folder?: string) => openPayable(sandbox, { PAYMENTS_SECRET: SECRET }, folder)
  beforeAll(async () => {
    sandbox = await openPaymentSandbox()
    gateway = await opened()
  })
  beforeEach(() => {
    sandbox.setFault('ok')
    gateway.images.answer = async () => ok({ body: '{"fixture":true}' })
  })
  afterAll(async () => {
    await endAndReconcile(gateway)
    await sandbox.close()
  })

  const moved = moneyMoved(() => sandbox.balance(MERCHANT))
  /** A credential for a call, as a payer makes it from the 402. */
  async function bought(path = IMAGES_CALL, init: RequestInit = {}, payer: PrivateKeyAccount = PAYER): Promise<string> {
    return sandbox.payer(payer).createCredential(await gateway.call(path, init))
  }
  const paid = (credential: string, path = IMAGES_CALL, init: RequestInit = {}, to = gateway) => {
    const headers = new Headers(init.headers)
    headers.set('authorization', credential)
    return to.call(path, { ...init, headers })
  }
  /** Status, code and whether the answer invites to pay. */
  async function verdict(answer: Response): Promise<string> {
    const { error } = (await answer.json()) as { error?: { code: string } }
    const invites = answer.headers.get('www-authenticate')?.includes('Payment ') ? ' +challenge' : ''
    return `${answer.status} ${error?.code ?? 'ok'}${invites}${answer.headers.has('retry-after') ? ' +retry-after' : ''}`
  }
  const claim = async (credential: string) =>
    gateway.core.stores.paymentClaims.find(Credential.deserialize(credential).challenge.id)

  test('a caller that hangs up while the source works has paid: the same signature buys no second call of it', async () => {
    const credential = await bought()
    const before = gateway.images.asked.length
    const amount = await moved(async () => {
      const gone = new AbortController()
      let isTold = false
      gateway.images.answer = async (_input, signal) => {
        gone.abort()
        isTold = signal.aborted
        return ok({ body: '{"fixture":true}' })
      }
      await paid(credential, IMAGES_CALL, { signal: gone.signal }).catch(() => undefined)
      expect(isTold).toBe(false)
    })
    expect(amount).toBe(PRICE_UNITS)
    expect(await claim(credential)).toMatchObject({ state: 'paid_unserved', paid: true })
    gateway.images.answer = async () => ok({ body: '{"another":"answer"}' })
    const kept = await paid(credential)
    expect([kept.status, await kept.json()]).toEqual([200, { fixture: true }])
    expect(Receipt.deserialize(kept.headers.get('payment-receipt') ?? '').status).toBe('success')
    expect(kept.headers.get('cache-control')).toBe('private')
    expect(await verdict(await paid(credential))).toBe('402 invalid_challenge +challenge')
    expect(gateway.images.asked.length - before).toBe(1)
  })

  test('is revenue of its method, with what its source cost', async () => {
    gateway.images.answer = async () => ok({ body: '{"fixture":true}', cost: micros(3000) })
    expect((await paid(await bought())).status).toBe(200)
    const now = gateway.clock.now()
    const day = Math.floor(now / DAY_MS)
    const sales = await gateway.core.stores.revenue.sales({ first: day, end: day + 1 })
    const { calls = 0 } = sales[0] ?? {}
    // The calls of the test above have no configured cost.
    expect(sales).toEqual([
      {
        method: 'tempo',
        calls,
        charged: micros(5000 * calls),
        refunded: micros(0),
        upstreamCost: micros(3000),
        unknownCostCalls: calls - 1,
      },
    ])
  })

  test('is compared with the chain: what moved without a payment, and what is paid without a transfer, is named', async () => {
    const credential = await bought()
    expect((await paid(credential)).status).toBe(200)
    await sandbox.transfer(PAYER, MERCHANT, 1234n)
    const unsent = await bought()
    expect((await paid(unsent)).status).toBe(200)
    const lost = await claim(unsent)
    const { db, paymentClaims: claims } = gateway.core.stores
    const changed = `0x${'0'.repeat(64)}`
    await db.run(`UPDATE payments SET reference = '${changed}', transaction_id = '${changed}' WHERE id = '${lost?.id}'`)
    const now = Date.now()
    const compare = async (from: number) => {
      const found = await compareWithChain(
        // Later, so that nothing is under way.
        {
          methods: gateway.gateway.rail.lasting,
          claims,
          clock: { now: () => now + 2 * HOUR_MS },
          onTrouble: () => undefined,
        },
        { from, to: now + 2 * HOUR_MS },
        false,
      )
      return found
    }
    const { problems, ...compared } = await compare(now - HOUR_MS)
    await db.run(
      `UPDATE payments SET reference = '${lost?.reference}', transaction_id = '${lost?.transaction}' WHERE id = '${lost?.id}'`,
    )
    expect(compared).toMatchObject({ complete: true, booked: 0 })
    expect(compared.transfers).toBe(compared.payments + 1)
    expect(problems).toMatchObject([
      { kind: 'transfer_missing', payment: lost?.id, reference: changed, here: 5000, onChain: 0 },
      { kind: 'payment_unknown', payment: null, reference: lost?.reference, onChain: 5000 },
      { kind: 'payment_unknown', payment: null, onChain: 1234, payer: PAYER.address.toLowerCase() },
    ])
    expect((await compare(now - HOUR_MS)).problems).toMatchObject([{ kind: 'payment_unknown', onChain: 1234 }])
    sandbox.setFault('dead')
    expect(await compare(now - HOUR_MS)).toMatchObject({ complete: false, problems: [] })
  })

  describe('402', () => {
    test('holds an offer with method, intent, amount, currency and both ways to pay, and is stored by no cache (spec 2.4)', async () => {
      const answer = await gateway.call(IMAGES_CALL)
      expect(answer.status).toBe(402)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      const challenge = Challenge.deserialize(answer.headers.get('www-authenticate') ?? '')
      expect(challenge).toMatchObject({
        method: 'tempo',
        intent: 'charge',
        realm: '127.0.0.1',
        request: { amount: '5000', currency: SANDBOX_TOKEN, recipient: MERCHANT },
      })
      expect(challenge.description).toMatch(/API key.*payment challenge/)
    })

    test('its body is a problem (RFC 9457) and our error shape, with the price', async () => {
      const answer = await gateway.call(IMAGES_CALL)
      expect(answer.headers.get('content-type')).toBe('application/problem+json')
      expect(await answer.json()).toMatchObject({
        type: 'https://paymentauth.org/problems/payment-required',
        status: 402,
        detail: expect.stringContaining('0.005 USD'),
        challengeId: expect.any(String),
        error: {
          type: 'billing_error',
          code: 'payment_required',
          request_id: answer.headers.get('x-gateway-request-id'),
          price: { mode: 'fixed', currency: 'USD', amount: '0.005' },
        },
      })
    })

    test('to a key that cannot pay it is the Bearer form with the Payment challenge (spec D2)', async () => {
      const key = await gateway.key(await gateway.account(), { spending_limit: 0.001 })
      const answer = await gateway.as(key, IMAGES_CALL)
      expect(answer.headers.get('www-authenticate')).toMatch(
        /Payment id=.*Bearer realm="gateway", error="insufficient_api_key_balance"/,
      )
      const once = await sandbox.payer().createCredential(answer)
      expect(await verdict(await paid(once))).toBe('200 ok')
    })

    test('is not sent for input that cannot be served: a 400 costs nothing', async () => {
      expect(await verdict(await gateway.call('/apis/v1/websearch/images/search'))).toBe('400 missing_parameter')
    })

    test('a payment buys data endpoints only: elsewhere a key is needed', async () => {
      expect(await verdict(await paid(await bought(), '/v1/usage'))).toBe('401 missing_api_key')
    })
  })

  describe('200', () => {
    test('the payment client pays and gets the answer with its receipt; the money moves once', async () => {
      let answer = new Response()
      const amount = await moved(async () => {
        const fetching: typeof fetch = Object.assign(
          async (input: string | URL | Request, init?: RequestInit) => {
            const request = new Request(input, init)
            return gateway.call(new URL(request.url).pathname + new URL(request.url).search, {
              headers: request.headers,
            })
          },
          { preconnect: fetch.preconnect },
        )
        answer = await sandbox.payer(PAYER, fetching).fetch(`http://localhost${IMAGES_CALL}`)
      })
      expect([answer.status, await answer.json()]).toEqual([200, { fixture: true }])
      expect(amount).toBe(PRICE_UNITS)
      const receipt = Receipt.deserialize(answer.headers.get('payment-receipt') ?? '')
      expect(receipt).toMatchObject({
        method: 'tempo',
        status: 'success',
        reference: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      })
      expect(answer.headers.get('cache-control')).toBe('private')
      expect(answer.headers.get('x-cost-micros-usd')).toBe('5000')
    })

    test('POST is bound to its body as well', async () => {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"q":"card"}' }
      const credential = await bought(CONTEXT, init)
      expect(await verdict(await paid(credential, CONTEXT, { ...init, body: '{"q":"other"}' }))).toBe(
        '402 invalid_challenge +challenge',
      )
      expect(await verdict(await paid(credential, CONTEXT, init))).toBe('200 ok')
    })

    test('is in the records of the operator: method, payer, receipt, request', async () => {
      const credential = await bought()
      const answer = await paid(credential)
      expect(await claim(credential)).toMatchObject({
        state: 'served',
        method: 'tempo',
        payer: PAYER.address.toLowerCase(),
        operation: 'image-search',
        requestId: answer.headers.get('x-gateway-request-id'),
        reference: Receipt.deserialize(answer.headers.get('payment-receipt') ?? '').reference,
      })
    })
  })

  describe('a credential buys one request', () => {
    test('no other query, path or header of it; and not twice', async () => {
      const credential = await bought()
      expect(await verdict(await paid(credential, `${IMAGES_CALL}s`))).toBe('402 invalid_challenge +challenge')
      expect(await verdict(await paid(credential, `${IMAGES_CALL}&new=1`))).toBe('402 invalid_challenge +challenge')
      expect(await verdict(await paid(credential, '/apis/v1/websearch/llm/context?q=card'))).toBe(
        '402 invalid_challenge +challenge',
      )
      const version = { headers: { 'api-version': '2026-02-06' } }
      expect(await verdict(await paid(credential, IMAGES_CALL, version))).toBe('402 invalid_challenge +challenge')
      expect(await verdict(await paid(credential))).toBe('200 ok')
      expect(
        await moved(async () => expect(await verdict(await paid(credential))).toBe('402 invalid_challenge +challenge')),
      ).toBe(0n)
    })

    test("with the caller's X-Request-ID, where it sent one", async () => {
      const own = { headers: { 'x-request-id': 'order-1' } }
      const credential = await bought(IMAGES_CALL, own)
      expect(await verdict(await paid(credential))).toBe('402 invalid_challenge +challenge')
      expect(await verdict(await paid(credential, IMAGES_CALL, { headers: { 'x-request-id': 'order-2' } }))).toBe(
        '402 invalid_challenge +challenge',
      )
      const answer = await paid(credential, IMAGES_CALL, own)
      expect(answer.headers.get('x-request-id')).toBe('order-1')
      expect(await verdict(answer)).toBe('200 ok')
    })

    test('at its price: after a change of price it is refused', async () => {
      const credential = await bought()
      const operator = { kind: 'operator', id: 'test', address: null } as const
      await gateway.core.operator.setPrice(operator, 'image-search', null, 6000 as never)
      expect(await verdict(await paid(credential))).toBe('402 invalid_challenge +challenge')
      await gateway.core.operator.setPrice(operator, 'image-search', null, null)
      expect(await verdict(await paid(credential))).toBe('200 ok')
    })

    test('of many at once exactly one is served; the others wait, uninvited to pay again', async () => {
      const credential = await bought()
      const others = Promise.withResolvers<void>()
      gateway.images.answer = async () => {
        await others.promise
        return ok({ body: '{}' })
      }
      const verdicts: string[] = []
      const call = async () => {
        verdicts.push(await verdict(await paid(credential)))
        if (verdicts.length === 4) others.resolve()
      }
      expect(await moved(() => Promise.all(Array.from({ length: 5 }, call)))).toBe(PRICE_UNITS)
      expect(verdicts.sort()).toEqual(['200 ok', ...Array(4).fill('409 payment_in_progress +retry-after')])
    })

    test('and stays spent after a restart', async () => {
      const credential = await bought()
      expect(await verdict(await paid(credential))).toBe('200 ok')
      await gateway.close(true)
      gateway = await opened(gateway.folder)
      expect(await verdict(await paid(credential))).toBe('402 invalid_challenge +challenge')
    })
  })

  describe('an upstream that fails', () => {
    test('moves no money, sends no challenge, and leaves the credential good', async () => {
      const credential = await bought()
      gateway.images.answer = async () => ({ ok: false, error: BAD_GATEWAY })
      expect(await moved(async () => expect(await verdict(await paid(credential))).toBe('502 upstream_error'))).toBe(0n)
      expect(await claim(credential)).toMatchObject({ state: 'released', paid: false })
      gateway.images.answer = async () => ok({ body: '{}' })
      expect(await moved(async () => expect(await verdict(await paid(credential))).toBe('200 ok'))).toBe(PRICE_UNITS)
    })

    test('is not asked when the transfer dies before its answer can be there and paid for', async () => {
      const credential = await bought()
      const before = gateway.images.asked.length
      // A transfer lives 25 s; the operation may take 10 s, and 3 s are left for the settling.
      gateway.clock.advance(13_000)
      const late = await paid(credential)
      const message = ((await late.clone().json()) as { error: { message: string } }).error.message
      expect(await verdict(late)).toBe('402 verification_failed +challenge')
      expect(message).toContain('this request needs 13 s')
      expect(gateway.images.asked.length - before).toBe(0)
      gateway.clock.advance(-3_000)
      expect(await moved(async () => expect(await verdict(await paid(credential))).toBe('200 ok'))).toBe(PRICE_UNITS)
      gateway.clock.advance(-10_000)
    })
  })

  /**
   * Each kind of broken payment, and its test. Of the first block all are in `REFUSED`:
   * too small, too big, other recipient, other currency | changed terms, changed expiry, unknown method | expired challenge | not base64url
   * JSON | payload of another form | no Tempo transaction, proof, hash (pushed, unknown or reorged away) | payer without money | transfer
   * expired on chain while the challenge is open.
   * Already used: `no other query ... and not twice`; while it runs: `of many at once`. Node dead: `a node that is dead`, `dies before
   * the sending`; node slow: tests/contracts/tempo-payment. Sent, reply lost: `a reply that is lost`. Wallet drained: `empties the wallet`.
   */
  describe('the answer to each broken payment', () => {
    const header = async () => (await gateway.call(IMAGES_CALL)).headers.get('www-authenticate') ?? ''
    const changed = async (change: (c: Credential.Credential) => Credential.Credential) =>
      Credential.serialize(change(Credential.deserialize(await bought())))
    const REFUSED: readonly (readonly [string, string, () => Promise<string>])[] = [
      ['too little', 'verification_failed', async () => sandbox.lie(await header(), { amount: '4999' })],
      ['too much', 'verification_failed', async () => sandbox.lie(await header(), { amount: '5001' })],
      [
        'another recipient',
        'verification_failed',
        async () => sandbox.lie(await header(), { recipient: stranger().address }),
      ],
      [
        'another currency',
        'verification_failed',
        async () => sandbox.lie(await header(), { currency: '0x20c0000000000000000000000000000000000001' }),
      ],
      [
        'terms that were changed',
        'invalid_challenge',
        () =>
          changed((c) => ({ ...c, challenge: { ...c.challenge, request: { ...c.challenge.request, amount: '1' } } })),
      ],
      [
        'an expiry that was changed',
        'invalid_challenge',
        () =>
          changed((c) => ({ ...c, challenge: { ...c.challenge, expires: new Date(Date.now() + 9e6).toISOString() } })),
      ],
      [
        'another method',
        'invalid_challenge',
        () => changed((c) => ({ ...c, challenge: { ...c.challenge, method: 'stripe' } })),
      ],
      [
        'a challenge whose time is over',
        'payment_expired',
        async () => sandbox.lie(expiredChallenge(await header(), SECRET), {}),
      ],
      ['what is no base64url JSON', 'malformed_credential', async () => 'Payment @@@'],
      [
        'a payload of another form',
        'invalid_payload',
        () => changed((c) => ({ ...c, payload: { type: 'transaction' } })),
      ],
      [
        'no Tempo transaction',
        'verification_failed',
        () => changed((c) => ({ ...c, payload: { type: 'transaction', signature: '0x02f86c' } })),
      ],
      [
        'a proof instead of money',
        'verification_failed',
        () => changed((c) => ({ ...c, payload: { type: 'proof', signature: `0x${'11'.repeat(65)}` } })),
      ],
      [
        'money that was sent already (push)',
        'verification_failed',
        () => changed((c) => ({ ...c, payload: { type: 'hash', hash: `0x${'ab'.repeat(32)}` } })),
      ],
      [
        'a payer without money',
        'verification_failed',
        async () => sandbox.lie(await header(), { gas: 900_000n }, stranger()),
      ],
      [
        'a transfer whose time is over',
        'verification_failed',
        async () => sandbox.lie(await header(), { gas: 900_000n, lifeSeconds: -5 }),
      ],
      [
        'a transfer that lives too long',
        'verification_failed',
        async () => sandbox.lie(await header(), { gas: 900_000n, lifeSeconds: 3600 }),
      ],
    ]
    test.each(REFUSED)('%s: 402 %s with a new challenge, nothing moves, nothing runs', async (_, code, make) => {
      const credential = await make()
      const before = gateway.images.asked.length
      const amount = await moved(async () =>
        expect(await verdict(await paid(credential))).toBe(`402 ${code} +challenge`),
      )
      expect([amount, gateway.images.asked.length - before]).toEqual([0n, 0])
    })

    test('the new challenge that comes with an expired one is paid and served', async () => {
      const late = await paid(await sandbox.lie(expiredChallenge(await header(), SECRET), {}))
      expect(await late.clone().json()).toMatchObject({
        error: { type: 'billing_error', code: 'payment_expired', price: { amount: '0.005' } },
      })
      const credential = await sandbox.payer().createCredential(late)
      expect(await moved(async () => expect(await verdict(await paid(credential))).toBe('200 ok'))).toBe(PRICE_UNITS)
    })

    test('a node that dies before the sending: 503 pending without a challenge; the retry is served, money moves once', async () => {
      const credential = await bought()
      const amount = await moved(async () => {
        sandbox.setFault('dead for sendings')
        expect(await verdict(await paid(credential))).toBe('503 payment_pending +retry-after')
        expect(await claim(credential)).toMatchObject({ state: 'settling' })
        sandbox.setFault('ok')
        expect(await verdict(await paid(credential))).toBe('200 ok')
      })
      expect(amount).toBe(PRICE_UNITS)
    })

    test('a payer who empties the wallet during the call: 402, the answer is not delivered, nothing moves', async () => {
      const thief = stranger()
      await sandbox.transfer(PAYER, thief.address, 100_000n)
      const credential = await bought(IMAGES_CALL, {}, thief)
      gateway.images.answer = async () => {
        const left = await sandbox.balance(thief.address)
        await sandbox.drain(thief, left)
        return ok({ body: '{"secret":"answer"}' })
      }
      const amount = await moved(async () => {
        const answer = await paid(credential)
        expect(await answer.clone().text()).not.toContain('secret')
        expect(await verdict(answer)).toBe('402 verification_failed +challenge')
      })
      expect(amount).toBe(0n)
      expect(await claim(credential)).toMatchObject({ state: 'released', paid: false })
    })

    test('no failure carries a receipt, and nothing of a credential is in the log', async () => {
      const credential = await bought()
      gateway.images.answer = async () => ({ ok: false, error: BAD_GATEWAY })
      const answer = await paid(credential)
      expect(answer.headers.get('payment-receipt')).toBeNull()
      expect(gateway.logged.join('\n')).not.toContain(credential.slice(20, 60))
    })
  })

  describe('tries are counted per address', () => {
    test('bad credentials fill their own window; good ones are given back, and other requests are untouched', async () => {
      const strict = await openPayable(sandbox, { PAYMENTS_ATTEMPTS_RPM: '3', ANON_RPM: '30' })
      const buy = async () => sandbox.payer().createCredential(await strict.call(IMAGES_CALL))
      for (let i = 0; i < 5; i++) expect((await paid(await buy(), IMAGES_CALL, {}, strict)).status).toBe(200)
      for (let i = 0; i < 3; i++) expect((await paid('Payment @@@', IMAGES_CALL, {}, strict)).status).toBe(402)
      const full = await paid('Payment @@@', IMAGES_CALL, {}, strict)
      expect(await verdict(full)).toBe('429 rate_limit_exceeded +retry-after')
      expect((await strict.call(IMAGES_CALL)).status).toBe(402)
      await endAndReconcile(strict)
    })
  })
})

describe('without a payment method', () => {
  test('a 402 names the price and the Bearer way in, and a payment is refused without a challenge', async () => {
    const gateway = await openHarness()
    const answer = await gateway.call(IMAGES_CALL)
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([402, 'Bearer realm="gateway"'])
    const refused = await gateway.call(IMAGES_CALL, { headers: { authorization: 'Payment e30' } })
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([402, 'Bearer realm="gateway"'])
    await endAndReconcile(gateway)
  })
})
