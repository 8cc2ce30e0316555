import { describe, expect, test } from 'bun:test'
import { compileJsonSchema } from '../../../server/adapters/openapi/compile-json-schema'
import type { DataSchema } from '../../../server/core/apis/api'

const problem = (schema: DataSchema, value: unknown) => compileJsonSchema(schema)(value)

describe('our JSON Schema validator', () => {
  test('names the place of the first problem, and never the value', () => {
    const item = { type: 'object', properties: { name: { type: 'string' }, 'a/b': { type: 'integer' } } }
    const schema = { type: 'object', properties: { items: { type: 'array', items: item } } }
    expect(problem(schema, { items: [{ name: 'x' }] })).toBeNull()
    expect(problem(schema, { items: [{ name: 12345 }] })).toBe('/items/0/name must be a string')
    expect(problem(schema, { items: [{ 'a/b': 'secret' }] })).toBe('/items/0/a~1b must be an integer')
    expect(problem(schema, 'secret')).toBe('must be an object')
  })

  test('describes each rule in words', () => {
    const rules: [DataSchema, unknown, string][] = [
      [{ type: ['integer', 'null'] }, 1.5, 'must be an integer or null'],
      [{ minimum: 1 }, 0, 'must be at least 1'],
      [{ maximum: 1 }, 2, 'must be at most 1'],
      [{ exclusiveMinimum: 1 }, 1, 'must be greater than 1'],
      [{ exclusiveMaximum: 1 }, 1, 'must be less than 1'],
      [{ multipleOf: 0.1 }, 0.35, 'must be a multiple of 0.1'],
      [{ minLength: 2 }, '😀', 'must have at least 2 characters'],
      [{ maxLength: 1 }, '😀😀', 'must have at most 1 character'],
      [{ minItems: 1 }, [], 'must have at least 1 element'],
      [{ maxItems: 1 }, [1, 2], 'must have at most 1 element'],
      [
        { uniqueItems: true },
        [
          { a: 1, b: 2 },
          { b: 2, a: 1 },
        ],
        '/1 must not repeat an earlier element',
      ],
      [{ required: ['a'] }, {}, 'must have the member a'],
      [{ minProperties: 1 }, {}, 'must have at least 1 member'],
      [{ maxProperties: 0 }, { a: 1 }, 'must have at most 0 members'],
      [{ enum: ['a', { b: 1 }] }, { b: 2 }, 'must be one of the declared values'],
      [{ const: [1] }, [2], 'must be the declared constant'],
      [{ additionalProperties: false }, { a: 1 }, '/a is not declared'],
      [{ oneOf: [{ minimum: 1 }, { minimum: 2 }] }, 3, 'must match only one of the declared forms'],
      [{ anyOf: [{ type: 'string' }, { type: 'null' }] }, 3, 'must match one of the declared forms'],
      [{ not: { type: 'null' } }, null, 'has a form that is not allowed'],
      [{ dependentRequired: { a: ['b'] } }, { a: 1 }, 'must have the member b, as it has a'],
      [{ contains: { const: 1 } }, [2], 'must contain an element of the declared form'],
      [false, 1, 'is not allowed'],
    ]
    for (const [schema, value, message] of rules) expect(problem(schema, value)).toBe(message)
    expect(problem({ multipleOf: 0.01 }, 19.99)).toBeNull()
    expect(problem({ maxLength: 2 }, '😀😀')).toBeNull()
  })

  test('reports the problem inside the only form that applies', () => {
    const schema = { anyOf: [{ type: 'null' }, { type: 'object', properties: { a: { type: 'string' } } }] }
    expect(problem(schema, { a: 1 })).toBe('/a must be a string')
  })

  test('knows which members joined schemas declare together', () => {
    const schema = {
      allOf: [{ properties: { a: true } }, { $ref: '#/$defs/B' }],
      anyOf: [{ properties: { c: { type: 'string' } } }, { properties: { d: true } }],
      if: { properties: { e: { const: 1 } }, required: ['e'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { properties: { f: true } },
      unevaluatedProperties: false,
      $defs: { B: { properties: { b: true } } },
    }
    expect(problem(schema, { a: 1, b: 1, c: 'x', d: 1 })).toBeNull()
    expect(problem(schema, { a: 1, x: 1 })).toBe('/x is not declared')
    expect(problem(schema, { c: 1, d: 1 })).toBe('/c is not declared')
    expect(problem(schema, { e: 1, f: 1 })).toBeNull()
    expect(problem(schema, { e: 2, f: 1 })).toBe('/e is not declared')
  })

  test('validates JSON inside a text', () => {
    const contentSchema = { type: 'object', properties: { a: { type: 'integer' } }, unevaluatedProperties: false }
    const schema = { type: 'string', contentMediaType: 'application/json', contentSchema }
    expect(problem(schema, '{"a":1}')).toBeNull()
    expect(problem(schema, '{"a":"x"}')).toBe('/a must be an integer')
    expect(problem(schema, '{"b":1}')).toBe('/b is not declared')
    expect(problem(schema, '{')).toBe('must be JSON')
  })

  test('treats names of prototypes as ordinary names', () => {
    const schema = {
      type: 'object',
      properties: { constructor: { type: 'string' }, toString: { type: 'string' } },
      unevaluatedProperties: false,
    }
    expect(problem(schema, {})).toBeNull()
    expect(problem({ required: ['constructor'] }, {})).toBe('must have the member constructor')
    expect(problem(schema, JSON.parse('{"__proto__": {"a": 1}}'))).toBe('/__proto__ is not declared')
    expect(problem(schema, JSON.parse('{"hasOwnProperty": 1}'))).toBe('/hasOwnProperty is not declared')
    expect(problem({ $ref: '#/$defs/constructor' }, 1)).toBe('is not allowed')
  })

  test('terminates for schemas that contain themselves, double their work or refer to nothing', () => {
    const loop = { $ref: '#/$defs/A', $defs: { A: { $ref: '#/$defs/A' } } }
    expect(problem(loop, 1)).toBe('is too complex to be checked')
    const level = (i: number) => ({ allOf: [{ $ref: `#/$defs/L${i + 1}` }, { $ref: `#/$defs/L${i + 1}` }] })
    const levels = Object.fromEntries(Array.from({ length: 60 }, (_, i) => [`L${i}`, level(i)]))
    const doubling = { $ref: '#/$defs/L0', $defs: { ...levels, L60: { type: 'string' } } }
    expect(problem(doubling, 'x')).toBe('is too complex to be checked')
    expect(problem({ $ref: '#/$defs/nowhere' }, 1)).toBe('is not allowed')
  })

  test('terminates for deep and for wide values', () => {
    const list = { type: 'array', items: { $ref: '#/$defs/List' } }
    const deep = JSON.parse(`${'['.repeat(1_000)}${']'.repeat(1_000)}`)
    expect(problem({ ...list, $defs: { List: list } }, deep)).toBe('is too complex to be checked')
    const wide = Array.from({ length: 200_000 }, (_, i) => i)
    expect(problem({ uniqueItems: true, items: { type: 'integer' } }, wide)).toBe('is too complex to be checked')
    expect(problem({ items: { type: 'integer' } }, wide.slice(0, 100_000))).toBeNull()
    const many = { enum: Array.from({ length: 50_000 }, (_, i) => ({ i, x: [i] })) }
    expect(
      problem(
        { items: many },
        Array.from({ length: 100 }, () => ({ i: -1, x: [] })),
      ),
    ).toContain('/0 must be one of')
  })

  test('counts all work: required members, characters, joined members, parsed texts', () => {
    const names = Array.from({ length: 5_000 }, (_, i) => `p${i}`)
    const wide = Object.fromEntries(names.map((name) => [name, 1]))
    const many = <T>(one: T) => Array.from({ length: 9_000 }, () => one)
    const closed = { allOf: many({ properties: { p1: true } }), unevaluatedProperties: false }
    const attacks: [DataSchema, unknown][] = [
      [{ items: { required: many('p1') } }, many({ p1: 1 })],
      [{ items: { dependentRequired: wide } }, many({})],
      [{ allOf: many({ minLength: 500_000 }) }, '😀'.repeat(500_000)],
      [{ properties: Object.fromEntries(names.map((name) => [name, true])), anyOf: many(closed) }, wide],
      [{ allOf: many({ contains: true }), unevaluatedItems: false }, many(1)],
      [{ allOf: many({ contentMediaType: 'application/json', contentSchema: true }) }, JSON.stringify(many(1))],
    ]
    for (const [schema, value] of attacks) expect(problem(schema, value)).toBe('is too complex to be checked')
  })

  test('shows a long name, or one with hidden characters, short and plain', () => {
    const shown = problem({ unevaluatedProperties: false }, { [`\u202e${'n'.repeat(500)}`]: 1 }) ?? ''
    expect(shown.length).toBeLessThan(100)
    expect(shown).not.toContain('\u202e')
  })
})
