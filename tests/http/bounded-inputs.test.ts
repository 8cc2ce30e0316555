import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Kind, type TSchema } from '@sinclair/typebox'
import { Glob } from 'bun'
import { brokenRule, form, listOf, text } from '../../server/http/openapi/json-schema'
import { type Harness, openHarness } from '../support/harness'

const HTTP = join(import.meta.dir, '..', '..', 'server', 'http')
type Schema = Readonly<Record<string, unknown>>

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness()
})
afterAll(() => gateway.close())

/** Where an input could be as large as a caller likes. Whole numbers, and what is opaque to the gateway, are bounded by the body. */
function unbounded(at: string, schema: Schema): string[] {
  const { type, enum: values, anyOf, properties, items } = schema
  const types = [type].flat()
  const lacks = (keyword: string) => (schema[keyword] === undefined ? [`${at}: no ${keyword}`] : [])
  if (values !== undefined || schema['const'] !== undefined) return []
  const inside = Object.entries(Object(properties)).flatMap(([name, member]) =>
    unbounded(`${at}.${name}`, Object(member)),
  )
  const either = Array.isArray(anyOf) ? anyOf.flatMap((one) => unbounded(at, one)) : []
  const own = types.includes('string') ? lacks('maxLength') : types.includes('array') ? lacks('maxItems') : []
  return [...own, ...inside, ...either, ...(types.includes('array') ? unbounded(`${at}[]`, Object(items)) : [])]
}

test('every body that the gateway reads has a bound for each text and each list, at every depth', async () => {
  const forms = new Map<string, Schema>()
  for (const file of new Glob('**/*.ts').scanSync(HTTP))
    for (const [name, value] of Object.entries(await import(join(HTTP, file))))
      if (value && typeof value === 'object' && Kind in value && Reflect.get(value, 'additionalProperties') === false)
        forms.set(`${file} ${name}`, value as Schema)
  expect(forms.size).toBeGreaterThan(40)
  expect([...forms].flatMap(([name, schema]) => unbounded(name, schema))).toEqual([])
})

test('every documented parameter has a bound', async () => {
  const document = await (await gateway.call('/openapi.json')).json()
  const parameters: [string, Schema][] = []
  for (const [path, methods] of Object.entries<Record<string, { parameters?: Record<string, unknown>[] }>>(
    document.paths,
  ))
    for (const [method, operation] of Object.entries(methods))
      for (const parameter of operation.parameters ?? [])
        if (parameter['in'] !== 'path')
          parameters.push([`${method} ${path} ${parameter['name']}`, Object(parameter['schema'])])
  expect(parameters.length).toBeGreaterThan(100)
  expect(parameters.flatMap(([name, schema]) => unbounded(name, schema))).toEqual([])
})

test('a form bounds a text that has no length of its own, and refuses a list without one', () => {
  const made: TSchema = form('A thing.', { name: text('Its name.') })
  expect(brokenRule(made, { name: 'x'.repeat(8192) })).toBeNull()
  expect(brokenRule(made, { name: 'x'.repeat(8193) })).toContain('8192 characters')
  expect(() => form('A thing.', { names: listOf(text('A name.'), 'Names.') })).toThrow('A list has no maxItems: Names.')
})
