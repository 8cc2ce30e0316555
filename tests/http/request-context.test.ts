import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { ok } from '../../server/core/result'
import { type Harness, type MadeKey, openHarness } from '../support/harness'
import { endAndReconcile, IMAGES, PRICE } from './wire'

const EACH = 25

describe('concurrent requests', () => {
  let gateway: Harness
  let keys: MadeKey[]
  let session: Awaited<ReturnType<Harness['owner']>>['api']

  beforeAll(async () => {
    gateway = await openHarness({ env: { ANON_RPM: '1000' } })
    session = (await gateway.owner()).api
    keys = await Promise.all(['a', 'b', 'c', 'd'].map(async () => gateway.key(await gateway.account())))
  })
  afterAll(() => endAndReconcile(gateway))

  test('never mix: each response has the ids, status, limits and charge of its own request', async () => {
    const allAsked = Promise.withResolvers<void>()
    gateway.images.answer = async ({ q }) => {
      if (gateway.images.asked.length === keys.length * EACH) allAsked.resolve()
      await allAsked.promise
      return ok({ body: JSON.stringify({ q }) })
    }
    const kinds = [
      { name: 'served', status: 200, send: (key: MadeKey, id: string) => called(key, id, `${IMAGES}?q=${id}`) },
      { name: 'input', status: 400, send: (key: MadeKey, id: string) => called(key, id, IMAGES) },
      { name: 'path', status: 404, send: (key: MadeKey, id: string) => called(key, id, '/v1/nothing') },
      { name: 'method', status: 405, send: (key: MadeKey, id: string) => called(key, id, '/v1/usage', 'DELETE') },
      { name: 'nobody', status: 401, send: (_: MadeKey, id: string) => called(null, id, '/v1/usage') },
      { name: 'balance', status: 200, send: (key: MadeKey, id: string) => called(key, id, '/v1/credits/balance') },
      {
        name: 'owner',
        status: 200,
        send: (_: MadeKey, id: string) => session('/api/account', undefined, 'GET', { 'x-request-id': id }),
      },
    ]
    const sent = Array.from({ length: EACH }, (_, at) => at).flatMap((at) =>
      keys.flatMap((key, of) => kinds.map((kind) => ({ ...kind, key, id: `${kind.name}-${of}-${at}` }))),
    )
    const answers = await Promise.all(
      sent.map(async ({ send, key, id, status, name }) => {
        const answer = await send(key, id)
        return { id, status, name, answer, body: await answer.json() }
      }),
    )
    const ours = new Set<string | null>()
    for (const { id, status, name, answer, body } of answers) {
      expect([id, answer.status, answer.headers.get('x-request-id')]).toEqual([id, status, id])
      const own = answer.headers.get('x-gateway-request-id')
      ours.add(own)
      if (status >= 400) expect(body.error.request_id).toBe(own)
      if (name === 'served') expect(body).toEqual({ q: id })
      expect(answer.headers.get('x-cost-micros-usd')).toBe(
        name === 'served' ? String(PRICE) : name === 'input' ? '0' : null,
      )
    }
    expect(ours.size).toBe(sent.length)
    for (const key of keys) {
      const { api_key } = await (await gateway.as(key, '/v1/credits/balance')).json()
      expect(api_key.used_micros_usd).toBe(EACH * PRICE)
    }
  })

  function called(key: MadeKey | null, id: string, path: string, method = 'GET') {
    const init = { method, headers: { 'x-request-id': id } }
    return key ? gateway.as(key, path, init) : gateway.call(path, init)
  }
})
