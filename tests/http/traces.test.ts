import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { parseTraceparent } from '../../server/adapters/tracing/otlp-tracer'
import { err } from '../../server/core/result'
import { openApiGateway } from '../support/api-upstream'
import { CONTEXT as CONTEXT_BODY, IMAGES as IMAGES_BODY } from '../support/doubles/brave-bodies'
import { HttpDouble } from '../support/doubles/http-double'
import { searxngDouble } from '../support/doubles/searxng-server'
import { type Harness, openHarness } from '../support/harness'
import { until } from '../support/until'
import { CONTEXT, endAndReconcile, IMAGES, IMAGES_CALL } from './wire'

interface SentSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly status?: { readonly code?: number }
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[]
}

/** A collector that takes OTLP over HTTP and keeps what it got. */
function openCollector(answer: () => Response | Promise<Response> = () => Response.json({})) {
  const bodies: string[] = []
  const headers: Headers[] = []
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      if (new URL(request.url).pathname !== '/v1/traces') return new Response(null, { status: 404 })
      bodies.push(await request.text())
      headers.push(request.headers)
      return answer()
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    bodies,
    headers,
    spans: (): SentSpan[] =>
      bodies.flatMap((body) =>
        JSON.parse(body).resourceSpans.flatMap((resource: { scopeSpans: { spans: SentSpan[] }[] }) =>
          resource.scopeSpans.flatMap(({ spans }) => spans),
        ),
      ),
    stop: () => server.stop(true),
  }
}

const parentOf = (trace: string, flags = '01') => `00-${trace.repeat(32)}-00f067aa0ba902b7-${flags}`
const attribute = ({ attributes }: SentSpan, key: string) =>
  Object.values(attributes.find((one) => one.key === key)?.value ?? {})[0]

describe.each([false, true])('traces; by a worker: %p', (byWorker) => {
  const collector = openCollector()
  let gateway: Harness

  beforeAll(async () => {
    gateway = await openHarness({
      byWorker,
      env: {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        OTEL_EXPORTER_OTLP_HEADERS: 'x-token=collector%20secret',
        OTEL_BSP_SCHEDULE_DELAY: '1',
        ANON_RPM: '1000000',
      },
    })
  })
  beforeEach(() => {
    collector.bodies.length = 0
  })
  afterAll(async () => {
    await endAndReconcile(gateway)
    await collector.stop()
  })

  /** The spans of one request: its root, then its steps in order. */
  async function spansOf(answer: Response): Promise<readonly SentSpan[]> {
    const id = answer.headers.get('x-gateway-request-id')
    const rootOf = (spans: readonly SentSpan[]) => spans.find((span) => attribute(span, 'gateway.request_id') === id)
    await until(() => rootOf(collector.spans()) !== undefined)
    const spans = collector.spans()
    const root = rootOf(spans)
    if (!root) throw new Error('no root')
    return [root, ...spans.filter(({ parentSpanId }) => parentSpanId === root.spanId)]
  }

  test('have a span per step of a call, below one for the call', async () => {
    const key = await gateway.key(await gateway.account())
    const spans = await spansOf(await gateway.as(key, IMAGES_CALL))
    expect(spans.map(({ name }) => name)).toEqual([
      'image-search',
      'authenticate',
      'read',
      // A worker asks for both in one step.
      ...(byWorker ? [] : ['admit']),
      'hold',
      'upstream',
      'capture',
    ])
    const [root] = spans
    expect(root && attribute(root, 'http.response.status_code')).toBe(200)
    expect(new Set(spans.map(({ traceId }) => traceId)).size).toBe(1)
    expect(collector.bodies[0]).toContain('paid-api-gateway')
    expect(collector.headers[0]?.get('x-token')).toBe('collector secret')
  })

  test('end where a call ends: at the refusal of a key, of input, of an upstream', async () => {
    const key = await gateway.key(await gateway.account())
    const refused = await spansOf(await gateway.as('gwk_unknown', IMAGES_CALL))
    expect(refused.map(({ name }) => name)).toEqual(['image-search', 'authenticate'])
    expect(refused[0] && attribute(refused[0], 'error.type')).toBe('invalid_api_key')
    const wrong = await spansOf(await gateway.as(key, `${IMAGES}?count=0`))
    expect(wrong.map(({ name }) => name)).toEqual(['image-search', 'authenticate', 'read'])
    const answering = gateway.images.answer
    gateway.images.answer = async () => err({ kind: 'unavailable', reason: 'down' })
    const [failed] = await spansOf(await gateway.as(key, IMAGES_CALL))
    gateway.images.answer = answering
    expect(failed && [attribute(failed, 'gateway.upstream'), failed.status?.code]).toEqual(['fixture', 2])
  })

  test('of a stream end with its body', async () => {
    const key = await gateway.key(await gateway.account())
    const answer = await gateway.as(key, '/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox/echo', stream: true, messages: [{ role: 'user', content: 'x' }] }),
    })
    expect(answer.status).toBe(200)
    await answer.text()
    const names = (await spansOf(answer)).map(({ name }) => name)
    expect(names.slice(0, 1)).toEqual(['chat-completions'])
    expect(names.slice(-3)).toEqual(['upstream', 'stream', 'capture'])
  })

  test('go on where the caller began them', async () => {
    const key = await gateway.key(await gateway.account())
    const headers = { traceparent: parentOf('a') }
    const [root] = await spansOf(await gateway.as(key, IMAGES_CALL, { headers }))
    expect([root?.traceId, root?.parentSpanId]).toEqual(['a'.repeat(32), '00f067aa0ba902b7'])
  })

  test('hold no secret, address, input or answer', async () => {
    const key = await gateway.key(await gateway.account())
    await spansOf(
      await gateway.as(key, `${IMAGES}?q=confidential&country=US`, {
        headers: { 'x-request-id': 'mine-1', tracestate: 'vendor=confidential', baggage: 'user=confidential' },
      }),
    )
    await spansOf(await gateway.call(`/v1beta/models?key=${key.secret}`))
    const chat = await gateway.as(key, '/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'confidential' }] }),
    })
    await spansOf(chat)
    await spansOf(await gateway.as(key, '/v1/models/confidential'))
    const sent = collector.bodies.join()
    const said = gateway.logged.join()
    for (const secret of [key.secret, 'confidential', 'mine-1', 'collector secret']) {
      expect(sent).not.toContain(secret)
      expect(said).not.toContain(secret)
    }
    for (const never of ['acct_', 'key_', '127.0.0.1']) expect(sent).not.toContain(never)
  })
})

test.each([
  ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', 1],
  ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fe', 0],
  ['cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes', 1],
  ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more', null],
  ['ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01', null],
  ['00-00000000000000000000000000000000-00f067aa0ba902b7-01', null],
  ['00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01', null],
  ['00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01', null],
  [
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01, 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    null,
  ],
  [`cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-${'x'.repeat(10_000)}`, null],
  ['', null],
])('traceparent %# is read by the standard, or not at all', (text, flags) => {
  expect(parseTraceparent(text)?.traceFlags ?? null).toBe(flags)
})

describe('a flood', () => {
  test('of sampled traceparents gets twenty traces a second, where few calls are sampled', async () => {
    const collector = openCollector()
    const env = { OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: '0', ANON_RPM: '1000000' }
    const gateway = await openHarness({ env: { ...env, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
    const startedAt = performance.now()
    for (let i = 0; i < 300; i++) await gateway.call(IMAGES_CALL, { headers: { traceparent: parentOf('b') } })
    const seconds = Math.ceil((performance.now() - startedAt) / 1000)
    await gateway.close()
    const roots = collector.spans().filter((span) => attribute(span, 'gateway.request_id') !== undefined)
    expect(roots.length).toBeGreaterThanOrEqual(20)
    expect(roots.length).toBeLessThanOrEqual(20 * (seconds + 1))
    await collector.stop()
  })

  test.each([
    ['hangs', () => new Promise<Response>(() => undefined)],
    ['fails', () => new Response('token unique-token-xyz was refused', { status: 401 })],
  ])(
    'of calls passes a collector that %s: no call waits, spans above the queue are dropped, and the stop is short',
    async (_, answer) => {
      const collector = openCollector(answer)
      const env = { OTEL_BSP_SCHEDULE_DELAY: '1', OTEL_BSP_MAX_QUEUE_SIZE: '64', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '16' }
      const gateway = await openHarness({
        env: { ...env, ANON_RPM: '1000000', OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
      })
      for (let i = 0; i < 300; i++) expect((await gateway.call(IMAGES_CALL)).status).toBe(402)
      await until(() => collector.bodies.length > 0)
      expect(collector.bodies.length).toBeLessThanOrEqual(300)
      await gateway.close()
      expect(gateway.logged.join()).not.toContain('unique-token-xyz')
      await collector.stop()
    },
  )

  test('without a collector costs no call, and the log says why once', async () => {
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
      OTEL_BSP_SCHEDULE_DELAY: '1',
      OTEL_EXPORTER_OTLP_TIMEOUT: '50',
    }
    const gateway = await openHarness({ env: { ...env, ANON_RPM: '1000000' } })
    for (let i = 0; i < 20; i++) expect((await gateway.call(IMAGES_CALL)).status).toBe(402)
    const lines = () => gateway.logged.filter((line) => line.includes('traces could not be exported'))
    await until(() => lines().length > 0)
    await gateway.close()
    expect(lines().length).toBeLessThan(5)
  })
})

test.each([
  ['false', undefined],
  ['true', 'c'.repeat(32)],
])(
  'with TRACES_TO_UPSTREAMS=%s an upstream gets the trace %s, and never what the caller sent',
  async (handed, trace) => {
    const collector = openCollector()
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, TRACES_TO_UPSTREAMS: handed }
    const gateway = await openApiGateway({}, { env })
    const key = await gateway.key(await gateway.account(1))
    const headers = { traceparent: parentOf('c'), tracestate: 'a=b', baggage: 'c=d' }
    expect((await gateway.as(key, '/apis/v1/weather/v1/forecast', { headers })).status).toBe(200)
    await gateway.close()
    const [call] = gateway.upstream.calls
    expect(call?.headers['traceparent']?.split('-')[1]).toBe(trace)
    expect(call?.headers['traceparent']).not.toBe(headers.traceparent)
    expect([call?.headers['tracestate'], call?.headers['baggage']]).toEqual([undefined, undefined])
    const asked = collector.spans().find(({ name }) => name === 'upstream')
    if (trace) expect(call?.headers['traceparent']).toBe(`00-${trace}-${asked?.spanId}-01`)
    await collector.stop()
  },
)

test.each([
  ['brave', 'false', undefined],
  ['brave', 'true', 'c'.repeat(32)],
  ['searxng', 'false', undefined],
  ['searxng', 'true', 'c'.repeat(32)],
] as const)('%s, with TRACES_TO_UPSTREAMS=%s, gets the trace %s', async (name, handed, trace) => {
  const collector = openCollector()
  const brave = new HttpDouble(({ path }) => new Response(path.endsWith('/context') ? CONTEXT_BODY : IMAGES_BODY))
  const searxng = searxngDouble(() => ({
    results: [{ url: 'https://photos.invalid/1', title: 'Card', img_src: 'https://photos.example/1.jpg' }],
  }))
  const gateway = await openHarness({
    configuredProviders: true,
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      TRACES_TO_UPSTREAMS: handed,
      WEBSEARCH_PROVIDER: name,
      BRAVE_BASE_URL: brave.url,
      BRAVE_API_KEY: 'BSA-key',
      SEARXNG_URL: searxng.url,
      CREDIT_BUYS_PAID_PROVIDERS: 'true',
    },
  })
  const key = await gateway.key(await gateway.account(1))
  const headers = { traceparent: parentOf('c'), tracestate: 'a=b', baggage: 'c=d' }
  expect((await gateway.as(key, IMAGES_CALL, { headers })).status).toBe(200)
  await gateway.as(key, `${CONTEXT}?q=card`, { headers })
  await endAndReconcile(gateway)
  const { received } = name === 'brave' ? brave : searxng
  const asked = received.filter(({ path }) => /search|context/.test(path))
  expect(asked.length).toBeGreaterThanOrEqual(2)
  const steps = new Set(
    collector
      .spans()
      .filter((span) => span.name === 'upstream')
      .map(({ spanId }) => spanId),
  )
  for (const { headers: sent } of asked) {
    const [, id, span] = sent.get('traceparent')?.split('-') ?? []
    expect(id).toBe(trace)
    if (trace) expect(steps).toContain(span ?? '')
    expect([sent.get('tracestate'), sent.get('baggage')]).toEqual([null, null])
  }
  for (const double of [brave, searxng, collector]) await double.stop()
})

test('nothing of OpenTelemetry is used unless an endpoint is set, and OTEL_SDK_DISABLED switches it off', async () => {
  for (const env of [{}, { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' }]) {
    const gateway = await openHarness({ env })
    expect(gateway.config.traces).toBeNull()
    await gateway.close()
  }
})
