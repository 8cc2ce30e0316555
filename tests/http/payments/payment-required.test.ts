import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Actor } from '../../../server/core/audit'
import { micros } from '../../../server/core/money'
import { type Harness, openHarness } from '../../support/harness'
import { CONTEXT, CONTEXT_CALL, endAndReconcile, IMAGES, IMAGES_CALL, PRICE, refusalOf, verdictOf } from '../wire'

const OPERATOR: Actor = { kind: 'operator', id: 'test', address: null }
const FIXED_PRICE = { mode: 'fixed', currency: 'USD', amount: '0.005' }

describe('payment (spec 1.3, 4, 7, spec D2, D5)', () => {
  let gateway: Harness

  beforeAll(async () => {
    gateway = await openHarness({ env: { ANON_RPM: '1000000' } })
  })
  afterAll(() => endAndReconcile(gateway))

  const asked = () => gateway.images.asked.length + gateway.context.asked.length
  const balanceOf = async (account: { id: string }) => {
    const balance = await gateway.core.ledger.balance(account.id as `acct_${string}`)
    return { posted: Number(balance?.posted), held: Number(balance?.held) }
  }
  /** A price for one account only. */
  const setPrice = (account: { id: string } | null, amount: number | null) =>
    gateway.core.operator.setPrice(
      OPERATOR,
      'image-search',
      (account?.id ?? null) as `acct_${string}` | null,
      amount === null ? null : micros(amount),
    )
  /** An account that has 0.002 USD left of its 2. */
  const nearlyEmpty = async () => {
    const account = await gateway.account()
    const key = await gateway.key(account)
    await setPrice(account, 1_998_000)
    expect((await gateway.as(key, IMAGES_CALL)).status).toBe(200)
    await setPrice(account, null)
    return { account, key }
  }

  describe('without a credential', () => {
    test.each<[string, () => Promise<Response>]>([
      ['image search', async () => gateway.call(IMAGES_CALL)],
      ['LLM context', async () => gateway.call(CONTEXT_CALL)],
      [
        'LLM context by POST',
        async () =>
          gateway.call(CONTEXT, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: '{"q":"card"}',
          }),
      ],
    ])('%s is 402 payment_required with WWW-Authenticate and the price, and runs nothing', async (_, call) => {
      const before = asked()
      const answer = await call()
      expect(answer.headers.get('www-authenticate')).toContain('Bearer realm="gateway"')
      expect(answer.headers.get('www-authenticate')).not.toContain('error=')
      expect(answer.headers.get('x-cost-micros-usd')).toBe('0')
      expect(await refusalOf(answer)).toMatchObject({
        status: 402,
        type: 'billing_error',
        code: 'payment_required',
        price: FIXED_PRICE,
      })
      expect(asked()).toBe(before)
    })

    test('wrong input is 400 before it is 402: no payment is requested for a call that cannot be served', async () => {
      expect(await verdictOf(gateway.call(`${IMAGES}?q=`))).toBe('400 invalid_parameter')
      expect(await verdictOf(gateway.call(CONTEXT))).toBe('400 missing_parameter')
      expect(await verdictOf(gateway.call(IMAGES_CALL, { headers: { accept: 'text/html' } }))).toBe(
        '406 not_acceptable',
      )
    })
  })

  describe('with a key', () => {
    test('an exhausted key is 402 insufficient_api_key_balance, with both forms of the terms (spec 3, 7)', async () => {
      const account = await gateway.account()
      const key = await gateway.key(account, { spending_limit: 0.005 })
      expect((await gateway.as(key, IMAGES_CALL)).status).toBe(200)
      const before = asked()
      const answer = await gateway.as(key, IMAGES_CALL)
      expect(answer.headers.get('www-authenticate')).toContain(
        'Bearer realm="gateway", error="insufficient_api_key_balance"',
      )
      expect(await refusalOf(answer)).toMatchObject({
        status: 402,
        type: 'billing_error',
        code: 'insufficient_api_key_balance',
        price: FIXED_PRICE,
      })
      expect(asked()).toBe(before)
      expect(await balanceOf(account)).toEqual({ posted: 2_000_000 - PRICE, held: 0 })
    })

    test('a remainder below the price is the same 402 (spec D2)', async () => {
      const key = await gateway.key(await gateway.account(), { spending_limit: 0.009 })
      expect((await gateway.as(key, IMAGES_CALL)).status).toBe(200)
      expect(await verdictOf(gateway.as(key, IMAGES_CALL))).toBe('402 insufficient_api_key_balance')
    })

    test('an account that cannot pay is 402 insufficient_balance, with the price', async () => {
      const { account, key } = await nearlyEmpty()
      const before = asked()
      const answer = await gateway.as(key, IMAGES_CALL)
      expect(answer.headers.get('www-authenticate')).toContain('Bearer realm="gateway", error="insufficient_balance"')
      expect(await refusalOf(answer)).toMatchObject({
        status: 402,
        type: 'billing_error',
        code: 'insufficient_balance',
        price: FIXED_PRICE,
      })
      expect(asked()).toBe(before)
      expect(await balanceOf(account)).toEqual({ posted: 2_000, held: 0 })
    })

    test('the key is checked before the account: where neither can pay it is the key (spec D2)', async () => {
      const { account } = await nearlyEmpty()
      const key = await gateway.key(account, { spending_limit: 0.001 })
      expect(await verdictOf(gateway.as(key, IMAGES_CALL))).toBe('402 insufficient_api_key_balance')
    })

    test('wrong input is 400 before it is 402', async () => {
      const { key } = await nearlyEmpty()
      expect(await verdictOf(gateway.as(key, `${IMAGES}?q=`))).toBe('400 invalid_parameter')
    })

    test('a raised limit lets the key go on; the next call is served (spec D3)', async () => {
      const { api } = await gateway.owner()
      const { key, secret } = await (await api('/api/keys', { name: 'raised', spending_limit: 0.005 })).json()
      expect((await gateway.as(secret, IMAGES_CALL)).status).toBe(200)
      expect(await verdictOf(gateway.as(secret, IMAGES_CALL))).toBe('402 insufficient_api_key_balance')
      expect((await api(`/api/keys/${key.id}`, { spending_limit: 0.01 }, 'PATCH')).status).toBe(200)
      expect((await gateway.as(secret, IMAGES_CALL)).status).toBe(200)
    })
  })

  describe("an operator's price (spec D5)", () => {
    test('of one account binds that account only, in the charge and in the terms', async () => {
      const account = await gateway.account()
      const key = await gateway.key(account)
      const other = await gateway.key(await gateway.account())
      await setPrice(account, 7)
      expect((await gateway.as(key, IMAGES_CALL)).headers.get('x-cost-micros-usd')).toBe('7')
      expect((await gateway.as(other, IMAGES_CALL)).headers.get('x-cost-micros-usd')).toBe(String(PRICE))
      await setPrice(account, 3_000_000)
      expect(await refusalOf(gateway.as(key, IMAGES_CALL))).toMatchObject({ status: 402, price: { amount: '3' } })
    })

    test('of everybody is also the price that a caller without a key sees', async () => {
      await setPrice(null, 12_500)
      const refusal = await refusalOf(gateway.call(IMAGES_CALL))
      await setPrice(null, null)
      expect(refusal.price).toEqual({ mode: 'fixed', currency: 'USD', amount: '0.0125' })
      expect((await refusalOf(gateway.call(IMAGES_CALL))).price).toEqual(FIXED_PRICE)
    })
  })

  describe('X-Max-Price-USD (spec D5)', () => {
    const call = async (most: string, key?: string) =>
      key
        ? gateway.as(key, IMAGES_CALL, { headers: { 'x-max-price-usd': most } })
        : gateway.call(IMAGES_CALL, { headers: { 'x-max-price-usd': most } })

    test('below the price is 412 before anything runs: with a key, an exhausted one, and without one', async () => {
      const account = await gateway.account()
      const { secret } = await gateway.key(account)
      const exhausted = await gateway.key(account, { spending_limit: 0.001 })
      const before = asked()
      for (const key of [secret, exhausted.secret, undefined]) {
        const answer = await call('0.004999', key)
        expect(answer.headers.get('x-cost-micros-usd')).toBe('0')
        expect(answer.headers.get('www-authenticate')).toBeNull()
        expect(await refusalOf(answer)).toMatchObject({
          status: 412,
          type: 'invalid_request_error',
          code: 'estimated_price_exceeds_max_price',
          param: 'x-max-price-usd',
        })
      }
      expect(asked()).toBe(before)
      expect(await balanceOf(account)).toEqual({ posted: 2_000_000, held: 0 })
    })

    test.each(['0.005', '0.005000', '1', '0.01'])('of %s USD lets the call through', async (most) => {
      const { secret } = await gateway.key(await gateway.account())
      expect((await call(most, secret)).status).toBe(200)
    })

    test.each(['', '-1', '1e3', '0.0000001', 'cheap', '0,01', '$1', '0.01 USD', '0.01, 0.02'])(
      '%p is a 400 that names the header',
      async (most) => {
        const { secret } = await gateway.key(await gateway.account())
        expect(await refusalOf(call(most, secret))).toMatchObject({ status: 400, param: 'x-max-price-usd' })
      },
    )
  })

  describe('X-Cost-Mode: quote (spec D5)', () => {
    const QUOTE = { headers: { 'x-cost-mode': 'quote' } }

    test('with a key says the price and what can be spent, and charges nothing', async () => {
      const account = await gateway.account()
      const key = await gateway.key(account, { spending_limit: 0.5 })
      const before = asked()
      const answer = await gateway.as(key, IMAGES_CALL, QUOTE)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-cost-micros-usd')).toBe('0')
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(await answer.json()).toEqual({
        quote: {
          operation: 'image-search',
          price: FIXED_PRICE,
          cost_micros_usd: PRICE,
          price_version: '2.0.0',
          available_micros_usd: 500_000,
        },
      })
      expect(asked()).toBe(before)
      expect(await balanceOf(account)).toEqual({ posted: 2_000_000, held: 0 })
    })

    test('without a credential says the price and no balance', async () => {
      const answer = await gateway.call(CONTEXT_CALL, QUOTE)
      expect(answer.status).toBe(200)
      expect((await answer.json()).quote).toMatchObject({ operation: 'llm-context', available_micros_usd: null })
    })

    test("says the lower of the key's remainder and the balance, also when nothing is left", async () => {
      const { account, key } = await nearlyEmpty()
      const wide = await gateway.key(account, { spending_limit: 100 })
      for (const { secret } of [key, wide])
        expect((await (await gateway.as(secret, IMAGES_CALL, QUOTE)).json()).quote.available_micros_usd).toBe(2_000)
      const spent = await gateway.key(await gateway.account(), { spending_limit: 0.005 })
      expect((await gateway.as(spent, IMAGES_CALL)).status).toBe(200)
      expect((await (await gateway.as(spent, IMAGES_CALL, QUOTE)).json()).quote.available_micros_usd).toBe(0)
    })

    test('wrong input is still 400, and an unknown key still 401', async () => {
      expect(await verdictOf(gateway.call(`${IMAGES}?q=`, QUOTE))).toBe('400 invalid_parameter')
      expect(await verdictOf(gateway.as('gwk_nobody', IMAGES_CALL, QUOTE))).toBe('401 invalid_api_key')
    })

    test.each(['', 'QUOTE', 'free', 'quote, quote'])('X-Cost-Mode %p is a 400, never a paid call', async (mode) => {
      const before = asked()
      const key = await gateway.key(await gateway.account())
      const answer = gateway.as(key, IMAGES_CALL, { headers: { 'x-cost-mode': mode } })
      expect(await refusalOf(answer)).toMatchObject({ status: 400, param: 'x-cost-mode' })
      expect(asked()).toBe(before)
    })
  })
})
