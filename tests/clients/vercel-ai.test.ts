import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createAnthropic } from '@ai-sdk/anthropic'
import { createGoogleGenerativeAI } from '@ai-sdk/google'
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
  const anthropic = createAnthropic({ baseURL: `${origin}/v1`, apiKey })
  const google = createGoogleGenerativeAI({ baseURL: `${origin}/v1beta`, apiKey })
  models = {
    openai: (id) => openai(id),
    anthropic: (id) => anthropic(id), // It takes an id with a slash for a whole path.
    google: (id) => google(`models/${id}`),
  }
})
afterAll(() => gateway.close())

describe.each(['openai', 'anthropic', 'google'])('ai, over its provider for %s', (provider) => {
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

  test('calls a tool and goes on with what it said', async () => {
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

  test('tells our refusal as its own error', async () => {
    const problem = await generateText({ model: model('nobody'), prompt: 'x', maxRetries: 0 }).catch(
      (error: unknown) => error,
    )
    expect(APICallError.isInstance(problem)).toBe(true)
    expect(problem).toMatchObject({ statusCode: 404 })
  })
})
