import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openApiUpstream } from '../../support/api-upstream'
import { anApi, anOperation } from '../../support/apis'
import { type Harness, openHarness } from '../../support/harness'
import { closeReconciled, type Owner, read, refusalOf } from '../owner-bench'

const SEARCH = '/apis/v1/websearch/images/search?q=tower'

let gateway: Harness
let owner: Owner
beforeAll(async () => {
  gateway = await openHarness({
    env: { TRUSTED_PROXIES: '127.0.0.1', ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1', CREDIT_BUYS_PAID_PROVIDERS: 'true' },
  })
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

describe('a form of an imported operation', () => {
  const UPLOAD = '/apis/v1/weather/v1/pictures'
  const upstream = openApiUpstream(() => Response.json({ ok: true }))
  afterAll(() => upstream.close())
  beforeAll(() => {
    const schema = {
      type: 'object',
      properties: { title: { type: 'string' }, picture: true, tags: { type: 'array', items: { type: 'string' } } },
      required: ['title'],
      additionalProperties: false,
    }
    const form = (id: string, contentType: 'multipart/form-data' | 'application/x-www-form-urlencoded') =>
      anOperation({
        id,
        method: 'POST',
        path: `/v1/${id}`,
        effect: 'write',
        body: { contentType, required: true, schema },
      })
    const operations = [form('pictures', 'multipart/form-data'), form('titles', 'application/x-www-form-urlencoded')]
    gateway.core.apis.replace([anApi({ baseUrl: upstream.url, operations })])
  })

  const uploader = () => key({ allowed_endpoints: ['weather.pictures', 'weather.titles'] })
  const formOf = (id: string, fields: [string, string | File][], path = UPLOAD, headers = {}) => {
    const form = new FormData()
    form.append('call', JSON.stringify({ key_id: id, method: 'POST', path, headers }))
    for (const [name, value] of fields) form.append(name, value)
    return form
  }
  const sendForm = (form: FormData, headers: Record<string, string> = {}) =>
    gateway.call('/api/try', { method: 'POST', headers: { cookie: owner.cookie, ...headers }, body: form })

  test('goes out with its files, charged to the key', async () => {
    const id = await uploader()
    const picture = new File([new Uint8Array([0, 255, 13, 10])], 'a.png', { type: 'image/png' })
    const fields: [string, string | File][] = [
      ['form.title', 'Tide'],
      ['form.tags', 'sea'],
      ['form.tags', 'low'],
      ['form.picture', picture],
      ['other', 'not of the call'],
    ]
    const answer = await sendForm(formOf(id, fields))
    expect([answer.status, answer.headers.get('x-cost-micros-usd')]).toEqual([200, '10000'])
    const { headers, body } = upstream.calls.at(-1) ?? { headers: null, body: '' }
    expect(headers?.['content-type']).toStartWith('multipart/form-data; boundary=')
    expect(body).toContain('filename="a.png"')
    expect(body.match(/name="tags"/g)).toHaveLength(2)
    expect(body).not.toContain('not of the call')
    expect(body).not.toContain('key_id')
    expect(await spentBy(id)).toBe(10_000)
  })

  test('goes out urlencoded if the call says so', async () => {
    const type = { 'content-type': 'application/x-www-form-urlencoded' }
    const form = formOf(await uploader(), [['form.title', 'Tide & time']], '/apis/v1/weather/v1/titles', type)
    expect((await sendForm(form)).status).toBe(200)
    expect(upstream.calls.at(-1)?.body).toBe('title=Tide+%26+time')
  })

  test('may be nearly 16 MiB, and no larger', async () => {
    const id = await uploader()
    const of = (bytes: number) =>
      sendForm(
        formOf(id, [
          ['form.title', 'x'],
          ['form.picture', new File([new Uint8Array(bytes)], 'big')],
        ]),
      )
    const before = upstream.calls.length
    expect((await of(16 * 1024 * 1024 - 2048)).status).toBe(200)
    expect((await of(16 * 1024 * 1024)).status).toBe(413)
    expect((await of(18 * 1024 * 1024)).status).toBe(413)
    expect(upstream.calls).toHaveLength(before + 1)
  })

  test("of another site is refused: a browser sends a form with the owner's cookie without asking", async () => {
    const id = await uploader()
    const before = upstream.calls.length
    const form = () => formOf(id, [['form.title', 'stolen']])
    for (const headers of [{ origin: 'https://evil.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])
      expect(await refusalOf(sendForm(form(), headers))).toMatchObject({ status: 403, code: 'foreign_origin' })
    expect(upstream.calls).toHaveLength(before)
    expect(await spentBy(id)).toBe(0)
  })

  test('without a call, or with a broken one, is refused', async () => {
    const empty = new FormData()
    empty.append('form.title', 'x')
    expect((await sendForm(empty)).status).toBe(400)
    const broken = new FormData()
    broken.append('call', '{')
    expect((await sendForm(broken)).status).toBe(400)
    const file = new FormData()
    file.append('call', new File(['{}'], 'call.json'))
    expect((await sendForm(file)).status).toBe(400)
    for (const tooMuch of [`[${'{},'.repeat(20_001)}0]`, '['.repeat(101)]) {
      const wide = new FormData()
      wide.append('call', tooMuch)
      expect(await refusalOf(sendForm(wide))).toMatchObject({ message: expect.stringContaining('nested deeper than') })
    }
    const many = formOf(
      'key_1',
      Array.from({ length: 1000 }, () => ['form.a', '']),
    )
    expect(await refusalOf(sendForm(many))).toMatchObject({ message: expect.stringContaining('more than 1000 fields') })
    const headers = { 'content-type': 'multipart/form-data; boundary=x', cookie: owner.cookie }
    expect((await gateway.call('/api/try', { method: 'POST', headers, body: 'no parts' })).status).toBe(400)
  })
})
