import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'

/** The lists of models as the packages of three vendors read them, with only base URL and key changed. */
let gateway: ModelGateway
let origin: string
let apiKey: string
const SANDBOX = ['draw', 'echo', 'embed', 'extract', 'moderate', 'rerank', 'speak', 'transcribe'].map(
  (name) => `sandbox/${name}`,
)
beforeAll(async () => {
  const base_url = 'http://127.0.0.1:1/v1'
  gateway = await openModelGateway([
    {
      id: 'claude',
      upstream: { kind: 'anthropic', base_url },
      price: PRICE,
      context_tokens: 200_000,
      max_output_tokens: 64_000,
    },
    { id: 'gpt', upstream: { kind: 'openai', base_url }, price: PRICE },
    { id: 'org/gem', upstream: { kind: 'gemini', base_url }, price: PRICE, recharge_required: false },
  ])
  origin = gateway.serve()
  apiKey = (await gateway.funded()).key.secret
})
afterAll(() => gateway.close())

describe('the list of models', () => {
  test("in Anthropic's format has the models for messages, page by page", async () => {
    const client = new Anthropic({ baseURL: origin, apiKey })
    const all: string[] = []
    for await (const model of client.models.list({ limit: 2 })) all.push(model.id)
    expect(all).toEqual(['claude', 'sandbox/echo', 'sandbox/extract'])
    const back = await client.models.list({ limit: 1, before_id: 'sandbox/extract' })
    expect(back).toMatchObject({ data: [{ id: 'sandbox/echo' }], has_more: true, last_id: 'sandbox/echo' })
    expect(await client.models.retrieve('claude')).toMatchObject({
      type: 'model',
      display_name: 'claude',
      max_input_tokens: 200_000,
      max_tokens: 64_000,
      recharge_required: true,
    })
    expect(await client.models.retrieve('sandbox/echo')).toMatchObject({ id: 'sandbox/echo', recharge_required: false })
    const refused = await client.models.retrieve('nobody').catch((error: unknown) => error)
    expect(refused).toMatchObject({ status: 404 })
  })

  test("in OpenAI's format has all", async () => {
    const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey })
    const all: string[] = []
    for await (const model of client.models.list()) all.push(model.id)
    expect(all).toEqual(['claude', 'gpt', 'org/gem', ...SANDBOX])
    expect(await client.models.retrieve('claude')).toMatchObject({ object: 'model', recharge_required: true })
  })

  test("in Google's format is below /v1 for Google's SDK, which calls it there by default", async () => {
    const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: origin } })
    const all: (string | undefined)[] = []
    for await (const { name } of await client.models.list({ config: { pageSize: 2 } })) all.push(name)
    expect(all).toEqual(['models/org/gem', 'models/sandbox/echo', 'models/sandbox/embed', 'models/sandbox/extract'])
    expect(await client.models.get({ model: 'org/gem' })).toMatchObject({ name: 'models/org/gem' })
  })

  test("in Google's format is below /v1beta, with what can be called on each", async () => {
    const client = new GoogleGenAI({ apiKey, httpOptions: { baseUrl: origin, apiVersion: 'v1beta' } })
    const all: string[] = []
    for await (const model of await client.models.list({ config: { pageSize: 2 } })) all.push(String(model.name))
    expect(all).toEqual(['models/org/gem', 'models/sandbox/echo', 'models/sandbox/embed', 'models/sandbox/extract'])
    const vectors = await client.models.get({ model: 'sandbox/embed' })
    expect(vectors).toMatchObject({
      name: 'models/sandbox/embed',
      supportedActions: ['embedContent', 'batchEmbedContents'],
    })
    const raw = await gateway.call('/v1beta/models/org/gem', { headers: { 'x-goog-api-key': apiKey } })
    expect(await raw.json()).toMatchObject({ name: 'models/org/gem', recharge_required: false })
    const unknown = await gateway.call('/v1beta/models/nobody', { headers: { 'x-goog-api-key': apiKey } })
    expect(await unknown.json()).toMatchObject({ error: { code: 404, details: [{ reason: 'unknown_model' }] } })
  })
})
