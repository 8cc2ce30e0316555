import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DURATION_BUCKETS, NamedSeries } from '../../../server/adapters/metrics/series'
import { eventWriter } from '../../../server/compose/webhooks'
import { ENTRY_KINDS } from '../../../server/core/ledger/entry'
import { err } from '../../../server/core/result'
import { RecentCalls } from '../../../server/core/telemetry/recent-calls'
import type { CallRecord } from '../../../server/core/usage/call-record'
import { RecentLatencies } from '../../../server/core/usage/recent-latencies'
import { MetricsEndpoint } from '../../../server/http/system/metrics-endpoint'
import type { UsageReport } from '../../../server/http/usage/record'
import { openLog } from '../../../server/log'
import { type Harness, openHarness } from '../../support/harness'
import { call } from '../../support/ledger-parts'
import { until } from '../../support/until'
import { keyBench, read } from '../owner-bench'
import { endAndReconcile, IMAGES, IMAGES_CALL, PRICE } from '../wire'

const TOKEN = 'a-token-that-only-the-operator-and-this-test-know'
const OPS = join(import.meta.dir, '..', '..', '..', 'ops')

/** The value of each series, by its name and labels as they are written. */
async function scrape({ gateway }: Pick<Harness, 'gateway'>, token = TOKEN): Promise<ReadonlyMap<string, number>> {
  const answer = await gateway.fetch(metricsRequest({ authorization: `Bearer ${token}` }))
  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  const lines = (await answer.text()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )
}

const metricsRequest = (headers: Record<string, string> = {}, method = 'GET', path = '/metrics') =>
  new Request(`http://localhost:3000${path}`, { method, headers })

describe('GET /metrics', () => {
  let gateway: Harness

  beforeAll(async () => {
    gateway = await openHarness({ env: { METRICS_TOKEN: TOKEN, ANON_RPM: '1000000' } })
  })
  afterAll(() => endAndReconcile(gateway))

  test('counts calls by operation and code, upstreams by result, and the money of the ledger', async () => {
    const before = await scrape(gateway)
    const account = await gateway.account()
    const key = await gateway.key(account)
    for (let i = 0; i < 3; i++) expect((await gateway.as(key, IMAGES_CALL)).status).toBe(200)
    expect((await gateway.as(key, `${IMAGES}?count=0`)).status).toBe(400)
    expect((await gateway.as('gwk_unknown', IMAGES_CALL)).status).toBe(401)
    const answering = gateway.images.answer
    gateway.images.answer = async () => err({ kind: 'unavailable', reason: 'down' })
    expect((await gateway.as(key, IMAGES_CALL)).status).toBe(503)
    gateway.images.answer = answering
    const after = await scrape(gateway)
    const grown = (name: string) => (after.get(name) ?? 0) - (before.get(name) ?? 0)
    expect(grown('gateway_calls_total{operation="image-search",code="ok"}')).toBe(3)
    expect(grown('gateway_calls_total{operation="image-search",code="missing_parameter"}')).toBe(1)
    expect(grown('gateway_calls_total{operation="image-search",code="invalid_api_key"}')).toBe(1)
    expect(grown('gateway_calls_total{operation="image-search",code="upstream_unavailable"}')).toBe(1)
    expect(grown('gateway_call_duration_seconds_count{operation="image-search"}')).toBe(6)
    expect(grown('gateway_call_duration_seconds_bucket{le="+Inf",operation="image-search"}')).toBe(6)
    expect(grown('gateway_upstream_requests_total{upstream="fixture",result="ok"}')).toBe(3)
    expect(grown('gateway_upstream_requests_total{upstream="fixture",result="unavailable"}')).toBe(1)
    expect(grown('gateway_ledger_micros_usd_total{kind="charge"}')).toBe(3 * PRICE)
    expect(grown('gateway_ledger_micros_usd_total{kind="signup_credit"}')).toBe(2_000_000)
    expect(after.get('gateway_ready')).toBe(1)
    expect(after.get('gateway_books_readable')).toBe(1)
    expect(after.get('process_resident_memory_bytes')).toBeGreaterThan(0)
  })

  test('has the p50, p95 and p99 of the usage by operation, provider and model', async () => {
    gateway.clock.advance(1_800_000)
    const before = await scrape(gateway)
    const owner = await gateway.owner()
    const { secret: key } = await keyBench(owner).create()
    const answering = gateway.images.answer
    for (const ms of [40, 90, 200, 700, 1_300, 2_100, 4_400]) {
      gateway.images.answer = async (...given) => {
        gateway.clock.advance(ms)
        return answering(...given)
      }
      expect((await gateway.as(key, IMAGES_CALL)).status).toBe(200)
    }
    gateway.images.answer = answering
    expect((await gateway.as(key, `${IMAGES}?count=0`)).status).toBe(400)
    const { latency } = await read<UsageReport>(owner.api('/api/usage'))
    const labels = 'operation="image-search",provider="fixture",model=""'
    const after = await scrape(gateway)
    const seconds = (share: number) => after.get(`gateway_latency_seconds{quantile="${share}",${labels}}`) ?? -1
    expect([latency?.calls, latency?.groups.length]).toEqual([7, 1])
    expect([latency?.p50_ms, latency?.p95_ms, latency?.p99_ms]).toEqual(
      [0.5, 0.95, 0.99].map((one) => seconds(one) * 1000),
    )
    expect(seconds(0.5)).toBeWithin(0.63, 0.77)
    expect(
      (after.get(`gateway_latency_seconds_count{${labels}}`) ?? 0) -
        (before.get(`gateway_latency_seconds_count{${labels}}`) ?? 0),
    ).toBe(7)
    // Half an hour later nothing is recent.
    gateway.clock.advance(1_800_000)
    expect([...(await scrape(gateway)).keys()].filter((name) => name.includes('quantile='))).toEqual([])
  })

  test('counts events that no commit causes and that could not be written', async () => {
    const { webhooks } = gateway.core.stores
    const written = webhooks.addEvents.bind(webhooks)
    webhooks.addEvents = () => Promise.reject(new Error('disk full'))
    const log = { ...openLog('error'), error: () => undefined }
    eventWriter(webhooks, gateway.clock, log)('upstream.down', 'test', {})
    await until(() => webhooks.lostEvents === 1)
    webhooks.addEvents = written
    expect((await scrape(gateway)).get('gateway_lost_events_total')).toBe(1)
  })

  test('shows the holds of calls in progress', async () => {
    const key = await gateway.key(await gateway.account())
    const asked = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    const answering = gateway.images.answer
    gateway.images.answer = async (...given) => {
      asked.resolve()
      await goOn.promise
      return answering(...given)
    }
    const call = gateway.as(key, IMAGES_CALL)
    await asked.promise
    const during = await scrape(gateway)
    goOn.resolve()
    expect((await call).status).toBe(200)
    gateway.images.answer = answering
    expect(during.get('gateway_holds')).toBe(1)
    expect(during.get('gateway_held_micros_usd')).toBe(PRICE)
    expect((await scrape(gateway)).get('gateway_holds')).toBe(0)
  })

  test('is unknown without the token, by another method, or with anything but the token', async () => {
    const unknown = await gateway.gateway.fetch(metricsRequest({}, 'GET', '/assets/unknown'))
    const attempts = [
      metricsRequest(),
      metricsRequest({ authorization: 'Bearer' }),
      metricsRequest({ authorization: `Bearer ${TOKEN}x` }),
      metricsRequest({ authorization: `Bearer ${TOKEN.slice(0, -1)}` }),
      metricsRequest({ authorization: TOKEN }),
      metricsRequest({ authorization: `Basic ${btoa(`x:${TOKEN}`)}` }),
      metricsRequest({ 'x-api-key': TOKEN }),
      metricsRequest({}, 'GET', `/metrics?token=${encodeURIComponent(TOKEN)}`),
      metricsRequest({ authorization: `Bearer ${TOKEN}` }, 'POST'),
      metricsRequest({ authorization: `Bearer ${TOKEN}` }, 'GET', '/metrics/'),
      metricsRequest({ authorization: `Bearer ${TOKEN}` }, 'GET', '/assets/metrics'),
    ]
    for (const attempt of attempts) {
      const answer = await gateway.gateway.fetch(attempt)
      expect(answer.status).toBe(404)
      expect(await answer.json()).toMatchObject({ error: { code: 'unknown_endpoint' } })
      expect([...answer.headers.keys()]).toEqual([...unknown.headers.keys()])
    }
  })

  test('has no label that a caller chose, and no more series whatever callers send', async () => {
    const key = await gateway.key(await gateway.account())
    const junk = 'hostile"} 1\ngateway_fake{x="'
    const send = (i: number) => [
      gateway.call(`/apis/v1/websearch/${i}?q=${i}`),
      gateway.as(key, `/v1/models/${i}`),
      gateway.as(key, `/apis/v1/hostile-${i}/x`),
      gateway.as(key, '/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-request-id': `client-${i}` },
        body: JSON.stringify({ model: `${junk}${i}`, messages: [{ role: 'user', content: 'x' }] }),
      }),
    ]
    await Promise.all(send(0))
    const few = await scrape(gateway)
    for (let i = 1; i <= 50; i++) await Promise.all(send(i))
    const many = await scrape(gateway)
    expect([...many.keys()]).toEqual([...few.keys()])
    const text = [...many.keys()].join('\n')
    for (const never of ['hostile', 'fake', 'client-', 'gwk_', 'acct_', 'key_', 'req_', '127.0.0.1', 'http'])
      expect(text).not.toContain(never)
  })

  test('is a 404 like that of any unknown path if neither a port nor a token is set', async () => {
    const plain = await openHarness()
    const answer = await plain.gateway.fetch(metricsRequest({ authorization: `Bearer ${TOKEN}` }))
    expect(answer.status).toBe(404)
    expect(plain.gateway.metrics).toBeNull()
    await plain.close()
  })

  test('reports the same money after a restart, for every kind of entry', async () => {
    const first = await openHarness({ env: { METRICS_TOKEN: TOKEN } })
    const account = await first.account(5)
    const key = await first.key(account)
    await first.as(key, IMAGES_CALL)
    const early = await scrape(first)
    await first.as(key, IMAGES_CALL)
    const before = await scrape(first)
    await first.close(true)
    const second = await openHarness({ folder: first.folder, env: { METRICS_TOKEN: TOKEN } })
    const after = await scrape(second)
    for (const kind of ENTRY_KINDS) {
      const name = `gateway_ledger_micros_usd_total{kind="${kind}"}`
      expect(after.get(name)).toBe(before.get(name) ?? -1)
    }
    expect(early.get('gateway_ledger_micros_usd_total{kind="charge"}')).toBe(PRICE)
    expect(after.get('gateway_ledger_micros_usd_total{kind="charge"}')).toBe(2 * PRICE)
    expect(after.get('gateway_ledger_micros_usd_total{kind="grant"}')).toBe(5_000_000)
    await endAndReconcile(second)
  })
})

describe('GET /api/operator/health', () => {
  test("tells the operator's page of the last minutes, without metrics too", async () => {
    const gateway = await openHarness()
    const operator = await gateway.owner()
    const key = await gateway.key(await gateway.account())
    await gateway.as(key, IMAGES_CALL)
    await gateway.as(key, `${IMAGES}?count=0`)
    const answer = await operator.api('/api/operator/health')
    expect(answer.status).toBe(200)
    expect(await answer.json()).toMatchObject({
      ready: true,
      problems: [],
      calls: 2,
      codes: [{ code: 'missing_parameter', calls: 1 }],
      upstreams: [{ name: 'fixture', requests: 1, failures: 0 }],
      tables_reject: false,
      backups: { scheduled: false, newest_at: null, failing: false },
    })
    await endAndReconcile(gateway)
  })

  test('counts five minutes, and forgets what is older', () => {
    const clock = { at: 1_000_000, now: () => clock.at }
    const recent = new RecentCalls(clock)
    const call = { id: 'req_1', operation: 'image-search', upstream: null, ms: 1 }
    for (let second = 0; second < 600; second++) {
      recent.callEnded({ ...call, status: 200, code: null })
      recent.callEnded({ ...call, status: 429, code: 'rate_limit_exceeded' })
      recent.upstreamEnded('brave', 100, second % 10 === 0 ? 'timeout' : null)
      clock.at += 1_000
    }
    const { seconds, calls, codes, upstreams } = recent.read()
    expect(seconds).toBeWithin(285, 301)
    expect(calls).toBe(2 * seconds)
    expect(codes).toEqual([{ code: 'rate_limit_exceeded', calls: seconds }])
    expect(upstreams).toEqual([{ name: 'brave', requests: seconds, failures: seconds / 10, ms: 100 }])
    clock.at += 3_600_000
    expect(recent.read()).toMatchObject({ calls: 0, codes: [], upstreams: [] })
  })
})

test('the last comparison of the books that reached all shows its time, and the last of all what did not agree', async () => {
  const gateway = await openHarness({ env: { METRICS_TOKEN: TOKEN, BACKUP_EVERY: '6h' } })
  const shown = async () => {
    const all = await scrape(gateway)
    return ['compared_timestamp_seconds', 'mismatches'].map((name) => all.get(`gateway_books_${name}`))
  }
  const run = (i: number, isComplete: boolean, problems: number) =>
    gateway.core.stores.reconciliations.add({
      id: `rec_${i}`,
      actor: 'job',
      startedAt: i * 1000,
      endedAt: i * 2000,
      isApplied: false,
      isComplete,
      problems,
      result: { ledger: [], missing: [], booked: 0, cards: null, chain: null },
    })
  expect(await shown()).toEqual([undefined, undefined])
  await run(1, false, 9)
  expect(await shown()).toEqual([undefined, 9])
  await run(2, true, 0)
  await run(3, false, 3)
  expect(await shown()).toEqual([4, 3])
  const all = await scrape(gateway)
  expect(all.get('gateway_memory_limit_bytes')).toBeGreaterThanOrEqual(all.get('process_resident_memory_bytes') ?? 0)
  // No copies are scheduled without BACKUP_TO.
  expect(all.has('gateway_backup_every_seconds')).toBe(false)
  await endAndReconcile(gateway)
})

describe('the listener of the metrics', () => {
  const metrics = { text: async () => 'all', contentType: 'text/plain' }
  const at = (url: string, headers = {}) => new Request(url, { headers })

  test('answers this machine without a token, and no page of another site', async () => {
    const endpoint = new MetricsEndpoint({ metrics, token: null, isLoopback: true })
    const status = async (url: string) => (await endpoint.onOwnPort(at(url))).status
    for (const host of ['127.0.0.1:9464', 'localhost:9464', '[::1]:9464'])
      expect(await status(`http://${host}/metrics`)).toBe(200)
    for (const url of [
      'http://rebound.example:9464/metrics',
      'http://127.0.0.1:9464/',
      'http://127.0.0.1.example/metrics',
    ])
      expect(await status(url)).toBe(404)
  })

  test('asks for the token where other machines reach it', async () => {
    const endpoint = new MetricsEndpoint({ metrics, token: TOKEN, isLoopback: false })
    const url = 'http://10.0.0.5:9464/metrics'
    expect((await endpoint.onOwnPort(at(url))).status).toBe(404)
    expect((await endpoint.onOwnPort(at(url, { authorization: `Bearer ${TOKEN}` }))).status).toBe(200)
  })
})

test('more names than a catalog should have are counted together', () => {
  const series = new NamedSeries()
  for (let i = 0; i < 5_000; i++) series.add(`operation-${i}`, 'ok', 3)
  const entries = [...series.entries()]
  expect(entries).toHaveLength(201)
  const [name, other] = entries.at(-1) ?? []
  expect([name, other?.results.get('ok'), other?.durations.count]).toEqual(['other', 4_800, 4_800])
  expect(other?.durations.buckets.indexOf(4_800)).toBe(DURATION_BUCKETS.indexOf(0.005))
})

test('latencies of more operations, providers and models than 200 are counted together, and old ones forgotten', () => {
  const clock = { at: 1_800_000_000_000, now: () => clock.at }
  const latencies = new RecentLatencies(clock)
  const note = (more: Partial<CallRecord>) =>
    latencies.add(call('acct_1', 1000, { operation: 'chat-completions', at: clock.at, ...more }))
  for (let i = 0; i < 5_000; i++) note({ model: `model-${i}`, latencyMs: 100 })
  const few = latencies.read()
  expect(few).toHaveLength(201)
  expect(few.at(-1)).toMatchObject({ operation: 'other', provider: 'other', model: 'other', calls: 4_800, ms: 480_000 })
  note({ model: 'model-0', latencyMs: 3_000 })
  expect(latencies.read()[0]?.quantiles?.p99).toBeWithin(2_700, 3_300)
  // A stream counts in the quarter of an hour in which it began, as in the usage.
  clock.at += 3_600_000
  note({ model: 'model-0', latencyMs: 3_600_000, at: clock.at - 3_600_000 })
  expect(latencies.read().every(({ quantiles }) => quantiles === null)).toBe(true)
  note({ model: 'model-0', status: 402 })
  note({ model: 'model-0', counted: false })
  expect(latencies.read()[0]?.calls).toBe(3)
})

describe('the files in ops/', () => {
  const promtool = Bun.which('promtool')

  test.skipIf(promtool === null)(
    'are valid rules (skipped where promtool of the package prometheus is not installed)',
    async () => {
      const ended = Bun.spawnSync([promtool ?? '', 'check', 'rules', join(OPS, 'alerts.yaml')])
      expect(ended.exitCode, ended.stdout.toString() + ended.stderr.toString()).toBe(0)
    },
  )

  test.skipIf(promtool === null)('name what promtool accepts as metrics', async () => {
    const gateway = await openHarness({ env: { METRICS_TOKEN: TOKEN } })
    await gateway.call(IMAGES_CALL)
    const answer = await gateway.gateway.fetch(metricsRequest({ authorization: `Bearer ${TOKEN}` }))
    const ended = Bun.spawnSync([promtool ?? '', 'check', 'metrics'], { stdin: Buffer.from(await answer.text()) })
    await gateway.close()
    expect(ended.stderr.toString() + ended.stdout.toString()).toBe('')
  })

  test('ask for no metric that the gateway does not have', async () => {
    const gateway = await openHarness({ env: { METRICS_TOKEN: TOKEN } })
    const answer = await gateway.gateway.fetch(metricsRequest({ authorization: `Bearer ${TOKEN}` }))
    const types = new Map(
      [...(await answer.text()).matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]),
    )
    await gateway.close()
    const known = [...types].flatMap(([name, type]) =>
      type === 'histogram'
        ? [`${name}_bucket`, `${name}_sum`, `${name}_count`]
        : type === 'summary'
          ? [name, `${name}_count`]
          : [name],
    )
    for (const file of ['alerts.yaml', 'grafana.json']) {
      const text = await readFile(join(OPS, file), 'utf8')
      const named = new Set(text.match(/\b(gateway|process)_[a-z_]+(?=[{[\s),]|$)/gm))
      expect(named.size).toBeGreaterThan(5)
      expect([...named].filter((name) => !known.includes(name))).toEqual([])
    }
    const dashboard = JSON.parse(await readFile(join(OPS, 'grafana.json'), 'utf8'))
    const ids = dashboard.panels.map(({ id }: { id: number }) => id)
    expect(new Set(ids).size).toBe(ids.length)
  })
})
