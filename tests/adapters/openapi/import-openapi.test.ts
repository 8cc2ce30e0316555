import { describe, expect, test } from 'bun:test'
import { compileJsonSchema } from '../../../server/adapters/openapi/compile-json-schema'
import { importDocument } from '../../../server/adapters/openapi/import-document'
import { importOpenApi } from '../../../server/adapters/openapi/import-openapi'
import type { ImportedDocument, ImportedOperation, ImportOptions } from '../../../server/core/apis/catalog/imported'
import type { OutboundFetch, OutboundRequest } from '../../../server/core/outbound/outbound-fetch'
import { err, ok } from '../../../server/core/result'

type Part = Readonly<Record<string, unknown>>

function weather(paths: Part, more: Part = {}): string {
  const info = { title: 'Weather', description: 'Forecasts.', version: '1' }
  return JSON.stringify({
    openapi: '3.1.0',
    info,
    servers: [{ url: 'https://api.weather.example/v1' }],
    paths,
    ...more,
  })
}

async function imported(text: string, options: ImportOptions = {}): Promise<ImportedDocument> {
  const result = await importDocument(text, options, null)
  if (!result.ok) throw new Error(result.error.message)
  return result.value
}

/** As the gateway imports: in a process of its own. */
async function inProcess(text: string, options: ImportOptions = {}): Promise<ImportedDocument> {
  const result = await importOpenApi(text, options)
  if (!result.ok) throw new Error(result.error.message)
  return result.value
}

async function operation(
  declared: Part,
  more: Part = {},
  path = '/forecast',
  method = 'get',
): Promise<ImportedOperation> {
  const { operations, refused } = await imported(weather({ [path]: { [method]: declared } }, more))
  const [first] = operations
  if (!first) throw new Error(JSON.stringify(refused))
  return first
}

async function refusal(declared: Part, method = 'get'): Promise<string | undefined> {
  const { refused, operations } = await imported(weather({ '/forecast': { [method]: declared } }))
  expect(operations).toEqual([])
  return refused[0]?.reason
}

async function problem(text: string, options: ImportOptions = {}): Promise<string> {
  const result = await importDocument(text, options, null)
  return result.ok ? 'imported' : result.error.message
}

const inQuery = (name: string, more: Part = {}) => ({ name, in: 'query', schema: { type: 'string' }, ...more })
const jsonBody = (schema: Part, more: Part = {}) => ({
  requestBody: { required: true, content: { 'application/json': { schema, ...more } } },
})

describe('a document', () => {
  test('becomes operations with their parameters, bodies, examples and response headers', async () => {
    const document = await imported(
      weather({
        '/cities/{city}/forecast': {
          parameters: [{ name: 'city', in: 'path', required: true, schema: { type: 'string' }, example: 'Bern' }],
          get: {
            operationId: 'getForecast',
            summary: 'Forecast',
            description: 'The next days.',
            parameters: [
              {
                ...inQuery('days'),
                description: 'How many.',
                schema: { type: 'integer', minimum: 1, maximum: 14, default: 7 },
              },
              { name: 'X-Units', in: 'header', schema: { enum: ['si', 'us'] } },
            ],
            responses: { '200': { description: 'ok', headers: { 'X-Model': {}, 'Set-Cookie': {}, ETag: {} } } },
          },
        },
      }),
    )
    expect(document).toEqual({
      title: 'Weather',
      description: 'Forecasts.',
      servers: ['https://api.weather.example/v1'],
      operations: [
        {
          id: 'getForecast',
          method: 'GET',
          path: '/cities/{city}/forecast',
          title: 'Forecast',
          description: 'The next days.',
          parameters: [
            {
              name: 'days',
              in: 'query',
              required: false,
              description: 'How many.',
              schema: { type: 'integer', minimum: 1, maximum: 14, default: 7 },
              style: 'form',
              explode: true,
              default: 7,
            },
            {
              name: 'X-Units',
              in: 'header',
              required: false,
              description: '',
              schema: { enum: ['si', 'us'] },
              style: 'simple',
              explode: false,
            },
            {
              name: 'city',
              in: 'path',
              required: true,
              description: '',
              schema: { type: 'string' },
              style: 'simple',
              explode: false,
            },
          ],
          body: null,
          effect: 'read',
          answer: 'whole',
          headersDown: ['x-model'],
          examples: [{ title: 'Example', input: { days: 7, city: 'Bern' } }],
        },
      ],
      refused: [],
      notices: [],
    })
  })

  test('may be YAML, with aliases', async () => {
    const yaml = `
openapi: 3.0.3
info: { title: Weather, version: '1' }
paths:
  /forecast:
    get:
      parameters:
        - &days { name: days, in: query, schema: { type: integer } }
    post:
      parameters: [*days]
`
    const { operations } = await imported(yaml)
    expect(operations.map(({ method, parameters }) => [method, parameters[0]?.name])).toEqual([
      ['GET', 'days'],
      ['POST', 'days'],
    ])
  })

  test('is imported in part if operations are selected, and unknown names are refused', async () => {
    const text = weather({ '/a': { get: { operationId: 'readA' } }, '/b': { get: {}, post: {} } })
    const { operations, refused } = await imported(text, { only: ['readA', 'POST /b', 'GET /c'] })
    expect(operations.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /a', 'POST /b'])
    expect(refused).toEqual([{ name: 'GET /c', reason: 'is not in the document' }])
  })

  test('of another version or kind is refused by name', async () => {
    expect(await problem('{"swagger":"1.2"}')).toContain('version 1.2')
    expect(await problem('{"openapi":"4.0.0"}')).toContain('version 4.0.0')
    expect(await problem('{"a":1}')).toContain('neither a member openapi nor swagger')
    expect(await problem('[]')).toContain('is not an object')
    expect(await problem('{"openapi":')).toContain('neither valid JSON nor valid YAML')
    expect(await problem('a: b: c')).toContain('not valid YAML')
  })

  test.each(['3.0', '3.1', '3', '3.0.4', '3.1.2', '3.2.0', '"3.1"'])('of the version %s is read', async (version) => {
    const text = `openapi: ${version}\npaths:\n  /a:\n    get:\n      summary: A\n`
    expect((await imported(text)).operations.map(({ title }) => title)).toEqual(['A'])
  })

  test('of 3.2 names its further methods and whole query strings, which are not sold', async () => {
    const querystring = { name: 'all', in: 'querystring', required: true, content: { 'application/json': {} } }
    const paths = {
      '/a': { get: {}, query: {}, additionalOperations: { COPY: {} } },
      '/b': { get: { parameters: [querystring] } },
    }
    const { operations, refused, notices } = await imported(weather(paths, { openapi: '3.2.0' }))
    expect(operations.map(({ path }) => path)).toEqual(['/a'])
    expect(notices[0]).toContain('COPY /a, QUERY /a')
    expect(refused).toEqual([{ name: 'GET /b', reason: 'needs the parameter all, which is sent in an unknown place' }])
  })

  test('of Swagger 2.0 is converted, with the forms of its lists, its forms and its bodies', async () => {
    const list = (name: string, collectionFormat?: string) => ({
      name,
      in: 'query',
      type: 'array',
      items: { type: 'string' },
      required: true,
      ...(collectionFormat && { collectionFormat }),
    })
    const document = {
      swagger: '2.0',
      info: { title: 'Old', version: '1' },
      host: 'old.example',
      basePath: '/v2',
      schemes: ['https'],
      paths: {
        '/rows': {
          get: { parameters: [list('csv'), list('multi', 'multi'), list('pipes', 'pipes'), list('ssv', 'ssv')] },
        },
        '/tabs': { get: { parameters: [list('tabs', 'tsv')] } },
        '/form': {
          post: {
            consumes: ['application/x-www-form-urlencoded'],
            parameters: [{ name: 'a', in: 'formData', type: 'string', required: true }],
          },
        },
        '/body': {
          put: { parameters: [{ name: 'b', in: 'body', required: true, schema: { $ref: '#/definitions/B' } }] },
        },
      },
      definitions: { B: { type: 'object', properties: { a: { type: 'integer' } } } },
    }
    const { operations, refused, servers } = await imported(JSON.stringify(document))
    expect(servers).toEqual(['https://old.example/v2'])
    expect(refused).toEqual([{ name: 'GET /tabs', reason: expect.stringContaining('the style tabDelimited') }])
    const [rows, form, body] = operations
    expect(rows?.parameters.map(({ name, style, explode }) => [name, style, explode])).toEqual([
      ['csv', 'form', false],
      ['multi', 'form', true],
      ['pipes', 'pipeDelimited', false],
      ['ssv', 'spaceDelimited', false],
    ])
    expect(form?.body).toMatchObject({ contentType: 'application/x-www-form-urlencoded', schema: { required: ['a'] } })
    expect(body?.body).toMatchObject({ contentType: 'application/json', required: true })
    expect(compileJsonSchema(body?.body?.schema ?? false)({ a: 'x' })).not.toBeNull()
  })

  test('with more than 1,000 aliases, or nested deeper than 100 levels, is refused', async () => {
    const laughs = ['a0: &a0 [x, x]', ...Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}]`)]
    expect(await problem(laughs.join('\n'))).toMatch(/aliases/)
    expect(await problem(`{"a":${'['.repeat(101)}${']'.repeat(101)}}`)).toContain('deeper than 100')
    expect(await problem(`a: ${'['.repeat(50_000)}`)).toStartWith('The document is')
  })
})

describe('an operation', () => {
  test('that is a reference is sold whole: with its name, its query and its body', async () => {
    const Order = {
      operationId: 'placeOrder',
      parameters: [inQuery('at', { required: true })],
      ...jsonBody({ type: 'object' }),
    }
    const { operations, refused } = await imported(
      weather(
        { '/orders': { post: { $ref: '#/components/x-operations/Order' } }, '/none': { get: { $ref: '#/nowhere' } } },
        { components: { 'x-operations': { Order } } },
      ),
    )
    expect(operations).toMatchObject([
      { id: 'placeOrder', parameters: [{ name: 'at', required: true }], body: { required: true } },
    ])
    expect(refused).toEqual([{ name: 'GET /none', reason: expect.stringContaining('cannot be read') }])
  })

  test('of a path item that is a reference keeps the members that stand next to it', async () => {
    const items = { Item: { get: { operationId: 'both' } } }
    const { operations } = await imported(
      weather(
        { '/a': { $ref: '#/components/pathItems/Item', parameters: [inQuery('q', { required: true })] } },
        { components: { pathItems: items } },
      ),
    )
    expect(operations).toMatchObject([{ id: 'both', parameters: [{ name: 'q' }] }])
  })

  test('is sold where the API is called: by the servers of the document, of its path, or of itself', async () => {
    const at = (...urls: string[]) => urls.map((url) => ({ url }))
    const paths = {
      '/one': { servers: at('https://a.example', 'https://b.example'), get: {} },
      '/two': { get: { servers: at('https://b.example/') } },
      '/three': { servers: at('https://a.example', 'https://b.example'), get: {} },
    }
    const sold = async (more: Part, options: ImportOptions = {}) =>
      (await imported(weather(paths, more), options)).operations.map(({ path }) => path)
    // Without servers of its own, the document is where most of its paths are.
    expect(await sold({ servers: undefined })).toEqual(['/one', '/two', '/three'])
    expect((await imported(weather(paths, { servers: undefined }))).servers).toEqual([
      'https://a.example',
      'https://b.example',
    ])
    expect(await sold({ servers: undefined }, { baseUrl: 'https://a.example' })).toEqual(['/one', '/three'])
    expect(await sold({ servers: at('https://c.example') })).toEqual([])
    expect(await sold({ servers: at('https://c.example') }, { baseUrl: 'https://b.example' })).toEqual([
      '/one',
      '/two',
      '/three',
    ])
    expect(await sold({ servers: at('https://a.example') }, { baseUrl: 'https://proxy.example' })).toEqual([
      '/one',
      '/three',
    ])
  })
})

describe('a body in another type of JSON', () => {
  test.each(['application/merge-patch+json', 'application/vnd.api+json; charset=utf-8'])(
    '%s is sold as that',
    async (type) => {
      const content = { 'text/xml': {}, [type]: { schema: { type: 'object', properties: { a: { type: 'string' } } } } }
      const { operations, notices } = await imported(
        weather({ '/a': { patch: { requestBody: { required: true, content } } } }),
      )
      const plain = type.split(';')[0] ?? ''
      expect(operations[0]?.body).toMatchObject({ contentType: plain, required: true })
      expect(notices).toContain(`PATCH /a: The body is ${plain} only, not text/xml.`)
    },
  )
})

describe('a schema with a discriminator', () => {
  const text = { type: 'string' }
  const joining = (base: string, member: string) => ({
    allOf: [{ $ref: `#/components/schemas/${base}` }, { type: 'object', properties: { [member]: text } }],
  })
  const Pet = {
    type: 'object',
    required: ['kind'],
    discriminator: { propertyName: 'kind' },
    properties: { kind: text },
  }
  const forms = [{ $ref: '#/components/schemas/Cat' }, { $ref: '#/components/schemas/Dog' }]

  test.each<[string, Part]>([
    [
      'that its subtypes join',
      { Pet, Cat: joining('Pet', 'meow'), Dog: joining('Pet', 'bark'), Puppy: joining('Dog', 'age') },
    ],
    [
      'that lists its subtypes, which join it',
      {
        Pet: { ...Pet, oneOf: forms },
        Cat: joining('Pet', 'meow'),
        Dog: joining('Pet', 'bark'),
        Puppy: joining('Dog', 'age'),
      },
    ],
  ])('%s takes what they have, and nothing else', async (_, schemas) => {
    for (const openapi of ['3.0.3', '3.1.0'])
      for (const part of [{ $ref: '#/components/schemas/Pet' }, { allOf: [{ $ref: '#/components/schemas/Pet' }] }]) {
        const { body } = await operation(jsonBody(part), { openapi, components: { schemas } }, '/x', 'post')
        const validate = compileJsonSchema(body?.schema ?? false)
        for (const value of [
          { kind: 'Cat', meow: 'x' },
          { kind: 'Dog', bark: 'x' },
        ])
          expect(validate(value)).toBeNull()
        if (!('oneOf' in Object(schemas['Pet']))) expect(validate({ kind: 'Puppy', bark: 'x', age: '1' })).toBeNull()
        expect(validate({ kind: 'Cat', admin: 'x' })).not.toBeNull()
        expect(validate({ meow: 'x' })).not.toBeNull()
      }
  })
})

describe('a feature that cannot be sold', () => {
  test('is refused by name: a required cookie, allowReserved, styles of paths, other content types', async () => {
    const required = { required: true }
    expect(await refusal({ parameters: [{ ...inQuery('sid'), in: 'cookie', ...required }] })).toBe(
      'needs the parameter sid, which is sent as a cookie',
    )
    expect(await refusal({ parameters: [{ ...inQuery('q'), allowReserved: true, ...required }] })).toContain(
      'uses allowReserved',
    )
    const xml = { name: 'f', in: 'query', ...required, content: { 'application/xml': {} } }
    expect(await refusal({ parameters: [xml] })).toContain('has content of application/xml')
    expect(await refusal({ requestBody: { ...required, content: { 'text/xml': {} } } }, 'post')).toContain('text/xml')
    const { refused } = await imported(
      weather({
        '/a/{id}': { get: { parameters: [{ name: 'id', in: 'path', style: 'form', required: true }] } },
        '/b': { get: { parameters: [inQuery('id', { style: 'matrix', ...required })] } },
        '/c': {
          get: { parameters: [inQuery('id', { ...required, schema: { type: 'array', items: { type: 'object' } } })] },
        },
      }),
    )
    expect(refused.map(({ name, reason }) => `${name} ${reason}`)).toEqual([
      'GET /a/{id} needs the parameter id, which has the style form, which is not supported in a path',
      'GET /b needs the parameter id, which has the style matrix, which is not supported in a query',
      'GET /c needs the parameter id, which is a list or an object that the style form cannot write',
    ])
  })

  test('is left out with a notice where it is optional', async () => {
    const { operations, notices } = await imported(
      weather({
        '/a': {
          post: {
            parameters: [{ ...inQuery('sid'), in: 'cookie' }, inQuery('q', { allowReserved: true }), inQuery('ok')],
            requestBody: { content: { 'text/xml': {} } },
            callbacks: { done: {} },
          },
          head: {},
          options: {},
        },
      }),
    )
    expect(operations[0]?.parameters.map(({ name }) => name)).toEqual(['ok'])
    expect(operations[0]?.body).toBeNull()
    expect(notices).toEqual([
      'HEAD, OPTIONS, TRACE and QUERY are not sold. These are left out: HEAD /a, OPTIONS /a.',
      'POST /a: The parameter sid is left out: it is sent as a cookie.',
      'POST /a: The parameter q is left out: it uses allowReserved.',
      'POST /a: The optional body is left out: the operation has a body of text/xml; supported are JSON, URL-encoded forms and multipart.',
      'POST /a: Its callbacks are ignored.',
    ])
  })

  test('a body that is left out is not said to accept anything', async () => {
    const form = { content: { 'multipart/form-data': { schema: { type: 'object' } } } }
    const { operations, notices } = await imported(weather({ '/photo': { put: { requestBody: form } } }))
    expect(operations[0]?.body).toBeNull()
    expect(notices).toEqual([
      'PUT /photo: The optional body is left out: the operation has a form without declared fields.',
    ])
  })

  test('headers of the connection, credentials and proxies are left out, in any case', async () => {
    const names = ['Host', 'CONTENT-LENGTH', 'Cookie', 'authorization', 'Connection', 'X-Forwarded-For', 'Forwarded']
    const parameters = [...names, 'TE', 'Transfer-Encoding', 'X-Own', 'Accept'].map((name) => ({
      ...inQuery(name, { required: true }),
      in: 'header',
    }))
    const { parameters: kept } = await operation({ parameters })
    expect(kept.map(({ name }) => name)).toEqual(['X-Own'])
  })

  test('a parameter that authenticates is left out', async () => {
    const components = { securitySchemes: { key: { type: 'apiKey', in: 'query', name: 'appid' } } }
    const text = weather({ '/a': { get: { parameters: [inQuery('appid', { required: true })] } } }, { components })
    const { operations, notices } = await imported(text)
    expect(operations[0]?.parameters).toEqual([])
    expect(notices[0]).toContain('key (query appid)')
  })

  test('a path on another server is refused, and server variables use their defaults', async () => {
    const servers = [{ url: 'https://{region}.api.example/v{v}/', variables: { region: { default: 'eu' } } }]
    const other = { servers: [{ url: 'https://other.example' }] }
    const text = weather({ '/a': { ...other, get: {} }, '/b': { get: { servers } } }, { servers })
    const { operations, refused, servers: found } = await imported(text)
    expect(found).toEqual(['https://eu.api.example/v%7Bv%7D'])
    expect(operations.map(({ path }) => path)).toEqual(['/b'])
    expect(refused).toEqual([{ name: 'GET /a', reason: 'is served elsewhere than the rest: https://other.example' }])
  })

  test('the same request twice, and templates that are not paths, are refused', async () => {
    const { operations, refused } = await imported(
      weather({ '/a/{x}': { get: {} }, '/a/{y}': { get: {}, post: {} }, '/b?c=1': { get: {} }, d: { get: {} } }),
    )
    expect(operations.map(({ method, path }) => `${method} ${path}`)).toEqual(['GET /a/{x}', 'POST /a/{y}'])
    expect(refused.map(({ name, reason }) => `${name} ${reason}`)).toEqual([
      '/b?c=1 must be a plain path, without query, spaces or characters beyond ASCII',
      'd must start with /',
      'GET /a/{y} is the same request as GET /a/{x}',
    ])
  })
})

describe('schemas', () => {
  test('are closed: only declared members pass, including where several schemas are joined', async () => {
    const { body } = await operation(
      jsonBody({
        type: 'object',
        properties: { a: { type: 'object', properties: { b: { type: 'string' } } }, free: { type: 'object' } },
        allOf: [{ properties: { c: { type: 'string' } } }],
      }),
      {},
      '/x',
      'post',
    )
    expect(body?.schema).toEqual({
      type: 'object',
      allOf: [{ properties: { c: { type: 'string' } } }],
      properties: {
        a: { type: 'object', properties: { b: { type: 'string' } }, unevaluatedProperties: false },
        free: { type: 'object' },
      },
      unevaluatedProperties: false,
    })
  })

  test('keep recursive definitions, and inline the others', async () => {
    const components = {
      schemas: {
        Node: {
          type: 'object',
          properties: { name: { $ref: '#/components/schemas/Name' }, next: { $ref: '#/components/schemas/Node' } },
        },
        Name: { type: 'string', maxLength: 5 },
      },
    }
    const { body } = await operation(jsonBody({ $ref: '#/components/schemas/Node' }), { components }, '/x', 'post')
    expect(body?.schema).toEqual({
      $ref: '#/$defs/Node',
      unevaluatedProperties: false,
      $defs: {
        Node: {
          type: 'object',
          properties: {
            name: { type: 'string', maxLength: 5 },
            next: { $ref: '#/$defs/Node', unevaluatedProperties: false },
          },
        },
      },
    })
  })

  test('of OpenAPI 3.0 are converted to 3.1', async () => {
    const schema = {
      type: 'object',
      required: ['id', 'n'],
      properties: {
        id: { type: 'string', readOnly: true },
        n: { type: 'number', nullable: true, minimum: 0, exclusiveMinimum: true, example: 3 },
        r: { $ref: '#/components/schemas/R', description: 'ignored' },
        file: { type: 'string', format: 'binary' },
      },
    }
    const components = { schemas: { R: { type: 'integer' } } }
    const more = { openapi: '3.0.3', components }
    const { body } = await operation(jsonBody(schema), more, '/x', 'post')
    expect(body?.schema).toEqual({
      type: 'object',
      properties: {
        n: { type: ['number', 'null'], exclusiveMinimum: 0 },
        r: { type: 'integer' },
        file: { type: 'string', contentMediaType: 'application/octet-stream' },
      },
      required: ['n'],
      unevaluatedProperties: false,
    })
  })

  test('lose pattern and format, with a notice', async () => {
    const text = weather({
      '/a': {
        get: { parameters: [inQuery('mail', { schema: { type: 'string', format: 'email', pattern: '^(a+)+$' } })] },
      },
    })
    const { operations, notices } = await imported(text)
    expect(operations[0]?.parameters[0]?.schema).toEqual({ type: 'string' })
    expect(notices).toEqual(['GET /a: The gateway does not check mail (pattern), mail (format email).'])
  })

  test('in a JSON parameter apply to what its text holds', async () => {
    const content = { 'application/json': { schema: { type: 'object', properties: { a: { type: 'integer' } } } } }
    const { parameters } = await operation({ parameters: [{ name: 'filter', in: 'query', content }] })
    expect(parameters[0]).toMatchObject({
      style: 'json',
      schema: { type: 'object', properties: { a: { type: 'integer' } }, unevaluatedProperties: false },
    })
  })
})

describe('schemas as real documents write them', () => {
  test('read-only members are not required, whichever joined schema requires them', async () => {
    const Base = { type: 'object', properties: { id: { type: 'string', readOnly: true }, name: { type: 'string' } } }
    const schema = { allOf: [{ $ref: '#/components/schemas/Base' }, { required: ['id', 'name'] }] }
    const { body } = await operation(jsonBody(schema), { components: { schemas: { Base } } }, '/x', 'post')
    const validate = compileJsonSchema(body?.schema ?? false)
    expect(validate({ name: 'x' })).toBeNull()
    expect(validate({})).toBe('must have the member name')
    expect(validate({ id: '1', name: 'x' })).toBe('/id is not declared')
  })

  test('a condition is not closed; its consequence is', async () => {
    const pet = (kind: string) => ({ properties: { pet: { type: 'object', properties: { kind: { const: kind } } } } })
    const schema = {
      type: 'object',
      properties: { pet: { type: 'object', properties: { kind: { type: 'string' }, name: { type: 'string' } } } },
      if: { ...pet('cat'), required: ['pet'] },
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
      then: { properties: { claws: { type: 'object', properties: { number: { type: 'integer' } } } } },
    }
    const { body } = await operation(jsonBody(schema), {}, '/x', 'post')
    const validate = compileJsonSchema(body?.schema ?? false)
    expect(validate({ pet: { kind: 'cat', name: 'Tom' }, claws: { number: 20 } })).toBeNull()
    expect(validate({ pet: { kind: 'cat' }, claws: { colour: 'red' } })).toBe('/claws/colour is not declared')
    expect(validate({ pet: { kind: 'dog' }, claws: { number: 20 } })).toBe('/claws is not declared')
  })

  test('forms with a discriminator may overlap', async () => {
    const forms = [{ properties: { a: { type: 'string' } } }, { properties: { b: { type: 'string' } } }]
    const schema = { type: 'object', oneOf: forms, discriminator: { propertyName: 'kind' } }
    const { body } = await operation(jsonBody(schema), {}, '/x', 'post')
    expect(compileJsonSchema(body?.schema ?? false)({ a: 'x' })).toBeNull()
    expect(compileJsonSchema(body?.schema ?? false)({ c: 'x' })).toBe('/c is not declared')
  })

  test('examples that their own schemas refuse, or that contain hidden characters, are left out', async () => {
    const schema = { type: 'object', properties: { a: { type: 'integer' } } }
    const examples = {
      good: { summary: 'One', value: { a: 1 } },
      wrong: { value: { a: 'x' } },
      undeclared: { value: { b: 1 } },
    }
    const { examples: kept } = await operation(jsonBody(schema, { examples }), {}, '/x', 'post')
    expect(kept).toEqual([{ title: 'One', input: { body: { a: 1 } } }])
    const hidden = { parameters: [inQuery('q', { required: true, example: 'a\u202eb' })] }
    expect((await operation(hidden)).examples).toEqual([])
  })

  test('a form keeps its fields and files; fields that are objects are JSON, or are written as its encoding says', async () => {
    const properties = {
      file: { type: 'string', format: 'binary' },
      tags: { type: 'array', items: { type: 'string' } },
      meta: { type: 'object', properties: { a: { type: 'string' } } },
    }
    const form = (required: string[]) => ({
      requestBody: {
        required: true,
        content: { 'multipart/form-data': { schema: { type: 'object', properties, required } } },
      },
    })
    const { body } = await operation(form(['file']), {}, '/x', 'post')
    expect(body?.contentType).toBe('multipart/form-data')
    expect(compileJsonSchema(body?.schema ?? false)({ file: '(file)', tags: ['a'] })).toBeNull()
    expect(compileJsonSchema(body?.schema ?? false)({ file: '(file)', meta: 'x' })).toBe('/meta must be an object')
    const encoded = { schema: { type: 'object', properties }, encoding: { meta: { style: 'deepObject' } } }
    const { operations, notices } = await imported(
      weather({
        '/json': { post: form(['meta']) },
        '/brackets': { post: { requestBody: { content: { 'application/x-www-form-urlencoded': encoded } } } },
        '/odd': {
          post: {
            requestBody: {
              required: true,
              content: { 'multipart/form-data': { ...encoded, encoding: { meta: { style: 'matrix' } } } },
            },
          },
        },
      }),
    )
    expect(operations.map((one) => [one.path, one.body?.encoding])).toEqual([
      ['/json', undefined],
      ['/brackets', { meta: { style: 'deepObject', explode: false } }],
    ])
    expect(notices).toContain('POST /json: Objects in form fields are sent as JSON, as OpenAPI has it: meta.')
  })
})

describe('names and texts', () => {
  test('missing and duplicate operationIds become stable ids from method and path', async () => {
    const text = weather({
      '/a/{b}': { get: { operationId: 'same' }, post: {} },
      '/c': { get: { operationId: 'same' }, post: { operationId: 'ok.id' }, put: { operationId: `${'x'.repeat(90)}` } },
    })
    const { operations } = await imported(text)
    const ids = operations.map(({ id }) => id)
    expect(ids.slice(0, 4)).toEqual(['get_a_b', 'post_a_b', 'get_c', 'ok_id'])
    expect(ids[4]).toMatch(/^x{57}_[0-9a-f]{6}$/)
    const { operations: one } = await imported(text, { only: ['GET /c'] })
    expect(one[0]?.id).toBe('get_c')
  })

  test('texts are plain: no HTML, direction, zero-width or control characters, and short', async () => {
    const { title, description } = await operation({
      summary: `<b onclick=x>Bo\u202eld\u200b</b> ${'t'.repeat(200)}`,
      description: `a <script>alert(1)</script> <<b>script>x <!-- hidden --> 1 < 2\u0000\u001b[31m ${'d'.repeat(2_000)}`,
    })
    expect(title).toStartWith('Bo ld')
    expect([...title].length).toBe(100)
    expect(description).toStartWith('a alert(1) < script>x 1 < 2[31m ddd')
    expect([...description].length).toBe(1_000)
  })
})

describe('referenced documents', () => {
  const text = weather({ '/a': { post: jsonBody({ $ref: 'schemas.yaml#/Thing' }) } })
  const asked: string[] = []
  const fetchExternal: OutboundFetch = async ({ url }) => {
    asked.push(url)
    const bytes = new TextEncoder().encode(
      'Thing: { type: object, properties: { a: { $ref: "more.json#/A" } } }\nA: { type: string }',
    )
    return url.endsWith('.yaml')
      ? ok({ url, status: 200, headers: new Headers(), contentType: 'text/yaml', body: bytes })
      : err({ kind: 'unreachable', reason: 'no such host' })
  }

  test('of the same origin are fetched through the outbound port, and a failed fetch refuses the operation', async () => {
    asked.length = 0
    const { refused } = await inProcess(text, { origin: 'https://docs.example/openapi.json', fetchExternal })
    expect(asked).toEqual(['https://docs.example/schemas.yaml', 'https://docs.example/more.json'])
    expect(refused).toEqual([
      {
        name: 'POST /a',
        reason:
          'has a schema that cannot be read: the reference "more.json#/A" leads to a document that could not be fetched (unreachable)',
      },
    ])
  })

  test('of another origin, local files, and everything where fetching is off, are refused by name', async () => {
    asked.length = 0
    const paths = {
      '/a': { post: jsonBody({ $ref: 'https://other.example/x.json' }) },
      '/b': { post: jsonBody({ $ref: 'file:///etc/passwd' }) },
    }
    const { refused } = await inProcess(weather(paths), { origin: 'https://docs.example/openapi.json', fetchExternal })
    expect(refused.map(({ reason }) => reason)).toEqual([
      expect.stringContaining('"https://other.example/x.json" leads to a document that is not of the same origin'),
      expect.stringContaining('"file:///etc/passwd" leads to a document that is not of the same origin'),
    ])
    expect(asked).toEqual([])
    expect((await inProcess(text)).refused[0]?.reason).toContain('not found beside this one')
  })

  test('are at most 500, only by HTTP, and a redirect stays at the origin', async () => {
    const requests: OutboundRequest[] = []
    const fetch: OutboundFetch = async (request) => {
      requests.push(request)
      const body = new TextEncoder().encode('{"type":"string"}')
      return ok({ url: request.url, status: 200, headers: new Headers(), contentType: 'application/json', body })
    }
    const elsewhere = [
      'blob:https://docs.example/x',
      'data:application/json,{}',
      'https://docs.example@169.254.169.254/x',
      'https://docs.example.evil.example/x',
      'http://docs.example/x',
      '//127.0.0.1/x',
    ]
    const own = Array.from({ length: 510 }, (_, i) => `/schemas/${i}.json`)
    const paths = [...elsewhere, ...own].map(($ref, i) => [`/p${i}`, { post: jsonBody({ $ref }) }])
    const options = { origin: 'https://docs.example/openapi.json', fetchExternal: fetch }
    const { operations, refused } = await inProcess(weather(Object.fromEntries(paths)), options)
    expect(requests.length).toBe(500)
    expect(operations.length).toBe(500)
    expect(refused.filter(({ reason }) => reason.includes('not of the same origin')).length).toBe(elsewhere.length)
    expect(refused.filter(({ reason }) => reason.includes('more than 500 other documents')).length).toBe(10)
    for (const { url, mayVisit, maxRedirects } of requests) {
      expect(url).toStartWith('https://docs.example/schemas/')
      expect(maxRedirects).toBe(3)
      const { signal } = new AbortController()
      expect(mayVisit?.(new URL('https://docs.example/other'), signal)).toBe(true)
      expect(mayVisit?.(new URL('https://other.example/'), signal)).toBe(false)
    }
  })
})
