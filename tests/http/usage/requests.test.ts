import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { callWith, closeReconciled, IMAGES, keyBench, type MadeKey, type Owner, read, refusalOf } from '../owner-bench'

interface Row {
  readonly id: string
  readonly at: string
  readonly key_id: string
  readonly status: number
}
interface RequestPage {
  readonly requests: readonly Row[]
  readonly next_cursor: string | null
}

const NO_QUESTION = '/apis/v1/websearch/images/search'

let gateway: Harness
let owner: Owner
let app: MadeKey
let job: MadeKey
let started: number

beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
  const keys = keyBench(owner)
  app = await keys.create({ name: 'app' })
  job = await keys.create({ name: 'job' })
  started = gateway.clock.now()
  for (let i = 0; i < 7; i++) expect(await callWith(gateway, app.secret)).toBe('200')
  gateway.clock.advance(1_000)
  for (let i = 0; i < 5; i++) expect(await callWith(gateway, job.secret, NO_QUESTION)).toBe('400 missing_parameter')
  expect(await callWith(gateway, job.secret, '/v1/usage')).toBe('200')
  await gateway.core.stores.journal.drained()
})
afterAll(() => closeReconciled(gateway))

const list = (query = '') => read<RequestPage>(owner.api(`/api/requests${query}`))
const count = async (query: string) => (await list(query)).requests.length
const time = (ms: number) => new Date(started + ms).toISOString()

describe('GET /api/requests', () => {
  test('lists every call of a known key, newest first, with its fields (spec D3)', async () => {
    const { requests, next_cursor } = await list()
    expect(next_cursor).toBeNull()
    expect(requests).toHaveLength(13)
    const tokens = { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 }
    const row = (more: Record<string, unknown>) => ({
      id: expect.stringMatching(/^req_[0-9a-f]{32}$/),
      client_request_id: null,
      model: null,
      usage_source: null,
      ...tokens,
      latency_ms: 0,
      ip: '127.0.0.1',
      repeats: 0,
      ...more,
    })
    expect(requests[0]).toEqual(
      row({
        at: time(1_000),
        key_id: job.key.id,
        operation: 'usage',
        status: 200,
        code: null,
        cost_micros_usd: 0,
        refunded_micros_usd: 0,
      }) as never,
    )
    expect(requests[1]).toEqual(
      row({
        at: time(1_000),
        key_id: job.key.id,
        operation: 'image-search',
        status: 400,
        code: 'missing_parameter',
        cost_micros_usd: 0,
        refunded_micros_usd: 0,
      }) as never,
    )
    expect(requests.at(-1)).toEqual(
      row({
        at: time(0),
        key_id: app.key.id,
        operation: 'image-search',
        status: 200,
        code: null,
        cost_micros_usd: 5_000,
        refunded_micros_usd: 0,
      }) as never,
    )
  })

  test('filters by key, operation, status, from (inclusive) and to (exclusive), also combined', async () => {
    expect(await count(`?key=${app.key.id}`)).toBe(7)
    expect(await count('?operation=image-search')).toBe(12)
    expect(await count('?operation=usage')).toBe(1)
    expect(await count('?status=400')).toBe(5)
    expect(await count(`?from=${time(1_000)}`)).toBe(6)
    expect(await count(`?to=${time(1_000)}`)).toBe(7)
    expect(await count(`?from=${time(0)}&to=${time(1)}`)).toBe(7)
    expect(await count(`?key=${job.key.id}&operation=image-search&status=400&from=${time(500)}`)).toBe(5)
    expect(await count('?operation=no-such-thing')).toBe(0)
    // The longest name of an imported operation.
    expect(await count(`?operation=${'x'.repeat(40)}.${'y'.repeat(64)}`)).toBe(0)
  })

  test.each([1, 2, 3, 5, 7, 12])(
    'pages by %d without gaps or repeats, though many rows have the same time',
    async (limit) => {
      const all = (await list()).requests.map((row) => row.id)
      const seen: string[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const page: RequestPage = await list(`?limit=${limit}${cursor && `&cursor=${cursor}`}`)
        expect(page.requests.length).toBeLessThanOrEqual(limit)
        seen.push(...page.requests.map((row) => row.id))
        cursor = page.next_cursor
      }
      expect(seen).toEqual(all)
    },
  )

  test.each([
    ['cursor=nonsense', ['cursor']],
    [`operation=${'x'.repeat(106)}`, ['operation']],
    ['cursor=', ['cursor']],
    ['limit=0', ['limit']],
    ['limit=201', ['limit']],
    ['status=teapot', ['status']],
    ['status=99', ['status']],
    ['from=yesterday&to=2026-11-21', ['from', 'to']],
    ['from=2026-02-30T00:00:00Z', ['from']],
    ['key=&operation=', ['key', 'operation']],
    ['limit=0&status=x&from=x', ['status', 'from', 'limit']],
  ])('refuses %s and lists every error', async (query, params) => {
    const { status, code, details = [] } = await refusalOf(owner.api(`/api/requests?${query}`))
    expect([status, code]).toEqual([400, 'invalid_parameter'])
    expect(details.map((detail) => detail.param)).toEqual(params)
  })

  test('shows another account nothing, by no filter and no cursor', async () => {
    const stranger = await gateway.owner()
    const { next_cursor } = await list('?limit=1')
    for (const query of ['', `?key=${app.key.id}`, `?cursor=${next_cursor}`])
      expect(await read<unknown>(stranger.api(`/api/requests${query}`))).toEqual({ requests: [], next_cursor: null })
  })

  test("shows a call by the time its charged answer was sent, with the gateway's and the caller's id", async () => {
    const answer = await gateway.as(app.secret, IMAGES, { headers: { 'x-request-id': 'my.own:id-1' } })
    const { requests } = await list('?limit=1')
    expect(requests).toMatchObject([
      { id: answer.headers.get('x-gateway-request-id') ?? '', client_request_id: 'my.own:id-1', status: 200 },
    ])
  })

  test('shows refused calls, and none of an unknown or revoked key', async () => {
    const keys = keyBench(owner)
    const { key, secret } = await keys.create({ allowed_ips: ['10.0.0.1'] })
    expect(await callWith(gateway, secret)).toBe('403 ip_not_allowed')
    await keys.move(key.id, 'disable')
    expect(await callWith(gateway, secret)).toBe('401 api_key_disabled')
    await keys.move(key.id, 'revoke')
    expect(await callWith(gateway, secret)).toBe('401 invalid_api_key')
    await gateway.core.stores.journal.drained()
    const { requests } = await list(`?key=${key.id}`)
    expect(requests).toMatchObject([
      { status: 401, code: 'api_key_disabled' },
      { status: 403, code: 'ip_not_allowed' },
    ] as never)
  })

  describe('?search=', () => {
    const found = async (search: string, more = '') =>
      (await list(`?limit=200&search=${encodeURIComponent(search)}${more}`)).requests
    const statuses = async (search: string) => [...new Set((await found(search)).map(({ status }) => status))]

    test('finds calls by status, error code, operation, path and whole URL', async () => {
      expect(await statuses('400')).toEqual([400])
      expect(await statuses(' missing_parameter ')).toEqual([400])
      expect((await found('usage')).length).toBe(1)
      expect((await found('/v1/usage')).length).toBe(1)
      const images = (await list('?limit=200&operation=image-search')).requests.length
      expect((await found('image-search')).length).toBe(images)
      expect((await found('/apis/v1/websearch/images/search?q=card')).length).toBe(images)
      expect((await found('https://gateway.example/apis/v1/websearch/images/search')).length).toBe(images)
      for (const nothing of ['/v1/none', '/', 'no-such-thing', '299', '203.0.113.9'])
        expect(await found(nothing)).toEqual([])
    })

    test('finds calls by IP address in any of its forms', async () => {
      const all = (await list('?limit=200')).requests.length
      expect((await found('127.0.0.1')).length).toBe(all)
      expect((await found('::ffff:7f00:1')).length).toBe(all)
    })

    test("finds a call by the gateway's or the caller's id whatever the other filters say, and no stranger's", async () => {
      for (let i = 0; i < 2; i++) await gateway.as(app.secret, IMAGES, { headers: { 'x-request-id': 'order-4711' } })
      const [newest, older] = await found('order-4711', '&status=404&to=2001-01-01T00:00:00Z')
      expect([newest, older]).toMatchObject([{ client_request_id: 'order-4711' }, { client_request_id: 'order-4711' }])
      expect((await found(older?.id ?? '')).map(({ id }) => id)).toEqual([older?.id ?? ''])
      const stranger = await gateway.owner()
      for (const search of ['order-4711', older?.id ?? '', '400'])
        expect(await read<unknown>(stranger.api(`/api/requests?search=${search}`))).toEqual({
          requests: [],
          next_cursor: null,
        })
    })

    test('finds the failures with a code, also after somebody sent the code as an id', async () => {
      const before = (await found('missing_parameter')).map(({ id }) => id)
      await gateway.as(app.secret, IMAGES, { headers: { 'x-request-id': 'missing_parameter' } })
      expect((await found('missing_parameter')).map(({ id }) => id)).toEqual(before)
    })

    test.each(["' OR 1=1 --", '%', '_', 'req_%', '/%', '\\u0000', '[object Object]', 'constructor', '0.0.0.0/0', '*'])(
      'finds nothing for %s, which is text and no pattern',
      async (text) => {
        expect(await found(text)).toEqual([])
      },
    )

    test('narrows the file as well', async () => {
      const file = await (await owner.api('/api/usage.csv?search=400')).text()
      const rows = file.trimEnd().split('\r\n').slice(1)
      expect([rows.length, rows.every((row) => row.includes(',400,'))]).toEqual([5, true])
    })
  })
})
