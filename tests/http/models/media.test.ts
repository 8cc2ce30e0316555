import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { inflateSync } from 'node:zlib'
import OpenAI from 'openai'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { openVendor, type Received, type VendorDouble } from '../../support/vendor-double'

/** Pictures, speech and moderations: charged by what is asked for, not by tokens. */
let vendor: VendorDouble
let gateway: ModelGateway
let origin: string

const pictures = (count: number) =>
  Response.json({ created: 1, data: Array.from({ length: count }, () => ({ b64_json: 'aGk=' })) })
const judged = () => Response.json({ id: 'modr-1', model: 'real', results: [{ flagged: false, categories: {} }] })
// No text: its bytes are not UTF-8.
const SOUND = new Uint8Array([0xff, 0xfb, 0x90, 0x00, 0x80])
const sound = (type = 'audio/mpeg') => new Response(SOUND, { headers: { 'content-type': type } })
const usual = ({ path }: Received) =>
  path === '/v1/images/generations' ? pictures(1) : path === '/v1/audio/speech' ? sound() : judged()

beforeAll(async () => {
  vendor = openVendor(usual)
  const upstream = { kind: 'openai', base_url: `${vendor.origin}/v1`, model: 'real' } as const
  gateway = await openModelGateway([
    {
      id: 'painter',
      purpose: 'images',
      upstream,
      price: {
        images: [
          { size: '1024x1024', quality: 'standard', usd: 0.04 },
          { size: '1024x1024', quality: 'hd', usd: 0.08 },
          { size: '1792x1024', quality: 'standard', usd: 0.081 },
        ],
      },
    },
    { id: 'sketcher', purpose: 'images', upstream, price: { images: 0.011 } },
    {
      id: 'retoucher',
      purpose: 'images',
      upstream,
      price: { images: [{ size: '1024x1024', usd: 0.04 }], edits: 0.005 },
      purchase_price: { images: 0.02, edits: 0.001 },
    },
    { id: 'speaker', purpose: 'speech', upstream, price: { characters: 15 }, family: 'voices', family_rpm: 1000 },
    { id: 'judge', purpose: 'moderation', upstream, price: { characters: 0.5 } },
    { id: 'free-judge', purpose: 'moderation', upstream, price: { characters: 0 }, recharge_required: false },
    { id: 'chat', upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` }, price: PRICE },
  ])
  origin = gateway.serve()
})
beforeEach(() => {
  vendor.answer = usual
  vendor.received.length = 0
})
afterAll(async () => {
  await gateway.close(true)
  vendor.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

const IMAGES = '/v1/images/generations'
const SPEECH = '/v1/audio/speech'
const MODERATIONS = '/v1/moderations'
const cost = (answer: Response) => answer.headers.get('x-cost-micros-usd')
const code = async (answer: Response) => {
  const { error } = (await answer.json()) as { error: { code: string; param?: string } }
  return [answer.status, error.code, error.param ?? null].join(' ')
}
const explained = (key: Parameters<ModelGateway['explained']>[0], answer: Response) =>
  gateway.explained(key, answer.headers.get('x-gateway-request-id') ?? '')

describe('POST /v1/images/generations', () => {
  test('charges each picture at the price of its size and quality', async () => {
    const { key, balance } = await gateway.funded()
    vendor.answer = () => pictures(3)
    const body = { model: 'painter', prompt: 'An otter', n: 3, quality: 'hd' }
    const answer = await gateway.post(key, IMAGES, body)
    expect([answer.status, cost(answer)]).toEqual([200, '240000'])
    expect(await balance()).toEqual({ paid: 9_760_000, held: 0 })
    expect(await explained(key, answer)).toMatchObject({
      operation: 'image-generation',
      model: 'painter',
      usage_source: 'exact',
      input_tokens: 0,
      cost_micros_usd: 240_000,
      charge: { inputs: { lines: [{ item: 'images hd 1024x1024', units: 3, unit_price_micros_usd: 80_000, per: 1 }] } },
    })
    // The settings that the price depends on are sent, so that the vendor cannot choose dearer ones.
    expect(vendor.received[0]?.body).toEqual({ ...body, model: 'real', size: '1024x1024' })
    await gateway.post(key, IMAGES, { model: 'sketcher', prompt: 'x', size: 'auto', quality: 'low' })
    expect(vendor.received[1]?.body).toEqual({ model: 'real', prompt: 'x', size: 'auto', quality: 'low' })
  })

  test('charges the pictures that arrive, and never more than were asked for', async () => {
    const { key, balance } = await gateway.funded()
    for (const [arrived, micros] of [
      [2, '22000'],
      [9, '33000'],
    ] as const) {
      vendor.answer = () => pictures(arrived)
      expect(cost(await gateway.post(key, IMAGES, { model: 'sketcher', prompt: 'x', n: 3 }))).toBe(micros)
    }
    for (const nothing of [{ data: [] }, { data: [{}] }, { created: 1 }, { data: 'x' }]) {
      vendor.answer = () => Response.json(nothing)
      const answer = await gateway.post(key, IMAGES, { model: 'sketcher', prompt: 'x' })
      expect(await code(answer)).toBe('502 upstream_error ')
    }
    expect(await balance()).toEqual({ paid: 9_945_000, held: 0 })
  })

  test('is quoted and bounded by its request before the vendor is called', async () => {
    const { key } = await gateway.funded(0.05)
    const body = { model: 'painter', prompt: 'x' }
    const quote = await gateway.post(key, IMAGES, { ...body, n: 10 }, { headers: { 'x-cost-mode': 'quote' } })
    expect(await quote.json()).toMatchObject({ quote: { operation: 'image-generation', cost_micros_usd: 400_000 } })
    expect(await code(await gateway.post(key, IMAGES, { ...body, n: 2 }))).toBe('402 insufficient_balance ')
    const dear = await gateway.post(key, IMAGES, body, { headers: { 'x-max-price-usd': '0.03' } })
    expect(await code(dear)).toBe('412 estimated_price_exceeds_max_price x-max-price-usd')
    const wrong: readonly (readonly [object, string])[] = [
      [{ n: 0 }, '400 invalid_parameter n'],
      [{ n: -1 }, '400 invalid_parameter n'],
      [{ n: 11 }, '400 invalid_parameter n'],
      [{ n: 1e308 }, '400 invalid_parameter n'],
      [{ n: '2' }, '400 invalid_parameter n'],
      [{ prompt: '' }, '400 invalid_parameter prompt'],
      [{ prompt: 'x'.repeat(32_001) }, '400 invalid_parameter prompt'],
      [{ size: 7 }, '400 invalid_parameter size'],
      [{ size: '512x512' }, '422 unsupported_parameter size'],
      [{ size: 'auto' }, '422 unsupported_parameter size'],
      [{ size: '1792x1024', quality: 'hd' }, '422 unsupported_parameter quality'],
      [{ quality: 'constructor' }, '422 unsupported_parameter quality'],
      [{ stream: true }, '422 unsupported_parameter stream'],
      [{ partial_images: 2 }, '422 unsupported_parameter partial_images'],
      [{ input_fidelity: 'high' }, '422 unsupported_parameter input_fidelity'],
      [{ model: 'chat' }, '400 model_route_not_supported model'],
    ]
    for (const [more, expected] of wrong)
      expect([more, await code(await gateway.post(key, IMAGES, { ...body, ...more }))]).toEqual([more, expected])
    const twice = '{"model":"painter","prompt":"x","n":1,"n":10}'
    expect(await code(await gateway.post(key, IMAGES, twice))).toBe('400 invalid_request ')
    const long = await gateway.post(key, IMAGES, { ...body, prompt: 'x'.repeat(10_000_000) })
    expect(await code(long)).toBe('400 invalid_parameter prompt')
    expect(vendor.received).toHaveLength(0)
  })

  test('costs nothing when the vendor refuses or fails, and passes its refusal on', async () => {
    const { key, balance } = await gateway.funded()
    const body = { model: 'sketcher', prompt: 'x' }
    const error = { message: 'Not this.', type: 'image_generation_user_error', param: null, code: 'moderation_blocked' }
    vendor.answer = () => Response.json({ error }, { status: 400 })
    const refused = await gateway.post(key, IMAGES, body)
    expect([refused.status, await refused.json()]).toEqual([400, { error }])
    vendor.answer = () => new Response('no', { status: 500 })
    expect((await gateway.post(key, IMAGES, body)).status).toBe(502)
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
  })
})

describe('POST /v1/images/edits', () => {
  const EDITS = '/v1/images/edits'
  const picture = (name = 'a.png') => new File(['picture'], name)
  const edit = (
    key: Parameters<ModelGateway['as']>[0],
    fields: readonly (readonly [string, string | File])[],
    more = {},
  ) => {
    const body = new FormData()
    for (const [name, value] of fields) body.append(name, value)
    return gateway.as(key, EDITS, { method: 'POST', body, headers: more })
  }
  const usualFields = [
    ['model', 'retoucher'],
    ['prompt', 'An otter'],
  ] as const

  test('charges each picture that arrives and each that was sent; the vendor gets the size that was charged', async () => {
    const { key, balance } = await gateway.funded()
    vendor.answer = () => pictures(2)
    const fields = [
      ...usualFields,
      ['image[]', picture()],
      ['image[]', picture('b.png')],
      ['mask', picture()],
      ['n', '3'],
    ] as const
    const quote = await edit(key, fields, { 'x-cost-mode': 'quote' })
    expect(await quote.json()).toMatchObject({ quote: { operation: 'image-edit', cost_micros_usd: 135_000 } })
    const answer = await edit(key, fields)
    expect([answer.status, cost(answer)]).toEqual([200, '95000'])
    expect(await balance()).toEqual({ paid: 9_905_000, held: 0 })
    const form = vendor.received[0]?.form
    expect([form?.get('model'), form?.get('size'), form?.get('n'), form?.getAll('image[]').length]).toEqual([
      'real',
      '1024x1024',
      '3',
      2,
    ])
    expect(await explained(key, answer)).toMatchObject({
      charge: {
        inputs: {
          lines: [
            { item: 'images 1024x1024', units: 2 },
            { item: 'edited_images', units: 3 },
          ],
        },
      },
    })
  })

  test('is offered only with a price for the pictures that are sent, and refuses what has no price', async () => {
    const { key } = await gateway.funded()
    const image = ['image', picture()] as const
    const wrong: readonly (readonly [readonly (readonly [string, string | File])[], string])[] = [
      [[['model', 'sketcher'], ['prompt', 'x'], image], '400 model_route_not_supported model'],
      [[...usualFields, ['mask', picture()]], '400 invalid_parameter image'],
      [usualFields, '400 missing_parameter image'],
      [[...usualFields, image, ['input_fidelity', 'high']], '422 unsupported_parameter input_fidelity'],
      [[...usualFields, image, ['stream', 'true']], '422 unsupported_parameter stream'],
      [[...usualFields, image, ['size', '1x1']], '422 unsupported_parameter size'],
      [[...usualFields, image, ['n', '0']], '400 invalid_parameter n'],
      [[...usualFields, image, ['n', 'x']], '400 invalid_parameter n'],
      [[...usualFields, image, image], '400 invalid_parameter image'],
    ]
    for (const [fields, refusal] of wrong) expect(await code(await edit(key, fields))).toBe(refusal)
    expect(vendor.received).toHaveLength(0)
    const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: key.secret })
    const drawn = await client.images.edit({
      model: 'sandbox/draw',
      image: picture(),
      prompt: 'x',
      size: '256x256',
      n: 2,
    })
    expect(drawn.data).toHaveLength(2)
  })
})

describe('POST /v1/audio/speech', () => {
  const body = { model: 'speaker', input: 'Hello 🦦', voice: 'alloy' }

  test('charges the characters as a reader counts them, and passes the sound on unchanged', async () => {
    const { key, balance } = await gateway.funded()
    const answer = await gateway.post(key, SPEECH, { ...body, instructions: 'Softly.' })
    expect([answer.status, answer.headers.get('content-type'), cost(answer)]).toEqual([200, 'audio/mpeg', '210'])
    expect(new Uint8Array(await answer.arrayBuffer())).toEqual(SOUND)
    expect(await balance()).toEqual({ paid: 10_000_000 - 210, held: 0 })
    expect(await explained(key, answer)).toMatchObject({
      operation: 'speech',
      charge: { arithmetic: '14 characters x 15 USD / 1000000 = 0.00021 USD' },
    })
    expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('1000')
  })

  test('answers a repeat with the same bytes, uncharged', async () => {
    const { key, balance } = await gateway.funded()
    const once = { headers: { 'idempotency-key': 'one' } }
    await (await gateway.post(key, SPEECH, body, once)).arrayBuffer()
    const again = await gateway.post(key, SPEECH, body, once)
    expect([again.headers.get('idempotency-replayed'), cost(again), again.headers.get('content-type')]).toEqual([
      'true',
      '0',
      'audio/mpeg',
    ])
    expect(new Uint8Array(await again.arrayBuffer())).toEqual(SOUND)
    expect(vendor.received).toHaveLength(1)
    expect(await balance()).toEqual({ paid: 10_000_000 - 105, held: 0 })
  })

  test('costs nothing if a 200 holds no sound', async () => {
    const { key, balance } = await gateway.funded()
    for (const answer of [() => Response.json({ error: 'no' }), () => sound('text/html'), () => new Response('')]) {
      vendor.answer = answer
      expect((await gateway.post(key, SPEECH, body)).status).toBe(502)
    }
    expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
  })

  test('refuses what its price does not cover', async () => {
    const { key } = await gateway.funded()
    for (const [more, expected] of [
      [{ stream_format: 'sse' }, '422 unsupported_parameter stream_format'],
      [{ voice: undefined }, '400 missing_parameter voice'],
      [{ input: '' }, '400 invalid_parameter input'],
      [{ input: ['x'] }, '400 invalid_parameter input'],
      [{ input: 'x'.repeat(100_001) }, '400 invalid_parameter input'],
      [{ instructions: 3 }, '400 invalid_parameter instructions'],
    ] as const)
      expect([more, await code(await gateway.post(key, SPEECH, { ...body, ...more }))]).toEqual([more, expected])
  })
})

describe('POST /v1/moderations', () => {
  test('charges characters, or nothing at a price of 0', async () => {
    const { key } = await gateway.funded()
    const input = ['x'.repeat(4000), 'y'.repeat(4000)]
    expect(cost(await gateway.post(key, MODERATIONS, { model: 'judge', input }))).toBe('4000')
    expect(vendor.received[0]).toMatchObject({ path: MODERATIONS, body: { model: 'real', input } })
    const fresh = await gateway.key(await gateway.account())
    const free = await gateway.post(fresh, MODERATIONS, { model: 'free-judge', input: 'x' })
    expect([free.status, cost(free)]).toEqual([200, '0'])
    expect(await code(await gateway.post(fresh, MODERATIONS, { model: 'judge', input: 'x' }))).toBe(
      '402 recharge_required ',
    )
    const image = { model: 'judge', input: [{ type: 'image_url', image_url: { url: 'data:,' } }] }
    expect(await code(await gateway.post(key, MODERATIONS, image))).toBe('422 unsupported_parameter input.image_url')
    for (const input of [[], [7], {}, [{ type: 'text' }], Array(2049).fill('x')])
      expect((await gateway.post(key, MODERATIONS, { model: 'judge', input })).status).toBe(400)
    vendor.answer = () => Response.json({ results: [] })
    expect((await gateway.post(key, MODERATIONS, { model: 'judge', input: 'x' })).status).toBe(502)
  })

  test('obeys the restrictions of the key', async () => {
    const { key } = await gateway.funded(10, { allowed_endpoints: ['speech'] })
    expect(await code(await gateway.post(key, MODERATIONS, { model: 'judge', input: 'x' }))).toStartWith('403')
    const { key: narrow } = await gateway.funded(10, { allowed_models: ['judge'] })
    expect(await code(await gateway.post(narrow, IMAGES, { model: 'sketcher', prompt: 'x' }))).toBe(
      '403 model_not_allowed model',
    )
    expect((await gateway.post(narrow, MODERATIONS, { model: 'judge', input: 'x' })).status).toBe(200)
  })
})

describe('models without a price per token', () => {
  test('are listed with their price, and cannot be used for chat', async () => {
    const { key } = await gateway.funded()
    const { data } = (await (await gateway.as(key, '/v1/models')).json()) as { data: { id: string; pricing: object }[] }
    const priced = Object.fromEntries(data.map(({ id, pricing }) => [id, pricing]))
    expect(priced['speaker']).toEqual({ characters: 15 })
    expect(priced['sketcher']).toEqual({ images: [{ usd: 0.011 }] })
    expect(priced['painter']).toMatchObject({ images: [{ size: '1024x1024', quality: 'standard', usd: 0.04 }, {}, {}] })
    expect(await code(await gateway.chat(key, { model: 'speaker' }))).toBe('400 model_route_not_supported model')
  })

  test('run in the sandbox as the package of OpenAI calls them, always with the same answer', async () => {
    const { key } = await gateway.funded()
    const client = new OpenAI({ baseURL: `${origin}/v1`, apiKey: key.secret, maxRetries: 0 })
    const ask = { model: 'sandbox/draw', prompt: 'An otter', n: 2, size: '256x512' } as const
    const { data = [] } = await client.images.generate({ ...ask, size: '256x512' as '256x256' })
    const images = data.map(({ b64_json }) => Buffer.from(b64_json ?? '', 'base64'))
    expect(images.map((image) => [image.readUInt32BE(16), image.readUInt32BE(20)])).toEqual([
      [256, 512],
      [256, 512],
    ])
    expect(images[0]?.equals(images[1] ?? Buffer.alloc(0))).toBe(false)
    const at = images[0]?.indexOf('IDAT') ?? 0
    const packed = images[0]?.subarray(at + 4, at + 4 + images[0].readUInt32BE(at - 4)) ?? Buffer.alloc(0)
    // One bit per pixel and a filter byte per row.
    expect(inflateSync(packed)).toHaveLength(512 * (256 / 8 + 1))
    const repeat = await client.images.generate({ ...ask, size: '256x512' as '256x256' })
    expect(repeat.data).toEqual(data)
    const { results } = await client.moderations.create({ model: 'sandbox/moderate', input: ['Hi', 'I will kill it'] })
    expect(results.map(({ flagged, categories }) => [flagged, categories.violence])).toEqual([
      [false, false],
      [true, true],
    ])
    const spoken = await client.audio.speech.create({ model: 'sandbox/speak', input: 'Hello', voice: 'alloy' })
    const wav = Buffer.from(await spoken.arrayBuffer())
    expect([spoken.headers.get('content-type'), wav.toString('latin1', 0, 4), wav.readUInt32LE(40)]).toEqual([
      'audio/wav',
      'RIFF',
      wav.length - 44,
    ])
    const large = await gateway.post(key, IMAGES, { ...ask, size: '9999x9999' })
    expect(await code(large)).toBe('400 invalid_value ')
  })
})
