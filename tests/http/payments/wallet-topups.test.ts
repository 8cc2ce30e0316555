import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { Challenge } from 'mppx'
import type { Harness, MadeKey } from '../../support/harness'
import { moneyMoved } from '../../support/payments/money-moved'
import { openPayable } from '../../support/payments/payable-harness'
import { MERCHANT, openPaymentSandbox } from '../../support/payments/payment-sandbox'
import { endAndReconcile } from '../wire'

const PATH = '/v1/wallet/topups'

describe('POST /v1/wallet/topups (spec 3)', () => {
  let sandbox: Awaited<ReturnType<typeof openPaymentSandbox>>
  let gateway: Harness
  let account: Awaited<ReturnType<Harness['account']>>
  let key: MadeKey

  beforeAll(async () => {
    sandbox = await openPaymentSandbox()
    gateway = await openPayable(sandbox)
  })
  beforeEach(async () => {
    sandbox.setFault('ok')
    account = await gateway.account(0, null)
    key = await gateway.key(account)
  })
  afterAll(async () => {
    await endAndReconcile(gateway)
    await sandbox.close()
  })

  const ask = (headers: Record<string, string> = {}, amount: unknown = '10.00', who: MadeKey | null = key) =>
    gateway.call(PATH, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(who && { authorization: `Bearer ${who.secret}` }),
        ...headers,
      },
      body: JSON.stringify({ amount }),
    })
  const bought = async (amount = '10.00') => sandbox.payer().createCredential(await ask({}, amount))
  const balance = async (of = account) => {
    const { paid, toppedUp } = (await gateway.core.ledger.balance(of.id)) ?? {}
    return { paid: Number(paid), toppedUp: Number(toppedUp) }
  }
  const verdict = async (answer: Response) => {
    const { error, topup } = (await answer.json()) as { error?: { code: string }; topup?: { state: string } }
    const invites = answer.headers.get('www-authenticate')?.includes('Payment ') ? ' +challenge' : ''
    return `${answer.status} ${error?.code ?? topup?.state}${invites}`
  }
  const moved = moneyMoved(() => sandbox.balance(MERCHANT))

  test('without a payment it is 402 with a challenge for the amount, in a header separate from the key', async () => {
    const answer = await ask()
    const challenge = Challenge.deserialize(answer.headers.get('www-authenticate') ?? '')
    expect(challenge).toMatchObject({ request: { amount: '10000000' }, header: 'Payment-Authorization' })
    expect(await verdict(answer)).toBe('402 payment_required +challenge')
  })

  test('paid, the balance has it at once and the account is Starter (spec 3, 8)', async () => {
    const credential = await bought()
    const answer = await ask({ 'payment-authorization': credential })
    expect([answer.status, answer.headers.has('payment-receipt')]).toEqual([201, true])
    expect(await balance()).toEqual({ paid: 10_000_000, toppedUp: 10_000_000 })
    const next = await gateway.as(key, '/v1/credits/balance')
    expect(next.headers.get('x-ratelimit-limit-requests')).toBe('600')
  })

  test('500 USD in all make it Growth', async () => {
    for (const [amount, limit] of [
      ['499.00', '600'],
      ['1.00', '3000'],
    ] as const) {
      expect((await ask({ 'payment-authorization': await bought(amount) }, amount)).status).toBe(201)
      const next = await gateway.as(key, '/v1/credits/balance')
      expect(next.headers.get('x-ratelimit-limit-requests')).toBe(limit)
    }
  })

  test('the same credential at once and again: one top-up, money moves once, and no second payment is requested', async () => {
    const credential = await bought()
    const amount = await moved(async () => {
      const all = await Promise.all(
        Array.from({ length: 4 }, async () => verdict(await ask({ 'payment-authorization': credential }))),
      )
      expect(all.filter((one) => one === '201 paid')).toHaveLength(1)
      expect(all.filter((one) => one !== '201 paid' && !/^(200 paid|409 payment_in_progress)$/.test(one))).toEqual([])
      expect(await verdict(await ask({ 'payment-authorization': credential }))).toBe('200 paid')
    })
    expect([amount, await balance()]).toEqual([10_000_000n, { paid: 10_000_000, toppedUp: 10_000_000 }])
  })

  test('a credential without a key tops up the wallet that its challenge is bound to', async () => {
    const credential = await bought()
    expect(await verdict(await ask({ authorization: credential }, '10.00', null))).toBe('201 paid')
    expect((await balance()).paid).toBe(10_000_000)
  })

  test('a credential tops up no other wallet, and by no other amount', async () => {
    const credential = await bought()
    const other = await gateway.account(0, null)
    const stranger = await gateway.key(other)
    expect(await verdict(await ask({ 'payment-authorization': credential }, '10.00', stranger))).toBe(
      '402 invalid_challenge +challenge',
    )
    expect(await verdict(await ask({ 'payment-authorization': credential }, '20.00'))).toBe(
      '402 invalid_challenge +challenge',
    )
    expect([await balance(), await balance(other)]).toEqual([
      { paid: 0, toppedUp: 0 },
      { paid: 0, toppedUp: 0 },
    ])
  })

  test('without a key and a payment it is 401; amounts are validated', async () => {
    expect(await verdict(await ask({}, '10.00', null))).toBe('401 missing_api_key')
    for (const amount of ['0.99', '10000.01', '1.001', 'ten', 10, null])
      expect(await verdict(await ask({}, amount))).toBe('400 invalid_parameter')
  })

  test('a reply that is lost is looked up; a dead node answers 503, and the retry books it once', async () => {
    const credential = await bought()
    sandbox.setFault('dead for sendings')
    expect(await verdict(await ask({ 'payment-authorization': credential }))).toBe('503 payment_pending')
    sandbox.setFault('loses replies to sendings')
    expect(await verdict(await ask({ 'payment-authorization': credential }))).toMatch(
      /^(503 payment_pending|201 paid)$/,
    )
    sandbox.setFault('ok')
    expect(await verdict(await ask({ 'payment-authorization': credential }))).toMatch(/^20[01] paid$/)
    expect(await balance()).toEqual({ paid: 10_000_000, toppedUp: 10_000_000 })
  })

  test('a crash between payment and booking: the job books it, once', async () => {
    const credential = await bought()
    const before = gateway.core.ledger.credit
    gateway.core.ledger.credit = async () => ({ ok: false, error: 'not_durable' })
    expect(await verdict(await ask({ 'payment-authorization': credential }))).toBe('503 payment_pending')
    gateway.core.ledger.credit = before
    const { topUps } = gateway.gateway
    await gateway.gateway.rail.payments.finishOpen((claim) => topUps.credit(claim))
    await gateway.gateway.rail.payments.finishOpen((claim) => topUps.credit(claim))
    expect(await balance()).toEqual({ paid: 10_000_000, toppedUp: 10_000_000 })
    expect(await verdict(await ask({ 'payment-authorization': credential }))).toBe('200 paid')
  })
})
