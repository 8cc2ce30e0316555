import { describe, expect, spyOn, test } from 'bun:test'
import fc from 'fast-check'
import { compileJsonSchema } from '../../../server/adapters/openapi/compile-json-schema'
import { importDocument } from '../../../server/adapters/openapi/import-document'
import { importWithin } from '../../../server/adapters/openapi/import-openapi'
import { OPERATION_ID } from '../../../server/core/apis/api'
import type { ImportedDocument } from '../../../server/core/apis/catalog/imported'
import { MAX_DOCUMENT_BYTES } from '../../../server/core/apis/document-size'

type Part = Readonly<Record<string, unknown>>

function document(paths: unknown, schemas: unknown = {}, more: Part = {}): string {
  return JSON.stringify({ openapi: '3.1.0', info: { title: 'X' }, paths, components: { schemas }, ...more })
}

const posting = (schema: unknown): Part => ({
  post: { requestBody: { required: true, content: { 'application/json': { schema } } } },
})
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })

async function outcome(text: string): Promise<string> {
  const result = await importDocument(text, {}, null)
  if (!result.ok) return result.error.message
  return result.value.refused.map(({ reason }) => reason).join('; ') || `${result.value.operations.length} imported`
}

async function imported(text: string): Promise<ImportedDocument> {
  const result = await importDocument(text, {}, null)
  if (!result.ok) throw new Error(result.error.message)
  return result.value
}

const levels = (count: number, make: (next: { $ref: string }) => unknown): Part =>
  Object.fromEntries([
    ...Array.from({ length: count }, (_, i) => [`L${i}`, make(ref(`L${i + 1}`))]),
    [`L${count}`, { type: 'string' }],
  ])

describe('a hostile document is imported in part or refused:', () => {
  test('references to themselves, to each other, to nothing, or to other hosts', async () => {
    const schemas = {
      Self: ref('Self'),
      A: ref('B'),
      B: ref('A'),
      Slash: { $ref: '#/components/schemas/a~1b' },
      Proto: { $ref: '#/__proto__/toString' },
      Constructor: { $ref: '#/constructor/prototype' },
      Bad: { $ref: '#%zz' },
      Anchor: { $ref: '#name' },
      File: { $ref: '/etc/passwd' },
      Metadata: { $ref: 'http://169.254.169.254/latest#/x' },
    }
    for (const name of Object.keys(schemas)) {
      expect(await outcome(document({ '/a': posting(ref(name)) }, schemas))).toMatch(
        /without end|leads nowhere|no JSON Pointer|not found beside|not of the same origin/,
      )
    }
    const item = { $ref: '#/paths/~1a' }
    expect(await outcome(document({ '/a': item }))).toContain('leads to further references')
  })

  test('schemas that would grow without end when expanded', async () => {
    const doubling = levels(200, (next) => ({ type: 'object', properties: { a: next, b: next } }))
    const { operations } = await imported(document({ '/a': posting(ref('L0')) }, doubling))
    expect(JSON.stringify(operations).length).toBeLessThan(100_000)
    const inPlace = levels(200, (next) => ({ allOf: [next, next] }))
    const [first] = (await imported(document({ '/a': posting(ref('L0')) }, inPlace))).operations
    expect(compileJsonSchema(first?.body?.schema ?? true)('x')).toBe('is too complex to be checked')
    const chain = levels(5_000, (next) => ({ allOf: [next] }))
    expect(await outcome(document({ '/a': posting(ref('L0')) }, chain))).toContain('parts')
  })

  test('one large schema in ten thousand operations', async () => {
    const big = {
      type: 'object',
      properties: Object.fromEntries(Array.from({ length: 3_000 }, (_, i) => [`p${i}`, {}])),
    }
    const many = Object.fromEntries(Array.from({ length: 4_000 }, (_, i) => [`/p${i}`, posting(ref('Big'))]))
    const { operations, refused } = await imported(document(many, { Big: big }))
    expect(operations.length).toBeLessThan(500)
    expect(refused.length).toBe(4_000 - operations.length)
    expect(refused[0]?.reason).toContain('choose the operations')
    const tooMany = Object.fromEntries(Array.from({ length: 5_001 }, (_, i) => [`/p${i}`, { get: {} }]))
    expect(await outcome(document(tooMany))).toBe('The document has more than 5000 operations.')
  })

  test('huge enums, long names, thousands of parameters', async () => {
    const enumeration = { enum: Array.from({ length: 100_000 }, (_, i) => i) }
    expect(await outcome(document({ '/a': posting(enumeration) }))).toContain('more than 20000 parts')
    expect(await outcome(document({ '/a': posting({ properties: { ['n'.repeat(10_000)]: {} } }) }))).toContain(
      'not allowed',
    )
    const parameters = Array.from({ length: 5_000 }, (_, i) => ({ name: `p${i}`, in: 'query' }))
    expect(await outcome(document({ '/a': { get: { parameters } } }))).toContain('more than 200 parameters')
    expect(await outcome(document({ [`/${'a'.repeat(9_000)}`]: { get: {} } }))).toContain('longer than 500')
  })

  test('names of prototypes', async () => {
    const text = document(
      { '/a': posting(ref('constructor')), '/b': { get: { operationId: '__proto__' } } },
      { constructor: { type: 'object', properties: { toString: { type: 'string' }, valueOf: ref('constructor') } } },
    )
    const { operations } = await imported(text)
    expect(operations.map(({ id }) => id)).toEqual(['post_a', 'proto'])
    const validate = compileJsonSchema(operations[0]?.body?.schema ?? true)
    expect(validate({})).toBeNull()
    expect(validate({ valueOf: { toString: 'x' } })).toBeNull()
    expect(validate({ valueOf: { hasOwnProperty: 'x' } })).toBe('/valueOf/hasOwnProperty is not declared')
    const own =
      '{"openapi":"3.1.0","paths":{"/a":{"post":{"requestBody":{"required":true,"content":{"application/json":{"schema":'
    const withSchema = (schema: string) => outcome(`${own}${schema}}}}}}}}`)
    expect(await withSchema('{"properties":{"__proto__":{"type":"object"}}}')).toBe(
      'declares a member with a name that is not allowed: "__proto__"',
    )
    expect(await withSchema('{"default":{"__proto__":{"polluted":true}}}')).toBe('has data with the member __proto__')
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  })

  test('texts and names with hidden characters', async () => {
    const text = document({
      '/a': {
        get: {
          operationId: 'get\u202eA',
          parameters: [{ name: 'a\u200bb', in: 'query', required: true }],
        },
      },
      '/b\u202e': { get: {} },
    })
    const { refused } = await imported(text)
    for (const { name, reason } of refused) expect(`${name}${reason}`).toMatch(/^[\x20-\x7e]*$/)
    expect(refused.map(({ name }) => name)).toEqual(['/b?', 'GET /a'])
  })

  test('a tag that appears only once its hidden character is removed', async () => {
    const description = 'Now <\u200bimg src=x onerror=alert(1)> and <\u202escript>.'
    const parameters = [{ name: 'a', in: 'query', description, schema: { type: 'string', description } }]
    const text = document({ '/a': { get: { operationId: 'a', description, parameters } } })
    const { operations, refused } = await imported(text)
    expect(refused).toEqual([])
    expect(JSON.stringify(operations)).not.toMatch(/<[a-z!/]/i)
  })

  test('values of the wrong kind, everywhere', async () => {
    const wrong: unknown[] = [
      null,
      1,
      'x',
      true,
      [],
      {},
      [null],
      { $ref: 1 },
      { $ref: '' },
      { type: 'any' },
      { type: {} },
      { toString: 1 },
      [['string']],
    ]
    const good = {
      openapi: '3.0.0',
      info: { title: 'X', description: 'Y' },
      servers: [{ url: 'https://a.example/{v}', variables: { v: { default: '1' } } }],
      paths: {
        '/a/{b}': {
          parameters: [{ name: 'b', in: 'path', required: true, schema: { type: 'string', enum: ['x'] } }],
          post: {
            operationId: 'a',
            parameters: [{ name: 'q', in: 'query', content: { 'application/json': { schema: { items: {} } } } }],
            requestBody: {
              content: { 'multipart/form-data': { schema: ref('A'), examples: { one: { value: { a: 1 } } } } },
            },
            responses: { 200: { headers: { 'X-A': {} }, content: { 'text/event-stream': {} } } },
            callbacks: {},
          },
        },
      },
      components: {
        schemas: {
          A: { type: 'object', properties: { a: { anyOf: [ref('A'), { allOf: [{ not: {} }] }] } }, required: ['a'] },
        },
        securitySchemes: { key: { type: 'apiKey', in: 'header', name: 'X-Key' } },
      },
    }
    const places = pathsOf(good)
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.tuple(
            fc.constantFrom(...places),
            fc.oneof(
              fc.constantFrom<unknown>(...wrong),
              fc.json().map((one) => JSON.parse(one)),
            ),
          ),
          {
            minLength: 1,
            maxLength: 3,
          },
        ),
        async (changes) => {
          let text = structuredClone(good)
          for (const [place, value] of changes) text = replaced(text, place, value)
          const result = await importDocument(JSON.stringify(text), {}, null)
          if (!result.ok) return
          for (const { id, parameters, body } of result.value.operations) {
            expect(id).toMatch(OPERATION_ID)
            for (const schema of [...parameters.map((one) => one.schema), body?.schema ?? true])
              compileJsonSchema(schema)({ a: 1 })
          }
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe("a hostile document affects only the importer's process:", () => {
  const large = `{"openapi":"3.1.0","x":"${'x'.repeat(70_000)}","paths":{}}`

  async function expectRefused() {
    const result = await importWithin({ timeoutMs: 1, maxMemoryBytes: 2 ** 40 }, large, {})
    expect(result).toEqual({ ok: false, error: { message: 'The document takes longer than 0.001 s to read.' } })
    const hungry = await importWithin({ timeoutMs: 60_000, maxMemoryBytes: 1024 * 1024 }, large, {})
    expect(hungry).toMatchObject({ ok: false, error: { message: expect.stringContaining('1 MB of memory') } })
  }

  test('one that takes too much time or memory is refused', expectRefused)

  test('so is one that is read before the first look at its process', async () => {
    const looks = spyOn(globalThis, 'setInterval').mockImplementation((() => null) as never)
    try {
      await expectRefused()
    } finally {
      looks.mockRestore()
    }
  })

  test('a valid one is returned whole', async () => {
    const result = await importWithin({ timeoutMs: 60_000, maxMemoryBytes: 2 ** 40 }, large, {})
    expect(result).toMatchObject({ ok: true, value: { operations: [] } })
  })

  test('more than 20 MB is not parsed at all', async () => {
    const text = `{"openapi":"3.1.0","x":"${'x'.repeat(MAX_DOCUMENT_BYTES)}"}`
    expect(await importWithin({ timeoutMs: 1, maxMemoryBytes: 1 }, text, {})).toEqual({
      ok: false,
      error: { message: 'The document is larger than 20 MB.' },
    })
  })
})

type Place = readonly string[]

function pathsOf(value: unknown, at: Place = []): Place[] {
  if (typeof value !== 'object' || value === null) return [at]
  return [at, ...Object.entries(value).flatMap(([name, part]) => pathsOf(part, [...at, name]))].filter(
    (place) => place.length > 0,
  )
}

/** A copy with another value at a place, if the place is still there. */
function replaced<T>(whole: T, place: Place, value: unknown): T {
  const copy = structuredClone(whole)
  let at: unknown = copy
  for (const name of place.slice(0, -1)) {
    if (typeof at !== 'object' || at === null) return copy
    at = Reflect.get(at, name)
  }
  if (typeof at === 'object' && at !== null) Reflect.set(at, place.at(-1) ?? '', value)
  return copy
}
