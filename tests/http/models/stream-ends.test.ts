import { afterAll, beforeAll, beforeEach, describe, expect, spyOn, test } from 'bun:test'
import { OVER_SOCKET } from '../../support/harness'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { until } from '../../support/until'
import { eventStream, openAi, openBreaker, openVendor, type VendorDouble } from '../../support/vendor-double'

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

/** How a call that was not charged stands in the log. */
async function uncharged(key: { id: string; secret: string }, answer: Response) {
  await gateway.core.stores.journal.drained()
  const explained = await gateway.explained(key, requestId(answer))
  expect(explained).toMatchObject({ cost_micros_usd: 0, charge: null })
  return explained
}

/** Waits until the call has let go of its place and its hold. */
async function settled(key: { id: string; secret: string }, balance: () => Promise<{ held: number }>): Promise<void> {
  await until(async () => (await balance()).held === 0)
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

describe('a stream that the upstream breaks', () => {
  test('in the middle while its caller listens is not charged, and says so in the stream', async () => {
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
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
    expect(await uncharged(key, answer)).toMatchObject({ status: 502, code: 'stream_cut' })
  })

  test('in the middle of an event still ends with a readable error event', async () => {
    const { key } = await gateway.funded()
    vendor.answer = () => eventStream([openAi.chunk({ content: words }), 'data: {"choices":[{"del'])
    const events = (await (await gateway.chat(key, BODY)).text()).split('\n\n').filter((event) => event !== '')
    const last: unknown = JSON.parse(events.at(-1)?.slice('data: '.length) ?? '')
    expect(last).toMatchObject({ error: { code: 'upstream_error' } })
  })

  test.each(['data: {"id": "x", "usage": null, "cho', 'data: {"choices":[{"delta":{"content":"usage"}}],"\\u'])(
    'in the middle of a name is released like any other: %s',
    async (cut) => {
      const { key, balance } = await gateway.funded()
      vendor.answer = () => eventStream([openAi.chunk({ content: words }), cut])
      const answer = await gateway.chat(key, BODY)
      expect(await answer.text()).toContain('"code":"upstream_error"')
      await settled(key, balance)
      expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
      expect(await uncharged(key, answer)).toMatchObject({ status: 502, code: 'stream_cut' })
    },
  )

  test('by closing without its final event counts as interrupted', async () => {
    const { key } = await gateway.funded()
    vendor.answer = () => eventStream([openAi.chunk({ content: words })])
    const answer = await gateway.chat(key, BODY)
    expect(await answer.text()).toContain('"code":"upstream_error"')
    expect(await uncharged(key, answer)).toMatchObject({ code: 'stream_cut' })
  })

  test.skipIf(OVER_SOCKET)('before anything came costs nothing', async () => {
    const { key, balance } = await gateway.funded()
    broken = []
    const answer = await gateway.chat(key, { ...BODY, model: 'broken' })
    breaker.drop()
    expect(await answer.text()).toContain('upstream_error')
    await settled(key, balance)
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
  })

  test("by reporting a failure passes that on in the vendor's own format", async () => {
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
    expect(await uncharged(key, answer)).toMatchObject({ code: 'stream_cut' })
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

  test('reports no output although there was some is not believed', async () => {
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

  test('counts more than was held charges the hold', async () => {
    const { key, balance } = await gateway.funded()
    const quote = await gateway.chat(key, BODY, { headers: { 'x-cost-mode': 'quote' } })
    const { quote: most } = (await quote.json()) as { quote: { cost_micros_usd: number } }
    vendor.answer = () => eventStream(openAi.words(['Hi'], { input: 50, output: 1_000_000 }))
    const answer = await gateway.chat(key, BODY)
    await answer.text()
    expect(await balance()).toEqual({ paid: 10_000_000 - most.cost_micros_usd, held: 0 })
    expect(gateway.logged.some((line) => line.includes(requestId(answer)) && line.includes('the gateway bears'))).toBe(
      true,
    )
  })
})

describe('the end of a stream', () => {
  test('is sent only after the charge is durable', async () => {
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

  test.skipIf(OVER_SOCKET)(
    'that arrives in one chunk with all the text: none of it is sent before the charge is durable',
    async () => {
      const { key } = await gateway.funded()
      vendor.answer = () => eventStream([openAi.words(['Hi'], { input: 50, output: 4 }).join('')])
      const { ledger } = gateway.core
      const [reached, durable] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      const capture = ledger.capture.bind(ledger)
      const spy = spyOn(ledger, 'capture').mockImplementationOnce(async (...given) => {
        reached.resolve()
        await durable.promise
        return capture(...given)
      })
      const reader = (await gateway.chat(key, BODY)).body?.getReader()
      let hasCome = false
      const first = reader?.read().then((part) => {
        hasCome = true
        return part
      })
      await reached.promise
      for (let i = 0; i < 5; i++) await gateway.as(key, '/v1/models')
      expect(hasCome).toBe(false)
      durable.resolve()
      expect(new TextDecoder().decode((await first)?.value)).toContain('Hi')
      spy.mockRestore()
    },
  )

  test('many at once, each ended differently: no place and no hold is left, and the books agree', async () => {
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
        const answer = await gateway.chat(key, { ...BODY, model: 'silent' })
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
