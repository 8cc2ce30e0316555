import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openApiUpstream } from '../api-upstream'
import { eventStream, openAi, openVendor } from '../vendor-double'
import { control } from './server-process'

/** What a call of each kind is held and charged, in micro-USD. */
export const KIND_PRICE = 5000

const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Weather', version: '1' },
  paths: { '/v1/forecast': { get: { operationId: 'forecast', responses: { 200: { description: 'The forecast.' } } } } },
}
const TOKENS = KIND_PRICE / 1000
const USAGE = { input: 3, output: TOKENS }
const WORDS = Array.from({ length: TOKENS }, (_, i) => `word ${i} `)
const CHAT = { model: 'paid', max_tokens: TOKENS, messages: [{ role: 'user', content: 'Hello' }] }

const post = (path: string, body: object) => ({ path, body: JSON.stringify(body) })
/** The kinds of call that a worker serves. */
export const KINDS = {
  search: { path: '/apis/v1/websearch/images/search?q=credit%20card&count=1', body: null },
  imported: { path: '/apis/v1/weather/v1/forecast', body: null },
  chat: post('/v1/chat/completions', CHAT),
  stream: post('/v1/chat/completions', { ...CHAT, stream: true }),
  responses: post('/v1/responses', { model: 'paid', max_output_tokens: TOKENS, input: 'Hello' }),
} as const
export type Kind = keyof typeof KINDS

/** Upstreams for all kinds of call, and the settings of a gateway that sells them. */
export async function openSoldKinds(folder: string) {
  const upstream = openApiUpstream(() => Response.json({ sun: true }))
  const vendor = openVendor(({ body }) =>
    body['stream'] === true ? eventStream(openAi.words(WORDS, USAGE)) : openAi.plain('Hi', USAGE),
  )
  const MODELS_FILE = join(folder, 'models.json')
  const model = {
    id: 'paid',
    upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` },
    price: { input: 0, output: 1000 },
    recharge_required: false,
  }
  await writeFile(MODELS_FILE, JSON.stringify({ models: [model] }))
  return {
    env: { MODELS_FILE, ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1', CREDIT_BUYS_PAID_PROVIDERS: 'true' },
    /** Puts the imported operation on sale, at the gateway of this data folder. */
    async importWeather(into = folder): Promise<void> {
      const price = { mode: 'fixed', usd: `${KIND_PRICE / 1e6}` }
      const document = JSON.stringify(DOCUMENT)
      const upstreamOf = { base_url: upstream.url, auth: 'none', concurrency: 600 }
      await control(into, '/apis/import', { name: 'weather', ...upstreamOf, document, price })
    },
    async close(): Promise<void> {
      vendor.close()
      await upstream.close()
    },
  }
}

export function callOf(kind: Kind, url: string, secret: string): Promise<Response> {
  const { path, body } = KINDS[kind]
  const headers = { authorization: `Bearer ${secret}`, ...(body !== null && { 'content-type': 'application/json' }) }
  return fetch(url + path, body === null ? { headers } : { method: 'POST', headers, body })
}
