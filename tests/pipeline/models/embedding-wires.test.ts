import { describe, expect, test } from 'bun:test'
import { type Model, type ModelRoute, routesOf } from '../../../server/core/models/model'
import { parseModelEntry } from '../../../server/core/models/model-entry'
import { boundsOf } from '../../../server/pipeline/models/wires/model-request'
import type { WirePath } from '../../../server/pipeline/models/wires/model-wire'
import { WIRES } from '../../../server/pipeline/models/wires/wires'

const PATH: WirePath = { model: 'org/m', stream: false, events: false }

function model(kind: 'openai' | 'anthropic' | 'gemini', more: object = {}): Model {
  const price = { input: 1, output: 0, cache_write: 1 }
  const parsed = parseModelEntry(
    { id: 'org/m', upstream: { kind, model: 'real' }, price, ...more },
    { created: 1, priceVersion: () => 'v' },
  )
  if (!parsed.ok) throw new Error(parsed.error)
  return parsed.value
}
const encoded = (body: unknown) =>
  new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body)) as Uint8Array<ArrayBuffer>
function read(route: ModelRoute, body: unknown) {
  const request = WIRES[route].read(encoded(body), PATH)
  if (!request.ok) throw new Error(request.error.message)
  return request.value
}
function refused(route: ModelRoute, body: unknown) {
  const request = WIRES[route].read(encoded(body), PATH)
  return request.ok ? 'taken' : `${request.error.code} ${request.error.param}`
}
function sent(route: ModelRoute, body: unknown, kind: 'openai' | 'anthropic' | 'gemini') {
  const [upstream] = model(kind).upstreams
  if (!upstream) throw new Error('no upstream')
  return new TextDecoder().decode(WIRES[route].bodyFor(read(route, body), upstream, 0))
}
/** The tokens of a call: as estimated, and at most. */
function input(route: ModelRoute, body: unknown) {
  return boundsOf(read(route, body), model('openai'), 0)
}

describe('the purpose of a model', () => {
  test('determines on which routes of its upstreams it can be called', () => {
    expect(routesOf(model('openai'))).toEqual(['chat_completions', 'responses', 'completions'])
    expect(routesOf(model('openai', { purpose: 'embeddings' }))).toEqual(['embeddings'])
    expect(routesOf(model('gemini'))).toEqual(['generate_content', 'count_tokens'])
    expect(routesOf(model('gemini', { purpose: 'embeddings' }))).toEqual(['embed_content', 'batch_embed_contents'])
    expect(routesOf(model('anthropic'))).toEqual(['messages', 'messages_count_tokens'])
    expect(() => model('anthropic', { purpose: 'embeddings' })).toThrow('none of its upstreams offers embeddings')
    expect(() => model('openai', { purpose: 'pictures' })).toThrow('purpose must be text, embeddings')
  })
})

describe('embeddings of OpenAI', () => {
  test("are forwarded byte for byte, except for the upstream's name of the model", () => {
    expect(sent('embeddings', '{ "model":"org/m", "input":["Ünï"],"encoding_format":"base64" }', 'openai')).toBe(
      '{ "model":"real", "input":["Ünï"],"encoding_format":"base64" }',
    )
  })

  test('hold every byte, estimate by the length of their texts, and generate nothing', () => {
    const text = 'x'.repeat(400)
    const body = { model: 'org/m', input: [text, text] }
    expect(input('embeddings', body)).toEqual({
      input: { max: JSON.stringify(body).length + 64, likely: 200 },
      output: 0,
    })
    expect(input('embeddings', { model: 'org/m', input: [[1, 2, 3], [100_000]] })).toMatchObject({
      input: { likely: 4 },
    })
    expect(input('embeddings', { model: 'org/m', input: [1, 2, 3] })).toMatchObject({ input: { likely: 3 } })
  })

  test('report what is wrong with them', () => {
    expect(refused('embeddings', { input: 'x' })).toBe('missing_parameter model')
    expect(refused('embeddings', { model: 'm' })).toBe('missing_parameter input')
    for (const wrong of [[], null, 5, {}, [{ image: 'x' }], ['x', -1], [[1.5]], [[]], Array(2049).fill('x')])
      expect(refused('embeddings', { model: 'm', input: wrong })).toBe('invalid_parameter input')
    expect(refused('embeddings', { model: 'm', input: 'x', dimensions: 0 })).toBe('invalid_parameter dimensions')
    expect(refused('embeddings', { model: 'm', input: 'x', encoding_format: 'hex' })).toBe(
      'invalid_parameter encoding_format',
    )
    expect(read('embeddings', { model: 'm', input: 'x', messages: [], truncate: 'END' }).uncovered).toEqual([
      'messages',
      'truncate',
    ])
  })

  test("are charged the vendor's count; an impossible count is ignored", () => {
    const { usageOf } = WIRES.embeddings
    const counts = { input: 7, output: 0, cacheRead: 0, cacheWrite: 0 }
    expect(usageOf({ usage: { prompt_tokens: 7, total_tokens: 7 } })).toEqual(counts)
    expect(usageOf({ usage: { total_tokens: 7 } })).toEqual(counts)
    for (const usage of [undefined, {}, { prompt_tokens: 0 }, { prompt_tokens: -1 }, { prompt_tokens: 1.5 }])
      expect(usageOf({ usage })).toBeNull()
  })
})

describe('embeddings of Google', () => {
  const content = { parts: [{ text: 'x'.repeat(40) }] }

  test("carry the upstream's name of the model in each request, whatever the caller called it", () => {
    expect(
      JSON.parse(
        sent('batch_embed_contents', { requests: [{ model: 'models/org/m', content }, { content }] }, 'gemini'),
      ),
    ).toEqual({
      requests: [
        { model: 'models/real', content },
        { model: 'models/real', content },
      ],
    })
    expect(JSON.parse(sent('embed_content', { content, output_dimensionality: 8 }, 'gemini'))).toEqual({
      model: 'models/real',
      content,
      output_dimensionality: 8,
    })
  })

  test('cannot name another model inside, nor two', () => {
    const other = { model: 'models/dear', content }
    expect(refused('embed_content', other)).toBe('invalid_parameter model')
    expect(refused('batch_embed_contents', { requests: [{ content }, other] })).toBe('invalid_parameter requests.model')
    const twice = `{"requests":[{"model":"models/dear","content":${JSON.stringify(content)},"model":"models/org/m"}]}`
    expect(JSON.parse(sent('batch_embed_contents', twice, 'gemini')).requests[0].model).toBe('models/real')
  })

  test('are estimated by the length of their texts; what is not text has no price', () => {
    expect(input('batch_embed_contents', { requests: [{ content }, { content, title: 'xxxx' }] })).toMatchObject({
      input: { likely: 21 },
      output: 0,
    })
    expect(
      read('embed_content', { content: { parts: [{ inline_data: { mime_type: 'image/png', data: '' } }] } }).uncovered,
    ).toEqual(['content.parts.inlineData'])
    expect(read('batch_embed_contents', { requests: [{ content, tier: 1 }], more: 1 }).uncovered).toEqual([
      'more',
      'requests.tier',
    ])
    expect(refused('batch_embed_contents', { requests: [] })).toBe('invalid_parameter requests')
    expect(refused('batch_embed_contents', {})).toBe('missing_parameter requests')
    expect(refused('batch_embed_contents', { requests: [{ content: 'x' }] })).toBe('invalid_parameter requests.content')
  })
})

describe('counting tokens', () => {
  test('is free: it holds and generates nothing, and accepts what a message may contain', () => {
    const messages = [{ role: 'user', content: 'Hi' }]
    const tools = [{ type: 'web_search_20250305', name: 'web_search' }]
    const request = read('messages_count_tokens', { model: 'org/m', messages, tools })
    expect(request).toMatchObject({ isFree: true, uncovered: [] })
    expect(sent('messages_count_tokens', { model: 'org/m', messages, tools }, 'anthropic')).toBe(
      JSON.stringify({ model: 'real', messages, tools }),
    )
    expect(refused('messages_count_tokens', { model: 'm' })).toBe('missing_parameter messages')
  })

  test('of Google accepts contents, or a whole request that names the same model', () => {
    const contents = [{ parts: [{ text: 'Hi' }] }]
    expect(sent('count_tokens', { contents }, 'gemini')).toBe(JSON.stringify({ contents }))
    const whole = { generateContentRequest: { model: 'models/org/m', contents } }
    expect(sent('count_tokens', whole, 'gemini')).toBe(
      JSON.stringify({ generateContentRequest: { model: 'models/real', contents } }),
    )
    expect(refused('count_tokens', {})).toBe('missing_parameter contents')
    expect(refused('count_tokens', { generateContentRequest: { model: 'models/other', contents } })).toBe(
      'invalid_parameter generateContentRequest.model',
    )
    expect(refused('count_tokens', '{"generateContentRequest":{"model":"models/org/m","model":"x"}}')).toStartWith(
      'invalid_parameter generateContentRequest',
    )
  })
})
