import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { modelSchema } from '../../server/mcp/model-schema'

const NAME = /^[a-zA-Z0-9_.-]{1,64}$/
/** Keywords that some vendor of models refuses, or does not know. */
const REFUSED = [
  '$ref',
  '$id',
  '$defs',
  '$schema',
  'allOf',
  'oneOf',
  'not',
  'if',
  'const',
  'patternProperties',
  'title',
]

function keywordsIn(schema: unknown, found = new Set<string>(), names = new Set<string>()) {
  for (const [name, value] of Object.entries(Object(schema))) {
    if (name === 'properties')
      for (const [property, inner] of Object.entries(Object(value))) {
        names.add(property)
        keywordsIn(inner, found, names)
      }
    else {
      if (Number.isNaN(Number(name))) found.add(name)
      if (typeof value === 'object' && name !== 'enum' && name !== 'default') keywordsIn(value, found, names)
    }
  }
  return { found, names }
}

describe('the schema of a tool is one that every model takes', () => {
  test.each([['filter[name]'], ['StartTime<'], ['$top'], ['ids[]'], ['x'.repeat(70)], ['ключ'], ['a b'], ['']])(
    'an argument named %p has a name that vendors take, and is mapped back at the call',
    (name) => {
      const { schema, restore, shownName } = modelSchema({
        properties: { [name]: { type: 'string' }, ids: {} },
        required: [name],
      })
      const [safe = ''] = Object.keys(Object(schema['properties']))
      expect(safe).toMatch(NAME)
      expect(schema['required']).toEqual([safe])
      expect(restore({ [safe]: 'a', ids: 1 })).toEqual({ [name]: 'a', ids: 1 })
      expect(shownName(name)).toBe(safe)
    },
  )

  test('two names that would be the same stay two, also among those that the gateway adds', () => {
    const names = ['max price usd', 'max[price]usd', 'max_price_usd_2']
    const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
    const { schema, restore } = modelSchema({ properties }, ['max_price_usd'])
    const shown = Object.keys(Object(schema['properties']))
    expect(new Set([...shown, 'max_price_usd']).size).toBe(4)
    const sent = Object.fromEntries(shown.map((name, i) => [name, i]))
    expect(restore(sent)).toEqual(Object.fromEntries(names.map((name, i) => [name, i])))
  })

  test('references, composition and recursion are written out, to a bounded depth', () => {
    const { schema, restore } = modelSchema({
      properties: {
        body: {
          $id: 'urn:input:body',
          $defs: {
            tree: {
              title: 'A tree',
              type: 'object',
              properties: {
                'the name': { const: 'x' },
                next: { $ref: '#/$defs/tree' },
                list: { type: 'array', items: { $ref: '#/$defs/tree' } },
              },
              required: ['the name'],
            },
          },
          allOf: [
            { $ref: '#/$defs/tree' },
            { properties: { at: { type: ['string', 'null'], format: 'date-time' } }, required: ['at'] },
          ],
          oneOf: undefined,
        },
        choice: { oneOf: [{ type: 'string', format: 'uuid' }, { type: 'null' }, { type: 'integer' }] },
        maybe: { type: ['integer', 'null'] },
      },
    })
    const { found, names } = keywordsIn(schema)
    expect(REFUSED.filter((word) => found.has(word))).toEqual([])
    expect([...names].filter((name) => !NAME.test(name))).toEqual([])
    expect(JSON.stringify(schema).length).toBeLessThan(50_000)
    const body = Object(schema['properties']).body
    expect(body.required.toSorted()).toEqual(['at', 'the_name'])
    expect(body.properties.at).toEqual({ type: 'string', format: 'date-time' })
    expect(Object(schema['properties']).choice).toEqual({ anyOf: [{ type: 'string' }, { type: 'integer' }] })
    expect(Object(schema['properties']).maybe).toEqual({ type: 'integer' })
    const sent = { the_name: 'x', next: { the_name: 'y' }, list: [{ the_name: 'z' }] }
    expect(restore({ body: sent })).toEqual({
      body: { 'the name': 'x', next: { 'the name': 'y' }, list: [{ 'the name': 'z' }] },
    })
  })

  test('any names and nesting come back as they were', () => {
    // A name that becomes a number would change the order of an object, by which this test finds the names that are shown.
    const isOdd = (name: string) => name === '__proto__' || /^[^a-zA-Z0-9.-]*\d+[^a-zA-Z0-9.-]*$/.test(name)
    const word = fc.string({ minLength: 1, maxLength: 80, unit: 'grapheme' }).filter((name) => !isOdd(name))
    const tree = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 3 },
        fc.constant({ schema: { type: 'string' }, value: 'v' as unknown }),
        fc
          .dictionary(word, tie('node') as fc.Arbitrary<{ schema: object; value: unknown }>, {
            maxKeys: 4,
            noNullPrototype: true,
          })
          .map((parts) => ({
            schema: {
              type: 'object',
              properties: Object.fromEntries(Object.entries(parts).map(([name, { schema }]) => [name, schema])),
            },
            value: Object.fromEntries(Object.entries(parts).map(([name, { value }]) => [name, value])),
          })),
      ),
    })).node as fc.Arbitrary<{ schema: { properties?: Record<string, unknown> }; value: unknown }>
    fc.assert(
      fc.property(fc.dictionary(word, tree, { minKeys: 1, maxKeys: 4, noNullPrototype: true }), (parts) => {
        const properties = Object.fromEntries(Object.entries(parts).map(([name, { schema }]) => [name, schema]))
        const value = Object.fromEntries(Object.entries(parts).map(([name, { value }]) => [name, value]))
        const { schema, restore } = modelSchema({ properties })
        // A model's input: the same under the names that it sees, in the same order.
        const asShown = (shown: unknown, given: unknown): unknown => {
          if (typeof given !== 'object' || given === null) return given
          const names = Object.keys(Object(Object(shown).properties))
          return Object.fromEntries(
            Object.values(given).map((inner, i) => [
              names[i],
              asShown(Object(Object(shown).properties)[names[i] ?? ''], inner),
            ]),
          )
        }
        expect(restore(asShown(schema, value) as Record<string, unknown>)).toEqual(value)
      }),
      { numRuns: 200 },
    )
  })
})
