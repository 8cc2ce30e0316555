import { describe, expect, test } from 'bun:test'
import PRICE_SHEET from '../../../server/adapters/models/price-sheet.json'
import type { Model } from '../../../server/core/models/model'
import { parseModelEntry } from '../../../server/core/models/model-entry'
import { reviewPrices } from '../../../server/core/models/price-review'
import { markedUp, type PriceSheet, vendorPrice } from '../../../server/core/models/price-sheet'

function modelOf(entry: object): Model {
  const model = parseModelEntry({ id: 'm', ...entry }, { created: 1, priceVersion: () => 'v1' })
  if (!model.ok) throw new Error(model.error)
  return model.value
}
const FREE = { input: 0, output: 0, cache_write: 0 }
const priceIn = (sheet: PriceSheet, upstream: object, purpose: 'text' | 'embeddings' | 'speech' = 'text') => {
  const price = purpose === 'speech' ? { characters: 0 } : FREE
  const model = modelOf({ upstream, purpose, price })
  const [first] = model.upstreams
  return first ? vendorPrice(sheet, first, purpose) : null
}
const openAi = (model: string, base_url = 'https://api.openai.com/v1') => ({ kind: 'openai', base_url, model })

const SHEET = {
  sample_spec: { litellm_provider: 'one of the vendors', input_cost_per_token: 0 },
  'gpt-x': {
    litellm_provider: 'openai',
    input_cost_per_token: 2.5e-6,
    output_cost_per_token: 1.5e-5,
    output_cost_per_reasoning_token: 1.5e-5,
    cache_read_input_token_cost: 2.5e-7,
    cache_creation_input_token_cost: 3.125e-6,
    cache_creation_input_token_cost_above_12hr: 5e-6,
    input_cost_per_token_above_272k_tokens: 5e-6,
    output_cost_per_token_above_272k_tokens: 2.25e-5,
    input_cost_per_token_priority: 5e-6,
    output_cost_per_token_priority: 3e-5,
    input_cost_per_token_batches: 1.25e-6,
    search_context_cost_per_query: { search_context_size_medium: 0.01 },
    supports_vision: true,
  },
  'gpt-sound': {
    litellm_provider: 'openai',
    input_cost_per_token: 2.8e-8,
    output_cost_per_token: 1e-6,
    input_cost_per_audio_token: 3.2e-5,
  },
  claude: {
    litellm_provider: 'anthropic',
    input_cost_per_token: 4e-6,
    output_cost_per_token: 2e-5,
    cache_creation_input_token_cost: 5e-6,
    cache_creation_input_token_cost_above_1hr: 8e-6,
    provider_specific_entry: { fast: 2, us: 1.1 },
  },
  'dashscope/qwen': {
    litellm_provider: 'dashscope',
    tiered_pricing: [
      { range: [0, 256000], input_cost_per_token: 4e-7, output_cost_per_token: 1.2e-6 },
      { range: [256000, 1000000], input_cost_per_token: 1.2e-6, output_cost_per_token: 3.6e-6 },
    ],
  },
  embed: { litellm_provider: 'openai', input_cost_per_token: 2e-8 },
  voice: { litellm_provider: 'openai', input_cost_per_character: 1.5e-5 },
}

describe("a sheet of vendors' prices", () => {
  test('becomes rules: by tier and size, the dearest first in doubt; what a rule lacks costs as much more as its input', () => {
    expect(priceIn(SHEET, openAi('gpt-x'))).toEqual({
      name: 'gpt-x',
      price: [
        { tier: 'priority', input: 5, output: 30, cache_read: 0.5, cache_write: 6.25, cache_write_12h: 10 },
        { above: 272_000, input: 5, output: 22.5, cache_read: 0.5, cache_write: 6.25, cache_write_12h: 10 },
        {
          input: 2.5,
          output: 15,
          cache_read: 0.25,
          cache_write: 3.125,
          cache_write_12h: 5,
          tools: { web_search: 0.01 },
        },
      ],
    })
    expect(priceIn(SHEET, openAi('gpt-sound'))?.price).toEqual({ input: 0.028, output: 1, input_audio: 32 })
    expect(priceIn(SHEET, { kind: 'anthropic', model: 'claude' })?.price).toEqual([
      { tier: 'fast', input: 8, output: 40, cache_write: 10, cache_write_1h: 16 },
      { input: 4, output: 20, cache_write: 5, cache_write_1h: 8 },
    ])
    expect(priceIn(SHEET, openAi('qwen', 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1'))?.price).toEqual([
      { above: 256_000, input: 1.2, output: 3.6 },
      { input: 0.4, output: 1.2 },
    ])
    expect(priceIn(SHEET, openAi('embed'), 'embeddings')?.price).toEqual({ input: 0.02, output: 0 })
    expect(priceIn(SHEET, openAi('voice'), 'speech')?.price).toEqual({ characters: 15 })
  })

  test('has no price for a server of one’s own, for another vendor’s model of the same name, and for what it does not price', () => {
    expect(priceIn(SHEET, openAi('gpt-x', 'http://127.0.0.1:11434/v1'))).toBeNull()
    expect(priceIn(SHEET, { kind: 'anthropic', model: 'gpt-x' })).toBeNull()
    expect(priceIn(SHEET, openAi('sample_spec'))).toBeNull()
    expect(priceIn(SHEET, openAi('constructor'))).toBeNull()
    expect(priceIn({ odd: { litellm_provider: 'openai', input_cost_per_token: '1' } }, openAi('odd'))).toBeNull()
  })

  test('with a markup is rounded up to what a price can say', () => {
    expect(markedUp({ input: 0.028, output: 10, tools: { web_search: 0.01 }, above: 5 }, 15)).toEqual({
      input: 0.0322,
      output: 11.5,
      tools: { web_search: 0.0115 },
      above: 5,
    })
    expect(markedUp({ input: 0.000001, output: 0 }, 1)).toEqual({ input: 0.000002, output: 0 })
  })

  test('of the gateway itself has a price that an entry can have for each of its models', () => {
    for (const [name, entry] of Object.entries<unknown>(PRICE_SHEET)) {
      if (name.startsWith('$')) continue
      const { litellm_provider: vendor, mode } = Object(entry)
      const kind = vendor === 'anthropic' || vendor === 'gemini' ? vendor : 'openai'
      const hosts: Readonly<Record<string, string>> = {
        deepseek: 'https://api.deepseek.com',
        mistral: 'https://api.mistral.ai/v1',
      }
      const purpose = { embedding: 'embeddings', audio_speech: 'speech' }[String(mode)] ?? 'text'
      const upstream = { kind, model: name.replace(/^\w+\//, ''), ...(hosts[vendor] && { base_url: hosts[vendor] }) }
      const found = priceIn(PRICE_SHEET, upstream, purpose as 'text')
      expect([name, found?.name]).toEqual([name, name])
      const model = modelOf({ upstream, purpose, price: found?.price, context_tokens: 2_000_000 })
      expect([name, reviewPrices([model], PRICE_SHEET, 0)[0]?.below]).toEqual([name, []])
    }
  })
})

describe('a review of prices', () => {
  const below = (price: object, more: object = {}) =>
    reviewPrices([modelOf({ upstream: openAi('gpt-x'), price, ...more })], SHEET, 0)[0]?.below

  test('names each price that is below what the vendor charges, under the same condition', () => {
    expect(below({ input: 2, output: 15, cache_read: 0.25 })).toEqual([
      'above 272000 input 2 < 5',
      'above 272000 output 15 < 22.5',
      'above 272000 cache_read 0.25 < 0.5',
      'above 272000 cache_write 2.5 < 6.25',
      'above 272000 cache_write_12h 4 < 10',
      'input 2 < 2.5',
      'cache_write 2.5 < 3.125',
      'cache_write_12h 4 < 5',
    ])
  })

  test('leaves out sizes that the model cannot have, and tiers that it does not sell', () => {
    expect(
      below({ input: 2.5, output: 15, cache_read: 0.25, cache_write: 3.125 }, { context_tokens: 272_000 }),
    ).toEqual([])
    const sold = [
      { tier: 'priority', input: 4, output: 30 },
      { input: 5, output: 30, cache_write: 6.25 },
    ]
    expect(below(sold)).toEqual([
      'priority input 4 < 5',
      'priority cache_write 5 < 6.25',
      'priority cache_write_12h 8 < 10',
    ])
  })

  test('proposes nothing that the model cannot have, and still compares each upstream', () => {
    const upstreams = [openAi('gpt-sound'), { kind: 'anthropic', model: 'claude' }]
    const model = modelOf({ upstreams, price: { input: 0.02, output: 30, cache_write: 6 } })
    const [review] = reviewPrices([model], SHEET, 0)
    expect(review).toMatchObject({ vendor: { name: 'gpt-sound' }, proposed: null })
    expect(review?.below).toContain('input 0.02 < 0.028')
    expect(review?.below).toContain('input 0.02 < 4')
  })
})
