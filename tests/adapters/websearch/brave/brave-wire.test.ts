import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import { trustedFetch } from '../../../../server/adapters/outbound/one-hop'
import { openBraveWebsearch } from '../../../../server/adapters/websearch/brave/open-brave-websearch'
import type { ImageSearchInput } from '../../../../server/core/catalog/image-search'
import type { LlmContextInput } from '../../../../server/core/catalog/llm-context'
import { CONTEXT, IMAGES, LOCAL_CONTEXT } from '../../../support/doubles/brave-bodies'
import { HttpDouble } from '../../../support/doubles/http-double'
import { SOMEBODY } from '../../../support/somebody'
import { contextInput, imageInput } from '../local/fixture-index'

const KEY = 'BSA-test-key'
let brave: HttpDouble
let body: string

beforeAll(() => {
  brave = new HttpDouble(({ headers }) => {
    const packs = headers.get('accept-encoding') === 'gzip'
    const json = { 'content-type': 'application/json' }
    return packs
      ? new Response(gzipSync(body), { headers: { ...json, 'content-encoding': 'gzip' } })
      : new Response(body)
  })
})
beforeEach(() => {
  brave.reset()
  body = CONTEXT
})
afterAll(() => brave.stop())

const open = () => openBraveWebsearch({ baseUrl: brave.url, apiKey: KEY, fetch: trustedFetch, clock: { now: () => 0 } })
const signal = new AbortController().signal

async function context(more: Partial<LlmContextInput> = {}, q = 'tallest mountains') {
  const answer = await open().context.call(contextInput(q, more), signal, SOMEBODY)
  if (!answer.ok) throw new Error(answer.error.reason)
  return answer.value.body
}
async function images(more: Partial<ImageSearchInput> = {}, q = 'mountain landscape') {
  body = IMAGES
  const answer = await open().images.call(imageInput(q, more), signal, SOMEBODY)
  if (!answer.ok) throw new Error(answer.error.reason)
  return answer.value.body
}
const sent = () => Object.fromEntries(brave.last.query)

describe('image search on the wire', () => {
  test('is a GET with the key, with every default written out', async () => {
    await images()
    expect(brave.last).toMatchObject({ method: 'GET', path: '/res/v1/images/search', body: '' })
    expect(sent()).toEqual({
      q: 'mountain landscape',
      country: 'US',
      search_lang: 'en',
      count: '50',
      safesearch: 'strict',
      spellcheck: 'true',
    })
    const { headers } = brave.last
    expect(headers.get('x-subscription-token')).toBe(KEY)
    expect(headers.get('accept')).toBe('application/json')
    expect(headers.get('accept-encoding')).toBe('gzip')
    expect(headers.get('api-version')).toBe('2026-07-31')
    expect(headers.get('authorization')).toBeNull()
  })

  test.each<[keyof ImageSearchInput, Partial<ImageSearchInput>, string]>([
    ['count', { count: 200 }, '200'],
    ['country', { country: 'ALL' }, 'ALL'],
    ['search_lang', { search_lang: 'pt-br' }, 'pt-br'],
    ['search_lang', { search_lang: 'ja' }, 'jp'],
    ['safesearch', { safesearch: 'off' }, 'off'],
    ['spellcheck', { spellcheck: false }, 'false'],
  ])('%s of %p goes out as %s', async (name, more, expected) => {
    await images(more)
    expect(sent()[name]).toBe(expected)
  })

  test('words are sent unchanged, whatever they contain', async () => {
    for (const q of ['a&b=c', 'ü 😀', '!g x', '"a b" -c', '100%', 'a+b']) {
      await images({}, q)
      expect(sent()['q']).toBe(q)
    }
  })
})

describe('LLM context on the wire', () => {
  test('is a GET; what the caller omitted is not sent', async () => {
    await context()
    expect(brave.last).toMatchObject({ method: 'GET', path: '/res/v1/llm/context' })
    expect(sent()).toEqual({
      q: 'tallest mountains',
      country: 'US',
      search_lang: 'en',
      count: '20',
      spellcheck: 'true',
      maximum_number_of_urls: '20',
      maximum_number_of_tokens: '8192',
      maximum_number_of_tokens_per_url: '4096',
      maximum_number_of_snippets: '50',
      maximum_number_of_snippets_per_url: '50',
      enable_source_metadata: 'false',
    })
  })

  test.each<[keyof LlmContextInput, Partial<LlmContextInput>, string]>([
    ['context_threshold_mode', { context_threshold_mode: 'strict' }, 'strict'],
    ['count', { count: 7 }, '7'],
    ['country', { country: 'DE' }, 'DE'],
    ['search_lang', { search_lang: 'zh-hans' }, 'zh-hans'],
    ['enable_local', { enable_local: true }, 'true'],
    ['enable_local', { enable_local: false }, 'false'],
    ['enable_source_metadata', { enable_source_metadata: true }, 'true'],
    ['freshness', { freshness: 'pw' }, 'pw'],
    ['freshness', { freshness: '2026-01-01to2026-02-01' }, '2026-01-01to2026-02-01'],
    ['maximum_number_of_snippets', { maximum_number_of_snippets: 256 }, '256'],
    ['maximum_number_of_snippets_per_url', { maximum_number_of_snippets_per_url: 3 }, '3'],
    ['maximum_number_of_tokens', { maximum_number_of_tokens: 1024 }, '1024'],
    ['maximum_number_of_tokens_per_url', { maximum_number_of_tokens_per_url: 512 }, '512'],
    ['maximum_number_of_urls', { maximum_number_of_urls: 5 }, '5'],
    ['safesearch', { safesearch: 'moderate' }, 'moderate'],
    ['spellcheck', { spellcheck: false }, 'false'],
  ])('%s of %p goes out as %s', async (name, more, expected) => {
    await context(more)
    expect(sent()[name]).toBe(expected)
  })

  test('goggles repeat the name, unchanged', async () => {
    const goggles = ['https://gitlab.com/a/b/-/blob/main/c.goggle', '$discard\n$site=docs.rs']
    await context({ goggles })
    expect(brave.last.query.getAll('goggles')).toEqual(goggles)
  })

  test('a query too long for a URL is sent as a JSON body with the same names, typed', async () => {
    const goggles = ['/a$boost\n'.repeat(500)]
    await context({ goggles, enable_local: false, 'x-loc-city': 'Bern' })
    expect(brave.last).toMatchObject({ method: 'POST', path: '/res/v1/llm/context' })
    expect([...brave.last.query]).toEqual([])
    expect(brave.last.headers.get('content-type')).toBe('application/json')
    expect(JSON.parse(brave.last.body)).toMatchObject({
      q: 'tallest mountains',
      count: 20,
      enable_local: false,
      goggles,
    })
    expect(brave.last.headers.get('x-loc-city')).toBe('Bern')
    expect(JSON.parse(brave.last.body)).not.toHaveProperty('x-loc-city')
  })
})

describe("the caller's headers", () => {
  test('select the version', async () => {
    await context({ 'api-version': '2026-02-06' })
    expect(brave.last.headers.get('api-version')).toBe('2026-02-06')
  })

  test('pass `no-cache` on, and no other cache directive', async () => {
    await context({ 'cache-control': 'No-Cache' })
    expect(brave.last.headers.get('cache-control')).toBe('no-cache')
    await context({ 'cache-control': 'max-age=5' })
    expect(brave.last.headers.get('cache-control')).not.toBe('max-age=5')
  })

  test('carry the user agent, or ours if there is none', async () => {
    await images({ 'user-agent': 'Mozilla/5.0 (iPhone)' })
    expect(brave.last.headers.get('user-agent')).toBe('Mozilla/5.0 (iPhone)')
    await images()
    expect(brave.last.headers.get('user-agent')).toMatch(/^paid-api-gateway/)
  })

  test.each<[keyof LlmContextInput, string | number, string]>([
    ['x-loc-lat', 37.7749, '37.7749'],
    ['x-loc-long', -122.4194, '-122.4194'],
    ['x-loc-city', 'San Francisco', 'San Francisco'],
    ['x-loc-state', 'CA', 'CA'],
    ['x-loc-state-name', 'California', 'California'],
    ['x-loc-country', 'US', 'US'],
    ['x-loc-postal-code', '94103', '94103'],
  ])('%s goes out as a header', async (name, value, expected) => {
    await context({ [name]: value })
    expect(brave.last.headers.get(name)).toBe(expected)
  })

  test('send a city in any script as UTF-8 bytes, and a line end adds no header', async () => {
    await context({ 'x-loc-city': 'Łódź\r\nx-subscription-token: other' })
    const city = brave.last.headers.get('x-loc-city') ?? ''
    expect(Buffer.from(city, 'latin1').toString('utf8')).toBe('Łódź x-subscription-token: other')
    expect(brave.last.headers.get('x-subscription-token')).toBe(KEY)
  })

  test('enable local recall only with coordinates or a city (spec 4.2), although Brave accepts any location', async () => {
    for (const more of [{}, { 'x-loc-city': 'Bern' }, { 'x-loc-lat': 1, 'x-loc-long': 2 }]) {
      await context(more)
      expect(sent()['enable_local']).toBeUndefined()
    }
    for (const more of [
      { 'x-loc-lat': 1 },
      { 'x-loc-country': 'CH' },
      { 'x-loc-state': 'BE', 'x-loc-postal-code': '3011' },
    ]) {
      await context(more)
      expect(sent()['enable_local']).toBe('false')
    }
    await context({ 'x-loc-country': 'CH', enable_local: true })
    expect(sent()['enable_local']).toBe('true')
  })
})

describe('bodies', () => {
  test('an image answer is returned byte for byte, decompressed', async () => {
    expect(await images()).toEqual(new TextEncoder().encode(IMAGES))
  })

  test('a context answer gets `query` at its start (spec 2.5), and no other byte changes', async () => {
    const answer = String(await context({}, 'say "hi"'))
    expect(JSON.parse(answer)).toEqual({ query: { original: 'say "hi"' }, ...JSON.parse(CONTEXT) })
    expect(answer).toBe(`{"query":{"original":"say \\"hi\\""},${CONTEXT.slice(1)}`)
  })

  test('a context answer that has `query` is returned byte for byte', async () => {
    body = `\n {"query":{"original":"a","altered":"b"},${CONTEXT.slice(1)}`
    expect(await context()).toEqual(new TextEncoder().encode(body))
  })

  test('places of local recall are passed on', async () => {
    body = LOCAL_CONTEXT
    expect(JSON.parse(String(await context({ enable_local: true })))).toMatchObject(JSON.parse(LOCAL_CONTEXT))
  })

  test('unknown fields are passed on', async () => {
    body = CONTEXT.replace('"map": []', '"map": [], "recipes": [{"n": 1.50}]')
    expect(String(await context())).toContain('"recipes": [{"n": 1.50}]')
  })
})
