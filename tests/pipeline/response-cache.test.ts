import { beforeEach, describe, expect, test } from 'bun:test'
import type { LlmContextInput } from '../../server/core/catalog/llm-context'
import { err, ok } from '../../server/core/result'
import { ResponseCache } from '../../server/pipeline/search/response-cache'
import { contextInput } from '../adapters/websearch/local/fixture-index'
import { FixtureProvider } from '../support/harness'
import { SOMEBODY } from '../support/somebody'

let now: number
let source: FixtureProvider<LlmContextInput>
let cache: ResponseCache
const never = new AbortController().signal

beforeEach(() => {
  now = 1_000_000
  source = new FixtureProvider()
  source.answer = async () => ok({ body: `answer ${source.asked.length}` })
  cache = new ResponseCache({ now: () => now }, 100_000)
})

const ask = async (input: LlmContextInput = contextInput('q'), seconds = 60, operation = 'llm-context') => {
  const answer = await cache.over(source, operation, seconds).call(input, never, SOMEBODY)
  return answer.ok ? answer.value : answer.error
}

test('the same question is answered from the cache, with its age', async () => {
  expect(await ask()).toEqual({ body: 'answer 1' })
  now += 12_700
  expect(await ask()).toEqual({ body: 'answer 1', ageSeconds: 12 })
  expect(source.asked).toHaveLength(1)
})

test('a cached answer expires', async () => {
  await ask()
  now += 59_999
  expect(await ask()).toMatchObject({ ageSeconds: 59 })
  now += 1
  expect(await ask()).toEqual({ body: 'answer 2' })
})

test('`no-cache` calls the source, and its answer is cached', async () => {
  await ask()
  for (const wish of ['no-cache', 'No-Cache', 'max-age=0, no-cache'])
    expect(await ask(contextInput('q', { 'cache-control': wish }))).not.toHaveProperty('ageSeconds')
  expect(await ask()).toEqual({ body: 'answer 4', ageSeconds: 0 })
  expect(await ask(contextInput('q', { 'cache-control': 'max-stale' }))).toEqual({ body: 'answer 4', ageSeconds: 0 })
})

describe('a different question is one with', () => {
  test.each<[string, Partial<LlmContextInput>]>([
    ['other words', { q: 'Q' }],
    ['another count', { count: 21 }],
    ['another country', { country: 'DE' }],
    ['another language', { search_lang: 'de' }],
    ['another version', { 'api-version': '2026-02-06' }],
    ['another user agent', { 'user-agent': 'phone' }],
    ['another place', { 'x-loc-city': 'Bern' }],
    ['other coordinates', { 'x-loc-lat': 1, 'x-loc-long': 2 }],
    ['a filter', { safesearch: 'strict' }],
    ['an age', { freshness: 'pd' }],
    ['goggles', { goggles: ['$discard'] }],
    ['no correction', { spellcheck: false }],
    ['metadata', { enable_source_metadata: true }],
    ['another budget', { maximum_number_of_tokens: 1024 }],
    ['local recall', { enable_local: false }],
    ['a threshold', { context_threshold_mode: 'strict' }],
  ])('%s', async (_, more) => {
    await ask()
    expect(await ask({ ...contextInput('q'), ...more })).toEqual({ body: 'answer 2' })
  })

  test('another operation, or another source', async () => {
    await ask()
    expect(await ask(contextInput('q'), 60, 'image-search')).toEqual({ body: 'answer 2' })
    const other = new FixtureProvider<LlmContextInput>()
    Object.defineProperty(other, 'name', { value: 'other' })
    await cache.over(other, 'llm-context', 60).call(contextInput('q'), never, SOMEBODY)
    expect(other.asked).toHaveLength(1)
  })
})

test('the order of parameters makes no difference', async () => {
  await ask()
  const backwards = Object.fromEntries(Object.entries(contextInput('q')).reverse()) as unknown as LlmContextInput
  expect(await ask(backwards)).toMatchObject({ ageSeconds: 0 })
})

test('failures are not cached', async () => {
  source.answer = async () => err({ kind: 'error', reason: 'x' })
  await ask()
  source.answer = async () => ok({ body: 'good' })
  expect(await ask()).toEqual({ body: 'good' })
})

describe('memory', () => {
  test('is bounded: the least recently used entries are evicted', async () => {
    source.answer = async ({ q }) => ok({ body: new Uint8Array(Number(q.split(' ')[1] ?? 20_000)) })
    for (const q of ['a', 'b', 'c', 'd']) await ask(contextInput(q))
    await ask(contextInput('a'))
    await ask(contextInput('e'))
    expect(cache.bytes).toBeLessThanOrEqual(100_000)
    source.asked.length = 0
    await ask(contextInput('a'))
    expect(source.asked).toHaveLength(0)
    await ask(contextInput('b'))
    expect(source.asked).toHaveLength(1)
  })

  test('an answer larger than the cache is not cached and evicts nothing', async () => {
    source.answer = async ({ q }) => ok({ body: new Uint8Array(q === 'large' ? 200_000 : 10) })
    await ask(contextInput('small'))
    await ask(contextInput('large'))
    expect(await ask(contextInput('small'))).toHaveProperty('ageSeconds')
    expect(await ask(contextInput('large'))).not.toHaveProperty('ageSeconds')
  })

  test('a repeated question uses memory once, and expired entries free it', async () => {
    await ask()
    const once = cache.bytes
    for (let i = 0; i < 50; i++) await ask(contextInput('q', { 'cache-control': 'no-cache' }))
    expect(cache.bytes).toBeLessThan(once + 10)
    now += 60_000
    source.answer = async () => err({ kind: 'error', reason: 'x' })
    await ask()
    expect(cache.bytes).toBe(0)
  })
})
