import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { type ModelGateway, openModelGateway, PRICE } from '../support/model-gateway'
import { anthropic, eventStream, openVendor, type VendorDouble } from '../support/vendor-double'

/** The official package, unmodified: only its base URL and its key are ours. */
let vendor: VendorDouble
let gateway: ModelGateway
let client: Anthropic
beforeAll(async () => {
  vendor = openVendor(() => anthropic.plain('Hi', { input: 10, output: 4 }))
  gateway = await openModelGateway([
    { id: 'claude', upstream: { kind: 'anthropic', base_url: `${vendor.origin}/v1` }, price: PRICE },
  ])
  const { key } = await gateway.funded()
  client = new Anthropic({ baseURL: gateway.serve(), apiKey: key.secret, maxRetries: 2 })
})
afterAll(async () => {
  await gateway.close()
  vendor.close()
})

const call = { model: 'claude', max_tokens: 100, messages: [{ role: 'user' as const, content: 'Hello' }] }

describe('@anthropic-ai/sdk', () => {
  test('its quickstart runs on a fresh machine, with the sandbox', async () => {
    const message = await client.messages.create({ ...call, model: 'sandbox/echo' })
    expect(message.content).toMatchObject([{ type: 'text', text: 'Hello' }])
    expect(message.usage).toMatchObject({ input_tokens: 1, output_tokens: 1 })
  })

  test('plain and streamed', async () => {
    vendor.answer = () => anthropic.plain('Hi', { input: 10, output: 4 })
    expect((await client.messages.create(call)).content).toMatchObject([{ type: 'text', text: 'Hi' }])
    vendor.answer = () => eventStream(anthropic.words(['Hel', 'lo'], { input: 10, output: 4 }))
    const stream = client.messages.stream(call)
    expect(await stream.finalText()).toBe('Hello')
    expect((await stream.finalMessage()).usage.output_tokens).toBe(4)
  })

  test('tools, plain and streamed, with the sandbox', async () => {
    const tools = [
      {
        name: 'weather',
        input_schema: { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] },
      },
    ]
    const asked = { ...call, model: 'sandbox/echo', tools }
    const message = await client.messages.create(asked)
    expect(message.stop_reason).toBe('tool_use')
    const [use] = message.content
    if (use?.type !== 'tool_use') throw new Error('no tool was called')
    expect(use.input).toEqual({ city: 'Hello' })
    const streamed = await client.messages.stream(asked).finalMessage()
    expect(streamed.content[0]).toMatchObject({ type: 'tool_use', name: 'weather', input: { city: 'Hello' } })
    const answered = await client.messages.create({
      ...asked,
      messages: [
        ...call.messages,
        { role: 'assistant', content: message.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: 'Rain' }] },
      ],
    })
    expect(answered.content).toMatchObject([{ type: 'text', text: 'The tool said: Rain' }])
  })

  test('errors arrive as its own classes', async () => {
    const refused = await client.messages.create({ ...call, model: 'nobody' }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(Anthropic.NotFoundError)
    expect(refused).toMatchObject({ status: 404, error: { type: 'error', error: { code: 'unknown_model' } } })
    const stranger = new Anthropic({ baseURL: client.baseURL, apiKey: 'gwk_wrong', maxRetries: 0 })
    expect(await stranger.messages.create(call).catch((error: unknown) => error)).toBeInstanceOf(
      Anthropic.AuthenticationError,
    )
    vendor.answer = () => anthropic.error(400, 'invalid_request_error')
    expect(await client.messages.create(call).catch((error: unknown) => error)).toMatchObject({
      status: 400,
      error: { type: 'error', error: { type: 'invalid_request_error', message: 'no' } },
    })
  })

  test('a failure in the middle of a stream is an error of the stream', async () => {
    const [start = '', block = '', delta = ''] = anthropic.words(['Hel'], { input: 10, output: 4 })
    vendor.answer = () => eventStream([start, block, delta])
    expect(
      await client.messages
        .stream(call)
        .finalText()
        .then(
          () => null,
          (error: unknown) => error,
        ),
    ).toBeInstanceOf(Anthropic.APIError)
  })

  test('it tries again after the vendor is overloaded', async () => {
    let calls = 0
    vendor.answer = () =>
      ++calls <= 2 ? anthropic.error(529, 'overloaded_error') : anthropic.plain('Hi', { input: 10, output: 4 })
    expect((await client.messages.create(call)).content).toMatchObject([{ type: 'text', text: 'Hi' }])
    expect(calls).toBe(3)
  })
})
