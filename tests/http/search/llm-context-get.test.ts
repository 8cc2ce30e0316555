import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { LlmContextInput } from '../../../server/core/catalog/llm-context'
import { type Harness, type MadeKey, openHarness } from '../../support/harness'
import { CONTEXT, endAndReconcile, verdictOf } from '../wire'
import { askedBy, wrongIn } from './context-bench'
import {
  BAD_LOCATION,
  BAD_TEXT,
  BOOLEANS,
  CHOICES,
  DEFAULTS,
  GOOD_LOCATION,
  GOOD_TEXT,
  INTEGERS,
} from './context-parameters'
import { COUNTRIES, LANGUAGES } from './parameter-sets'

describe('GET /apis/v1/websearch/llm/context (spec 4.2)', () => {
  let gateway: Harness
  let key: MadeKey

  beforeAll(async () => {
    gateway = await openHarness()
    key = await gateway.key(await gateway.account(10))
  })
  afterAll(() => endAndReconcile(gateway))

  type Query = Record<string, string> | [string, string][]
  const search = (query: Query, headers: Record<string, string> = {}) =>
    gateway.as(key, `${CONTEXT}?${new URLSearchParams(query)}`, { headers })
  const asked = (query: Query, headers?: Record<string, string>) => askedBy(gateway, () => search(query, headers))
  const wrong = (query: Query, headers?: Record<string, string>) => wrongIn(gateway, () => search(query, headers))

  test('a call with only q passes every default to the provider, and omits parameters without one (spec 4.2)', async () => {
    expect(await asked({ q: 'card' })).toEqual(DEFAULTS as LlmContextInput)
  })

  test('a call without q is a 400 missing_parameter', async () => {
    expect(await wrong({ count: '5' })).toMatchObject({ param: 'q', in: 'query', code: 'missing_parameter' })
  })

  describe('integers', () => {
    test.each([...INTEGERS])('%s from %d to %d reaches the provider', async (name, least, most) => {
      for (const value of [least, most])
        expect(await asked({ q: 'a', [name]: String(value) })).toMatchObject({ [name]: value })
    })

    test.each([...INTEGERS])(
      '%s outside %d to %d, or not an integer, is a 400 that names it',
      async (name, least, most) => {
        for (const value of [least - 1, most + 1, `${least}.5`, 'many', '1e3', '+5'].map(String)) {
          const refusal = await wrong({ q: 'a', [name]: value })
          expect(refusal).toEqual({
            param: name,
            in: 'query',
            code: 'invalid_parameter',
            rule: `must be an integer from ${least} to ${most}`,
            received: value,
          })
        }
      },
    )
  })

  describe('booleans', () => {
    test.each([...BOOLEANS])('%s true and false reach the provider as booleans', async (name) => {
      expect(await asked({ q: 'a', [name]: 'true' })).toMatchObject({ [name]: true })
      expect(await asked({ q: 'a', [name]: 'false' })).toMatchObject({ [name]: false })
    })

    test.each([...BOOLEANS])('%s accepts no other spelling (spec D2)', async (name) => {
      for (const value of ['1', '0', 'yes', 'TRUE', 'False', 'null'])
        expect(await wrong({ q: 'a', [name]: value })).toMatchObject({
          param: name,
          rule: 'must be true or false',
          received: value,
        })
    })
  })

  describe('text and sets', () => {
    test.each([...CHOICES])('%s takes %p', async (name, values) => {
      for (const value of values) expect(await asked({ q: 'a', [name]: value })).toMatchObject({ [name]: value })
    })

    test.each([...GOOD_TEXT])('%s reaches the provider', async (_, name, value, expected) => {
      expect(await asked({ q: 'a', [name]: value })).toMatchObject({ [name]: expected })
    })

    test.each([...BAD_TEXT])('%s is a 400 that names it', async (_, name, value, rule) => {
      const refusal = await wrong({ q: 'a', [name]: value })
      expect(refusal).toMatchObject({ param: name, in: 'query', code: 'invalid_parameter' })
      expect(refusal?.rule).toMatch(rule)
    })

    test('an empty freshness is its default, and no other empty scalar is (spec 4.2, spec D2)', async () => {
      expect(await asked({ q: 'card', freshness: '' })).toEqual(DEFAULTS as LlmContextInput)
    })

    test('every country of spec 4.4 and every search_lang of spec 4.5 is accepted', async () => {
      for (const country of COUNTRIES) expect((await asked({ q: 'a', country })).country).toBe(country)
      for (const lang of LANGUAGES) expect((await asked({ q: 'a', search_lang: lang })).search_lang).toBe(lang)
    })
  })

  describe('goggles', () => {
    const goggles = (...list: string[]): [string, string][] => [
      ['q', 'a'],
      ...list.map((g): [string, string] => ['goggles', g]),
    ]

    test('one, and up to three by repeating the name, reach the provider in their order', async () => {
      expect((await asked(goggles('$discard'))).goggles).toEqual(['$discard'])
      const three = ['https://gitlab.com/a/b/-/raw/main/c.goggle', '$boost=2,site=b.example', '$discard']
      expect((await asked(goggles(...three))).goggles).toEqual(three)
    })

    test('four, or an empty one, are a 400', async () => {
      expect(await wrong(goggles('a', 'b', 'c', 'd'))).toMatchObject({ param: 'goggles', received: '4 entries' })
      expect(await wrong(goggles('a', ''))).toMatchObject({
        param: 'goggles',
        rule: expect.stringMatching(/none empty/),
      })
      expect(await wrong(goggles(' '))).toMatchObject({ param: 'goggles' })
    })

    test('an invalid line is a 400 that names entry and line', async () => {
      expect(await wrong(goggles('$discard', '! mine\n/blog/$boost\n/shop/$boost=11'))).toMatchObject({
        param: 'goggles',
        rule: 'entry 2, line 3: boost goes from 1 to 10',
      })
    })

    test('a URL on a host that is not allowed for goggles is a 400', async () => {
      for (const address of ['http://github.com/a', 'https://example.com/a', 'http://169.254.169.254/'])
        expect((await wrong(goggles(address)))?.rule).toMatch(/^entry 1 must be an https address on github.com/)
    })
  })

  describe('client-location headers', () => {
    test.each([...GOOD_LOCATION])('%s: %s reaches the provider', async (name, value, expected) => {
      expect(await asked({ q: 'a' }, { [name]: value })).toMatchObject({ [name]: expected })
    })

    test.each([...BAD_LOCATION])('%s: %p is a 400 that names the header', async (name, value, rule) => {
      const refusal = await wrong({ q: 'a' }, { [name]: value })
      expect(refusal).toMatchObject({ param: name, in: 'header', code: 'invalid_parameter', received: value })
      expect(refusal?.rule).toMatch(rule)
    })

    test.each([
      ['US', 'CA'],
      ['us', 'ca'],
      ['AU', 'NSW'],
      ['JP', '13'],
      ['FR', '2A'],
      ['GB', 'ENG'],
    ])('a state in the form of its country passes: %s %s', async (country, state) => {
      const headers = { 'x-loc-country': country, 'x-loc-state': state }
      expect(await asked({ q: 'a' }, headers)).toMatchObject(headers)
    })

    test.each([
      ['US', '12'],
      ['US', 'CAL'],
      ['DE', 'B'],
      ['JP', 'TOK'],
      ['HK', 'HK'],
    ])('a state in the form of no state of its country is a 400: %s %s', async (country, state) => {
      const refusal = await wrong({ q: 'a' }, { 'x-loc-country': country, 'x-loc-state': state })
      expect(refusal).toMatchObject({ param: 'x-loc-state', in: 'header', code: 'invalid_parameter', received: state })
      expect(refusal?.rule).toContain(`ISO 3166-2 subdivision code of ${country}`)
    })

    test('a location in the query is ignored like any unknown parameter', async () => {
      expect(await asked({ q: 'card', 'x-loc-lat': '900' })).toEqual(DEFAULTS as LlmContextInput)
    })
  })

  describe('the four headers of spec 4.1', () => {
    test('api-version is used and returned; an invalid one is refused with the accepted versions (spec 9)', async () => {
      expect((await asked({ q: 'a' }, { 'api-version': '2026-02-06' }))['api-version']).toBe('2026-02-06')
      const answer = await search({ q: 'a' }, { 'api-version': '2026-02-06' })
      expect(answer.headers.get('api-version')).toBe('2026-02-06')
      expect((await wrong({ q: 'a' }, { 'api-version': '2026-02-07' }))?.rule).toBe(
        'must be one of 2026-02-06 2026-07-31',
      )
    })

    test('cache-control and user-agent reach the provider', async () => {
      const headers = { 'cache-control': 'no-cache', 'user-agent': 'Phone/1.0' }
      expect(await asked({ q: 'a' }, headers)).toMatchObject(headers)
    })

    test('an accept that admits no JSON is 406', async () => {
      expect(await verdictOf(search({ q: 'a' }, { accept: 'text/plain' }))).toBe('406 not_acceptable')
    })
  })
})
