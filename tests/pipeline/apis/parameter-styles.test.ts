import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { compileJsonSchema } from '../../../server/adapters/openapi/compile-json-schema'
import type { ApiOperation, ApiParameter, DataSchema } from '../../../server/core/apis/api'
import { unwritable } from '../../../server/core/apis/wire-values'
import { queryValues } from '../../../server/http/middleware/input/query-values'
import { ApiInputs } from '../../../server/pipeline/apis/api-input'
import { NO_CREDENTIALS, upstreamRequest, writtenBody } from '../../../server/pipeline/apis/upstream-request'
import { anApi, anOperation } from '../../support/apis'

const MARKS = { requestId: 'r', hops: 0 }
const NO_BODY = { kind: 'none' } as const

function parameter(part: Partial<ApiParameter>): ApiParameter {
  const style = part.in === 'path' || part.in === 'header' ? 'simple' : 'form'
  return {
    name: 'p',
    in: 'query',
    required: true,
    description: '',
    schema: true,
    style,
    explode: style === 'form',
    ...part,
  }
}

function operationOf(...parameters: ApiParameter[]): ApiOperation {
  const inPath = parameters.filter((one) => one.in === 'path').map(({ name }) => `/{${name}}`)
  return anOperation({ method: 'DELETE', effect: 'write', path: `/rows${inPath.join('')}`, parameters })
}

/** The URL and headers that go up for a query and headers that a caller sent; the rules that were broken where none goes up. */
async function sentUp(operation: ApiOperation, query: string, values = {}, headers: Record<string, string> = {}) {
  const api = anApi({ operations: [operation] })
  const header = (name: string) => new Headers(headers).get(name)
  const read = new ApiInputs(compileJsonSchema).read(
    { api, operation, values },
    { query: queryValues(query), header, body: NO_BODY },
  )
  return requested(read, operation)
}

async function sentUpByTool(operation: ApiOperation, input: Readonly<Record<string, unknown>>) {
  const api = anApi({ operations: [operation] })
  return requested(new ApiInputs(compileJsonSchema).readJson({ api, operation, values: {} }, input), operation)
}

async function requested(read: ReturnType<ApiInputs['read']>, operation: ApiOperation) {
  if (!read.ok) return { refused: read.error.map(({ rule }) => rule) }
  const api = anApi({ operations: [operation] })
  const written = read.value.body && (await writtenBody(read.value.body))
  const request = upstreamRequest({ api, operation }, read.value, written, NO_CREDENTIALS, MARKS)
  if (!request.ok) throw new Error(request.error)
  const { url, headers, body } = request.value
  return { url: url.slice(api.baseUrl.length), headers, body: typeof body === 'string' ? body : undefined }
}

const TEXTS = { type: 'array', items: { type: 'string' }, minItems: 1 }
const NUMBERS = { type: 'array', items: { type: 'integer' } }

describe('a list', () => {
  test.each<[string, Partial<ApiParameter>, string]>([
    ['commas', { explode: false, schema: TEXTS }, ','],
    ['pipes', { explode: false, style: 'pipeDelimited', schema: TEXTS }, '%7C'],
    ['blanks', { explode: false, style: 'spaceDelimited', schema: TEXTS }, '%20'],
    ['commas, if it is not a text', { explode: false, schema: { anyOf: [{ type: 'string' }, TEXTS] } }, ','],
    ['commas, behind a composition', { explode: false, schema: { allOf: [{ anyOf: [TEXTS] }] } }, ','],
  ])(
    'with %s between its elements may be sent by repeating its name, and is never dropped',
    async (_, part, between) => {
      const one = operationOf(parameter({ name: 'ids', ...part }))
      expect(await sentUp(one, '?ids=x&ids=y')).toMatchObject({ url: `/rows?ids=x${between}y` })
      expect(await sentUp(one, `?ids=x${between}z&ids=y`)).toHaveProperty('refused')
    },
  )

  test.each<[string, Partial<ApiParameter>]>([
    ['a text', { schema: { type: 'string' } }],
    ['any type, in one text', { explode: false }],
    ['JSON', { style: 'json', explode: false, schema: TEXTS }],
  ])('that is %s is refused when its name is repeated, never dropped', async (_, part) => {
    const sent = await sentUp(operationOf(parameter({ name: 'ids', ...part })), '?ids=x&ids=y')
    expect(sent).toHaveProperty('refused')
  })

  test.each<[string, DataSchema]>([
    ['texts', TEXTS],
    ['a text or texts', { anyOf: [{ type: 'string' }, TEXTS] }],
    ['any type', true],
    ['a reference', { $ref: '#/$defs/list', $defs: { list: TEXTS } }],
  ])('of %s that repeats its name goes up whole', async (_, schema) => {
    const sent = await sentUp(operationOf(parameter({ name: 'ids', schema })), '?ids=x&ids=y')
    expect(sent).toMatchObject({ url: '/rows?ids=x&ids=y' })
  })

  test('of pipes that explodes repeats its name', async () => {
    const one = parameter({ name: 'ids', style: 'pipeDelimited', explode: true, schema: NUMBERS })
    expect(await sentUp(operationOf(one), '?ids=1&ids=2')).toMatchObject({ url: '/rows?ids=1&ids=2' })
  })

  test('that is empty is refused: no style can say that it was sent', async () => {
    for (const style of ['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'] as const)
      for (const explode of [true, false]) {
        const one = parameter({ name: 'ids', schema: NUMBERS, style, explode })
        expect(await sentUpByTool(operationOf(one), { ids: [] })).toEqual({
          refused: [expect.stringContaining('must not be empty')],
        })
      }
  })

  test('in a header may have blanks around its elements', async () => {
    const one = parameter({ name: 'X-Ids', in: 'header', schema: NUMBERS })
    expect(await sentUp(operationOf(one), '', {}, { 'x-ids': '1, 2 ,3' })).toMatchObject({
      headers: { 'x-ids': '1,2,3' },
    })
  })

  test('separates its elements by plain commas, which no element contains', async () => {
    const one = parameter({ name: 'ids', explode: false, schema: TEXTS })
    expect(await sentUp(operationOf(one), '?ids=a%2Cb')).toMatchObject({ url: '/rows?ids=a,b' })
    expect(await sentUpByTool(operationOf(one), { ids: ['a,b'] })).toHaveProperty('refused')
  })
})

describe('an object', () => {
  const MEMBERS = { type: 'object', properties: { a: { type: 'string' }, tags: TEXTS, n: { type: 'integer' } } }

  test('in brackets keeps its lists', async () => {
    const one = parameter({ name: 'filter', style: 'deepObject', schema: MEMBERS })
    for (const query of [
      'filter[tags][]=x&filter[tags][]=y',
      'filter[tags]=x&filter[tags]=y',
      'filter[tags][1]=y&filter[tags][0]=x',
    ])
      expect(await sentUp(operationOf(one), `?filter[n]=1&${query}`)).toMatchObject({
        url: `/rows?${['filter[n]=1', 'filter[tags][]=x', 'filter[tags][]=y'].map(encodedName).join('&')}`,
      })
  })

  test('in brackets may be sent as JSON, where no scalar could be meant', async () => {
    const items = { type: 'array', items: { type: 'object', properties: { n: { type: 'integer' } } } }
    const one = operationOf(parameter({ name: 'f', style: 'deepObject', schema: MEMBERS }))
    const list = operationOf(parameter({ name: 'f', style: 'deepObject', schema: items }))
    const url = (pairs: string[]) => ({ url: `/rows?${pairs.map(encodedName).join('&')}` })
    expect(await sentUp(one, '?f={"a":"x","tags":["y"]}')).toMatchObject(url(['f[a]=x', 'f[tags][]=y']))
    for (const query of ['?f=[{"n":1},{"n":2}]', '?f={"n":1}&f={"n":2}'])
      expect(await sentUp(list, query)).toMatchObject(url(['f[0][n]=1', 'f[1][n]=2']))
    for (const query of ['?f=1', '?f={"n":12345678901234567890}', '?f={"a":null}', '?f={}'])
      expect(await sentUp(one, query)).toHaveProperty('refused')
  })

  test('in brackets without an end to an element, or with gaps in its numbers, is refused', async () => {
    const items = { type: 'array', items: { type: 'object' } }
    const one = parameter({ name: 'p', style: 'deepObject', schema: { type: 'object', properties: { items } } })
    expect(await sentUp(operationOf(one), '?p[items][][a]=1&p[items][][a]=2')).toHaveProperty('refused')
    expect(await sentUp(operationOf(one), '?p[items][0][a]=1&p[items][2][a]=2')).toHaveProperty('refused')
  })

  test('behind a composition is sent by the names of its members', async () => {
    const schema = { anyOf: [{ $ref: '#/$defs/o' }, { type: 'null' }], $defs: { o: { allOf: [MEMBERS] } } }
    expect(await sentUp(operationOf(parameter({ schema })), '?a=x&tags=1&tags=2')).toMatchObject({
      url: '/rows?a=x&tags=1&tags=2',
    })
  })

  test('in one text needs a value for each member, and names none twice', async () => {
    const one = parameter({ explode: false, schema: MEMBERS })
    expect(await sentUp(operationOf(one), '?p=a,x,n')).toHaveProperty('refused')
    expect(await sentUp(operationOf(one), '?p=a,x,a,y')).toHaveProperty('refused')
    expect(await sentUp(operationOf(one), '?p=a,x,n,1')).toMatchObject({ url: '/rows?p=a,x,n,1' })
  })

  test('as JSON goes up as it was validated: a member that is there twice goes up once', async () => {
    const one = parameter({ style: 'json', explode: false, schema: MEMBERS })
    const sent = await sentUp(
      operationOf(one),
      `?p=${encodeURIComponent('{"a":"x","a":"y","n":12345678901234567890}')}`,
    )
    expect(sent).toMatchObject({ url: `/rows?p=${encodeURIComponent('{"a":"y","n":12345678901234567890}')}` })
    for (const text of ['{', 'x', '{"n":1e999}'])
      expect(await sentUp(operationOf(one), `?p=${text}`)).toHaveProperty('refused')
  })
})

test('a name with a slash, a hash or a question mark goes up encoded', async () => {
  for (const name of ['a/b', 'a#b', 'a?b', 'ids[]', '$top', 'a&b=c'])
    expect(await sentUp(operationOf(parameter({ name })), `?${encodeURIComponent(name)}=1`)).toMatchObject({
      url: `/rows?${encodeURIComponent(name)}=1`,
    })
})

describe('a form', () => {
  const CLOSED = { type: 'object', unevaluatedProperties: false }
  const schema = {
    ...CLOSED,
    properties: {
      name: { type: 'string' },
      metadata: { type: 'object', additionalProperties: { type: 'string' } },
      items: { type: 'array', items: { ...CLOSED, properties: { price: { type: 'integer' } } } },
      expand: TEXTS,
      tags: TEXTS,
      address: { ...CLOSED, properties: { city: { type: 'string' } } },
    },
  }
  const deep = { style: 'deepObject', explode: true } as const
  const encoding = { metadata: deep, items: deep, expand: deep }
  const body = { contentType: 'application/x-www-form-urlencoded', required: true, schema, encoding } as const
  const operation = anOperation({ method: 'POST', effect: 'write', body })

  async function formUp(text: string) {
    const api = anApi({ operations: [operation] })
    const fields = [...new URLSearchParams(text)]
    const sent = { query: new Map(), header: () => null, body: { kind: 'form', fields } } as const
    return requested(new ApiInputs(compileJsonSchema).read({ api, operation, values: {} }, sent), operation)
  }
  const decoded = (sent: Awaited<ReturnType<typeof formUp>>) => decodeURIComponent(('body' in sent && sent.body) || '')

  test('with brackets keeps its nested objects and lists', async () => {
    const text = 'metadata[order]=1&items[0][price]=5&items[1][price]=6&expand[]=a&expand[]=b'
    expect(decoded(await formUp(text))).toBe(text)
    const metadata = { order: '1' }
    const items = [{ price: 5 }, { price: 6 }]
    expect(decoded(await sentUpByTool(operation, { body: { metadata, items, expand: ['a', 'b'] } }))).toBe(text)
  })

  test('has each element of a list as a field, and an object as JSON, unless its document says else', async () => {
    const text = 'tags=x&tags=y&address={"city":"Bern"}'
    expect(decoded(await formUp(text))).toBe(text)
    const address = { city: 'Bern' }
    expect(decoded(await sentUpByTool(operation, { body: { tags: ['x', 'y'], address } }))).toBe(text)
  })

  test('with members that are not declared, or with an empty list, is refused', async () => {
    for (const text of [
      'items[0][cost]=5',
      'metadata=1',
      'name[a]=1',
      'address={"city":"x","admin":1}',
      'name=a&name=b',
    ])
      expect(await formUp(text)).toHaveProperty('refused')
    expect(await sentUpByTool(operation, { body: { expand: [] } })).toHaveProperty('refused')
  })
})

test('JSON that is nested without end, and a semicolon in a matrix, are refused', async () => {
  const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`
  const list = { type: 'array', items: { type: 'object' } }
  for (const style of ['json', 'deepObject'] as const)
    expect(await sentUp(operationOf(parameter({ style, schema: list })), `?p=${deep}`)).toHaveProperty('refused')
  const matrix = parameter({ in: 'path', style: 'matrix', schema: { type: 'string' } })
  expect(await sentUpByTool(operationOf(matrix), { p: 'a;admin=1' })).toHaveProperty('refused')
})

test('null is refused where a text would have to stand for it', async () => {
  const schema = { type: ['string', 'null'] }
  expect(await sentUpByTool(operationOf(parameter({ schema })), { p: null })).toHaveProperty('refused')
})

function encodedName(pair: string): string {
  const [name = '', value = ''] = pair.split('=')
  return `${encodeURIComponent(name)}=${value}`
}

/** Every location, style and form that OpenAPI 3.x has. */
const CASES = [
  ...(['simple', 'label', 'matrix', 'json'] as const).map((style) => ({ in: 'path' as const, style })),
  ...(['simple', 'json'] as const).map((style) => ({ in: 'header' as const, style })),
  ...(['form', 'spaceDelimited', 'pipeDelimited', 'deepObject', 'json'] as const).map((style) => ({
    in: 'query' as const,
    style,
  })),
].flatMap((one) => [true, false].map((explode) => ({ ...one, explode })))

const SCALAR = { string: { type: 'string' }, integer: { type: 'integer' }, boolean: { type: 'boolean' } }
const TEXT = fc.oneof(
  fc.stringMatching(/^[a-z0-9]{1,4}$/),
  fc.string({ maxLength: 5, unit: 'grapheme' }),
  fc.string({ maxLength: 3, unit: fc.constantFrom(...',|. ;=[]&/%+é"1') }),
)
const VALUE_OF = { string: TEXT, integer: fc.integer(), boolean: fc.boolean() }

/** A schema, and a value that it allows. */
const TYPED = fc.constantFrom('string', 'integer', 'boolean').chain((kind) => {
  const type = kind as keyof typeof SCALAR
  const one = { schema: SCALAR[type], value: VALUE_OF[type] as fc.Arbitrary<unknown> }
  const members = { a: one.schema, b: SCALAR.string, tags: { type: 'array', items: one.schema } }
  const object = fc.record({ a: one.value, b: TEXT, tags: fc.array(one.value, { maxLength: 3 }) }, { requiredKeys: [] })
  return fc.oneof(
    one.value.map((value) => ({ schema: one.schema as DataSchema, value })),
    fc
      .array(one.value, { maxLength: 4 })
      .map((value) => ({ schema: { type: 'array', items: one.schema }, value: value as unknown })),
    object.map((value) => ({
      schema: { type: 'object', properties: members, additionalProperties: false } as DataSchema,
      value: value as unknown,
    })),
  )
})

describe.each(CASES)('a parameter in $in, style $style, explode $explode', (where) => {
  test('by a tool goes up so that it is read as it was sent, or is refused', async () => {
    await fc.assert(
      fc.asyncProperty(TYPED, async ({ schema, value }) => {
        const one = parameter({ ...where, schema })
        if (unwritable(one) !== null) return
        const sent = await sentUpByTool(operationOf(one), { p: value })
        if ('refused' in sent) return
        expect(readBack(one, sent)).toEqual(value)
      }),
      { numRuns: 300 },
    )
  })

  test('by HTTP goes up so that it is read as it was sent, or is refused', async () => {
    await fc.assert(
      fc.asyncProperty(TYPED, async ({ schema, value }) => {
        const one = parameter({ ...where, schema })
        const asCaller = one.in === 'path' && one.style !== 'json' ? { ...one, style: 'simple' as const } : one
        const wire = unwritable(one) === null ? expanded(asCaller, value) : null
        if (wire === null) return
        const { query = '', path, header } = wire
        const sent = await sentUp(
          operationOf(one),
          query,
          path === undefined ? {} : { p: path },
          header === undefined ? {} : { p: header },
        )
        if ('refused' in sent) return
        expect(readBack(one, sent)).toEqual(value)
      }),
      { numRuns: 300 },
    )
  })

  test('takes the ordinary values of its style', async () => {
    const values: [DataSchema, unknown][] = [
      [SCALAR.string, 'blue'],
      [SCALAR.integer, -5],
      [NUMBERS, [3, 4]],
      [TEXTS, ['x', 'y z']],
    ]
    values.push([
      { type: 'object', properties: { a: SCALAR.integer, b: SCALAR.string } },
      { a: 1, b: 'x' },
    ])
    for (const [schema, value] of values) {
      const one = parameter({ ...where, schema })
      const isBlank = one.style === 'spaceDelimited' && Array.isArray(value) && !one.explode && value.includes('y z')
      if (unwritable(one) !== null || isBlank) continue
      expect(await sentUpByTool(operationOf(one), { p: value })).not.toHaveProperty('refused')
    }
  })
})

/** Reads what went up by the rules of OpenAPI and RFC 6570 alone: it shares no code with the gateway. */
function readBack(
  { in: location, style, explode, schema }: ApiParameter,
  sent: { url: string; headers: Record<string, string> },
) {
  const type = typeof schema === 'object' ? schema['type'] : 'string'
  const [path = '', query = ''] = sent.url.split('?')
  const pairs = (query === '' ? [] : query.split('&')).map((pair) => {
    const at = pair.indexOf('=')
    return [decodeURIComponent(pair.slice(0, at)), pair.slice(at + 1)] as const
  })
  const own = location === 'query' ? pairs.filter(([name]) => name === 'p').map(([, raw]) => raw) : []
  const raw =
    location === 'header'
      ? (sent.headers['p'] ?? '')
      : location === 'path'
        ? (path.split('/')[2] ?? '')
        : (own[0] ?? '')
  const decode = location === 'header' ? (text: string) => text : decodeURIComponent
  if (style === 'json') return JSON.parse(decode(raw))
  if (style === 'deepObject') return typedDeep(pairs, schema)
  if (type !== 'array' && type !== 'object') {
    const bare = style === 'label' ? raw.slice(1) : style === 'matrix' ? raw.slice(';p='.length) : raw
    return typedAs(schema, decode(bare))
  }
  if (location === 'query' && explode)
    return type === 'array'
      ? own.map((text) => typedAs(itemsOf(schema), decode(text)))
      : typedObject(
          pairs.map(([name, text]) => [name, decode(text)] as const),
          schema,
        )
  const before = style === 'label' ? '.' : style !== 'matrix' ? '' : explode ? ';' : ';p='
  const between =
    { label: explode ? '.' : ',', matrix: explode ? ';' : ',', spaceDelimited: '%20', pipeDelimited: '%7C' }[
      style as string
    ] ?? ','
  const parts = raw.slice(before.length).split(between)
  if (type === 'array') {
    const label = style === 'matrix' && explode ? 'p=' : ''
    return parts.map((part) => typedAs(itemsOf(schema), decode(part.slice(label.length))))
  }
  const flat = explode ? parts.flatMap((part) => part.split('=')) : parts
  const entries = Array.from(
    { length: flat.length / 2 },
    (_, i) => [decode(flat[2 * i] ?? ''), decode(flat[2 * i + 1] ?? '')] as const,
  )
  return typedObject(entries, schema)
}

function typedObject(entries: readonly (readonly [string, string])[], schema: DataSchema) {
  const found: Record<string, unknown> = {}
  for (const [name, text] of entries) {
    const member = memberOf(schema, name)
    const isList = typeof member === 'object' && member['type'] === 'array'
    if (isList) found[name] = [...((found[name] as unknown[]) ?? []), typedAs(itemsOf(member), text)]
    else found[name] = typedAs(member, text)
  }
  return found
}

function typedDeep(pairs: readonly (readonly [string, string])[], schema: DataSchema): unknown {
  const type = typeof schema === 'object' ? schema['type'] : 'string'
  const texts = pairs.map(([name, text]) => [name, decodeURIComponent(text)] as const)
  if (type === 'array') return texts.map(([, text]) => typedAs(itemsOf(schema), text))
  if (type !== 'object') return typedAs(schema, texts[0]?.[1] ?? '')
  return typedObject(
    texts.map(([name, text]) => [/^p\[([^\]]+)\]/.exec(name)?.[1] ?? '', text] as const),
    schema,
  )
}

function typedAs(schema: DataSchema, text: string): unknown {
  const type = typeof schema === 'object' ? schema['type'] : 'string'
  return type === 'integer' ? Number(text) : type === 'boolean' ? text === 'true' : text
}

function itemsOf(schema: DataSchema): DataSchema {
  return typeof schema === 'object' ? ((schema['items'] as DataSchema | undefined) ?? true) : true
}

function memberOf(schema: DataSchema, name: string): DataSchema {
  const properties = typeof schema === 'object' ? (schema['properties'] as Record<string, DataSchema>) : {}
  return properties[name] ?? true
}

/** A client's text for a value, by RFC 6570; null where a style has no form for it. */
function expanded({ in: location, style, explode }: ApiParameter, value: unknown) {
  const encode = location === 'query' ? encodeURIComponent : (text: string) => text
  const at = (text: string) =>
    location === 'query' ? { query: `?p=${text}` } : location === 'path' ? { path: text } : { header: text }
  const isVisible = (text: string) => location !== 'header' || /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(text)
  const all = JSON.stringify(value)
  if (!isVisible(all.replace(/[\x20"]/g, ''))) return null
  if (style === 'json') return at(encode(all))
  const scalar = (one: unknown) => encode(String(one))
  if (typeof value !== 'object' || value === null) return isVisible(String(value)) ? at(scalar(value)) : null
  const isList = Array.isArray(value)
  const entries = Object.entries(value)
  if (entries.length === 0 || entries.some(([, one]) => Array.isArray(one) && one.length === 0)) return null
  if (style === 'deepObject')
    return isList
      ? { query: `?${value.map((one) => `p[]=${scalar(one)}`).join('&')}` }
      : {
          query: `?${entries.flatMap(([name, one]) => [one].flat().map((part) => `p[${name}]${Array.isArray(one) ? '[]' : ''}=${scalar(part)}`)).join('&')}`,
        }
  if (location === 'query' && explode)
    return isList
      ? { query: `?${value.map((one) => `p=${scalar(one)}`).join('&')}` }
      : {
          query: `?${entries.flatMap(([name, one]) => [one].flat().map((part) => `${name}=${scalar(part)}`)).join('&')}`,
        }
  if (entries.some(([, one]) => typeof one === 'object')) return null
  const parts = isList
    ? value.map(scalar)
    : entries.flatMap(([name, one]) => (explode ? [`${name}=${scalar(one)}`] : [name, scalar(one)]))
  // The gateway reads a delimiter that a client encoded as one that it did not: such values are other values by the style.
  if (entries.some(([, one]) => /[,| =]/.test(String(one)))) return null
  return at(parts.join({ spaceDelimited: '%20', pipeDelimited: '%7C' }[style as string] ?? ','))
}
