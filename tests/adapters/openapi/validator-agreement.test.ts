import { expect, test } from 'bun:test'
import Ajv2020 from 'ajv/dist/2020'
import fc from 'fast-check'
import { compileJsonSchema } from '../../../server/adapters/openapi/compile-json-schema'
import type { DataSchema } from '../../../server/core/apis/api'

// The other validator takes `constructor` for an evaluated member; tests of ours have such names. `contains` has a test of its own below.
const NAMES = ['a', 'b', 'é', 'a/b']
const scalar = fc.oneof(
  fc.constantFrom<unknown>('', 'a', 'ab', '😀', null, true, false),
  fc.integer({ min: -2, max: 4 }),
  fc.constantFrom(0.5, 1.5),
)
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}))
const type = fc.constantFrom('string', 'number', 'integer', 'boolean', 'object', 'array', 'null')
const few = fc.integer({ min: 0, max: 3 })

const { schema } = fc.letrec<{ schema: DataSchema }>((tie) => {
  const one = tie('schema')
  const some = fc.array(one, { minLength: 1, maxLength: 3 })
  const members = fc.dictionary(fc.constantFrom(...NAMES), one, { maxKeys: 3, noNullPrototype: true })
  const names = fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 2 })
  const keywords = {
    type: fc.oneof(type, fc.uniqueArray(type, { minLength: 1, maxLength: 3 })),
    enum: fc.uniqueArray(value, { minLength: 1, maxLength: 4, selector: (part) => JSON.stringify(part) }),
    const: value,
    minimum: few,
    maximum: few,
    exclusiveMinimum: few,
    exclusiveMaximum: few,
    multipleOf: fc.constantFrom(0.5, 1, 2),
    minLength: few,
    maxLength: few,
    minItems: few,
    maxItems: few,
    uniqueItems: fc.boolean(),
    minProperties: few,
    maxProperties: few,
    required: names,
    properties: members,
    additionalProperties: one,
    unevaluatedProperties: one,
    propertyNames: one,
    dependentRequired: fc.dictionary(fc.constantFrom(...NAMES), names, { maxKeys: 2, noNullPrototype: true }),
    dependentSchemas: members,
    items: one,
    prefixItems: some,
    unevaluatedItems: one,
    allOf: some,
    anyOf: some,
    oneOf: some,
    not: one,
    if: one,
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: one,
    else: one,
    $ref: fc.constantFrom('#/$defs/A', '#/$defs/B'),
  }
  return {
    schema: fc.oneof(
      { maxDepth: 3, withCrossShrink: true },
      fc.boolean(),
      fc.uniqueArray(fc.constantFrom(...Object.keys(keywords)), { maxLength: 3 }).chain((chosen) =>
        fc.record(Object.fromEntries(Object.entries(keywords).filter(([name]) => chosen.includes(name))), {
          noNullPrototype: true,
        }),
      ),
    ),
  }
})
const A = { properties: { a: { type: 'string' } } }
const B = { prefixItems: [{ type: 'integer' }], anyOf: [{ $ref: '#/$defs/A' }, { required: ['b'] }] }

test('our validator and an independent one agree on any schema and value', () => {
  fc.assert(
    fc.property(schema, fc.array(value, { minLength: 1, maxLength: 4 }), (generated, values) => {
      const whole = typeof generated === 'boolean' ? generated : { ...generated, $defs: { A, B } }
      const ajv = new Ajv2020({ strict: false, ownProperties: true, validateSchema: false })
      const valid = ajv.compile(whole)
      const validate = compileJsonSchema(whole)
      for (const one of values) expect(validate(one) === null).toBe(valid(one))
    }),
    { numRuns: 300 },
  )
})

// Where the other validator is wrong: it skips `contains` for an empty array with `prefixItems`, and takes no element that matches it
// for evaluated, as JSON Schema 2020-12 (core 10.3.1.3) says.
test.each<{ schema: DataSchema; valid: unknown[]; invalid: unknown[] }>([
  { schema: { contains: { type: 'string' } }, valid: [['a'], [1, 'a'], 1], invalid: [[], [1]] },
  { schema: { contains: false }, valid: [1, {}], invalid: [[], [1]] },
  { schema: { prefixItems: [false], contains: false }, valid: [1], invalid: [[], [1]] },
  { schema: { prefixItems: [{ type: 'string' }], contains: true }, valid: [['a'], ['a', 1]], invalid: [[], [1]] },
  { schema: { contains: true, unevaluatedItems: false }, valid: [[1], [1, 'a']], invalid: [[]] },
  {
    schema: { contains: { type: 'string' }, unevaluatedItems: false },
    valid: [['a'], ['a', 'b']],
    invalid: [[], ['a', 1], [1]],
  },
])('contains is validated as JSON Schema says: %j', ({ schema, valid, invalid }) => {
  const validate = compileJsonSchema(schema)
  for (const one of valid) expect(validate(one), JSON.stringify(one)).toBeNull()
  for (const one of invalid) expect(validate(one), JSON.stringify(one)).toBeString()
})
