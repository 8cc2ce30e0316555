import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { freePort } from '../../../server/listen'
import { type ModelGateway, openModelGateway, PRICE, VENDOR_KEYS } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { until } from '../../support/until'
import { anthropic, gemini, openAi, openVendor, type VendorDouble } from '../../support/vendor-double'

let first: VendorDouble
let second: VendorDouble
let gateway: ModelGateway
let operator: Awaited<ReturnType<ModelGateway['owner']>>
const good = () => openAi.plain('Hi', { input: 10, output: 4 })
beforeAll(async () => {
  first = openVendor(good)
  second = openVendor(good)
  const one = { kind: 'openai' as const, base_url: `${first.origin}/v1`, key_env: 'OPENAI_DOUBLE_KEY' }
  const two = { kind: 'openai' as const, base_url: `${second.origin}/v1` }
  const gone = { kind: 'openai' as const, base_url: `http://127.0.0.1:${freePort('127.0.0.1')}/v1` }
  const sold = { price: PRICE, recharge_required: false }
  gateway = await openModelGateway([
    { id: 'one', upstream: one, ...sold },
    { id: 'both', upstreams: [one, two], ...sold },
    { id: 'gone', upstream: gone, ...sold },
    { id: 'gone-first', upstreams: [gone, two], ...sold },
    { id: 'keyless', upstream: { ...one, key_env: 'NOT_SET' }, ...sold },
    {
      id: 'narrow',
      upstream: { kind: 'openai', base_url: `${first.origin}/narrow`, key_env: 'ANTHROPIC_DOUBLE_KEY', concurrency: 1 },
      ...sold,
    },
    {
      id: 'slow',
      upstream: {
        ...two,
        base_url: `${second.origin}/slow`,
        key_env: 'ANTHROPIC_DOUBLE_KEY',
        first_byte_timeout_ms: 40,
      },
      ...sold,
    },
    { id: 'family', upstream: two, ...sold, family: 'fam', family_rpm: 2 },
    {
      id: 'claude',
      upstream: { kind: 'anthropic', base_url: `${second.origin}/v1`, key_env: 'OPENAI_DOUBLE_KEY' },
      ...sold,
    },
    {
      id: 'gem',
      upstream: { kind: 'gemini', base_url: `${second.origin}/v1beta`, key_env: 'OPENAI_DOUBLE_KEY' },
      ...sold,
    },
  ])
  // The first account of an install.
  operator = await gateway.owner()
})
beforeEach(() => {
  first.received.length = 0
  second.received.length = 0
  first.answer = good
  second.answer = good
})
afterAll(async () => {
  for (const secret of Object.values(VENDOR_KEYS)) expect(gateway.logged.join('\n')).not.toContain(secret)
  await gateway.close(true)
  first.close()
  second.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

async function outcome(model: string, init: RequestInit = {}) {
  const { key, balance } = await gateway.funded()
  const answer = await gateway.chat(key, { model, max_tokens: 20 }, init)
  const body = (await answer.json()) as { error?: { code?: string } }
  const { paid, held } = await balance()
  expect(held).toBe(0)
  if (answer.status !== 200) expect(paid).toBe(10_000_000)
  return { status: answer.status, code: body.error?.code ?? null, answer, body }
}

describe('an upstream that refuses', () => {
  test('the request itself: its error is passed on in its own format, uncharged, and no other upstream is tried', async () => {
    first.answer = () => openAi.error(400, { message: 'temperature is too hot', code: 'bad', param: 'temperature' })
    const { status, body } = await outcome('both')
    expect(status).toBe(400)
    expect(body as object).toEqual({
      error: { message: 'temperature is too hot', type: 'x', param: 'temperature', code: 'bad' },
    })
    expect(second.received).toHaveLength(0)
  })

  test.each([401, 402, 403])(
    'our own credential with %d: 503 of ours, never a 4xx about the caller',
    async (status) => {
      first.answer = () => openAi.error(status, { message: `bad key ${VENDOR_KEYS.OPENAI_DOUBLE_KEY}` })
      const told = await outcome('one')
      expect(told.status).toBe(503)
      expect(told.code).toBe('upstream_unavailable')
      expect(JSON.stringify(told.body)).not.toContain('bad key')
    },
  )

  test('a spent quota of ours as 429, a bad key of ours as 400: 503 of ours', async () => {
    first.answer = () => openAi.error(429, { code: 'insufficient_quota', type: 'insufficient_quota' })
    expect((await outcome('one')).status).toBe(503)
    const { key } = await gateway.funded()
    second.answer = () => gemini.error(400, 'INVALID_ARGUMENT', [{ reason: 'API_KEY_INVALID' }])
    const google = await gateway.post(key, '/v1beta/models/gem:generateContent', {
      contents: [{ parts: [{ text: 'x' }] }],
    })
    expect(google.status).toBe(503)
    expect(await google.json()).toMatchObject({
      error: { status: 'UNAVAILABLE', details: [{ reason: 'upstream_unavailable' }] },
    })
  })
})

describe('429 of an upstream', () => {
  test("is upstream_rate_limit with the vendor's Retry-After in each vendor's form (spec 7)", async () => {
    first.answer = () => openAi.error(429, {}, { 'retry-after': '7' })
    const told = await outcome('one')
    expect([told.status, told.code, told.answer.headers.get('retry-after')]).toEqual([429, 'upstream_rate_limit', '7'])
    first.answer = () => openAi.error(429, {}, { 'retry-after-ms': '2500' })
    expect((await outcome('one')).answer.headers.get('retry-after')).toBe('3')
    const { key } = await gateway.funded()
    second.answer = () => anthropic.error(429, 'rate_limit_error', { 'retry-after': '9' })
    const claude = await gateway.post(key, '/v1/messages', {
      model: 'claude',
      max_tokens: 5,
      messages: [{ role: 'user', content: 'x' }],
    })
    expect([claude.status, claude.headers.get('retry-after')]).toEqual([429, '9'])
    expect(await claude.json()).toMatchObject({
      type: 'error',
      error: { type: 'rate_limit_error', code: 'upstream_rate_limit' },
    })
    second.answer = () =>
      gemini.error(429, 'RESOURCE_EXHAUSTED', [
        { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '22s' },
      ])
    const google = await gateway.post(key, '/v1beta/models/gem:generateContent', {
      contents: [{ parts: [{ text: 'x' }] }],
    })
    expect([google.status, google.headers.get('retry-after')]).toEqual([429, '22'])
  })

  test('with a short wait is retried once, as the vendor allows', async () => {
    first.answer = () => (first.received.length === 1 ? openAi.error(429, {}, { 'retry-after-ms': '1' }) : good())
    expect((await outcome('one')).status).toBe(200)
    expect(first.received).toHaveLength(2)
  })

  test('is not retried if the vendor forbids it', async () => {
    first.answer = () => openAi.error(429, {}, { 'retry-after-ms': '1', 'x-should-retry': 'false' })
    expect((await outcome('one')).status).toBe(429)
    expect(first.received).toHaveLength(1)
  })
})

describe('several upstreams', () => {
  test.each([500, 502, 503, 529, 429])('the next one is called after %d', async (status) => {
    first.answer = () => openAi.error(status, {})
    expect((await outcome('both')).status).toBe(200)
    expect(second.received).toHaveLength(1)
  })

  test('the next one is called when the first refuses the connection', async () => {
    expect((await outcome('gone-first')).status).toBe(200)
    const alone = await outcome('gone')
    expect([alone.status, alone.code]).toEqual([503, 'upstream_unavailable'])
  })

  test('a key that is not set is 503, and the log names its variable', async () => {
    expect((await outcome('keyless')).code).toBe('upstream_unavailable')
    expect(gateway.logged.some((line) => line.includes('NOT_SET is not set'))).toBe(true)
  })
})

describe('an upstream that is slow', () => {
  test('is 504 after its timeout, and not charged', async () => {
    second.answer = () => new Promise<Response>(() => undefined)
    const told = await outcome('slow')
    expect([told.status, told.code]).toEqual([504, 'upstream_timeout'])
  })
})

describe('the places of an upstream', () => {
  test('are not exceeded: one more is 429 of the upstream, not of the caller', async () => {
    const waiting = Promise.withResolvers<Response>()
    first.answer = () => waiting.promise
    const under = outcome('narrow')
    await until(() => first.received.length > 0)
    const told = await outcome('narrow')
    expect([told.status, told.code]).toEqual([429, 'upstream_rate_limit'])
    waiting.resolve(good())
    expect((await under).status).toBe(200)
  })
})

describe('a family of models', () => {
  test("has a window of its own in addition to the key's, capped at the upstream's quota (spec 8)", async () => {
    const { key } = await gateway.funded()
    const call = () => gateway.chat(key, { model: 'family', max_tokens: 20 })
    const answers = [await call(), await call(), await call()]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429])
    const said = (name: string) => answers.map((answer) => answer.headers.get(`x-ratelimit-${name}-requests`))
    expect(said('remaining')).toEqual(['1', '0', '0'])
    expect(said('limit')).toEqual(['2', '2', '2'])
    expect(answers[2]?.headers.get('x-ratelimit-limit-tokens')).toBe(
      answers[0]?.headers.get('x-ratelimit-limit-tokens'),
    )
    expect((await gateway.chat(key, { model: 'both', max_tokens: 20 })).status).toBe(200)
  })
})

describe('the breaker', () => {
  test('keeps calls from an upstream that fails again and again, is seen in /ready, and lets one probe after a while', async () => {
    first.answer = () => openAi.error(500, {})
    for (let i = 0; i < 5; i++) expect((await outcome('one')).status).toBe(502)
    const before = first.received.length
    expect((await outcome('one')).code).toBe('upstream_unavailable')
    expect(first.received).toHaveLength(before)
    const ready = (await gateway.readiness()) as {
      status: string
      models: { name: string; breaker: string }[]
    }
    expect(ready.status).toBe('ready')
    expect(ready.models.find(({ name }) => name.endsWith(`${first.port} OPENAI_DOUBLE_KEY one`))?.breaker).toBe('open')
    gateway.clock.advance(20_000)
    first.answer = good
    expect((await outcome('one')).status).toBe(200)
    expect((await outcome('one')).status).toBe(200)
  })

  test('is shown to operators: the upstream, its models, since when it fails, and when it is tried again', async () => {
    const ofOne = async () => {
      const { upstreams } = (await (await operator.api('/api/operator/upstreams')).json()) as {
        upstreams: (Record<string, unknown> & { name: string; models: string[] })[]
      }
      return upstreams.find(({ name }) => name.endsWith(`${first.port} OPENAI_DOUBLE_KEY one`))
    }
    expect(await ofOne()).toMatchObject({ breaker: 'closed', failures: 0, failing_since: null, next_try_at: null })
    expect((await ofOne())?.models).toContain('one')
    first.answer = () => openAi.error(500, {})
    const since = new Date(gateway.clock.now()).toISOString()
    await outcome('one')
    expect(await ofOne()).toMatchObject({ breaker: 'closed', failures: 1, failing_since: since, next_try_at: null })
    for (let i = 0; i < 4; i++) await outcome('one')
    const again = new Date(gateway.clock.now() + 15_000).toISOString()
    expect(await ofOne()).toMatchObject({ breaker: 'open', failures: 5, failing_since: since, next_try_at: again })
    gateway.clock.advance(15_000)
    expect(await ofOne()).toMatchObject({ breaker: 'probing', failures: 5 })
    first.answer = good
    expect((await outcome('one')).status).toBe(200)
    expect(await ofOne()).toMatchObject({ breaker: 'closed', failures: 0, failing_since: null, next_try_at: null })
  })

  test('of an upstream that was never called is shown too', async () => {
    const { upstreams } = (await (await operator.api('/api/operator/upstreams')).json()) as {
      upstreams: { name: string }[]
    }
    expect(upstreams.map(({ name }) => name)).toContain('sandbox')
  })
})
