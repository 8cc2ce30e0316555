import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import OpenAI, { toFile } from 'openai'
import type { MadeKey } from '../../support/harness'
import { type ModelGateway, openModelGateway } from '../../support/model-gateway'
import { openVendor, type VendorDouble } from '../../support/vendor-double'
import { closeReconciled } from '../owner-bench'

/** Transcription, charged by the second, and ranking, charged by the search or by its tokens. */
let vendor: VendorDouble
let gateway: ModelGateway
let origin: string
const heard = (more: object) => Response.json({ text: 'Hello', ...more })
beforeAll(async () => {
  vendor = openVendor(() => heard({ usage: { type: 'duration', seconds: 3 } }))
  const upstream = { kind: 'openai', base_url: `${vendor.origin}/v1`, model: 'real' } as const
  const sold = { upstream, purchase_price: { seconds: 50 } }
  gateway = await openModelGateway([
    { id: 'whisper', purpose: 'transcription', price: { seconds: 100 }, ...sold },
    { id: 'long', purpose: 'transcription', price: { seconds: 100 }, max_seconds: 600, ...sold },
    { id: 'ranker', purpose: 'rerank', price: { searches: 0.002 }, upstream },
    { id: 'reader', purpose: 'rerank', price: { input: 0.02, output: 0 }, upstream },
  ])
  origin = gateway.serve()
})
beforeEach(() => {
  vendor.answer = () => heard({ usage: { type: 'duration', seconds: 3 } })
  vendor.received.length = 0
})
afterAll(async () => {
  await closeReconciled(gateway)
  vendor.close()
})

/** 16 kHz, 16 bits, one channel. */
function wav(seconds: number): Uint8Array<ArrayBuffer> {
  const head = Buffer.alloc(44)
  head.write('RIFF', 0)
  head.write('WAVEfmt ', 8)
  for (const [at, value] of [
    [16, 16],
    [24, 16_000],
    [28, 32_000],
  ] as const)
    head.writeUInt32LE(value, at)
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 2],
    [34, 16],
  ] as const)
    head.writeUInt16LE(value, at)
  head.write('data', 36)
  return new Uint8Array(Buffer.concat([head, Buffer.alloc(seconds * 32_000)]))
}

const PATH = '/v1/audio/transcriptions'
const file = (bytes: Uint8Array<ArrayBuffer>, name = 'sound.wav') => new File([bytes], name)
function formOf(fields: Readonly<Record<string, string | File>>): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  return form
}
const send = (key: MadeKey, form: FormData | Record<string, string | File>, headers = {}) =>
  gateway.as(key, PATH, { method: 'POST', headers, body: form instanceof FormData ? form : formOf(form) })
const cost = (answer: Response) => answer.headers.get('x-cost-micros-usd')
const code = async (answer: Response) => {
  const { error } = (await answer.json()) as { error: { code: string; param?: string } }
  return [answer.status, error.code, error.param ?? null].join(' ')
}
const clientOf = (key: MadeKey) => new OpenAI({ baseURL: `${origin}/v1`, apiKey: key.secret, maxRetries: 0 })

describe('POST /v1/audio/transcriptions', () => {
  test('is charged the seconds that the answer states, of those that the file has at most; the vendor gets the same form', async () => {
    const { key, balance } = await gateway.funded()
    const sound = wav(2.5)
    const text = await clientOf(key).audio.transcriptions.create({
      model: 'whisper',
      file: await toFile(sound, 'Ünï "1".wav'),
      language: 'en',
    })
    expect(text.text).toBe('Hello')
    expect(await balance()).toEqual({ paid: 9_999_700, held: 0 })
    const sent = vendor.received[0]!.form!
    expect([sent.get('model'), sent.get('language')]).toEqual(['real', 'en'])
    expect(await (sent.get('file') as File).bytes()).toEqual(sound)
    const answer = await send(key, { model: 'whisper', file: file(sound) })
    const { charge, usage_source: source } = await gateway.explained(
      key,
      answer.headers.get('x-gateway-request-id') ?? '',
    )
    expect(source).toBe('exact')
    expect(charge).toMatchObject({ inputs: { lines: [{ item: 'seconds', units: 3, per: 1_000_000 }] } })
    const quote = await send(key, { model: 'whisper', file: file(sound) }, { 'x-cost-mode': 'quote' })
    expect(await quote.json()).toMatchObject({ quote: { operation: 'transcription', cost_micros_usd: 400 } })
  })

  test('is charged by the length of the file where the answer does not state it, never more than was held, and nothing without a text', async () => {
    const { key } = await gateway.funded()
    const call = async (answer: object) => {
      vendor.answer = () => Response.json(answer)
      return send(key, { model: 'whisper', file: file(wav(9.2)) })
    }
    expect(cost(await call({ text: 'Hi', duration: '7.25' }))).toBe('800')
    expect(cost(await call({ text: 'Hi', usage: { type: 'tokens', input_tokens: 10, output_tokens: 5 } }))).toBe('1000')
    expect(cost(await call({ text: 'Hi', duration: 'long' }))).toBe('1000')
    expect(cost(await call({ text: 'Hi', duration: 3600 }))).toBe('1100')
    expect(await code(await call({ error: 'no' }))).toBe('502 upstream_error ')
  })

  test('of a file that does not tell its length is refused, unless the entry bounds it, which is then held', async () => {
    const { key, balance } = await gateway.funded(0.05)
    const ogg = file(new Uint8Array(Buffer.from(`OggS${'x'.repeat(48_000)}`)), 'sound.ogg')
    expect(await code(await send(key, { model: 'whisper', file: ogg }))).toBe('422 unsupported_parameter file')
    expect(await code(await send(key, { model: 'long', file: ogg }))).toBe('402 insufficient_balance ')
    const rich = await gateway.funded()
    const quote = await send(rich.key, { model: 'long', file: ogg }, { 'x-cost-mode': 'quote' })
    expect(await quote.json()).toMatchObject({ quote: { cost_micros_usd: 60_000 } })
    expect(cost(await send(rich.key, { model: 'long', file: ogg }))).toBe('300')
    vendor.answer = () => heard({})
    expect(cost(await send(rich.key, { model: 'long', file: ogg }))).toBe('400')
    expect(await code(await send(rich.key, { model: 'long', file: file(wav(602)) }))).toBe('400 invalid_parameter file')
    expect(vendor.received).toHaveLength(2)
    expect(await balance()).toEqual({ paid: 50_000, held: 0 })
  })

  test('refuses what has no price, what is sent twice, and what is no form', async () => {
    const { key } = await gateway.funded()
    const good = { model: 'whisper', file: file(wav(1)) }
    const wrong: readonly (readonly [Record<string, string | File>, string])[] = [
      [{ ...good, response_format: 'srt' }, '422 unsupported_parameter response_format.srt'],
      [{ ...good, stream: 'true' }, '422 unsupported_parameter stream'],
      [{ ...good, 'known_speaker_references[]': 'data:,' }, '422 unsupported_parameter known_speaker_references[]'],
      [{ model: 'whisper' }, '400 missing_parameter file'],
      [{ file: good.file }, '400 missing_parameter model'],
      [{ ...good, file: file(new Uint8Array()) }, '400 invalid_parameter file'],
      [{ ...good, model: 'made-up' }, '404 unknown_model model'],
      [{ ...good, model: 'ranker' }, '400 model_route_not_supported model'],
    ]
    for (const [form, refusal] of wrong) expect(await code(await send(key, form))).toBe(refusal)
    const twice = formOf(good)
    twice.append('model', 'long')
    expect(await code(await send(key, twice))).toBe('400 invalid_parameter model')
    expect(await code(await gateway.post(key, PATH, { model: 'whisper' }))).toBe('415 unsupported_media_type ')
    const type = { 'content-type': 'multipart/form-data; boundary=b' }
    for (const body of ['', '--b', '--b--', '--b\r\n\r\n--b--', 'x--b\r\n', `--b\r\n${'x'.repeat(5000)}`]) {
      const answer = await gateway.as(key, PATH, { method: 'POST', headers: type, body })
      expect(answer.status, body.slice(0, 20)).toBe(400)
    }
    expect(vendor.received).toHaveLength(0)
  })

  test('with an Idempotency-Key is the same request although each repeat has another boundary, also when it is long', async () => {
    const { key, balance } = await gateway.funded()
    for (const seconds of [1, 50]) {
      const headers = { 'idempotency-key': crypto.randomUUID() }
      const call = () => send(key, { model: 'whisper', file: file(wav(seconds)) }, headers)
      expect([(await call()).status, (await call()).headers.get('idempotency-replayed')]).toEqual([200, 'true'])
      const other = await send(key, { model: 'whisper', file: file(wav(seconds + 1)) }, headers)
      expect(await code(other)).toBe('409 idempotency_conflict ')
    }
    expect(vendor.received).toHaveLength(2)
    expect(await balance()).toEqual({ paid: 9_999_500, held: 0 })
  })

  test('runs in the sandbox with the official client', async () => {
    const key = await gateway.key(await gateway.account())
    const answer = await clientOf(key).audio.transcriptions.create({
      model: 'sandbox/transcribe',
      file: await toFile(wav(3), 'a.wav'),
    })
    expect(answer).toMatchObject({ text: 'A recording of 3 seconds.', usage: { seconds: 3 } })
  })
})

describe('POST /v1/rerank', () => {
  const rank = (key: MadeKey, body: object, headers = {}) =>
    gateway.post(
      key,
      '/v1/rerank',
      { query: 'otters', documents: ['Otters hold hands.', 'Cats'], ...body },
      { headers },
    )
  const results = [{ index: 0, relevance_score: 0.9 }]

  test('is charged the search units that the answer states, and held for the pieces of long documents', async () => {
    const { key } = await gateway.funded()
    vendor.answer = () => Response.json({ id: '1', results, meta: { billed_units: { search_units: 1 } } })
    const documents = Array.from({ length: 120 }, () => ({ text: 'x'.repeat(2000) }))
    const quote = await rank(key, { model: 'ranker', documents }, { 'x-cost-mode': 'quote' })
    // Each in 5 pieces of at most 486 tokens: 600 pieces are 6 units.
    expect(await quote.json()).toMatchObject({ quote: { operation: 'rerank', cost_micros_usd: 12_000 } })
    const answer = await rank(key, { model: 'ranker', documents })
    expect([answer.status, cost(answer)]).toEqual([200, '2000'])
    expect(vendor.received[0]).toMatchObject({ path: '/v1/rerank', body: { model: 'real', query: 'otters' } })
    vendor.answer = () => Response.json({ results, meta: { billed_units: { search_units: 9 } } })
    expect(cost(await rank(key, { model: 'ranker', documents }))).toBe('12000')
    vendor.answer = () => Response.json({ results })
    expect(cost(await rank(key, { model: 'ranker', documents }))).toBe('4000')
    vendor.answer = () => Response.json({ results: [] })
    expect((await rank(key, { model: 'ranker' })).status).toBe(502)
  })

  test('is charged by the tokens of the answer where the price is per token, and held for the query before each document', async () => {
    const { key } = await gateway.funded()
    vendor.answer = () => Response.json({ results, usage: { total_tokens: 70 } })
    const query = 'x'.repeat(1000)
    const documents = Array.from({ length: 1000 }, () => 'y')
    const quote = await rank(key, { model: 'reader', query, documents }, { 'x-cost-mode': 'quote' })
    // 1000 x (1000 + 8 + 1) bytes and 64 tokens at 0.02 USD a million.
    expect(await quote.json()).toMatchObject({ quote: { cost_micros_usd: 20_182 } })
    expect(cost(await rank(key, { model: 'reader' }))).toBe('2')
  })

  test('refuses pictures, and what is no ranking; in the sandbox it sorts by shared words', async () => {
    const { key } = await gateway.funded()
    const wrong: readonly (readonly [object, string])[] = [
      [{ documents: [{ image: 'https://x.example/a.png' }] }, '422 unsupported_parameter documents.image'],
      [{ documents: [] }, '400 invalid_parameter documents'],
      [{ documents: [1] }, '400 invalid_parameter documents'],
      [{ query: 1 }, '400 invalid_parameter documents'],
      [{ top_n: 0 }, '400 invalid_parameter top_n'],
      [{ priority: 1 }, '422 unsupported_parameter priority'],
    ]
    for (const [body, refusal] of wrong) expect(await code(await rank(key, { model: 'ranker', ...body }))).toBe(refusal)
    const documents = ['Cats sleep.', { text: 'Otters hold hands.' }]
    const sorted = await rank(key, { model: 'sandbox/rerank', documents, top_n: 1 })
    expect(await sorted.json()).toMatchObject({ results: [{ index: 1, relevance_score: 1 }] })
  })
})
