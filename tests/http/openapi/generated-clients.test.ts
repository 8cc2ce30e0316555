import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { OpenApiDocument } from '../../../server/http/openapi/open-api'
import { withSafeTexts } from '../../../server/http/openapi/open-api-document'
import { type DocumentedRoute, openDocumentedGateway, routesOf } from './documented-gateway'
import { bodyValidator } from './json-validation'

const JSON_TYPE = 'application/json'

interface ObjectSchema {
  readonly properties?: Readonly<Record<string, { readonly type?: unknown; readonly properties?: unknown }>>
  readonly required?: readonly string[]
}

/** The faults that keep generators of clients from a useful client that compiles. */
describe('the document, as generators of clients read it', () => {
  let gateway: Awaited<ReturnType<typeof openDocumentedGateway>>
  let document: OpenApiDocument
  let routes: DocumentedRoute[]
  let problem: ReturnType<typeof bodyValidator>

  beforeAll(async () => {
    gateway = await openDocumentedGateway()
    document = gateway.document
    routes = routesOf(document)
    problem = bodyValidator(document, 'closed')
  })
  afterAll(() => gateway.close())

  const operation = (path: string, method = 'POST') => {
    const found = routes.find((route) => route.path === path && route.method === method)
    if (!found) throw new Error(`${method} ${path} is not documented`)
    return found.operation
  }

  test('has no text that ends a comment of Go, Java or TypeScript; nor has one of an imported API', () => {
    const texts = JSON.stringify(document, (name, value) =>
      name === 'pattern' || name === 'source' ? undefined : value,
    )
    expect(texts).not.toContain('*/')
    const hostile = { paths: { '/a*/b': { description: '*/ evil() /*' } }, items: [{ title: 'a*/' }] }
    expect(withSafeTexts(hostile)).toEqual({
      paths: { '/a*/b': { description: '*\u200b/ evil() /*' } },
      items: [{ title: 'a*\u200b/' }],
    })
  })

  test('has no type lists other than with null: many generators know no others', () => {
    const lists: string[][] = []
    JSON.stringify(document, (name, value) => {
      if (name === 'type' && Array.isArray(value)) lists.push(value)
      return value
    })
    expect(lists.filter((types) => types.length > 2 || !types.includes('null'))).toEqual([])
  })

  test('no constant is anything but text: generators for Python write code that does not compile', () => {
    const constants: unknown[] = []
    JSON.stringify(document, (name, value) => {
      if (name === 'const') constants.push(value)
      return value
    })
    expect(constants.filter((value) => typeof value !== 'string')).toEqual([])
  })

  test('no schema is named as the constructor of another in Go (`NewX` of `X`)', () => {
    const names = Object.keys(document.components['schemas'] ?? {})
    expect(names.filter((name) => name.startsWith('New') && names.includes(name.slice(3)))).toEqual([])
  })

  test('no member without a type is named as a method of every object in Java', () => {
    const methods = ['equals', 'hashCode', 'toString', 'getClass', 'clone', 'notify', 'wait', 'finalize']
    const untyped: string[] = []
    JSON.stringify(document, (name, value) => {
      if (methods.includes(name) && JSON.stringify(value) === '{}') untyped.push(name)
      return value
    })
    expect(untyped).toEqual([])
  })

  test('no optional member of a model body is sent empty by generated Java: `{}` or `[]` of an unset one is a 400', () => {
    const empty = routes
      .filter(({ path, method }) => method === 'POST' && path.startsWith('/v1'))
      .flatMap(({ path, operation: { requestBody } }) => {
        const { properties = {}, required = [] } = (requestBody?.content?.[JSON_TYPE]?.schema ?? {}) as ObjectSchema
        return Object.entries(properties)
          .filter(([name, { type, properties: known }]) => {
            const isSentEmpty = (type === 'object' && known === undefined) || (type === 'array' && name === 'tools')
            return isSentEmpty && !required.includes(name)
          })
          .map(([name]) => `${path} ${name}`)
      })
    expect(empty).toEqual([])
  })

  test.each(['/v1', '/v1beta'])('GET %s/models/{model} documents that its id is not that of a call', (base) => {
    const schema = operation(`${base}/models/{model}`, 'GET').parameters?.find(({ name }) => name === 'model')?.schema
    const pattern = new RegExp(String(Object(schema).pattern))
    expect(['sandbox%2Fecho', 'llama3.2:latest', 'a:generateContents'].every((id) => pattern.test(id))).toBeTrue()
    expect(['a:generateContent', 'a%2Fb:countTokens'].some((id) => pattern.test(id))).toBeFalse()
  })

  test.each([
    ['/v1/messages', 'POST', 'AnthropicError'],
    ['/v1/messages/count_tokens', 'POST', 'AnthropicError'],
    ['/v1beta/models', 'GET', 'GoogleError'],
    ['/v1beta/models/{model}', 'GET', 'GoogleError'],
    ['/v1beta/models/{model}', 'POST', 'GoogleError'],
    ['/v1/models', 'GET', 'Error'],
    ['/v1/chat/completions', 'POST', 'Error'],
  ])('%s (%s) documents its errors as it sends them: %s', async (path, method, schema) => {
    const { responses } = operation(path, method)
    for (const [status, { content = {} }] of Object.entries(responses).filter(
      ([one]) => /^[45]/.test(one) && one !== '405',
    ))
      expect(content[JSON_TYPE]?.schema, status).toEqual({ $ref: `#/components/schemas/${schema}` })
    const answer = await gateway.call(
      path.replace('{model}', method === 'GET' ? 'sandbox%2Fecho' : 'sandbox%2Fecho:generateContent'),
      { method },
    )
    expect(answer.status).toBe(401)
    expect(problem({ $ref: `#/components/schemas/${schema}` }, await answer.json())).toBeNull()
  })

  test.each(['/v1', '/v1beta'])(
    'GET %s/models/{model} of a call is a 405, documented in the shape it has',
    async (base) => {
      const { content = {} } = operation(`${base}/models/{model}`, 'GET').responses['405'] ?? {}
      const answer = await gateway.call(`${base}/models/sandbox%2Fecho:generateContent`)
      expect(answer.status).toBe(405)
      expect(problem(content[JSON_TYPE]?.schema ?? {}, await answer.json())).toBeNull()
    },
  )

  test('lists every code of an error once, in `x-error-codes`', () => {
    for (const { path, method, operation: one } of routes)
      for (const [status, response] of Object.entries(one.responses).filter(([code]) => /^[45]/.test(code))) {
        // `/ready` answers 503 with its report, which is no error.
        if (JSON.stringify(response.content).includes('/Ready"')) continue
        const codes = response['x-error-codes'] ?? []
        expect(codes.length, `${method} ${path} ${status}`).toBeGreaterThan(0)
        expect(new Set(codes).size).toBe(codes.length)
      }
  })

  test('every priced operation lists what its Idempotency-Key can lead to', () => {
    const codes = (path: string, method: string) => operation(path, method).responses['409']?.['x-error-codes'] ?? []
    const kept = ['idempotency_conflict', 'answer_not_kept']
    for (const { path, method, operation: one } of routes)
      if (one.parameters?.some(({ name }) => name === 'idempotency-key'))
        expect(codes(path, method), `${method} ${path}`).toEqual(expect.arrayContaining(kept))
    for (const path of ['/apis/v1/social/post_social', '/v1/chat/completions'])
      expect(codes(path, 'POST'), path).toContain('outcome_unknown')
    expect(codes('/v1/wallet/topups', 'POST')).toEqual(['payment_in_progress', 'answer_not_kept'])
  })

  test('a priced success is its result alone; the quote has a schema of its own', () => {
    const { responses } = operation('/apis/v1/websearch/images/search', 'GET')
    expect(responses['200']).toMatchObject({
      content: { [JSON_TYPE]: { schema: { $ref: '#/components/schemas/ImageSearchResult' } } },
      'x-quote': { $ref: '#/components/schemas/Quote' },
    })
  })

  test.each([
    ['/v1/chat/completions', ['model', 'messages', 'stream', 'max_tokens', 'tools']],
    ['/v1/responses', ['model', 'input', 'instructions', 'stream']],
    ['/v1/messages', ['model', 'messages', 'system', 'max_tokens']],
    ['/v1beta/models/{model}', ['contents', 'generationConfig', 'systemInstruction']],
    ['/v1/embeddings', ['model', 'input', 'dimensions']],
    ['/v1/deep-research', ['model', 'query', 'max_searches']],
  ])('%s names the properties of its body and of its answer', (path, names) => {
    const { requestBody, responses } = operation(path)
    const { properties = {} } = (requestBody?.content[JSON_TYPE]?.schema ?? {}) as { properties?: object }
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(names))
    const answer = (responses['200']?.content?.[JSON_TYPE]?.schema ?? {}) as { properties?: object }
    expect(Object.keys(answer.properties ?? {}).length).toBeGreaterThan(1)
  })
})
