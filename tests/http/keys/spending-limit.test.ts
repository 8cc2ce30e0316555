import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { callWith, closeReconciled, IMAGES, keyBench } from '../owner-bench'

let gateway: Harness
let keys: ReturnType<typeof keyBench>

beforeAll(async () => {
  gateway = await openHarness()
  keys = keyBench(await gateway.owner())
})
afterAll(() => closeReconciled(gateway))

describe('the spending limit', () => {
  /** A key that has used up 0.01 USD with two calls. */
  async function exhausted() {
    const made = await keys.create({ spending_limit: 0.01 })
    expect(await callWith(gateway, made.secret)).toBe('200')
    expect(await callWith(gateway, made.secret)).toBe('200')
    expect(await callWith(gateway, made.secret)).toBe('402 insufficient_api_key_balance')
    expect(await keys.get(made.key.id)).toMatchObject({
      status: 'exhausted',
      spent_micros_usd: 10_000,
      remaining_micros_usd: 0,
    })
    return made
  }

  test('200 parallel calls on a 0.10 USD limit serve exactly 20 (spec 2.1, 3)', async () => {
    const key = await gateway.key(await gateway.account(10), { spending_limit: 0.1 })
    const answers = await Promise.all(Array.from({ length: 200 }, () => gateway.as(key, IMAGES)))
    const statuses = answers.map((answer) => answer.status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(20)
    expect(statuses.filter((status) => status === 402)).toHaveLength(180)
  })

  test('raised makes an exhausted key active, for exactly the amount added (spec 3, spec D3)', async () => {
    const { key, secret } = await exhausted()
    expect(await keys.change(key.id, { spending_limit: 0.015 })).toMatchObject({
      status: 'active',
      remaining_micros_usd: 5_000,
    })
    expect(await callWith(gateway, secret)).toBe('200')
    expect(await callWith(gateway, secret)).toBe('402 insufficient_api_key_balance')
  })

  test('removed makes an exhausted key active without a limit', async () => {
    const { key, secret } = await exhausted()
    expect(await keys.change(key.id, { spending_limit: null })).toMatchObject({
      status: 'active',
      spending_limit: null,
    })
    expect(await callWith(gateway, secret)).toBe('200')
    expect((await keys.get(key.id)).spent_micros_usd).toBe(15_000)
  })

  test('lowered below what is spent stops the key at once, and remaining is never negative', async () => {
    const { key, secret } = await keys.create({ spending_limit: 1 })
    for (let i = 0; i < 3; i++) expect(await callWith(gateway, secret)).toBe('200')
    expect(await keys.change(key.id, { spending_limit: 0.005 })).toMatchObject({
      status: 'exhausted',
      spending_limit: 0.005,
      spent_micros_usd: 15_000,
      remaining_micros_usd: 0,
    })
    expect(await callWith(gateway, secret)).toBe('402 insufficient_api_key_balance')
  })

  test('that leaves less than the price is not exhausted, and still pays for nothing', async () => {
    const { key, secret } = await keys.create({ spending_limit: 0.009999 })
    expect(await callWith(gateway, secret)).toBe('200')
    expect(await callWith(gateway, secret)).toBe('402 insufficient_api_key_balance')
    expect(await keys.get(key.id)).toMatchObject({ status: 'active', remaining_micros_usd: 4_999 })
  })
})
