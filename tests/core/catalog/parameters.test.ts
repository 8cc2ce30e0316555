import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { countWords, describeRule, type ParameterTable, parseParameters } from '../../../server/core/catalog/parameters'

const TABLE = {
  q: { in: 'query', kind: 'text', required: true, min: 1, max: 10, maxWords: 3, description: '' },
  count: { in: 'query', kind: 'integer', min: 1, max: 50, default: 20, description: '' },
  lat: { in: 'query', kind: 'number', min: -90, max: 90, description: '' },
  flag: { in: 'query', kind: 'boolean', default: true, description: '' },
  country: { in: 'query', kind: 'enum', values: ['US', 'DE'], default: 'US', anyCase: true, description: '' },
  mode: { in: 'query', kind: 'enum', values: ['off', 'strict'], description: '' },
  list: { in: 'query', kind: 'list', maxEntries: 2, maxLength: 10, description: '' },
  age: { in: 'query', kind: 'text', min: 2, max: 5, emptyIsDefault: true, description: '' },
  even: {
    in: 'query',
    kind: 'text',
    min: 1,
    max: 9,
    check: (v) => (v.length % 2 ? 'must be even' : null),
    description: '',
  },
  'x-head': { in: 'header', kind: 'text', min: 1, max: 3, lowerCase: true, description: '' },
} as const satisfies ParameterTable

const raw = (query: Record<string, string | string[]>, headers: Record<string, string> = {}) => ({
  query: (name: string) => [query[name] ?? []].flat(),
  header: (name: string) => headers[name] ?? null,
})
const parse = (query: Record<string, string | string[]>, headers: Record<string, string> = {}) =>
  parseParameters(TABLE, raw({ q: 'a', ...query }, headers))
const parseBody = (body: Record<string, unknown>) => parseParameters(TABLE, { ...raw({}), body: { q: 'a', ...body } })
const value = (name: string, parsed: ReturnType<typeof parse>): unknown => {
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.error))
  return Reflect.get(parsed.value, name)
}
const wrong = (parsed: ReturnType<typeof parse>) => (parsed.ok ? [] : parsed.error.map((error) => error.param))

describe('parameters', () => {
  test('that are absent have their default, or stay absent', () => {
    const parsed = parse({})
    expect(parsed).toEqual({ ok: true, value: { q: 'a', count: 20, flag: true, country: 'US' } })
  })

  test('that are wrong are all listed, each with its place, rule and received value', () => {
    const parsed = parseParameters(TABLE, raw({ count: '0', flag: 'yes' }, { 'x-head': 'long' }))
    expect(parsed).toEqual({
      ok: false,
      error: [
        { param: 'q', in: 'query', code: 'missing_parameter', rule: 'is required', received: null },
        {
          param: 'count',
          in: 'query',
          code: 'invalid_parameter',
          rule: 'must be an integer from 1 to 50',
          received: '0',
        },
        { param: 'flag', in: 'query', code: 'invalid_parameter', rule: 'must be true or false', received: 'yes' },
        {
          param: 'x-head',
          in: 'header',
          code: 'invalid_parameter',
          received: 'long',
          rule: 'must be text of 1 to 3 characters; it has 4 characters',
        },
      ],
    })
  })

  test('that are unknown are ignored in a query and named in a body', () => {
    expect(wrong(parse({ colour: 'red', constructor: 'x' }))).toEqual([])
    expect(wrong(parseBody({ colour: 'red', 'x-head': 'a', constructor: 1 }))).toEqual([
      'colour',
      'x-head',
      'constructor',
    ])
  })

  test('given twice or empty are wrong, except for lists and where empty is the default (spec D2)', () => {
    expect(wrong(parse({ count: ['1', '1'], mode: '', flag: '', lat: '' }))).toEqual(['count', 'lat', 'flag', 'mode'])
    expect(value('age', parse({ age: '' }))).toBeUndefined()
    expect(value('list', parse({ list: ['a', 'a'] }))).toEqual(['a', 'a'])
  })

  test('of type integer are whole decimal digits within their bounds, exactly', () => {
    expect(value('count', parse({ count: '50' }))).toBe(50)
    expect(value('count', parse({ count: '007' }))).toBe(7)
    for (const text of ['0', '51', '-1', '1.0', '1e1', '0x1', ' 1', '1 ', '+1', 'NaN', '١', '9'.repeat(16)])
      expect(wrong(parse({ count: text }))).toEqual(['count'])
    fc.assert(
      fc.property(fc.integer(), (n) => {
        expect(parse({ count: String(n) }).ok).toBe(n >= 1 && n <= 50)
        expect(parseBody({ count: n }).ok).toBe(n >= 1 && n <= 50)
      }),
    )
  })

  test('of type number are plain decimals within their bounds', () => {
    for (const [text, n] of [
      ['90', 90],
      ['-90', -90],
      ['+1.5', 1.5],
      ['.5', 0.5],
      ['5.', 5],
      ['-0.25', -0.25],
    ] as const)
      expect(value('lat', parse({ lat: text }))).toBe(n)
    for (const text of ['90.000001', '-91', '1e1', 'Infinity', '.', '-', '1,5', ''])
      expect(wrong(parse({ lat: text }))).toEqual(['lat'])
    expect(wrong(parseBody({ lat: Number.NaN }))).toEqual(['lat'])
  })

  test('of type boolean are true or false and nothing else', () => {
    expect([parse({ flag: 'false' }), parseBody({ flag: false })].map((parsed) => value('flag', parsed))).toEqual([
      false,
      false,
    ])
    for (const text of ['TRUE', '1', '0', 'yes', 'on']) expect(wrong(parse({ flag: text }))).toEqual(['flag'])
    expect(wrong(parseBody({ flag: 'true' }))).toEqual(['flag'])
  })

  test("with a set of values return the table's spelling; case matters unless declared otherwise", () => {
    expect(value('country', parse({ country: 'de' }))).toBe('DE')
    expect(value('mode', parse({ mode: 'strict' }))).toBe('strict')
    expect(wrong(parse({ mode: 'STRICT', country: 'toString' }))).toEqual(['country', 'mode'])
  })

  test('of type text count code points and Unicode words, and are not only white space', () => {
    expect(parse({ q: '\u{1f511}'.repeat(10) }).ok).toBe(true)
    expect(wrong(parse({ q: '\u{1f511}'.repeat(11) }))).toEqual(['q'])
    expect(parse({ q: 'a\u3000b\u00a0c' }).ok).toBe(true)
    expect(wrong(parse({ q: 'a b c d' }))).toEqual(['q'])
    for (const blank of [' ', '\u3000', '\t\n']) expect(wrong(parse({ q: blank }))).toEqual(['q'])
    expect(wrong(parse({ even: 'odd' }))).toEqual(['even'])
    expect(value('x-head', parse({}, { 'x-head': ' AB ' }))).toBe('ab')
  })

  test('of type list take one or several values, none empty, up to their limit', () => {
    expect(value('list', parse({ list: 'a' }))).toEqual(['a'])
    expect(value('list', parseBody({ list: 'a' }))).toEqual(['a'])
    expect(value('list', parseBody({ list: ['a', 'b'] }))).toEqual(['a', 'b'])
    expect(wrong(parse({ list: ['a', 'b', 'c'] }))).toEqual(['list'])
    for (const list of [['a', ''], [' '], [1], [null], {}, 5, 'x'.repeat(11), ['a', 'x'.repeat(11)]])
      expect(wrong(parseBody({ list }))).toEqual(['list'])
  })

  test('of a body have their JSON type: text is not a number, and null fits nothing', () => {
    const body = { count: '5', q: 5, lat: '1', mode: null, country: 1, age: ['x'] }
    expect(wrong(parseBody(body))).toEqual(['q', 'count', 'lat', 'country', 'mode', 'age'])
  })

  test('never throw, and give a value or a reason, whatever is sent', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...Object.keys(TABLE), 'other'), fc.anything()), (body) => {
        const parsed = parseParameters(TABLE, { ...raw({}), body })
        if (!parsed.ok) expect(parsed.error.every(({ rule, param }) => rule !== '' && param !== '')).toBe(true)
      }),
    )
  })

  test('show at most 100 characters of the received value', () => {
    const parsed = parse({ mode: '\u{1f511}'.repeat(5000) })
    expect(parsed.ok ? '' : [...(parsed.error[0]?.received ?? '')].length).toBe(103)
  })

  test('describe their rule in words', () => {
    expect(describeRule(TABLE.q)).toBe('must be text of 1 to 10 characters and at most 3 words')
    expect(describeRule(TABLE.mode)).toBe('must be one of off strict')
    expect(countWords('  one\u2003two\nthree ')).toBe(3)
  })
})
