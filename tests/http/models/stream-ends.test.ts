import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { anthropic, eventStream, openAi, openBreaker, openVendor, type VendorDouble } from '../../support/vendor-double'

let vendor: VendorDouble
let gateway: ModelGateway
let broken: readonly string[] = []
const breaker = openBreaker(() => broken)
beforeAll(async () => {
  vendor = openVendor(() => Response.error())
  gateway = await openModelGateway([
    { id: 'paid', upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` }, price: PRICE },
    { id: 'silent', upstream: { kind: 'openai', base_url: `${vendor.origin}/v1`, idle_timeout_ms: 50 }, price: PRICE },
    { id: 'broken', upstream: { kind: 'openai', base_url: `${breaker.origin}/v1` }, price: PRICE },
    { id: 'claude', upstream: { kind: 'anthropic', base_url: `${vendor.origin}/v1` }, price: PRICE },
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

const BODY = { model: 'paid', max_tokens: 1000, stream: true }
const words = 'x'.repeat(400)
const requestId = (answer: Response) => answer.headers.get('x-gateway-request-id') ?? ''

/** Waits until the call has let go of its place and its hold. */
async function settled(key: { id: string; secret: string }, balance: () => Promise<{ held: number }>): Promise<void> {
  while ((await balance()).held > 0) await Bun.sleep(1)
  const models = await gateway.as(key, '/v1/models')
  expect(models.headers.get('x-ratelimit-remaining-concurrency')).toBe(
    models.headers.get('x-ratelimit-limit-concurrency'),
  )
}

/** Reads until `part` has come. */
async function readUntil(
  reader: { read(): Promise<{ done: boolean; value?: Uint8Array | undefined }> },
  part: string,
): Promise<string> {
  let text = ''
  while (!text.includes(part)) {
    const { done, value } = await reader.read()
    if (done) return text
    text += new TextDecoder().decode(value)
  }
  return text
}

describe('a plain call whose caller hangs up before the vendor answers (spec-answers 4)', () => {
  test('costs nothing, stops the upstream, gives everything back, and stands in the log with its model', async () => {
    const { key, balance } = await gateway.funded()
    const [asked, stopped] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    vendor.answer = ({ signal }) => {
      signal.addEventListener('abort', () => stopped.resolve())
      asked.resolve()
      return new Promise<Response>(() => undefined)
    }
    const hangUp = new AbortController()
    const headers = { 'x-request-id': 'gone' }
    const answer = gateway.chat(key, { ...BODY, stream: false }, { headers, signal: hangUp.signal })
    await asked.promise
    hangUp.abort()
    await stopped.promise
    expect((await answer).status).toBeGreaterThanOrEqual(500)
    await settled(key, balance)
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
    await gateway.core.stores.journal.drained()
    expect(await gateway.explained(key, 'gone')).toMatchObject({ model: 'paid', cost_micros_usd: 0, charge: null })
  })
})

describe('a stream whose caller hangs up (spec-answers 4)', () => {
  test('is charged for what went through, stops the upstream, and gives everything back', async () => {
    const { key, balance } = await gateway.funded()
    const stopped = Promise.withResolvers<void>()
    vendor.answer = ({ signal }) => {
      signal.addEventListener('abort', () => stopped.resolve())
      return eventStream([openAi.chunk({ content: words })], () => undefined)
    }
    const answer = await gateway.chat(key, BODY)
    const reader = answer.body?.getReader()
    if (!reader) throw new Error('no body')
    await readUntil(reader, 'xxx')
    await reader.cancel()
    await stopped.promise
    await settled(key, balance)
    const explained = await gateway.explained(key, requestId(answer))
    expect(explained).toMatchObject({
      status: 200,
      code: 'caller_hung_up',
      usage_source: 'estimated',
      output_tokens: 100,
    })
    expect(explained['cost_micros_usd']).toBe(10_000_000 - (await balance()).paid)
  })

  test('knows what the vendor told of the input already', async () => {
    const { key, balance } = await gateway.funded()
    vendor.answer = () =>
      eventStream(
        [
          anthropic.start({ input: 321, output: 0, cached: 21 }),
          anthropic.event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: words } }),
        ],
        () => undefined,
      )
    const answer = await gateway.post(key, '/v1/messages', {
      model: 'claude',
      max_tokens: 1000,
      stream: true,
      messages: [{ role: 'user', content: 'x'.repeat(2000) }],
    })
    const reader = answer.body?.getReader()
    if (!reader) throw new Error('no body')
    await readUntil(reader, 'xxx')
    await reader.cancel()
    await settled(key, balance)
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({
      input_tokens: 321,
      cache_read_tokens: 21,
      output_tokens: 100,
      usage_source: 'estimated',
    })
  })

  test('before the vendor answered is charged nothing', async () => {
    const { key, balance } = await gateway.funded()
    const abort = new AbortController()
    vendor.answer = () => new Promise<Response>(() => undefined)
    const call = gateway.chat(key, BODY, { signal: abort.signal })
    while (vendor.received.length === 0) await Bun.sleep(1)
    abort.abort()
    await call.then(
      () => undefined,
      () => undefined,
    )
    await settled(key, balance)
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
  })
})

describe('a stream that the upstream breaks', () => {
  test('in the middle is charged for what went through, and tells the caller so', async () => {
    const { key, balance } = await gateway.funded()
    broken = [openAi.chunk({ content: words })]
    const answer = await gateway.chat(key, { ...BODY, model: 'broken' })
    const reader = answer.body?.getReader()
    if (!reader) throw new Error('no body')
    expect(await readUntil(reader, 'xxx')).toContain('xxx')
    breaker.drop()
    const text = await readUntil(reader, 'never')
    expect(text).toContain('"code":"upstream_error"')
    expect(text).not.toContain('[DONE]')
    await settled(key, balance)
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({
      code: 'stream_cut',
      usage_source: 'estimated',
      output_tokens: 100,
    })
  })

  test('by ending without its end is a cut as well', async () => {
    const { key } = await gateway.funded()
    vendor.answer = () => eventStream([openAi.chunk({ content: words })])
    const answer = await gateway.chat(key, BODY)
    expect(await answer.text()).toContain('"code":"upstream_error"')
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({ code: 'stream_cut', output_tokens: 100 })
  })

  test('before anything came costs nothing', async () => {
    const { key, balance } = await gateway.funded()
    broken = []
    const answer = await gateway.chat(key, { ...BODY, model: 'broken' })
    breaker.drop()
    expect(await answer.text()).toContain('upstream_error')
    await settled(key, balance)
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
  })

  test("by telling of a failure passes that on in the vendor's own format", async () => {
    const { key, balance } = await gateway.funded()
    vendor.answer = () => eventStream(['data: {"error":{"message":"overloaded","type":"server_error"}}\n\n'])
    const answer = await gateway.chat(key, BODY)
    expect(await answer.text()).toContain('"message":"overloaded"')
    await settled(key, balance)
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
  })

  test('by falling silent is ended after the silence that the model allows', async () => {
    const { key, balance } = await gateway.funded()
    vendor.answer = () => eventStream([openAi.chunk({ content: words })], () => undefined)
    const answer = await gateway.chat(key, { ...BODY, model: 'silent' })
    expect(await answer.text()).toContain('"code":"upstream_timeout"')
    await settled(key, balance)
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({ code: 'stream_cut', output_tokens: 100 })
  })
})

describe('a stream whose vendor', () => {
  test('sends no usage is estimated', async () => {
    const { key } = await gateway.funded()
    vendor.answer = () => eventStream(openAi.words([words], null))
    const answer = await gateway.chat(key, BODY)
    expect(await answer.text()).toEndWith('[DONE]\n\n')
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({
      code: null,
      usage_source: 'estimated',
      output_tokens: 100,
    })
  })

  test('says that nothing came out, where something did, is not believed', async () => {
    const { key } = await gateway.funded()
    vendor.answer = () => eventStream(openAi.words([words], { input: 50, output: 0 }))
    const answer = await gateway.chat(key, BODY)
    await answer.text()
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({
      usage_source: 'estimated',
      input_tokens: 50,
      output_tokens: 100,
    })
  })

  test('counts above the hold costs the caller the hold', async () => {
    const { key, balance } = await gateway.funded()
    const quote = await gateway.chat(key, BODY, { headers: { 'x-cost-mode': 'quote' } })
    const { quote: most } = (await quote.json()) as { quote: { cost_micros_usd: number } }
    vendor.answer = () => eventStream(openAi.words(['Hi'], { input: 50, output: 1_000_000 }))
    const answer = await gateway.chat(key, BODY)
    await answer.text()
    expect(await balance()).toEqual({ paid: 10_000_000 - most.cost_micros_usd, held: 0 })
    expect(gateway.logged.some((line) => line.includes(requestId(answer)) && line.includes('the house bears'))).toBe(
      true,
    )
  })
})

describe('the end of a stream', () => {
  test('is sent only when the charge is durable: the row is there when the caller has seen it', async () => {
    const { key } = await gateway.funded()
    vendor.answer = () => eventStream(openAi.words(['Hi'], { input: 50, output: 4 }))
    const answer = await gateway.chat(key, BODY)
    const reader = answer.body?.getReader()
    if (!reader) throw new Error('no body')
    await readUntil(reader, '[DONE]')
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({ cost_micros_usd: 165 })
    await reader.cancel()
    expect(await gateway.explained(key, requestId(answer))).toMatchObject({ cost_micros_usd: 165, code: null })
  })

  test('many at once, each ended in another way: no place and no hold is left, and the books agree', async () => {
    const { key, balance } = await gateway.funded(1000)
    const ways = [
      () => eventStream(openAi.words(['Hi', words], { input: 50, output: 4 })),
      () => eventStream([openAi.chunk({ content: words })]),
      () => eventStream([openAi.chunk({ content: words })], () => undefined),
      () => openAi.error(500, {}),
    ]
    vendor.answer = () => ways[vendor.received.length % ways.length]?.() ?? Response.error()
    await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        const answer = await gateway.chat(key, BODY)
        const reader = answer.body?.getReader()
        if (!reader) return
        if (i % 3 === 0) await reader.cancel()
        else {
          await readUntil(reader, 'xxx')
          await reader.cancel()
        }
      }),
    )
    await settled(key, balance)
  })
})
