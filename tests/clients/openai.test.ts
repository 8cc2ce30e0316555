import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import OpenAI from 'openai'
import type { MadeKey } from '../support/harness'
import { type ModelGateway, openModelGateway, PRICE } from '../support/model-gateway'
import { eventStream, openAi, openVendor, type VendorDouble } from '../support/vendor-double'

/** The official package, unmodified: only its base URL and its key are ours. */
let vendor: VendorDouble
let gateway: ModelGateway
let client: OpenAI
let key: MadeKey
let balance: () => Promise<{ paid: number; held: number }>
beforeAll(async () => {
  vendor = openVendor(() => openAi.plain('Hi', { input: 10, output: 4 }))
  gateway = await openModelGateway([
    { id: 'gpt', upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` }, price: PRICE },
  ])
  const funded = await gateway.funded()
  key = funded.key
  balance = funded.balance
  client = new OpenAI({ baseURL: `${gateway.serve()}/v1`, apiKey: key.secret, maxRetries: 2 })
})
afterAll(async () => {
  await gateway.close()
  vendor.close()
})

const messages = [{ role: 'user' as const, content: 'Hello' }]

describe('openai', () => {
  test('its quickstart runs on a fresh machine, with the sandbox', async () => {
    const completion = await client.chat.completions.create({ model: 'sandbox/echo', messages })
    expect(completion.choices[0]?.message.content).toBe('Hello')
    expect(completion.usage?.total_tokens).toBe(2)
  })

  test('lists and reads models, each with its recharge_required (spec 2.2, 4.6)', async () => {
    const ids: string[] = []
    for await (const model of client.models.list()) ids.push(model.id)
    expect(ids).toEqual([
      'gpt',
      ...['draw', 'echo', 'embed', 'extract', 'moderate', 'rerank', 'speak', 'transcribe'].map(
        (name) => `sandbox/${name}`,
      ),
    ])
    expect((await client.models.retrieve('sandbox/echo')).owned_by).toBe('sandbox')
  })

  test('plain and streamed, with and without usage', async () => {
    vendor.answer = () => openAi.plain('Hi', { input: 10, output: 4 })
    expect((await client.chat.completions.create({ model: 'gpt', messages })).choices[0]?.message.content).toBe('Hi')
    vendor.answer = () => eventStream(openAi.words(['Hel', 'lo'], { input: 10, output: 4 }))
    let text = ''
    for await (const chunk of await client.chat.completions.create({ model: 'gpt', messages, stream: true })) {
      expect(chunk.usage).toBeUndefined()
      text += chunk.choices[0]?.delta.content ?? ''
    }
    expect(text).toBe('Hello')
    const runner = client.chat.completions.stream({ model: 'gpt', messages, stream_options: { include_usage: true } })
    expect((await runner.finalChatCompletion()).choices[0]?.message.content).toBe('Hello')
    expect((await runner.totalUsage()).total_tokens).toBe(14)
  })

  test('tools: the sandbox calls one, and repeats its result', async () => {
    const runner = client.chat.completions.runTools({
      model: 'sandbox/echo',
      messages: [{ role: 'user', content: 'Paris' }],
      tools: [
        {
          type: 'function',
          function: {
            name: 'weather',
            description: 'The weather of a city',
            parse: JSON.parse,
            parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
            function: ({ city }: { city: string }) => `It rains in ${city}.`,
          },
        },
      ],
    })
    expect(await runner.finalContent()).toBe('The tool said: It rains in Paris.')
  })

  test('errors arrive as its own classes, with our code and request id', async () => {
    const refused = await client.chat.completions.create({ model: 'nobody', messages }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(OpenAI.NotFoundError)
    expect(refused).toMatchObject({ status: 404, code: 'unknown_model', requestID: expect.stringMatching(/^req_/) })
    const stranger = new OpenAI({ baseURL: client.baseURL, apiKey: 'gwk_wrong', maxRetries: 0 })
    expect(await stranger.models.list().catch((error: unknown) => error)).toBeInstanceOf(OpenAI.AuthenticationError)
    vendor.answer = () => openAi.error(400, { message: 'too hot', code: 'bad_temperature', param: 'temperature' })
    expect(
      await client.chat.completions.create({ model: 'gpt', messages }).catch((error: unknown) => error),
    ).toMatchObject({
      status: 400,
      code: 'bad_temperature',
      param: 'temperature',
    })
  })

  test('a failure in the middle of a stream is an error of the stream', async () => {
    vendor.answer = () => eventStream([openAi.chunk({ content: 'Hel' })])
    const stream = await client.chat.completions.create({ model: 'gpt', messages, stream: true })
    const reading = (async () => {
      for await (const _ of stream);
    })()
    expect(
      await reading.then(
        () => null,
        (error: unknown) => error,
      ),
    ).toBeInstanceOf(OpenAI.APIError)
  })

  test('it waits and tries again after 429, by our Retry-After', async () => {
    let calls = 0
    vendor.answer = () =>
      ++calls <= 1
        ? openAi.error(429, {}, { 'retry-after': '1', 'x-should-retry': 'false' })
        : openAi.plain('Hi', { input: 10, output: 4 })
    expect((await client.chat.completions.create({ model: 'gpt', messages })).choices[0]?.message.content).toBe('Hi')
    expect(calls).toBe(2)
  })

  test('under an Idempotency-Key, its own retry gets the reply that was lost, for one charge', async () => {
    vendor.answer = () => openAi.plain('Hi', { input: 10, output: 4 })
    vendor.received.length = 0
    const before = (await balance()).paid
    let tries = 0
    const losing = new OpenAI({
      baseURL: client.baseURL,
      apiKey: key.secret,
      async fetch(...call) {
        const answer = await fetch(...call)
        if (++tries > 1) return answer
        await answer.text()
        throw new TypeError('the connection was lost')
      },
    })
    const completion = await losing.chat.completions.create(
      { model: 'gpt', messages },
      { headers: { 'Idempotency-Key': crypto.randomUUID() } },
    )
    expect(completion.choices[0]?.message.content).toBe('Hi')
    expect([tries, vendor.received.length, before - (await balance()).paid]).toEqual([2, 1, 65])
  })

  test('its own idempotency header, once switched on, does the same; another body under one key is its ConflictError, tried once', async () => {
    class Keyed extends OpenAI {
      protected override idempotencyHeader = 'Idempotency-Key'
    }
    vendor.answer = () => openAi.plain('Hi', { input: 10, output: 4 })
    vendor.received.length = 0
    let tries = 0
    const keyed = new Keyed({
      baseURL: client.baseURL,
      apiKey: key.secret,
      fetch: (...call) => {
        tries++
        return fetch(...call)
      },
    })
    const idempotencyKey = crypto.randomUUID()
    await keyed.chat.completions.create({ model: 'gpt', messages }, { idempotencyKey })
    const again = await keyed.chat.completions.create({ model: 'gpt', messages }, { idempotencyKey }).withResponse()
    expect(again.response.headers.get('idempotency-replayed')).toBe('true')
    const other = { model: 'gpt', messages: [...messages, ...messages] }
    const refused = await keyed.chat.completions.create(other, { idempotencyKey }).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(OpenAI.ConflictError)
    expect(refused).toMatchObject({ code: 'idempotency_conflict' })
    expect([tries, vendor.received.length]).toEqual([3, 1])
  })
})

describe('openai, over Responses', () => {
  test('plain and streamed, with its helper for the text and its snapshot of the stream', async () => {
    const response = await client.responses.create({ model: 'sandbox/echo', input: 'Hello there' })
    expect(response).toMatchObject({ output_text: 'Hello there', status: 'completed', store: false })
    expect(response.usage).toMatchObject({ input_tokens: 2, output_tokens: 2, total_tokens: 4 })
    let text = ''
    const types: string[] = []
    for await (const event of await client.responses.create({
      model: 'sandbox/echo',
      input: 'Hello there',
      stream: true,
    })) {
      types.push(event.type)
      if (event.type === 'response.output_text.delta') text += event.delta
    }
    expect([text, types[0], types.at(-1)]).toEqual(['Hello there', 'response.created', 'response.completed'])
    const final = await client.responses.stream({ model: 'sandbox/echo', input: 'Hello there' }).finalResponse()
    expect(final).toMatchObject({ output_text: 'Hello there', usage: { total_tokens: 4 } })
  })

  test('tools, in two steps: the call of a function, and what it returned', async () => {
    const tools = [
      {
        type: 'function' as const,
        name: 'weather',
        strict: true,
        parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    ]
    const first = await client.responses.stream({ model: 'sandbox/echo', input: 'Paris', tools }).finalResponse()
    const [call] = first.output
    if (call?.type !== 'function_call') throw new Error('no call')
    expect(call).toMatchObject({ name: 'weather', arguments: '{"city":"Paris"}', status: 'completed' })
    const { call_id } = call
    const second = await client.responses.create({
      model: 'sandbox/echo',
      tools,
      input: [{ role: 'user', content: 'Paris' }, call, { type: 'function_call_output', call_id, output: 'It rains.' }],
    })
    expect(second.output_text).toBe('The tool said: It rains.')
  })

  test('a refusal, and a failure in the middle of a stream, are its own errors', async () => {
    const body = { model: 'sandbox/echo', input: 'Hello' }
    const stored = client.responses.create({ ...body, previous_response_id: 'resp_1' })
    expect(await stored.catch((error: unknown) => error)).toMatchObject({
      status: 422,
      code: 'unsupported_parameter',
      param: 'previous_response_id',
    })
    vendor.answer = () => eventStream([openAi.chunk({ content: 'Hel' })])
    const stream = await client.responses.create({ ...body, model: 'gpt', stream: true })
    const reading = (async () => {
      for await (const _ of stream);
    })()
    const problem = await reading.catch((error: unknown) => error)
    expect(problem).toBeInstanceOf(OpenAI.APIError)
    expect(problem).toMatchObject({ code: 'upstream_error' })
  })
})

describe('openai, over completions of one prompt', () => {
  test('plain and streamed', async () => {
    const completion = await client.completions.create({ model: 'sandbox/echo', prompt: 'Hello there' })
    expect(completion).toMatchObject({ object: 'text_completion', choices: [{ text: 'Hello there' }] })
    let text = ''
    for await (const chunk of await client.completions.create({
      model: 'sandbox/echo',
      prompt: ['Hello there'],
      stream: true,
    }))
      text += chunk.choices[0]?.text
    expect(text).toBe('Hello there')
  })
})
