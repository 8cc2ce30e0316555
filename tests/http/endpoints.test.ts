import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { routeGroup } from '../../server/http/middleware/request-context'
import { UNDOCUMENTED } from '../../server/http/openapi/documented'
import {
  declaredEndpoints,
  freeEndpoint,
  type GatedCall,
  publicEndpoint,
  served,
} from '../../server/http/routing/endpoint'
import { EndpointTable, type MountedRoute } from '../../server/http/routing/endpoint-table'
import type { KnownCaller } from '../../server/pipeline/call'
import { type Harness, openHarness } from '../support/harness'

const BALANCE = freeEndpoint('balance', 'usage:read')
const USAGE = freeEndpoint('usage', 'usage:read')

/** A group with these routes, as Elysia has them. */
function mounted(...routes: readonly (readonly [method: string, path: string, endpoint: typeof BALANCE | null])[]) {
  const group = routeGroup({ name: 'some' })
  for (const [method, path, endpoint] of routes) {
    const handler = () => new Response()
    if (endpoint) group.route(method, path, ...served(endpoint, UNDOCUMENTED, handler))
    else group.route(method, path, handler)
  }
  return group.routes
}

const table = (routes: readonly MountedRoute[]) => new EndpointTable().mount(routes)

describe('the table of endpoints', () => {
  let gateway: Harness
  let routes: readonly MountedRoute[]

  beforeAll(async () => {
    gateway = await openHarness()
    routes = gateway.gateway.app.routes
  })
  afterAll(() => gateway.close())

  test('a gated route that does not say who may call it fails the start', () => {
    expect(() => table(routes).requireSold()).not.toThrow()
    const undeclared = [...routes, ...mounted(['DELETE', '/v1/keys/:id', null])]
    expect(() => table(undeclared)).toThrow('DELETE /v1/keys/:id does not say who may call it')
    expect(() => table(mounted(['GET', '/apis/v1/new', null]))).toThrow('GET /apis/v1/new does not say')
    expect(() => table(mounted(['GET', '/mcp', null]))).toThrow('GET /mcp does not say')
  })

  test('an operation that is sold and not mounted fails the start', () => {
    const rest = routes.filter(({ path }) => path !== '/v1/messages' && path !== '/apis/v1/websearch/images/search')
    expect(() => table(rest).requireSold()).toThrow('No route serves image-search, messages')
  })

  test('a declaration on an ungated path, and two that differ, fail the start', () => {
    expect(() => table(mounted(['GET', '/api/balance', BALANCE]))).toThrow('its path accepts no keys')
    const twice = [...mounted(['GET', '/v1/some', BALANCE]), ...mounted(['GET', '/v1/some', USAGE])]
    expect(() => table(twice)).toThrow('GET /v1/some is declared twice')
  })

  test('distinguishes routes of one path by method, and names the allowed methods', () => {
    const write = freeEndpoint('write', 'keys:write')
    const some = table(mounted(['POST', '/v1/some', write], ['GET', '/v1/some', USAGE]))
    expect(some.routeOf('GET', '/v1/some')).toMatchObject(USAGE.route)
    expect(some.routeOf('POST', '/v1/some')).toMatchObject({ ...write.route, template: '/v1/some' })
    expect(some.routeOf('HEAD', '/v1/some')).toMatchObject(USAGE.route)
    for (const method of ['PUT', 'OPTIONS', 'constructor'])
      expect(some.routeOf(method, '/v1/some')).toMatchObject({ failure: { allow: ['GET', 'POST'] } })
    expect(some.routeOf('GET', '/api/keys')).toBeNull()
  })

  test('the router never runs a handler, which takes authenticated calls only', () => {
    const [routed, { declaration }] = served(BALANCE, UNDOCUMENTED, () => 'paid for')
    expect(() => routed({} as never)).toThrow('a call of a gated path reached the router')
    expect(declaration.handler?.({} as never)).toBe('paid for')
  })

  test('a handler of a public endpoint that treats its caller as known does not compile', () => {
    const accountOf = ({ context }: GatedCall<KnownCaller>) => context.authenticated.caller.account.id
    expect(served(BALANCE, UNDOCUMENTED, accountOf)).toHaveLength(2)
    // @ts-expect-error a caller of it may have no account
    expect(served(publicEndpoint(), UNDOCUMENTED, accountOf)).toHaveLength(2)
  })

  test('says of every endpoint who may call it: which scope an app needs, and what is free, sold or open', () => {
    const said = routes.flatMap(({ method, path, hooks }) =>
      declaredEndpoints(hooks).map(({ route }) => {
        const scope = route.kind === 'public' ? 'anybody' : route.scope
        const what = route.kind === 'priced' ? `${route.operation}${route.payable ? ' or payment' : ''}` : route.kind
        return `${method} ${path}: ${what}, ${scope}`
      }),
    )
    expect(said.toSorted()).toEqual(EVERY_ENDPOINT.toSorted())
  })
})

const SOCIAL = '/apis/v1/social'
const EVERY_ENDPOINT = [
  'GET /apis/v1/websearch/images/search: image-search or payment, data:read',
  'GET /apis/v1/websearch/llm/context: llm-context or payment, data:read',
  'POST /apis/v1/websearch/llm/context: llm-context or payment, data:read',
  'POST /v1/chat/completions: chat-completions, models:use',
  'POST /v1/responses: responses, models:use',
  'POST /v1/completions: completions, models:use',
  'POST /v1/messages: messages, models:use',
  'POST /v1/messages/count_tokens: count-tokens, models:use',
  'POST /v1/embeddings: embeddings, models:use',
  'POST /v1/moderations: moderations, models:use',
  'POST /v1/images/generations: image-generation, models:use',
  'POST /v1/images/edits: image-edit, models:use',
  'POST /v1/audio/speech: speech, models:use',
  'POST /v1/audio/transcriptions: transcription, models:use',
  ...['/v1beta/models/*', '/v1beta/models/:model', '/v1/models/*'].flatMap((path) =>
    ['generate-content', 'count-tokens', 'embeddings'].map((name) => `POST ${path}: ${name}, models:use`),
  ),
  'POST /v1/rerank: rerank, models:use',
  'POST /v1/deep-research: deep-research, models:use',
  'GET /v1/models: free, any',
  'GET /v1beta/models: free, any',
  'GET /v1beta/models/:model: free, any',
  'GET /v1beta/models/*: free, any',
  'GET /v1/models/:model: free, any',
  'GET /v1/models/*: free, any',
  'GET /v1/usage: free, usage:read',
  'GET /v1/usage/:id: free, usage:read',
  'GET /v1/catalog: public, anybody',
  'GET /v1/credits/balance: free, usage:read',
  'GET /v1/whoami: free, any',
  'GET /v1/keys: free, keys:write',
  'POST /v1/keys: free, keys:write',
  'POST /v1/keys/disable: free, keys:write',
  'GET /v1/keys/:id: free, keys:write',
  'PATCH /v1/keys/:id: free, keys:write',
  ...['rotate', 'disable', 'enable', 'revoke'].map((change) => `POST /v1/keys/:id/${change}: free, keys:write`),
  ...['GET', 'POST'].map((method) => `${method} /v1/webhooks: free, webhooks:write`),
  ...['PATCH', 'DELETE'].map((method) => `${method} /v1/webhooks/:id: free, webhooks:write`),
  ...['rotate', 'confirm', 'code', 'test', 'deliveries/:delivery/resend'].map(
    (act) => `POST /v1/webhooks/:id/${act}: free, webhooks:write`,
  ),
  'GET /v1/webhooks/:id/deliveries: free, webhooks:write',
  'GET /v1/topups: free, wallet:topup',
  'POST /v1/topups: free, wallet:topup',
  'POST /v1/wallet/topups: free, wallet:topup',
  'POST /mcp: free, any',
  'POST /mcp/paid: public, anybody',
  `POST ${SOCIAL}/auth_social: free, social:write`,
  `GET ${SOCIAL}/oauth_callback: public, anybody`,
  `POST ${SOCIAL}/oauth_callback/confirm: public, anybody`,
  ...['follow', 'unfollow', 'like', 'unlike', 'post', 'delete', 'dm'].map(
    (name) => `POST ${SOCIAL}/${name}_social: social-${name}, social:write`,
  ),
  `GET ${SOCIAL}/user_social: social-user, social:write`,
  `GET ${SOCIAL}/dm_threads_social: social-dm-threads, social:write`,
]
