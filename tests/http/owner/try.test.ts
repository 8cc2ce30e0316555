import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { closeReconciled, type Owner, read, refusalOf } from './bench'

const SEARCH = '/apis/v1/websearch/images/search?q=tower'

let gateway: Harness
let owner: Owner
beforeAll(async () => {
  gateway = await openHarness({ env: { TRUSTED_PROXIES: '127.0.0.1' } })
  owner = await gateway.owner()
})
afterAll(() => closeReconciled(gateway))

async function key(body: Record<string, unknown>): Promise<string> {
  const settings = { name: crypto.randomUUID(), ...body }
  return (await read<{ key: { id: string } }>(owner.api('/api/keys', settings), 201)).key.id
}
const tried = (id: string, more: Record<string, unknown> = {}, headers = {}) =>
  owner.api('/api/try', { key_id: id, method: 'GET', path: SEARCH, ...more }, 'POST', headers)
const spentBy = async (id: string) =>
  (await read<{ key: { spent_micros_usd: number } }>(owner.api(`/api/keys/${id}`))).key.spent_micros_usd

describe('a call with the session', () => {
  test('is charged to the key like any call with it, and is logged under it', async () => {
    const id = await key({ spending_limit: 0.01 })
    const answer = await tried(id)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-cost-micros-usd')).toBe('5000')
    expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('60')
    expect(await spentBy(id)).toBe(5000)
    const log = await read<{ requests: { id: string; key_id: string }[] }>(owner.api(`/api/requests?key=${id}`))
    expect(log.requests).toMatchObject([{ key_id: id, id: answer.headers.get('x-gateway-request-id') }])
  })

  test('stops at the limit of the key', async () => {
    const id = await key({ spending_limit: 0.005 })
    expect((await tried(id)).status).toBe(200)
    const refused = await tried(id)
    expect(refused.status).toBe(402)
    expect(await refused.json()).toMatchObject({ error: { code: 'insufficient_api_key_balance' } })
    expect(await spentBy(id)).toBe(5000)
  })

  test("respects the key's status and address list, with the person's actual address", async () => {
    const off = await key({})
    await owner.api(`/api/keys/${off}/disable`, undefined, 'POST')
    expect((await tried(off)).status).toBe(401)
    const listed = await key({ allowed_ips: ['203.0.113.7'] })
    expect((await tried(listed, {}, { 'x-forwarded-for': '203.0.113.7' })).status).toBe(200)
    expect((await tried(listed, { headers: { 'x-forwarded-for': '203.0.113.7' } })).status).toBe(403)
  })

  test('uses the body and the headers of the call, and no credential among them', async () => {
    const id = await key({})
    const path = '/apis/v1/websearch/llm/context'
    const quote = await tried(id, {
      method: 'POST',
      path,
      body: { q: 'tower', count: 3 },
      headers: { 'X-Cost-Mode': 'quote', authorization: 'Bearer nonsense' },
    })
    expect(quote.status).toBe(200)
    expect(await quote.json()).toMatchObject({ quote: { operation: 'llm-context', cost_micros_usd: 5000 } })
    expect(await spentBy(id)).toBe(0)
  })

  test('reaches only endpoints that accept a key', async () => {
    const id = await key({})
    for (const path of [
      '/api/account',
      '//evil.example/apis/v1/websearch/images/search',
      '/docs',
      'x',
      '/apis/v1/none',
    ])
      expect((await tried(id, { path })).status).toBe(400)
    expect((await tried(id, { method: 'DELETE' })).status).toBe(400)
    expect((await owner.api('/api/try', { path: SEARCH, method: 'GET' })).status).toBe(400)
  })

  test('lists every missing, wrong or unknown member at once', async () => {
    const refusal = await refusalOf(owner.api('/api/try', { key_id: 7, method: 'GET', headers: 'none', host: 'x' }))
    expect(refusal.details?.map(({ param }) => param)).toEqual(['key_id', 'path', 'headers', 'host'])
    const unknown = await refusalOf(owner.api('/api/try', { key_id: 7, method: 'GET', path: '/docs' }))
    expect(unknown.details?.map(({ param }) => param)).toEqual(['key_id', 'path'])
  })

  test('requires the session, its own origin, and a key of the account', async () => {
    const id = await key({})
    const stranger = await gateway.owner()
    expect((await stranger.api('/api/try', { key_id: id, method: 'GET', path: SEARCH })).status).toBe(404)
    expect((await tried(id, {}, { origin: 'https://evil.example' })).status).toBe(403)
    expect((await gateway.call('/api/try', { method: 'POST', body: '{}' })).status).toBe(401)
  })
})
