import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { APICallError, generateText, jsonSchema, type LanguageModel, stepCountIs, streamText, tool } from 'ai'
import { type ModelGateway, openModelGateway } from '../support/model-gateway'

let gateway: ModelGateway
let models: Readonly<Record<string, (id: string) => LanguageModel>>
beforeAll(async () => {
  gateway = await openModelGateway([])
  const { key } = await gateway.funded()
  const origin = gateway.serve()
  const apiKey = key.secret
  const openai = createOpenAICompatible({ name: 'gateway', baseURL: `${origin}/v1`, apiKey, includeUsage: true })
  const responses = createOpenAI({ baseURL: `${origin}/v1`, apiKey })
  const anthropic = createAnthropic({ baseURL: `${origin}/v1`, apiKey })
  const google = createGoogleGenerativeAI({ baseURL: `${origin}/v1beta`, apiKey })
  models = {
    openai: (id) => openai(id),
    'openai, by default': (id) => responses(id), // Calls `/v1/responses`, as an app of the quickstart does.
    'openai, of one prompt': (id) => responses.completion(id),
    anthropic: (id) => anthropic(id), // It takes an id with a slash for a whole path.
    google: (id) => google(`models/${id}`),
  }
})
afterAll(() => gateway.close())

describe.each(['openai', 'openai, by default', 'anthropic', 'google'])('ai, over its provider for %s', (provider) => {
  const model = (id: string) => {
    const made = models[provider]?.(id)
    if (!made) throw new Error('no provider')
    return made
  }

  test('generates and streams text', async () => {
    expect((await generateText({ model: model('sandbox/echo'), prompt: 'Hello there' })).text).toBe('Hello there')
    const { textStream, usage } = streamText({ model: model('sandbox/echo'), prompt: 'Hello there' })
    let text = ''
    for await (const part of textStream) text += part
    expect(text).toBe('Hello there')
    expect((await usage).outputTokens).toBe(2)
  })

  test('calls a tool and continues with its result', async () => {
    const weather = tool({
      description: 'The weather of a city',
      inputSchema: jsonSchema<{ city: string }>({
        type: 'object',
        properties: { city: { type: 'string' } },
        required: ['city'],
      }),
      execute: async ({ city }) => `It rains in ${city}.`,
    })
    const { text } = await generateText({
      model: model('sandbox/echo'),
      prompt: 'Paris',
      tools: { weather },
      stopWhen: stepCountIs(3),
    })
    expect(text).toContain('It rains in Paris.')
  })

  test('reports our refusal as its own error', async () => {
    const problem = await generateText({ model: model('nobody'), prompt: 'x', maxRetries: 0 }).catch(
      (error: unknown) => error,
    )
    expect(APICallError.isInstance(problem)).toBe(true)
    expect(problem).toMatchObject({ statusCode: 404 })
  })
})

test("ai, over OpenAI's completions of one prompt, generates text", async () => {
  const model = models['openai, of one prompt']?.('sandbox/echo')
  if (!model) throw new Error('no provider')
  // The provider writes a conversation into the prompt, and stops at its next turn.
  const { text, usage } = await generateText({ model, prompt: 'Hello there', maxOutputTokens: 100 })
  expect(text).toContain('Hello there')
  expect(usage.outputTokens).toBeGreaterThan(0)
})

describe('ai, over Responses, its default for OpenAI', () => {
  const weather = tool({
    description: 'The weather of a city',
    inputSchema: jsonSchema<{ city: string }>({
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
    }),
    execute: async ({ city }) => `It rains in ${city}.`,
  })
  const model = () => {
    const made = models['openai, by default']?.('sandbox/echo')
    if (!made) throw new Error('no provider')
    return made
  }

  test('streams a tool call of two steps', async () => {
    const { textStream, steps } = streamText({
      model: model(),
      prompt: 'Paris',
      tools: { weather },
      stopWhen: stepCountIs(3),
    })
    let text = ''
    for await (const part of textStream) text += part
    expect(text).toContain('It rains in Paris.')
    expect((await steps).map(({ toolCalls }) => toolCalls.length)).toEqual([1, 0])
  })

  test('continues a conversation, by reference unless it stores nothing; the error for an unknown item names the setting', async () => {
    const first = await generateText({ model: model(), prompt: 'Hello' })
    const messages = [
      { role: 'user' as const, content: 'Hello' },
      ...first.response.messages,
      { role: 'user' as const, content: 'And again' },
    ]
    const providerOptions = { openai: { store: false } }
    expect((await generateText({ model: model(), messages, providerOptions })).text).toBe('And again')
    expect((await generateText({ model: model(), messages })).text).toBe('And again')
    gateway.clock.advance(30 * 60_000)
    const refused = await generateText({ model: model(), messages }).catch((error: unknown) => error)
    expect(refused).toMatchObject({ statusCode: 422, message: expect.stringContaining('store: false') })
  })
})
