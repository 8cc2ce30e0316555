import { describe, expect, test } from 'bun:test'
import { routesOf } from '../../../server/core/models/model'
import { parseModelEntry } from '../../../server/core/models/model-entry'

const source = { created: 1_795_132_800, priceVersion: () => 'v1' }
const read = (entry: unknown) => parseModelEntry(entry, source)
const OLLAMA = {
  id: 'llama3.2',
  upstream: { kind: 'openai', base_url: 'http://127.0.0.1:11434/v1/' },
  price: { input: 0, output: 0 },
}
const refusal = (entry: unknown) => {
  const model = read(entry)
  return model.ok ? 'taken' : model.error
}

describe('an entry of the model catalog', () => {
  test('of three lines is enough for any OpenAI-compatible server', () => {
    const model = read(OLLAMA)
    if (!model.ok) throw new Error(model.error)
    expect(routesOf(model.value)).toEqual(['chat_completions', 'responses', 'completions'])
    expect(model.value.upstreams[0]).toMatchObject({
      baseUrl: 'http://127.0.0.1:11434/v1',
      model: 'llama3.2',
      keyEnv: null,
      capName: 'max_tokens',
      speaksResponses: false,
    })
    expect(model.value.rechargeRequired).toBe(true)
  })

  test('without a price is refused, and an explicit 0 is a price (spec D8)', () => {
    expect(refusal({ id: 'm', upstream: OLLAMA.upstream })).toContain('price is missing')
    expect(refusal({ ...OLLAMA, price: { input: 1 } })).toContain('needs input and output')
    expect(refusal({ ...OLLAMA, price: { input: 0.1234567, output: 1 } })).toContain('price.input')
    expect(refusal(OLLAMA)).toBe('taken')
  })

  test('at Anthropic needs the price of cache writes', () => {
    const entry = { id: 'claude', upstream: { kind: 'anthropic' }, price: { input: 3, output: 15 } }
    expect(refusal(entry)).toContain('cache_write')
    expect(refusal({ ...entry, price: { ...entry.price, cache_write: 3.75 } })).toBe('taken')
  })

  test('with several upstreams is called on the wires of all of them', () => {
    const upstreams = [{ kind: 'openai' }, { kind: 'gemini', model: 'gemini-x' }]
    const model = read({ id: 'both', upstreams, price: { input: 1, output: 1 } })
    if (!model.ok) throw new Error(model.error)
    expect(routesOf(model.value)).toEqual([
      'chat_completions',
      'responses',
      'completions',
      'generate_content',
      'count_tokens',
    ])
    expect(model.value.upstreams.map((upstream) => upstream.baseUrl)).toEqual([
      'https://api.openai.com/v1',
      'https://generativelanguage.googleapis.com/v1beta',
    ])
  })

  test('receives Responses unchanged at OpenAI itself, or where it says so; elsewhere as chat completions', () => {
    const base_url = 'http://127.0.0.1:11434/v1'
    const speaks = [{}, { base_url }, { base_url, responses: true }, { responses: false }].map((more) => {
      const model = read({ ...OLLAMA, upstream: { kind: 'openai', ...more } })
      return model.ok && model.value.upstreams.map(({ speaksResponses }) => speaksResponses)
    })
    expect(speaks).toEqual([[true], [false], [true], [false]])
  })

  test('names what is wrong with it', () => {
    expect(refusal(null)).toContain('must be an object')
    expect(refusal({ ...OLLAMA, id: 'sandbox/own' })).toContain('id must be')
    expect(refusal({ ...OLLAMA, prize: 1 })).toContain('no property "prize"')
    expect(refusal({ ...OLLAMA, upstream: { kind: 'cohere' } })).toContain("upstream's kind")
    expect(refusal({ ...OLLAMA, upstream: { kind: 'openai', base_url: 'ftp://x' } })).toContain('base_url')
    for (const path of ['/chat/completions', '/chat/completions/', '/messages', '/responses']) {
      const upstream = { kind: 'openai', base_url: `https://api.example.com/v1${path}` }
      expect(refusal({ ...OLLAMA, upstream })).toContain('base_url must end before /')
    }
    expect(refusal({ ...OLLAMA, upstream: { kind: 'openai', key_env: 'sk-live-1' } })).toContain('key_env')
    expect(refusal({ ...OLLAMA, upstream: { kind: 'openai', responses: 1 } })).toContain('responses must be')
    expect(refusal({ ...OLLAMA, upstream: { kind: 'gemini', responses: true } })).toContain('responses must be')
    expect(refusal({ ...OLLAMA, upstreams: [] })).toContain('upstream')
    expect(refusal({ ...OLLAMA, context_tokens: 0 })).toContain('context_tokens')
    expect(refusal({ ...OLLAMA, family: 'x' })).toContain('family_rpm')
  })
})
