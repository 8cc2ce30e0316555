import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { PRICE_NAMES } from '../../../server/core/catalog/operations'
import { type Harness, openHarness } from '../../support/harness'
import { type AccountBody, closeReconciled, keyBench, type Owner, read } from '../owner-bench'

interface PriceRow {
  readonly operation: string
  readonly unit: string
  readonly amount_micros_usd: number
  readonly catalogue_micros_usd: number
  readonly price_version: string
}

let gateway: Harness
let operator: Owner
let owner: Owner
beforeAll(async () => {
  gateway = await openHarness()
  operator = await gateway.owner('root@example.com')
  owner = await gateway.owner('grace@example.com')
})
afterAll(() => closeReconciled(gateway))

const pricesOf = async (whose: Owner) => (await read<{ prices: PriceRow[] }>(whose.api('/api/prices'))).prices
const rowOf = async (whose: Owner, name: string) => (await pricesOf(whose)).find(({ operation }) => operation === name)

describe('GET /api/prices', () => {
  test('lists every operation with its catalog price and unit (spec 1.3)', async () => {
    const prices = await pricesOf(owner)
    expect(prices.map(({ operation }) => operation)).toEqual([...PRICE_NAMES])
    expect(prices).toContainEqual({
      operation: 'image-search',
      unit: 'request',
      amount_micros_usd: 5000,
      catalogue_micros_usd: 5000,
      price_version: '2.0.0',
    })
    expect((await rowOf(owner, 'social-dm-threads'))?.unit).toBe('message')
  })

  test("shows an account its own price, which its calls are charged, and no other account's (spec 1.3)", async () => {
    const { id } = await read<AccountBody>(owner.api('/api/account'))
    await read(operator.api('/api/operator/prices', { operation: 'image-search', usd: '0.004', account: id }))
    await read(operator.api('/api/operator/prices', { operation: 'image-search', usd: '0.006' }))
    expect(await rowOf(owner, 'image-search')).toMatchObject({ amount_micros_usd: 4000, catalogue_micros_usd: 5000 })
    expect(await rowOf(operator, 'image-search')).toMatchObject({ amount_micros_usd: 6000 })
    const { secret } = await keyBench(owner).create()
    const answer = await gateway.as(secret, '/apis/v1/websearch/images/search?q=card')
    expect(answer.headers.get('x-cost-micros-usd')).toBe('4000')
  })
})
