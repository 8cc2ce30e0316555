import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { callWith, closeReconciled, IMAGES, keyBench, type MadeKey, type Owner, read, refusalOf } from '../owner-bench'

const CONTEXT = '/apis/v1/websearch/llm/context?q=card'

interface Sums {
  readonly requests: number
  readonly failed_requests: number
  readonly charged_micros_usd: number
}
interface Report {
  readonly totals: Sums
  readonly latency: unknown
  readonly buckets: readonly (Sums & { readonly start_time: number; readonly end_time: number })[]
  readonly groups?: readonly (Sums & { readonly group_by: string; readonly name: string })[]
}

let gateway: Harness
let owner: Owner
let app: MadeKey
let job: MadeKey
let started: number

/** Two keys; four image searches, one context, one input error; all within two hours. */
beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
  const keys = keyBench(owner)
  app = await keys.create({ name: 'app' })
  job = await keys.create({ name: 'job' })
  started = gateway.clock.now()
  for (let i = 0; i < 3; i++) expect(await callWith(gateway, app.secret)).toBe('200')
  gateway.clock.advance(3_600_000)
  expect(await callWith(gateway, job.secret)).toBe('200')
  expect(await callWith(gateway, job.secret, CONTEXT)).toBe('200')
  expect(await callWith(gateway, job.secret, '/apis/v1/websearch/images/search')).toBe('400 missing_parameter')
  expect(await callWith(gateway, app.secret, '/v1/usage')).toBe('200')
  await gateway.core.stores.journal.drained()
})
afterAll(() => closeReconciled(gateway))

const usage = (query = '') => read<Report>(owner.api(`/api/usage${query}`))
const sums = (requests: number, failed: number, charged: number) => ({
  requests,
  failed_requests: failed,
  charged_micros_usd: charged,
})

describe('GET /api/usage', () => {
  test('is the body of /v1/usage over all keys of the account, without free routes', async () => {
    const seconds = Math.floor(gateway.clock.now() / 1000) + 1
    const tokens = { input_tokens: 0, output_tokens: 0, cache_read_tokens: 0, cache_write_tokens: 0 }
    const report = await read<unknown>(owner.api('/api/usage'))
    expect(report).toMatchObject({
      scope: 'account',
      currency: 'USD',
      start_time: seconds - 30 * 86_400,
      end_time: seconds,
      bucket_width: '1d',
      timezone: 'UTC',
      totals: { ...sums(6, 1, 25_000), ...tokens },
    })
    expect(report).not.toHaveProperty('groups')
  })

  test('shows how long calls took by operation and provider, without those that were refused', async () => {
    const times = { p50_ms: 0, p95_ms: 0, p99_ms: 0 }
    const { latency } = await usage()
    expect(latency).toEqual({
      calls: 5,
      ...times,
      groups: [
        { operation: 'image-search', provider: 'fixture', model: null, calls: 4, ...times },
        { operation: 'llm-context', provider: 'fixture', model: null, calls: 1, ...times },
      ],
    })
    expect((await usage(`?key=${job.key.id}&operation=llm-context`)).latency).toMatchObject({ calls: 1 })
    expect((await usage('?status=200')).latency).toBeNull()
    expect(await read<unknown>(gateway.as(app.secret, '/v1/usage'))).not.toHaveProperty('latency')
  })

  test('agrees with what the keys themselves read in /v1/usage', async () => {
    const own = async (made: MadeKey) => (await read<Report>(gateway.as(made.secret, '/v1/usage'))).totals
    expect(await own(app)).toMatchObject(sums(3, 0, 15_000))
    expect(await own(job)).toMatchObject(sums(3, 1, 10_000))
  })

  test('by the minute has one bucket per minute, each with its calls, and groups agree; at most six hours', async () => {
    const from = Math.floor(started / 60_000) * 60
    const asked = (seconds: number) =>
      `?bucket_width=1m&start_time=${from - 120}&end_time=${from - 120 + seconds}&group_by=key`
    const { buckets, totals, groups } = await usage(asked(3600 + 240))
    expect(buckets).toHaveLength(64)
    expect(buckets.filter(({ requests }) => requests > 0)).toMatchObject([
      { start_time: from, end_time: from + 60, ...sums(3, 0, 15_000) },
      { start_time: from + 3600, end_time: from + 3660, ...sums(3, 1, 10_000) },
    ])
    expect(totals).toMatchObject(sums(6, 1, 25_000))
    expect(groups).toMatchObject([
      { name: app.key.id, ...sums(3, 0, 15_000) },
      { name: job.key.id, ...sums(3, 1, 10_000) },
    ])
    expect((await usage(asked(6 * 3600))).totals).toMatchObject(sums(6, 1, 25_000))
    expect(await refusalOf(owner.api(`/api/usage${asked(6 * 3600 + 1)}`))).toMatchObject({
      status: 400,
      param: 'start_time',
    })
    expect(await refusalOf(gateway.as(app.secret, '/v1/usage?bucket_width=1m'))).toMatchObject({
      status: 400,
      param: 'bucket_width',
    })
  })

  test.each([
    ['key', () => [app.key.id, job.key.id], [sums(3, 0, 15_000), sums(3, 1, 10_000)]],
    ['operation', () => ['image-search', 'llm-context'], [sums(5, 1, 20_000), sums(1, 0, 5_000)]],
    ['status', () => ['200', '400'], [sums(5, 0, 25_000), sums(1, 1, 0)]],
  ])('group_by=%s adds the groups, the largest charge first', async (by, names, expected) => {
    const { groups = [] } = await usage(`?group_by=${by}`)
    expect(groups.map((group) => group.name)).toEqual(names())
    expect(groups.map((group) => group.group_by)).toEqual([by, by])
    expect(groups).toMatchObject(expected)
  })

  test('filters by key, operation and status, alone and together', async () => {
    const totals = async (query: string) => (await usage(query)).totals
    expect(await totals(`?key=${job.key.id}`)).toMatchObject(sums(3, 1, 10_000))
    expect(await totals('?operation=llm-context')).toMatchObject(sums(1, 0, 5_000))
    expect(await totals('?status=400')).toMatchObject(sums(1, 1, 0))
    expect(await totals(`?key=${app.key.id}&status=400`)).toMatchObject(sums(0, 0, 0))
    expect(await totals('?key=key_nobody')).toMatchObject(sums(0, 0, 0))
  })

  test("of another account contains nothing of it, also by the key's id", async () => {
    const stranger = await gateway.owner()
    const { totals } = await read<Report>(stranger.api(`/api/usage?key=${app.key.id}`))
    expect(totals).toMatchObject(sums(0, 0, 0))
  })

  test('names every wrong parameter at once (spec D2)', async () => {
    const query = 'group_by=colour&status=7&bucket_width=1y&timezone=Mars&start_time=x'
    const { status, details = [] } = await refusalOf(owner.api(`/api/usage?${query}`))
    expect(status).toBe(400)
    expect(details.map((detail) => detail.param).sort()).toEqual([
      'bucket_width',
      'group_by',
      'start_time',
      'status',
      'timezone',
    ])
  })

  test.each([
    ['start_time=10&end_time=10', 'start_time'],
    ['start_time=0&end_time=2764801&bucket_width=1h', 'start_time'],
  ])('refuses the range %s', async (query, param) => {
    expect(await refusalOf(owner.api(`/api/usage?${query}`))).toMatchObject({ status: 400, param })
  })
})

describe('GET /api/usage.csv', () => {
  const lines = async (who: Owner, query = '') => {
    const answer = await who.api(`/api/usage.csv${query}`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="usage.csv"')
    return (await answer.text()).split('\r\n')
  }

  test('has a header, one line per call with the newest first, and a line break at its end', async () => {
    const [header, newest, ...rest] = await lines(owner, `?key=${job.key.id}&operation=llm-context`)
    expect(header).toBe(
      'time_utc,request_id,key_name,key_last4,endpoint,status,code,tokens_in,tokens_out,cost_usd,latency_ms,model,tokens_cache_read,tokens_cache_write,usage_source,paid_by,refunded_usd',
    )
    const at = new Date(started + 3_600_000).toISOString()
    expect(newest).toMatch(
      new RegExp(`^${at},req_[0-9a-f]{32},job,${job.key.last4},llm-context,200,,0,0,0\\.005,\\d+,,0,0,,key,0$`),
    )
    expect(rest).toEqual([''])
  })

  test('quotes what a spreadsheet would run as a formula, and commas and quotes', async () => {
    const author = await gateway.owner()
    const keys = keyBench(author)
    const names = ['=1+1', '+1', '-1', '@SUM(A1)', 'a,"b"', '=HYPERLINK("x","y")', "it's"]
    for (const name of names) await callWith(gateway, (await keys.create({ name })).secret)
    const cells = (await lines(author)).slice(1, -1).reverse()
    expect(cells.map((line) => line.split(/,req_[0-9a-f]{32},/)[1]?.replace(/,[^,]{4},image-search.*/, ''))).toEqual([
      "'=1+1",
      "'+1",
      "'-1",
      "'@SUM(A1)",
      '"a,""b"""',
      `"'=HYPERLINK(""x"",""y"")"`,
      "it's",
    ])
  })

  test('streams more calls than one page has, each once, also at one and the same time', async () => {
    const busy = await gateway.owner()
    const { key, secret } = await keyBench(busy).create()
    const { id } = await read<{ id: string }>(busy.api('/api/account'))
    await gateway.control(`/accounts/${id}/limits`, { limits: { rpm: 10_000, tpm: 1, concurrency: 1 } })
    for (let i = 0; i < 5; i++)
      await Promise.all(Array.from({ length: 90 }, () => gateway.as(secret, '/apis/v1/websearch/images/search')))
    await gateway.core.stores.journal.drained()
    const all = (await lines(busy)).slice(1, -1)
    expect(all).toHaveLength(450)
    expect(new Set(all.map((line) => line.split(',')[1])).size).toBe(450)
    expect(await lines(busy, `?key=${key.id}&status=200`)).toHaveLength(2)
  })

  test('refuses a wrong filter before it sends a line', async () => {
    const { status, details = [] } = await refusalOf(
      owner.api('/api/usage.csv?status=ok&from=yesterday&to=2027-02-30T00:00:00Z'),
    )
    expect(status).toBe(400)
    expect(details.map((detail) => detail.param)).toEqual(['status', 'from', 'to'])
  })

  test('of another account has only the header', async () => {
    const stranger = await gateway.owner()
    expect(await lines(stranger, `?key=${app.key.id}`)).toHaveLength(2)
  })
})

describe('GET /v1/usage/{id}', () => {
  test("explains the owner's call to the key that made it, by either id", async () => {
    const answer = await gateway.as(app.secret, IMAGES, { headers: { 'x-request-id': 'order-17' } })
    const id = answer.headers.get('x-gateway-request-id')
    for (const name of [id, 'order-17'])
      expect(await read<unknown>(gateway.as(app.secret, `/v1/usage/${name}`))).toMatchObject({
        id,
        client_request_id: 'order-17',
        charge: { price_version: '2.0.0', charged_micros_usd: 5_000 },
      })
    expect(await callWith(gateway, job.secret, `/v1/usage/${id}`)).toBe('404 resource_not_found')
  })
})
