import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ImageSearchInput } from '../../../server/core/catalog/image-search'
import { ok } from '../../../server/core/result'
import { type Harness, type MadeKey, openHarness } from '../../support/harness'
import { endAndReconcile, IMAGES, PRICE, refusalOf } from '../wire'
import { COUNTRIES, LANGUAGES, words } from './parameter-sets'

describe('GET /apis/v1/websearch/images/search (spec 4.1)', () => {
  let gateway: Harness
  let key: MadeKey

  beforeAll(async () => {
    gateway = await openHarness()
    key = await gateway.key(await gateway.account(10))
  })
  afterAll(() => endAndReconcile(gateway))

  const search = (query: string, headers: Record<string, string> = {}) =>
    gateway.as(key, `${IMAGES}?${query}`, { headers })

  /** The input that reached the provider. */
  const asked = async (query: string, headers: Record<string, string> = {}): Promise<ImageSearchInput> => {
    const before = gateway.images.asked.length
    const answer = await search(query, headers)
    expect(`${answer.status} ${await answer.text()}`).toBe('200 {"fixture":true}')
    expect(gateway.images.asked).toHaveLength(before + 1)
    return gateway.images.asked[before] as ImageSearchInput
  }

  /** The one wrong parameter of a refused call, which never reached the provider and cost nothing. */
  const refused = async (query: string, headers: Record<string, string> = {}) => {
    const before = gateway.images.asked.length
    const answer = await search(query, headers)
    expect(answer.headers.get('x-cost-micros-usd')).toBe('0')
    const refusal = await refusalOf(answer)
    expect(refusal.status).toBe(400)
    expect(refusal.type).toBe('invalid_request_error')
    expect(gateway.images.asked).toHaveLength(before)
    const [wrong, ...more] = refusal.details ?? []
    expect(more).toEqual([])
    expect(refusal.param).toBe(String(wrong?.param))
    expect(refusal.code).toBe(String(wrong?.code))
    return wrong
  }

  test('a call with only q asks the provider with every default of spec 4.1', async () => {
    expect(await asked('q=card')).toEqual({
      q: 'card',
      count: 50,
      country: 'US',
      search_lang: 'en',
      safesearch: 'strict',
      spellcheck: true,
      'api-version': '2026-07-31',
    })
  })

  test("a success is the provider's own bytes as JSON, for 5000 micro-USD (spec 1.3, 4)", async () => {
    const body = '{"type":"images", "results":[ {"title":"K\u00f6ln \u{1F600}"} ]}'
    gateway.images.answer = async () => ok({ body })
    const answer = await search('q=card')
    gateway.images.answer = async () => ok({ body: '{"fixture":true}' })
    expect(answer.status).toBe(200)
    expect(await answer.text()).toBe(body)
    expect(answer.headers.get('content-type')).toBe('application/json')
    expect(answer.headers.get('x-cost-micros-usd')).toBe(String(PRICE))
  })

  test('a large success arrives whole', async () => {
    const body = JSON.stringify({ results: Array.from({ length: 5000 }, (_, i) => ({ title: `picture ${i}` })) })
    gateway.images.answer = async () => ok({ body: new TextEncoder().encode(body) })
    const answer = await search('q=card')
    gateway.images.answer = async () => ok({ body: '{"fixture":true}' })
    expect(await answer.text()).toBe(body)
    expect(answer.headers.get('content-type')).toBe('application/json')
  })

  describe('query parameters', () => {
    test.each<[string, string, unknown]>([
      ['q of 1 character', 'q=a', { q: 'a' }],
      ['q of 400 characters', `q=${'a'.repeat(400)}`, { q: 'a'.repeat(400) }],
      ['q of 400 code points that are 800 UTF-16 units', `q=${'😀'.repeat(400)}`, { q: '😀'.repeat(400) }],
      ['q of 50 words', `q=${words(50)}`, { q: words(50) }],
      ['q with a plus as space', 'q=credit+card', { q: 'credit card' }],
      ['count 1', 'q=a&count=1', { count: 1 }],
      ['count 200', 'q=a&count=200', { count: 200 }],
      ['safesearch off', 'q=a&safesearch=off', { safesearch: 'off' }],
      ['safesearch strict', 'q=a&safesearch=strict', { safesearch: 'strict' }],
      ['spellcheck true', 'q=a&spellcheck=true', { spellcheck: true }],
      ['spellcheck false', 'q=a&spellcheck=false', { spellcheck: false }],
      ['country in lower case', 'q=a&country=de', { country: 'DE' }],
      ['search_lang in upper case', 'q=a&search_lang=ZH-HANS', { search_lang: 'zh-hans' }],
    ])('%s reaches the provider', async (_, query, expected) => {
      expect(await asked(query)).toMatchObject(expected as object)
    })

    test.each<[string, string, string, string, RegExp]>([
      ['q absent', '', 'q', 'missing_parameter', /required/],
      ['q empty', 'q=', 'q', 'invalid_parameter', /empty/],
      ['q of white space only', 'q=%20%09%C2%A0', 'q', 'invalid_parameter', /empty/],
      ['q of 401 characters', `q=${'a'.repeat(401)}`, 'q', 'invalid_parameter', /1 to 400.*401/],
      ['q of 401 code points', `q=${'😀'.repeat(401)}`, 'q', 'invalid_parameter', /1 to 400.*401/],
      ['q of 51 words', `q=${words(51)}`, 'q', 'invalid_parameter', /50 words.*51/],
      ['q given twice', 'q=a&q=b', 'q', 'invalid_parameter', /once/],
      ['count 0', 'q=a&count=0', 'count', 'invalid_parameter', /1 to 200/],
      ['count 201', 'q=a&count=201', 'count', 'invalid_parameter', /1 to 200/],
      ['count empty', 'q=a&count=', 'count', 'invalid_parameter', /empty/],
      ['count given twice', 'q=a&count=1&count=1', 'count', 'invalid_parameter', /once/],
      ['country outside the set', 'q=a&country=XX', 'country', 'invalid_parameter', /AR AU .* ALL$/],
      ['search_lang outside the set', 'q=a&search_lang=xx', 'search_lang', 'invalid_parameter', /ar eu .* vi$/],
      ['safesearch moderate', 'q=a&safesearch=moderate', 'safesearch', 'invalid_parameter', /off strict/],
      ['spellcheck 1', 'q=a&spellcheck=1', 'spellcheck', 'invalid_parameter', /true or false/],
    ])('%s is a 400 that names it', async (_, query, param, code, rule) => {
      expect(await refused(query)).toMatchObject({ param, in: 'query', code, rule: expect.stringMatching(rule) })
    })

    test('every country of spec 4.4 is accepted', async () => {
      for (const country of COUNTRIES) expect((await asked(`q=a&country=${country}`)).country).toBe(country)
    })

    test('every search_lang of spec 4.5 is accepted', async () => {
      for (const lang of LANGUAGES) expect((await asked(`q=a&search_lang=${lang}`)).search_lang).toBe(lang)
    })

    test('offset is ignored like every unknown parameter, and not passed on (spec 4.1, spec D2)', async () => {
      const input = await asked('q=a&offset=10&page=2&x=&x=1')
      expect(Object.keys(input).toSorted()).toEqual(Object.keys(await asked('q=a')).toSorted())
    })
  })

  describe('headers', () => {
    test.each([
      'application/json',
      '*/*',
      'application/*',
      'text/html, application/json;q=0.9',
      'text/html, */*;q=0.1',
      'APPLICATION/JSON',
      'application/json; charset=utf-8',
      '',
    ])('accept: %p returns JSON', async (accept) => {
      const answer = await search('q=card', { accept })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('content-type')).toBe('application/json')
    })

    test.each(['text/html', 'application/xml, text/*', 'application/json;q=0', '*/*;q=0', 'application/json;q=0, */*'])(
      'accept: %p is 406 not_acceptable, uncharged (spec D2)',
      async (accept) => {
        const before = gateway.images.asked.length
        const answer = await search('q=card', { accept })
        expect(answer.headers.get('x-cost-micros-usd')).toBe('0')
        expect(await refusalOf(answer)).toMatchObject({
          status: 406,
          type: 'invalid_request_error',
          code: 'not_acceptable',
        })
        expect(gateway.images.asked).toHaveLength(before)
      },
    )

    test.each(['2026-02-06', '2026-07-31'])(
      'api-version %s is used and repeated in API-Version (spec 9)',
      async (version) => {
        expect((await asked('q=a', { 'api-version': version }))['api-version']).toBe(version as '2026-02-06')
        const answer = await search('q=a', { 'api-version': version })
        expect(answer.headers.get('api-version')).toBe(version)
      },
    )

    test('without api-version the latest is used and named in API-Version (spec 9)', async () => {
      expect((await search('q=a')).headers.get('api-version')).toBe('2026-07-31')
    })

    test.each(['2026-7-31', '2025-01-01', 'latest', '2026-02-06, 2026-07-31', ''])(
      'api-version %p is a 400 that names the accepted ones (spec D5)',
      async (version) => {
        expect(await refused('q=a', { 'api-version': version })).toMatchObject({
          param: 'api-version',
          in: 'header',
          code: 'invalid_parameter',
          rule: expect.stringMatching(version === '' ? /empty/ : /2026-02-06 2026-07-31/),
        })
      },
    )

    test('cache-control: no-cache reaches the provider; any other value changes nothing (spec D2)', async () => {
      expect((await asked('q=a', { 'cache-control': 'no-cache' }))['cache-control']).toBe('no-cache')
      for (const other of ['max-age=60', 'no-store', '', 'x'.repeat(900)])
        await asked('q=a', { 'cache-control': other })
    })

    test("the caller's user-agent reaches the provider", async () => {
      expect((await asked('q=a', { 'user-agent': 'Phone/1.0' }))['user-agent']).toBe('Phone/1.0')
    })

    test('location headers belong to LLM context: image search ignores them (spec 4.1)', async () => {
      expect(await asked('q=a', { 'x-loc-lat': '900' })).not.toHaveProperty('x-loc-lat')
    })
  })
})
