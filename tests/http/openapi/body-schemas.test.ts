import { expect, test } from 'bun:test'
import { OPERATIONS } from '../../../server/core/catalog/operations'
import { type ParameterTable, parseParameters } from '../../../server/core/catalog/parameters'
import { brokenRule } from '../../../server/http/openapi/json-schema'
import { bodySchema } from '../../../server/http/openapi/parameter-documents'

const VALUES = [
  ...[
    '',
    ' ',
    'a',
    'us',
    'US',
    'true',
    'day',
    'strict',
    'a'.repeat(401),
    'x '.repeat(60),
    '2026-01-01to2026-01-31',
    '1001',
  ],
  ...[0, -1, 1, 1.5, 20, 1e9, Number.NaN, true, false, null, {}, [], ['a'], ['a', 'b'], ['a', ' '], ['a', 1]],
]

test("the schema of an operation's body refuses exactly what its parameter table refuses, and in the same words", () => {
  let refused = 0
  for (const { name: operation, parameters } of Object.values(OPERATIONS)) {
    const table: ParameterTable = parameters
    const { properties } = bodySchema(table)
    for (const [name, rule] of Object.entries(table).filter(([, { in: place }]) => place === 'query'))
      for (const value of VALUES) {
        const body = { [name]: value }
        const parsed = parseParameters({ [name]: rule }, { query: () => [], header: () => null, body })
        const member = properties[name]
        const broken = member ? brokenRule(member, value) : 'is not in the schema'
        const words = parsed.ok ? null : parsed.error.map((error) => error.rule).join()
        expect(broken, `${operation} ${name} ${JSON.stringify(value)}`).toBe(words)
        if (!parsed.ok) refused++
      }
  }
  expect(refused).toBeGreaterThan(500)
})
