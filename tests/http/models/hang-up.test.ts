import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { countTokens } from '../../../server/adapters/websearch/passages/token-count'
import type { MadeKey } from '../../support/harness'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { readUntil, until } from '../../support/until'
import { anthropic, eventStream, openAi, openBreaker, openVendor, type VendorDouble } from '../../support/vendor-double'

/** 100,000 tokens in and 30,000 out, most of them hidden reasoning, cost 2,204,000 micro-USD. */
const DEAR = { input: 11, output: 36.8, cache_write: 11 }
const THOUGHT = { input: 100_000, output: 30_000 }
const THOUGHT_COST = 2_204_000
const words = 'x'.repeat(400)

let vendor: VendorDouble
let gateway: ModelGateway
const breaker = openBreaker(() => [openAi.chunk({ content: words })])
beforeAll(async () => {
  vendor = openVendor(() => Response.error())
  const at = (kind: 'openai' | 'anthropic', more: object = {}) => ({ kind, base_url: `${vendor.origin}/v1`, ...more })
  const narrow = at('openai', { key_env: 'OPENAI_DOUBLE_KEY', concurrency: 4 })
  const dead = { kind: 'openai' as const, base_url: 'http://127.0.0.1:1/v1' }
  const broken = { kind: 'openai' as const, base_url: `${breaker.origin}/v1` }
  gateway = await openModelGateway([
    { id: 'thinker', upstream: at('openai'), price: DEAR },
    { id: 'broken', upstream: broken, price: PRICE, tokens_per_second: 50 },
    { id: 'endless', upstream: at('openai', { first_byte_timeout_ms: 300 }), price: PRICE, tokens_per_second: 50 },
    { id: 'stops', upstream: at('openai'), price: PRICE, stops_billing: true },
    { id: 'claude', upstream: at('anthropic'), price: PRICE, stops_billing: true },
    { id: 'narrow', upstream: narrow, price: PRICE },
    { id: 'behind', upstreams: [dead, narrow], price: PRICE },
  ])
})
beforeEach(() => {
  vendor.received.length = 0
})
afterAll(async () => {
  await gateway.close(true)
  vendor.close()
  breaker.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

const requestId = (answer: Response) => answer.headers.get('x-gateway-request-id') ?? ''
const chat = (key: MadeKey, model: string, more: object = {}, init: RequestInit = {}) =>
  gateway.chat(key, { model, max_tokens: 40_000, stream: true, ...more }, init)
/** So long that the vendor's 100,000 tokens are below what is held for it. */
const LONG = { messages: [{ role: 'user', content: 'word '.repeat(20_000) }] }
/** A stream that says its words, and the rest only when it is told to. */
function held(rest: readonly string[] = [openAi.chunk({}, 'stop'), openAi.total(THOUGHT), openAi.done]) {
  const go = Promise.withResolvers<void>()
  const signals: AbortSignal[] = []
  vendor.answer = ({ signal }) => {
    signals.push(signal)
    return eventStream([openAi.chunk({ content: words })], async (controller) => {
      await go.promise
      for (const event of rest) controller.enqueue(new TextEncoder().encode(event))
      controller.close()
    })
  }
  return { finish: go.resolve, signals }
}
/** Reads the first words, and hangs up. */
async function leave(answer: Response): Promise<void> {
  const reader = answer.body?.getReader()
  await readUntil(reader, (text) => text.includes('xxx'))
  await gateway.hangingUp(() => reader?.cancel())
}
/** Waits until nothing of the account is held. */
async function settled(balance: () => Promise<{ paid: number; held: number }>, wasPaid = 10_000_000): Promise<number> {
  await until(async () => (await balance()).held === 0)
  return wasPaid - (await balance()).paid
}

describe('a stream whose caller hangs up after the last useful word (spec D4)', () => {
  test('costs as much as one read to its end, hidden reasoning included, and its upstream is not cancelled', async () => {
    const reader = await gateway.funded()
    const leaver = await gateway.funded()
    const read = held()
    const whole = await chat(reader.key, 'thinker', LONG)
    read.finish()
    await whole.text()
    expect(await settled(reader.balance)).toBe(THOUGHT_COST)

    const left = held()
    const answer = await chat(leaver.key, 'thinker', LONG)
    await leave(answer)
    expect((await leaver.balance()).held).toBeGreaterThan(0)
    expect(left.signals.map(({ aborted }) => aborted)).toEqual([false])
    left.finish()
    expect(await settled(leaver.balance)).toBe(THOUGHT_COST)
    expect(await gateway.explained(leaver.key, requestId(answer))).toMatchObject({
      status: 200,
      code: 'caller_hung_up',
      usage_source: 'exact',
      input_tokens: THOUGHT.input,
      output_tokens: THOUGHT.output,
    })
  })

  test('keeps its slot until its end, and its tokens are those that were used', async () => {
    const { key, balance } = await gateway.funded()
    const left = held()
    await leave(await chat(key, 'thinker'))
    const windows = async () => {
      const { headers } = await gateway.as(key, '/v1/models')
      const of = (name: string) => Number(headers.get(`x-ratelimit-${name}`))
      return {
        slots: of('limit-concurrency') - of('remaining-concurrency'),
        tokens: of('limit-tokens') - of('remaining-tokens'),
      }
    }
    expect((await windows()).slots).toBe(1)
    left.finish()
    await settled(balance)
    await until(async () => (await windows()).slots === 0)
    expect((await windows()).tokens).toBe(THOUGHT.input + THOUGHT.output)
  })

  test('before the vendor responded: the call continues to its end and is charged', async () => {
    const { key, balance } = await gateway.funded()
    const [asked, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    vendor.answer = async () => {
      asked.resolve()
      await go.promise
      return eventStream(openAi.words([words], THOUGHT))
    }
    const gone = new AbortController()
    const answer = chat(key, 'thinker', LONG, { signal: gone.signal }).catch(() => undefined)
    await asked.promise
    gone.abort()
    go.resolve()
    await answer
    expect(await settled(balance)).toBe(THOUGHT_COST)
  })

  test('before the vendor was called: nothing is charged', async () => {
    const { key, balance } = await gateway.funded()
    for (const stream of [true, false])
      await chat(key, 'thinker', { stream }, { signal: AbortSignal.abort() }).catch(() => undefined)
    expect([await settled(balance), vendor.received.length]).toEqual([0, 0])
  })
})

test('plain calls whose caller hangs up before the answer cost their tokens, and keep those of the minute', async () => {
  const { key, balance } = await gateway.funded(100)
  const [all, gone, go] = [Promise.withResolvers<void>(), new AbortController(), Promise.withResolvers<void>()]
  let asked = 0
  vendor.answer = async () => {
    if (++asked === 20) all.resolve()
    await go.promise
    return openAi.plain('Hi', { input: 1_000, output: 500 })
  }
  const body = { stream: false, max_tokens: 1_000 }
  const calls = Array.from({ length: 20 }, () =>
    chat(key, 'thinker', body, { signal: gone.signal }).catch(() => undefined),
  )
  await all.promise
  gone.abort()
  go.resolve()
  await Promise.all(calls)
  expect(await settled(balance, 100_000_000)).toBe(20 * (11_000 + 18_400))
  const { headers } = await gateway.as(key, '/v1/models')
  const [limit, left] = ['limit', 'remaining'].map((name) => Number(headers.get(`x-ratelimit-${name}-tokens`)))
  expect(Number(limit) - Number(left)).toBe(20 * 1_500)
})

describe('a plain response that starts and never ends', () => {
  const begun = () => {
    const asked = Promise.withResolvers<void>()
    vendor.answer = () => {
      asked.resolve()
      const part = new TextEncoder().encode('{"choices":')
      return new Response(new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(part) }))
    }
    return asked.promise
  }
  const slots = async (key: MadeKey) => {
    const { headers } = await gateway.as(key, '/v1/models')
    const [limit, left] = ['limit', 'remaining'].map((name) => Number(headers.get(`x-ratelimit-${name}-concurrency`)))
    return Number(limit) - Number(left)
  }

  test('is abandoned at its time limit: 504, uncharged, and its slot is free', async () => {
    const { key, balance } = await gateway.funded()
    void begun()
    const answer = await chat(key, 'endless', { stream: false })
    expect(answer.status).toBe(504)
    expect(await answer.json()).toMatchObject({ error: { code: 'upstream_timeout' } })
    expect([await settled(balance), await slots(key)]).toEqual([0, 0])
  })

  test('is charged by estimate if its caller left, and its slot is free', async () => {
    const { key, balance } = await gateway.funded()
    const gone = new AbortController()
    const asked = begun()
    const answer = chat(key, 'endless', { stream: false }, { signal: gone.signal }).catch(() => undefined)
    await asked
    gateway.clock.advance(20_000)
    gone.abort()
    await answer
    expect(await settled(balance)).toBeGreaterThan(20 * 50 * 10)
    await until(async () => (await slots(key)) === 0)
  })
})

describe('a stream that goes on without its caller and ends without a report (spec D4)', () => {
  const explain = async (model: string, after: () => void, max_tokens = 40_000) => {
    const { key, balance } = await gateway.funded()
    const answer = await chat(key, model, { max_tokens })
    await leave(answer)
    gateway.clock.advance(20_000)
    after()
    const cost = await settled(balance)
    const explained = await gateway.explained(key, requestId(answer))
    expect(explained).toMatchObject({ code: 'caller_hung_up', usage_source: 'estimated', cost_micros_usd: cost })
    return explained
  }

  test('because it was interrupted: its input, and an estimate of what the model writes in that time', async () => {
    const { input_tokens, output_tokens } = await explain('broken', () => breaker.drop())
    expect(output_tokens).toBe(20 * 50)
    expect(Number(input_tokens)).toBeWithin(countTokens('Hello'), 20)
  })

  test('because it never ended: the same, at its time limit', async () => {
    held()
    expect(await explain('endless', () => undefined)).toMatchObject({ output_tokens: 20 * 50 })
    expect(vendor.received).toHaveLength(1)
  })

  test('after the usage report but before its last event: what the vendor counted', async () => {
    const { key, balance } = await gateway.funded()
    const { finish } = held([openAi.chunk({}, 'stop'), openAi.total({ input: 1_000, output: 50 })])
    const answer = await chat(key, 'endless')
    await leave(answer)
    gateway.clock.advance(20_000)
    finish()
    expect(await settled(balance)).toBe(1_000 * 2.5 + 50 * 10)
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({
      code: 'caller_hung_up',
      usage_source: 'exact',
      output_tokens: 50,
    })
  })

  test('after running counts but no final one: a running count is not a report', async () => {
    const running = openAi
      .chunk({ content: words })
      .replace('"usage":null', `"usage":${JSON.stringify(openAi.usage({ input: 9, output: 1 }))}`)
    const { key, balance } = await gateway.funded()
    const { finish } = held([running])
    const answer = await chat(key, 'endless')
    await leave(answer)
    gateway.clock.advance(20_000)
    finish()
    expect(await settled(balance)).toBe(Math.ceil(9 * 2.5) + 20 * 50 * 10)
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({
      usage_source: 'estimated',
      input_tokens: 9,
    })
  })

  test('because the vendor reported a failure, which it does not bill: nothing', async () => {
    const { key, balance } = await gateway.funded()
    const { finish } = held([`data: ${JSON.stringify({ error: { message: 'overloaded' } })}\n\n`])
    await leave(await chat(key, 'endless'))
    finish()
    expect(await settled(balance)).toBe(0)
  })

  test('is charged at most what was held: its cap', async () => {
    expect(await explain('broken', () => breaker.drop(), 150)).toMatchObject({ output_tokens: 150 })
  })
})

describe('an entry that stops billing', () => {
  const long = 'Otters sleep in the water and hold hands. '.repeat(200)
  const left = async (more: object = {}) => {
    const { key, balance } = await gateway.funded()
    const stopped = Promise.withResolvers<void>()
    vendor.answer = ({ signal }) => {
      signal.addEventListener('abort', () => stopped.resolve())
      return eventStream([openAi.chunk({ content: words })], () => undefined)
    }
    const answer = await chat(key, 'stops', { messages: [{ role: 'user', content: long }], ...more })
    // Its missing output in the meantime does not count: it was stopped.
    gateway.clock.advance(20_000)
    await leave(answer)
    return { key, balance, answer, stopped: stopped.promise }
  }

  /** Long enough for whatever was left before it to be stopped as well. */
  const anotherIsStopped = async () => (await left()).stopped

  test('is stopped, and charged its input by the tokenizer and the text that it had sent', async () => {
    const { key, balance, answer, stopped } = await left()
    await stopped
    const cost = await settled(balance)
    const explained = await gateway.explained(key, requestId(answer))
    expect(explained).toMatchObject({ code: 'caller_hung_up', usage_source: 'estimated', output_tokens: 100 })
    expect(Number(explained['input_tokens']) - countTokens(long)).toBeWithin(0, 20)
    expect(explained['cost_micros_usd']).toBe(cost)
  })

  test('uses the input count that the vendor already reported', async () => {
    const { key, balance } = await gateway.funded()
    const text = anthropic.event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: words } })
    vendor.answer = () => eventStream([anthropic.start({ input: 321, output: 0, cached: 21 }), text], () => undefined)
    const body = { model: 'claude', max_tokens: 1000, stream: true, messages: [{ role: 'user', content: long }] }
    const answer = await gateway.post(key, '/v1/messages', body)
    await leave(answer)
    await settled(balance)
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({
      input_tokens: 321,
      cache_read_tokens: 21,
      output_tokens: 100,
      usage_source: 'estimated',
    })
  })

  test('counts what the vendor had sent, even if its caller had not read it', async () => {
    const { key, balance } = await gateway.funded()
    vendor.answer = () =>
      eventStream(
        Array.from({ length: 50 }, () => openAi.chunk({ content: words })),
        () => undefined,
      )
    const answer = await chat(key, 'stops')
    await leave(answer)
    await settled(balance)
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({ output_tokens: 50 * 100 })
  })

  test.each([
    { reasoning_effort: 'high' },
    { tools: [{ type: 'function', function: { name: 'mine' } }], reasoning_effort: 'low' },
  ])('is not stopped if the call may have hidden output: %j', async (more) => {
    const { key, balance } = await gateway.funded()
    const { finish, signals } = held()
    await leave(await chat(key, 'stops', { ...LONG, ...more }))
    await anotherIsStopped()
    finish()
    expect(await settled(balance)).toBe(100_000 * 2.5 + 30_000 * 10)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false])
  })

  test('is not stopped under an Idempotency-Key: a repeat gets the whole answer', async () => {
    const { finish } = held()
    const { key, balance } = await gateway.funded()
    const headers = { 'idempotency-key': 'whole' }
    await leave(await chat(key, 'stops', {}, { headers }))
    await anotherIsStopped()
    finish()
    await settled(balance)
    const again = await chat(key, 'stops', {}, { headers })
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect(await again.text()).toEndWith('[DONE]\n\n')
  })
})

describe('calls that continue without their callers', () => {
  test('number at most twice the concurrency of the tier, over all keys of an account; none is cut for a new one', async () => {
    const limits = { rpm: 1_000, tpm: 100_000_000, concurrency: 2 }
    const { account, balance } = await gateway.funded(100, {}, limits)
    const other = await gateway.funded(100, {}, limits)
    const { finish, signals } = held()
    for (let i = 0; i < 2; i++) {
      const key = await gateway.key(account)
      for (let n = 0; n < 2; n++) await leave(await chat(key, 'thinker', { max_tokens: 1_000 }))
    }
    const fresh = await gateway.key(account)
    const refused = await chat(fresh, 'thinker', { max_tokens: 1_000 })
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(await refused.json()).toMatchObject({ error: { code: 'rate_limit_exceeded', limit_source: 'account' } })
    const theirs = await chat(other.key, 'thinker', { max_tokens: 1_000 })
    expect(theirs.status).toBe(200)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false, false, false, false])
    finish()
    await theirs.text()
    await settled(balance)
    expect((await chat(fresh, 'thinker', { max_tokens: 1_000 })).status).toBe(200)
  })

  test('count for the upstream that served them when the first was down', async () => {
    const { account, key, balance } = await gateway.funded(100)
    const { finish } = held()
    for (let i = 0; i < 2; i++) await leave(await chat(key, 'behind', { max_tokens: 1_000 }))
    expect((await chat(await gateway.key(account), 'narrow', { max_tokens: 1_000 })).status).toBe(429)
    finish()
    await settled(balance)
  })

  test('count from when their caller left, also before their first byte', async () => {
    const { account, balance } = await gateway.funded(100, {}, { rpm: 1_000, tpm: 100_000_000, concurrency: 1 })
    const [asked, gone, go] = [Promise.withResolvers<void>(), new AbortController(), Promise.withResolvers<void>()]
    let calls = 0
    vendor.answer = async () => {
      if (++calls === 2) asked.resolve()
      await go.promise
      return openAi.plain('Hi', { input: 10, output: 10 })
    }
    const body = { stream: false, max_tokens: 1_000 }
    const keys = [await gateway.key(account), await gateway.key(account), await gateway.key(account)] as const
    const left = keys
      .slice(0, 2)
      .map((key) => chat(key, 'thinker', body, { signal: gone.signal }).catch(() => undefined))
    await asked.promise
    gone.abort()
    expect((await chat(keys[2], 'thinker', body)).status).toBe(429)
    go.resolve()
    await Promise.all(left)
    await settled(balance)
    expect((await chat(keys[2], 'thinker', body)).status).toBe(200)
  })

  test("of one account fill at most half of an upstream's slots", async () => {
    const { account, key, balance } = await gateway.funded(100)
    const other = await gateway.funded(100)
    const { finish } = held()
    for (let i = 0; i < 2; i++) await leave(await chat(key, 'narrow', { max_tokens: 1_000 }))
    expect((await chat(await gateway.key(account), 'narrow', { max_tokens: 1_000 })).status).toBe(429)
    const elsewhere = await chat(key, 'thinker', { max_tokens: 1_000 })
    expect(elsewhere.status).toBe(200)
    const theirs = await chat(other.key, 'narrow', { max_tokens: 1_000 })
    expect(theirs.status).toBe(200)
    finish()
    await Promise.all([theirs.text(), elsewhere.text()])
    await settled(balance)
  })
})

describe('the process shuts down (spec D4)', () => {
  test('an open stream ends with the error of its wire, as our break: nothing is charged, and the log blames no caller', async () => {
    const { key, balance } = await gateway.funded()
    held()
    const answer = await chat(key, 'thinker')
    const text = answer.text()
    const ended = gateway.gateway.streamsEnded(0)
    expect(await text).toContain('"code":"service_unavailable"')
    expect(await text).not.toContain('[DONE]')
    await ended
    expect(await settled(balance)).toBe(0)
    await gateway.core.stores.journal.drained()
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({ status: 503, code: 'gateway_shutdown' })
  })

  test('a stream without a listener is charged by estimate', async () => {
    const { key, balance } = await gateway.funded()
    held()
    const answer = await chat(key, 'thinker')
    await leave(answer)
    gateway.clock.advance(5_000)
    await gateway.gateway.streamsEnded(0)
    expect(await settled(balance)).toBeGreaterThan(500 * 36.8)
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({
      status: 200,
      code: 'gateway_shutdown',
      usage_source: 'estimated',
      output_tokens: 500,
    })
  })

  test('a plain call: 503 and no charge for a caller who waits; an estimate for one who left', async () => {
    const [waiting, leaving] = [await gateway.funded(), await gateway.funded()]
    const both = Promise.withResolvers<void>()
    vendor.answer = () => {
      if (vendor.received.length === 2) both.resolve()
      return new Promise<Response>(() => undefined)
    }
    const gone = new AbortController()
    const answer = chat(waiting.key, 'thinker', { stream: false })
    const left = chat(leaving.key, 'thinker', { stream: false }, { signal: gone.signal }).catch(() => undefined)
    await both.promise
    gone.abort()
    gateway.clock.advance(5_000)
    await gateway.gateway.streamsEnded(0)
    expect((await answer).status).toBe(503)
    await left
    expect(await settled(waiting.balance)).toBe(0)
    expect(await settled(leaving.balance)).toBeGreaterThan(500 * 36.8)
  })
})
