import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type ModelGateway, openModelGateway } from '../../support/model-gateway'
import { openAi, openVendor, type VendorDouble } from '../../support/vendor-double'
import { closeReconciled } from '../owner-bench'

let vendors: readonly VendorDouble[]
let gateway: ModelGateway
const good = () => openAi.plain('Hi', { input: 10, output: 4 })
const never = () => new Promise<Response>(() => undefined)
beforeAll(async () => {
  vendors = [openVendor(good), openVendor(good), openVendor(good)]
  const upstreams = (path: string, more: (i: number) => object = () => ({})) =>
    vendors.map(({ origin }, i) => ({
      kind: 'openai' as const,
      base_url: `${origin}/${path}/v1`,
      first_byte_timeout_ms: 700,
      ...more(i),
    }))
  const sold = { price: { input: 10, output: 20 } }
  gateway = await openModelGateway([
    { id: 'weighted', upstreams: upstreams('weighted', (i) => ({ weight: [1, 8, 1][i] })), order: 'weighted', ...sold },
    { id: 'fastest', upstreams: upstreams('fastest'), order: 'fastest', ...sold },
    { id: 'listed', upstreams: upstreams('listed'), fallback: ['next'], ...sold },
    { id: 'next', upstreams: upstreams('next'), ...sold },
  ])
})
beforeEach(() => {
  for (const vendor of vendors) {
    vendor.received.length = 0
    vendor.answer = good
  }
})
afterAll(async () => {
  await closeReconciled(gateway)
  for (const vendor of vendors) vendor.close()
})

const counts = () => vendors.map(({ received }) => received.length)

describe('the upstreams of a model', () => {
  test('with weights get their shares of the calls, and the others serve what one of them fails', async () => {
    const { key } = await gateway.funded()
    const call = async () => (await gateway.chat(key, { model: 'weighted', max_tokens: 5 })).status
    for (let i = 0; i < 100; i++) expect(await call()).toBe(200)
    const [one = 0, two = 0, three = 0] = counts()
    expect(one + two + three).toBe(100)
    // Of 100 at 8 to 2, fewer than 60 come once in a million times.
    expect(two).toBeGreaterThan(60)
    expect(one + three).toBeGreaterThan(2)
    const [, heavy] = vendors
    if (heavy) heavy.answer = () => openAi.error(429, {})
    for (let i = 0; i < 10; i++) expect(await call()).toBe(200)
  })

  test('in the order of their speed are each measured by one call first', async () => {
    const { key } = await gateway.funded()
    const call = async () => (await gateway.chat(key, { model: 'fastest', max_tokens: 5 })).status
    for (let i = 0; i < 3; i++) expect(await call()).toBe(200)
    expect(counts()).toEqual([1, 1, 1])
    for (let i = 0; i < 3; i++) expect(await call()).toBe(200)
    expect(counts().reduce((sum, count) => sum + count)).toBe(6)
  })
})

describe('an upstream that does not answer in time', () => {
  test('leaves one further try, of its model or the next, since a vendor may bill what it did not answer', async () => {
    const { key, balance } = await gateway.funded()
    const call = async () => {
      const answer = await gateway.chat(key, { model: 'listed', max_tokens: 5 })
      return [answer.status, answer.headers.get('x-served-by')]
    }
    const [first, second, third] = vendors as [VendorDouble, VendorDouble, VendorDouble]
    first.answer = never
    expect(await call()).toEqual([200, 'listed'])
    expect(counts()).toEqual([1, 1, 0])
    second.answer = () => openAi.error(500, {})
    const { paid } = await balance()
    expect(await call()).toEqual([502, null])
    expect(counts()).toEqual([2, 2, 0])
    expect(await balance()).toEqual({ paid, held: 0 })
    first.answer = () => openAi.error(429, {})
    third.answer = never
    // After failures that answered, the list goes on; the last of them runs out of time, and the next model has the one try.
    second.answer = () => openAi.error(429, {})
    expect((await call())[0]).toBe(429)
    expect(vendors.map(({ received }) => received.map(({ path }) => path).slice(-1))).toEqual([
      ['/next/v1/chat/completions'],
      ['/listed/v1/chat/completions'],
      ['/listed/v1/chat/completions'],
    ])
  })
})
