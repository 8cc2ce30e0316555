import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Validator } from '@seriousme/openapi-schema-validator'
import { OPERATIONS } from '../../../server/core/catalog/operations'
import type { ParameterRule, ParameterTable } from '../../../server/core/catalog/parameters'
import { formatUsd } from '../../../server/core/money'
import { FAILURES } from '../../../server/http/middleware/response/failures'
import { type DocumentedRoute, openDocumentedGateway, routesOf } from './documented-gateway'
import { bodyValidator } from './json-validation'

// A shared machine may stand still for seconds; said here, since an import says it for the first file of a run only.
type Gateway = Awaited<ReturnType<typeof openDocumentedGateway>>

let gateway: Gateway
let routes: DocumentedRoute[]
beforeAll(async () => {
  gateway = await openDocumentedGateway()
  routes = routesOf(gateway.document)
})
afterAll(() => gateway.close())

const named = ({ method, path }: { method: string; path: string }) => `${method} ${path}`

describe('the document', () => {
  test('is valid OpenAPI 3.1 of the catalog version (spec 1)', async () => {
    const verdict = await new Validator().validate(
      structuredClone(gateway.document) as unknown as Record<string, unknown>,
    )
    expect(verdict.errors ?? []).toEqual([])
    expect(verdict.valid).toBe(true)
    expect(gateway.document.openapi).toBe('3.1.0')
    expect(gateway.document.info.version).toBe('2.0.0')
  })

  test('is JSON and identical each time', async () => {
    const [one, two] = await Promise.all([gateway.call('/openapi.json'), gateway.call('/openapi.json')])
    expect(one.headers.get('content-type')).toBe('application/json')
    expect(await one.text()).toBe(await two.text())
  })

  test('refers only to existing components, and has each operation once', () => {
    const text = JSON.stringify(gateway.document)
    const { components } = gateway.document
    for (const [, kind = '', name = ''] of text.matchAll(/"#\/components\/(\w+)\/([\w-]+)"/g))
      expect(components[kind]?.[name], `${kind}/${name}`).toBeDefined()
    for (const name of Object.keys(components['schemas'] ?? {}))
      expect(text, name).toContain(`"#/components/schemas/${name}"`)
    const ids = routes.map(({ operation }) => operation.operationId)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('has a summary, a group and responses for every operation', () => {
    const tags = gateway.document.tags.map(({ name }) => name)
    for (const { operation, ...route } of routes) {
      expect(operation.summary, named(route)).toBeTruthy()
      expect(operation.description, named(route)).toBeTruthy()
      expect(tags, named(route)).toContain(operation.tags[0] ?? '')
      expect(operation['x-codeSamples']?.[0]?.source, named(route)).toStartWith('curl ')
      for (const [status, response] of Object.entries(operation.responses)) {
        expect(response.headers?.['X-Gateway-Request-ID'], `${named(route)} ${status}`).toBeDefined()
        expect(Object.keys(response.content ?? {}), `${named(route)} ${status}`).not.toBeEmpty()
      }
    }
  })
})

describe('routes and documents cannot drift', () => {
  test('every route is documented, but for those hidden by name', () => {
    const hidden = new Set([
      '/api/batch',
      '/api/events',
      '/api/keys/:id/give',
      '/api/thumbnail',
      '/api/try',
      '/apis/v1/social/oauth_callback',
      '/apis/v1/social/oauth_callback/confirm',
      '/sandbox/social',
      '/sandbox/social/*',
      '/unsubscribe',
      '/mcp',
      '/mcp/paid',
      '/media/lucide/:file',
      '/v1/models/*',
      '/v1beta/models/*',
      '/docs',
      '/docs/guide',
      '/docs/guide/*',
      '/schemas/catalog.json',
      '/schemas/gateway.json',
      '/openapi.json',
      '/openapi/operations',
      '/openapi/operations/:id',
      '/llms.txt',
    ])
    // The routes of the dashboard's own Operator, Settings, Members and Connected apps pages are no interface for others.
    const isDashboards = (path: string) =>
      /^\/api\/(operator|settings|apps|workspaces|members|invitations|identities)(\/|$)/.test(path)
    const served = gateway.gateway.app.routes.filter(({ path }) => !path.startsWith('/api/auth/'))
    const shown = served.filter(({ hooks }) => hooks?.detail?.hide !== true)
    expect(
      served
        .filter((route) => !shown.includes(route))
        .map(({ path }) => path)
        // One path may have two hidden methods.
        .filter((path, i, paths) => paths.indexOf(path) === i)
        // Discovery by apps is documented once for all resources; preflights are no operations.
        .filter((path) => !path.startsWith('/.well-known/'))
        .filter((path) => !isDashboards(path))
        .sort(),
    ).toEqual([...hidden].sort())
    const documented = new Set(routes.map(named))
    for (const { method, path } of shown) expect(documented).toContain(`${method} ${path.replace(/:(\w+)/g, '{$1}')}`)
    expect(routes.filter(({ path }) => !path.startsWith('/api/auth/'))).toHaveLength(shown.length)
  })

  test('every documented path exists', async () => {
    for (const { method, path } of routes) {
      const answer = await gateway.call(path.replace(/\{\w+\}/g, 'nothing'), { method })
      const body = answer.status === 404 || answer.status === 405 ? await answer.json() : null
      const { code } = Object(Object(body).error)
      expect(['unknown_endpoint', 'method_not_allowed'], `${method} ${path}`).not.toContain(code)
    }
  })

  test('every parameter of the catalog is documented with its bounds, set and default', () => {
    for (const { path, methods, parameters } of Object.values(OPERATIONS))
      for (const method of methods)
        for (const [name, rule] of Object.entries<ParameterRule>(parameters as ParameterTable)) {
          const { operation } = routes.find((route) => route.path === path && route.method === method)!
          const inBody = method === 'POST' && rule.in === 'query'
          const shown = operation.parameters?.find((parameter) => parameter.name === name && parameter.in === rule.in)
          const body = operation.requestBody?.content['application/json']?.schema
          const schema = inBody ? Object(body?.['properties'])[name] : shown?.schema
          expect(schema, `${method} ${path} ${name}`).toMatchObject(boundsOf(rule, inBody))
          expect(inBody ? Object(body?.['required']).includes(name) : shown?.required).toBe(rule.required === true)
        }
  })

  test('every route says how it refuses a suspended account; only sessions are too old or too weak', () => {
    const codesOf = ({ operation }: DocumentedRoute) =>
      Object.values(operation.responses).flatMap((response) => response['x-error-codes'] ?? [])
    // The sign-in library lets a suspended user read who they are, and sign out.
    const judged = routes.filter(
      ({ path, operation }) =>
        !path.startsWith('/api/auth/') && operation.security.some((scheme) => Object.keys(scheme).length > 0),
    )
    expect(judged.length).toBeGreaterThan(90)
    expect(judged.filter((route) => !codesOf(route).includes('account_suspended')).map(named)).toEqual([])
    const asks = routes.filter((route) => codesOf(route).includes('recent_sign_in_required'))
    expect(asks.filter((route) => !codesOf(route).includes('second_factor_required')).map(named)).toEqual([])
    expect(asks.filter(({ path }) => !path.startsWith('/api/')).map(named)).toEqual([])
    const weak = routes.filter((route) => codesOf(route).includes('second_factor_required'))
    // Operators need the second factor to read, too.
    const reads = weak.filter(({ method, path }) => method === 'GET' && path.startsWith('/api/operator/'))
    expect(weak.filter((route) => !reads.includes(route)).map(named)).toEqual(asks.map(named))
    expect(weak.map(named)).toContain('PATCH /api/webhooks/{id}')
  })

  test('the price is the catalog price', () => {
    for (const { path, price } of Object.values(OPERATIONS))
      for (const { operation } of routes.filter((route) => route.path === path))
        expect(operation['x-price']).toEqual({ mode: 'fixed', currency: 'USD', amount: formatUsd(price) })
  })

  test('every failure example is a body that its own response describes, with the status of the failure table', () => {
    const problem = bodyValidator(gateway.document, 'closed')
    for (const { operation, ...route } of routes)
      for (const [status, response] of Object.entries(operation.responses))
        for (const media of Object.values(response.content ?? {}))
          for (const [name, { value }] of Object.entries(media.examples ?? {})) {
            expect(problem(media.schema, value), `${named(route)} ${status} ${name}`).toBeNull()
            if (Number(status) >= 400 && name in FAILURES)
              expect(FAILURES[name as keyof typeof FAILURES].status).toBe(Number(status))
          }
  })

  test('a 402 that can be paid has an example of each of its content types: viewers show the last one', () => {
    const media = routes.flatMap(({ operation }) => Object.entries(operation.responses['402']?.content ?? {}))
    expect(media.filter(([, { examples = {} }]) => Object.keys(examples).length === 0)).toEqual([])
    const [, problem] = media.find(([type]) => type === 'application/problem+json') ?? []
    expect(problem?.examples?.['payment_required']?.value).toMatchObject({
      type: 'https://paymentauth.org/problems/payment-required',
      error: { code: 'payment_required' },
    })
  })
})

/** The part of a schema that a rule decides, written a second time. */
function boundsOf(rule: ParameterRule, inBody: boolean): object {
  const fallback = 'default' in rule && rule.default !== undefined ? { default: rule.default } : {}
  if (rule.kind === 'integer' || rule.kind === 'number')
    return { type: rule.kind, minimum: rule.min, maximum: rule.max, ...fallback }
  if (rule.kind === 'boolean') return { type: 'boolean', ...fallback }
  if (rule.kind === 'enum') return { type: 'string', enum: [...rule.values], ...fallback }
  if (rule.kind === 'text') return { type: 'string', minLength: rule.min, maxLength: rule.max, ...fallback }
  const list = { type: 'array', maxItems: rule.maxEntries }
  return inBody ? { anyOf: [{ type: 'string' }, list] } : list
}
