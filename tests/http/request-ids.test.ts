import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, type MadeKey, openHarness } from '../support/harness'
import { CONTEXT_CALL, endAndReconcile, IMAGES_CALL, PRICE, refusalOf } from './wire'

const OURS = /^req_[0-9a-f]{32}$/

describe('request ids (spec 5.3, spec D1)', () => {
  let gateway: Harness
  let key: MadeKey

  beforeAll(async () => {
    gateway = await openHarness()
    key = await gateway.key(await gateway.account())
  })
  afterAll(() => endAndReconcile(gateway))

  const called = (id: string | null, path = IMAGES_CALL) =>
    gateway.as(key, path, id === null ? {} : { headers: { 'x-request-id': id } })

  test.each(['a', 'order-7', 'A.b_c:D-9', 'x'.repeat(128), 'req_notreallyours'])(
    "a valid X-Request-ID %p is echoed, with the gateway's id",
    async (id) => {
      const answer = await called(id)
      expect(answer.headers.get('x-request-id')).toBe(id)
      expect(answer.headers.get('x-gateway-request-id')).toMatch(OURS)
      expect(answer.headers.get('x-gateway-request-id')).not.toBe(id)
    },
  )

  test.each(['x'.repeat(129), 'with space', 'a/b', 'a,b', 'ü', '<script>', 'a"b', 'a;b', ''])(
    "an invalid X-Request-ID %p is replaced by the gateway's id",
    async (id) => {
      const answer = await called(id)
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-request-id')).toMatch(OURS)
      expect(answer.headers.get('x-request-id')).toBe(answer.headers.get('x-gateway-request-id'))
    },
  )

  test("without an X-Request-ID both headers have the gateway's id, new for every call", async () => {
    const ids = await Promise.all(Array.from({ length: 50 }, async () => (await called(null)).headers))
    for (const headers of ids) expect(headers.get('x-request-id')).toBe(headers.get('x-gateway-request-id'))
    expect(new Set(ids.map((headers) => headers.get('x-gateway-request-id'))).size).toBe(50)
  })

  test.each<[string, () => Promise<Response>]>([
    ['400', () => called('mine', '/apis/v1/websearch/images/search')],
    ['401', async () => gateway.call('/v1/usage', { headers: { 'x-request-id': 'mine' } })],
    ['402', async () => gateway.call(IMAGES_CALL, { headers: { 'x-request-id': 'mine' } })],
    ['404', () => called('mine', '/v1/nothing')],
    ['405', () => gateway.as(key, IMAGES_CALL, { method: 'PUT', headers: { 'x-request-id': 'mine' } })],
    ['404', async () => gateway.call('/api/nothing', { headers: { 'x-request-id': 'mine' } })],
    ['401', async () => gateway.call('/api/keys', { headers: { 'x-request-id': 'mine' } })],
  ])('an error %s echoes the id of the caller and says ours in error.request_id', async (status, call) => {
    const answer = await call()
    expect(answer.headers.get('x-request-id')).toBe('mine')
    const refusal = await refusalOf(answer)
    expect(refusal.status).toBe(Number(status))
    expect(refusal.request_id).toMatch(OURS)
  })

  test('answers outside the gated prefixes carry both ids as well', async () => {
    const { api } = await gateway.owner()
    for (const answer of [
      await gateway.call('/health', { headers: { 'x-request-id': 'mine' } }),
      await api('/api/account', undefined, 'GET', { 'x-request-id': 'mine' }),
    ]) {
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-request-id')).toBe('mine')
      expect(answer.headers.get('x-gateway-request-id')).toMatch(OURS)
    }
  })

  test('a repeated X-Request-ID is charged again: it is not an idempotency key', async () => {
    const before = await (await gateway.as(key, '/v1/credits/balance')).json()
    const first = await called('again')
    const second = await called('again')
    const third = await called('again', CONTEXT_CALL)
    for (const answer of [first, second, third]) {
      expect(answer.status).toBe(200)
      expect(answer.headers.get('x-cost-micros-usd')).toBe(String(PRICE))
    }
    const after = await (await gateway.as(key, '/v1/credits/balance')).json()
    expect(before.available_balance_micros_usd - after.available_balance_micros_usd).toBe(3 * PRICE)
  })
})
