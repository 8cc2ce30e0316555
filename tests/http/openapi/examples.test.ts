import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { oauthAccessToken } from '../../../server/adapters/stores/libsql/schema/oauth'
import type { OpenApiParameter } from '../../../server/http/openapi/parameter-documents'
import { oauthApp } from '../../support/agents/oauth'
import { linkKey } from '../../support/social/linked-key'
import { codeOfWebhook, confirmWebhook } from '../../support/webhooks'
import { type DocumentedRoute, openDocumentedGateway, routesOf } from './documented-gateway'
import { bodyValidator } from './json-validation'
import { curlRequest, formOf } from './shell-words'

// A shared machine may stand still for seconds; said here, since an import says it for the first file of a run only.
type Gateway = Awaited<ReturnType<typeof openDocumentedGateway>>
type Owner = Awaited<ReturnType<Gateway['owner']>>

/**
 * Their success needs a payment, or the card processor's signature: tests/http/payments/wallet-topups.test.ts and
 * tests/http/billing/card-top-ups.test.ts make it.
 */
const NEEDS_A_WALLET: ReadonlySet<string> = new Set(['walletTopUp', 'stripeWebhook'])

let gateway: Gateway
let owner: Owner
let routes: DocumentedRoute[]
let runElsewhere: DocumentedRoute[]
let problem: ReturnType<typeof bodyValidator>
beforeAll(async () => {
  gateway = await openDocumentedGateway()
  owner = await gateway.owner()
  const all = routesOf(gateway.document).filter(({ operation }) => !NEEDS_A_WALLET.has(operation.operationId))
  // An API is created once, and its name is not free again: tests/http/operator/operator-apis.test.ts runs these routes.
  // A second factor needs an app or a device: tests/http/account/sign-in/sign-in-attacks.test.ts compares what its routes answer.
  const runsElsewhere = ({ path }: DocumentedRoute) => /^\/api\/(operator|auth\/two-factor|auth\/passkey)\//.test(path)
  routes = all.filter((route) => !runsElsewhere(route))
  runElsewhere = all.filter(runsElsewhere)
  problem = bodyValidator(gateway.document, 'closed')
})
afterAll(() => gateway.close())

const tokens = new Map<string, string>()

/** The headers of an app of the present owner. */
async function accessToken(): Promise<string> {
  const known = tokens.get(owner.cookie)
  if (known) return known
  const { access_token } = await oauthApp(gateway, owner).connect(
    'keys:write webhooks:write wallet:topup offline_access',
    ['/v1'],
  )
  // The clock of these tests is moved by hours.
  await gateway.core.stores.db.update(oauthAccessToken).set({ expiresAt: new Date(8e15) })
  tokens.set(owner.cookie, access_token)
  return access_token
}

/** A fresh key of the owner that has made one call, under the names that samples know. */
async function variables(route: DocumentedRoute): Promise<Record<string, string>> {
  const name = `key ${crypto.randomUUID()}`
  // An app changes only keys that it created.
  const made = route.path.startsWith('/v1/keys')
    ? await gateway.as(await accessToken(), '/v1/keys', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name }),
      })
    : await owner.api('/api/keys', { name })
  const told = await made.text()
  expect(made.status, told).toBe(201)
  const { key, secret } = JSON.parse(told) as { key: { id: string }; secret: string }
  const call = await gateway.as(secret, '/apis/v1/websearch/images/search?q=card')
  expect(call.status).toBe(200)
  if (isSocial(route)) await settleIn(secret)
  return {
    KEY_ID: key.id,
    GATEWAY_API_KEY: secret,
    ...(takesToken(route) && { ACCESS_TOKEN: await accessToken() }),
    REQUEST_ID: call.headers.get('x-gateway-request-id') ?? '',
    SETUP_TOKEN: gateway.gateway.setupToken.issue(),
    ...(isOfWebhook(route.path) && (await ownWebhook(route.path))),
  }
}

const unchanged = new Map<string, Record<string, string>>()

/** The same for requests that change nothing, made once for all of their kind. The limits of a key are per minute. */
async function sharedVariables(route: DocumentedRoute): Promise<Record<string, string>> {
  gateway.clock.advance(MINUTE_MS)
  const kind = [
    owner.cookie,
    isSocial(route),
    takesToken(route),
    isOfWebhook(route.path),
    takesNewWebhook(route.path),
  ].join()
  const known = unchanged.get(kind) ?? (await variables(route))
  unchanged.set(kind, known)
  return known
}

/** Whether a request of the route can be repeated with the same variables. No post may be made or deleted twice. */
const changesNothing = ({ method, path }: DocumentedRoute) =>
  method === 'GET' || /^\/(v1|v1beta|apis)\/(?!keys|webhooks|v1\/social\/(post|delete))/.test(path)

const isOfWebhook = (path: string) => /^\/(api|v1)\/webhooks\//.test(path)
const takesNewWebhook = (path: string) => isOfWebhook(path) && /\/(code|confirm)$/.test(path)

/** A webhook of the owner, its code and one of its deliveries: those of before, or new ones. */
async function ownWebhook(path: string): Promise<Record<string, string>> {
  const rowsOf = async (from: string, list: string) =>
    ((await (await owner.api(from)).json()) as Record<string, { id: string; status: string; type?: string }[]>)[list] ??
    []
  const isNew = takesNewWebhook(path)
  const isWanted = ({ status }: { status: string }) => (status === 'unconfirmed') === isNew
  const webhook = async () => (await rowsOf('/api/webhooks', 'webhooks')).find(isWanted)?.id
  let id = await webhook()
  if (id === undefined) {
    const made = await owner.api('/api/webhooks', { url: RECEIVER })
    id = ((await made.json()) as { webhook: { id: string } }).webhook.id
    if (!isNew) await confirmWebhook(gateway, owner, id)
  }
  if (isNew) return { WEBHOOK_ID: id, WEBHOOK_CODE: await codeOfWebhook(gateway, id) }
  const delivery = async () =>
    (await rowsOf(`/api/webhooks/${id}/deliveries`, 'deliveries')).find(({ type }) => type !== 'webhook.confirm')?.id
  if ((await delivery()) === undefined) await owner.api(`/api/webhooks/${id}/test`, undefined, 'POST')
  return { WEBHOOK_ID: id, DELIVERY_ID: (await delivery()) ?? '' }
}

/** The receiver that the documents show, and one that no test can reach. */
const SHOWN_RECEIVER = 'https://example.com/webhooks/gateway'
const RECEIVER = 'https://receiver.invalid/'

/** The code that the documents show. */
const SHOWN_CODE = '7K2M9QXA'
/** The id that the documents show of a key. */
const SHOWN_KEY = 'key_01a1fdfa942070018c603d2632ddc21b'
/** The id that the documents show of a post. Each test user's own post of that id is made before it is used. */
const SHOWN_POST = '1600000000000000'
let madePost = SHOWN_POST

const MINUTE_MS = 60_000
/** The network's rate windows: this file asks more than a person would, so each request gets a new one. */
const SOCIAL_WINDOW_MS = 15 * 60 * 1000
const isSocial = ({ path }: DocumentedRoute) => path.startsWith('/apis/v1/social/')

/** Links the key to somebody who said nothing yet but one thing. */
async function settleIn(secret: string): Promise<void> {
  const { sandbox } = gateway.gateway
  if (!sandbox) throw new Error('the sandbox network is off')
  gateway.clock.advance(SOCIAL_WINDOW_MS)
  await linkKey(gateway, secret)
  for (const { id } of await sandbox.community.timeline(100)) await sandbox.community.remove(id)
  madePost = (await sandbox.community.post('1001', 'A post to like', null, null)) ?? ''
}

/** Ids in bodies are replaced by one's own. */
function withOwnIds(text: string, known: Readonly<Record<string, string>>): string {
  return text
    .replaceAll(SHOWN_POST, madePost)
    .replaceAll(SHOWN_CODE, known['WEBHOOK_CODE'] ?? '')
    .replaceAll(SHOWN_KEY, known['KEY_ID'] ?? '')
    .replaceAll(SHOWN_RECEIVER, RECEIVER)
}

/** The answer has the documented status, type, headers and body. */
async function expectDocumented({ method, path, operation }: DocumentedRoute, answer: Response, status: string) {
  const where = `${method} ${path}`
  const text = await answer.text()
  expect(`${answer.status}`, `${where}: ${text.slice(0, 500)}`).toBe(status)
  const response = operation.responses[status]
  const content = Object.entries(response?.content ?? {})
  const [type, media] = content.find(([one]) => one.endsWith('/*')) ?? content[0] ?? []
  const isQuote = text.startsWith('{"quote"')
  const documented = isQuote ? 'application/json' : (type ?? '').replace(/\/\*$/, '/')
  expect(answer.headers.get('content-type')?.split(';')[0], where).toStartWith(documented)
  // A quote is no result, so it is of no version; only a kept answer has an age, or is one to a repeat; no example names betas or fallbacks.
  const optional = ['Age', 'Idempotency-Replayed', 'X-Cache', 'X-Gateway-Removed-Betas', 'X-Served-By']
  const expected = Object.keys(response?.headers ?? {}).filter(
    (name) => !optional.includes(name) && (name !== 'API-Version' || !isQuote),
  )
  for (const name of expected) expect(answer.headers.get(name), `${where} ${name}`).not.toBeNull()
  const schema = isQuote ? response?.['x-quote'] : media?.schema
  expect(problem(schema, documented === 'application/json' ? JSON.parse(text) : text), `${where}: ${text}`).toBeNull()
}

const takesToken = ({ operation }: DocumentedRoute) => operation.security.some((way) => 'oauth' in way)
const successOf = ({ operation }: DocumentedRoute) => Object.keys(operation.responses)[0] ?? ''

/** What `{id}` is in a path. */
function variableOf(path: string): string {
  if (isOfWebhook(path)) return 'WEBHOOK_ID'
  return /^\/v1\/(?!keys)|^\/api\/requests/.test(path) ? 'REQUEST_ID' : 'KEY_ID'
}

/** A request with these parameters at their examples, and this body. `prepared`: what an earlier request of the route left as it was. */
async function exampleRequest(
  route: DocumentedRoute,
  shown: readonly OpenApiParameter[],
  body: unknown,
  prepared?: Record<string, string>,
): Promise<Request> {
  if (prepared && isSocial(route)) gateway.clock.advance(SOCIAL_WINDOW_MS)
  const known = prepared ?? (await variables(route))
  const url = new URL(
    gateway.config.baseUrl +
      route.path
        .replace('{id}', known[variableOf(route.path)] ?? '')
        .replace('{delivery}', known['DELIVERY_ID'] ?? '{delivery}'),
  )
  for (const { name, in: place, example } of route.operation.parameters ?? [])
    if (place === 'path') url.pathname = url.pathname.replace(encodeURIComponent(`{${name}}`), String(example))
  const headers = new Headers({ cookie: owner.cookie })
  if (route.path.startsWith('/v1') || route.path.startsWith('/apis'))
    headers.set('authorization', `Bearer ${known[takesToken(route) ? 'ACCESS_TOKEN' : 'GATEWAY_API_KEY']}`)
  for (const { name, in: place, example } of shown) {
    // A key stands for one request, and each of these is another one.
    const sent = name === 'idempotency-key' && /^[0-9a-f-]{36}$/.test(String(example)) ? crypto.randomUUID() : example
    const values = Array.isArray(sent) ? sent : [sent]
    for (const value of values.map((each) => (each === SHOWN_POST ? madePost : each)))
      if (place === 'query') url.searchParams.append(name, String(value))
      else if (place === 'header') headers.set(name, String(value))
  }
  const form = firstForm(route)
  if (body !== undefined) headers.set('content-type', 'application/json')
  return new Request(url, {
    method: route.method,
    headers,
    ...(body !== undefined && { body: withOwnIds(JSON.stringify(body), known) }),
    ...(form !== undefined && { body: formOf(Object(form)) }),
  })
}

/** Its clock runs for hours, and making a key needs a sign-in of today. */
const socialLast = (all: readonly DocumentedRoute[]) =>
  [...all].sort((a, b) => Number(isSocial(a)) - Number(isSocial(b)))

describe('every documented example runs', () => {
  test('each curl sample returns the documented success', async () => {
    let count = 0
    for (const route of routes)
      for (const { source } of route.operation['x-codeSamples'] ?? []) {
        // A sample of a webhook may have deleted it.
        const isShared = route.method === 'GET' && !isOfWebhook(route.path)
        const known = isShared ? await sharedVariables(route) : await variables(route)
        const request = curlRequest(withOwnIds(source, known), known, owner.cookie)
        expect(request.url).toStartWith(gateway.config.baseUrl)
        await expectDocumented(route, await gateway.gateway.app.handle(request), successOf(route))
        if (route.operation.operationId === 'signOut') owner = await gateway.owner()
        count++
      }
    expect(count).toBeGreaterThanOrEqual(routes.length)
  })

  test('each example of a parameter is accepted, alone and with all others', async () => {
    for (const route of socialLast(routes)) {
      if (isSocial(route)) owner = await gateway.owner()
      const shown = (route.operation.parameters ?? []).filter(({ example }) => example !== undefined)
      const required = shown.filter((parameter) => parameter.required)
      const optional = shown.filter((parameter) => !parameter.required)
      if (optional.length === 0) continue
      const body = firstBody(route)
      const prepared = changesNothing(route) ? await sharedVariables(route) : undefined
      for (const some of [...optional.map((one) => [one]), optional]) {
        // Its limit is a few calls per minute.
        if (route.path === '/v1/deep-research') gateway.clock.advance(MINUTE_MS)
        const request = await exampleRequest(route, [...required, ...some], body, prepared)
        await expectDocumented(route, await gateway.gateway.app.handle(request), successOf(route))
      }
    }
  })

  test('each example of a body is accepted and matches its schema', async () => {
    owner = await gateway.owner()
    for (const route of routes.filter(({ path }) => !path.startsWith('/api/auth/') && !path.endsWith('/operator'))) {
      const media = route.operation.requestBody?.content['application/json']
      for (const [name, { value }] of Object.entries(media?.examples ?? {})) {
        expect(problem(media?.schema, value), `${route.path} ${name}`).toBeNull()
        // No two keys of an owner have the same name.
        if (route.path.includes('/keys')) owner = await gateway.owner()
        const required = (route.operation.parameters ?? []).filter((parameter) => parameter.required)
        const request = await exampleRequest(route, required, value)
        await expectDocumented(route, await gateway.gateway.app.handle(request), successOf(route))
      }
    }
  })
})

test('each example of operators and second factors matches its schema, requests and responses', () => {
  expect(runElsewhere).not.toBeEmpty()
  for (const { path, operation } of runElsewhere) {
    const answers = Object.values(operation.responses).map(({ content }) => content)
    for (const content of [operation.requestBody?.content, ...answers])
      for (const { schema, examples } of Object.values(content ?? {}))
        for (const [name, { value }] of Object.entries(examples ?? {}))
          expect(problem(schema, value), `${path} ${name}`).toBeNull()
  }
})

describe('documented bounds are the ones that are enforced', () => {
  test('an integer, a text and a set: values at the bounds are accepted, values beyond are refused by name', async () => {
    owner = await gateway.owner()
    for (const route of socialLast(routes)) {
      if (isSocial(route)) owner = await gateway.owner()
      let prepared: Record<string, string> | undefined
      for (const parameter of route.operation.parameters ?? []) {
        if (parameter.in === 'path' || parameter.name === 'x-request-id') continue
        const required = (route.operation.parameters ?? []).filter((one) => one.required && one.name !== parameter.name)
        for (const wrong of beyond(parameter)) {
          const shown = [...required, { ...parameter, example: wrong }]
          // A refusal changes nothing.
          prepared ??= await sharedVariables(route)
          const answer = await gateway.gateway.app.handle(
            await exampleRequest(route, shown, firstBody(route), prepared),
          )
          const { error } = (await answer.json()) as { error: { details?: readonly object[] } }
          expect(answer.status, `${route.path} ${parameter.name}=${wrong}`).toBe(400)
          // In the shape of the route: `param` of ours, `field` of Google's.
          expect(JSON.stringify(error.details)).toContain(`":"${parameter.name}"`)
        }
      }
    }
  })
})

function firstBody({ operation }: DocumentedRoute): unknown {
  return Object.values(operation.requestBody?.content['application/json']?.examples ?? {})[0]?.value
}

function firstForm({ operation }: DocumentedRoute): unknown {
  return Object.values(operation.requestBody?.content['multipart/form-data']?.examples ?? {})[0]?.value
}

/** Values just outside of what the schema says. */
function beyond({ in: place, schema }: OpenApiParameter): string[] {
  const { type, minimum, maximum, maxLength, enum: values } = schema
  if (type === 'integer' || type === 'number') return [String(Number(minimum) - 1), String(Number(maximum) + 1), 'x']
  if (type === 'boolean') return ['yes']
  if (Array.isArray(values)) return ['none-of-these']
  // Headers longer than this do not reach us over a socket.
  if (typeof maxLength === 'number' && (place === 'query' || maxLength < 1000)) return ['a'.repeat(maxLength + 1)]
  return []
}
