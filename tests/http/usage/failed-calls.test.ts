import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { IMAGE_SEARCH } from '../../../server/core/catalog/image-search'
import { LLM_CONTEXT } from '../../../server/core/catalog/llm-context'
import { err, ok } from '../../../server/core/result'
import type { ExplainedRequest } from '../../../server/http/usage/record'
import { type Harness, openHarness } from '../../support/harness'
import { callWith, closeReconciled, IMAGES, keyBench, type MadeKey, type Owner, read, refusalOf } from '../owner-bench'

/** Nothing that contains it may be stored. */
const CANARY = 'zq7Canary'
const CONTEXT = '/apis/v1/websearch/llm/context'
const ECHO = { model: 'sandbox/echo', max_tokens: 5, messages: [{ role: 'user', content: CANARY }] }

let gateway: Harness
let owner: Owner
let key: MadeKey

beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
  key = await keyBench(owner).create({ name: 'app' })
})
beforeEach(() => {
  gateway.images.answer = async () => ok({ body: '{}' })
  gateway.clock.advance(60_000)
})
afterAll(() => closeReconciled(gateway))

const idOf = (answer: Response) => answer.headers.get('x-gateway-request-id') ?? ''
const explained = async (id: string) => {
  await gateway.core.stores.journal.drained()
  return read<ExplainedRequest>(owner.api(`/api/requests/${id}`))
}
const explainedCall = async (path: string, init: RequestInit = {}) =>
  explained(idOf(await gateway.as(key.secret, path, init)))
const post = (body: unknown, headers = {}): RequestInit => ({
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

describe('GET /api/requests/{id} of a failed call', () => {
  test('names the route, what happened, the parameter and its rule', async () => {
    expect(await explainedCall(`${IMAGES}&count=900`)).toMatchObject({
      status: 400,
      code: 'invalid_parameter',
      cost_micros_usd: 0,
      provider: null,
      charge: null,
      calls: [{ method: 'GET', path: '/apis/v1/websearch/images/search' }],
      failure: {
        route: '/apis/v1/websearch/images/search',
        message: 'count must be an integer from 1 to 200',
        param: 'count',
        rule: 'must be an integer from 1 to 200',
      },
      times: { waiting_ms: null, upstream_ms: null, total_ms: 0 },
    })
    expect((await explainedCall(`${IMAGES}&count=900&safesearch=x`)).failure?.message).toEndWith('(and 1 more)')
    expect((await explainedCall(`/v1/usage/req_${CANARY}`)).failure?.route).toBe('/v1/usage/{id}')
    expect((await explainedCall('/v1/models/org/none')).failure).toMatchObject({ param: 'model' })
    expect((await explainedCall('/v1/no-such-path')).failure).toMatchObject({ route: null })
  })

  test('of one that its upstream failed, says who was asked and where the time went', async () => {
    gateway.images.answer = async () => {
      gateway.clock.advance(700)
      return err({ kind: 'unavailable', reason: CANARY })
    }
    const call = await explainedCall(IMAGES)
    expect(call).toMatchObject({
      code: 'upstream_unavailable',
      provider: 'fixture',
      latency_ms: 700,
      times: { waiting_ms: 0, upstream_ms: 700, total_ms: 700 },
      failure: { message: 'The upstream provider cannot be reached.', param: null, rule: null },
    })
  })

  test('does not repeat what an upstream answered', async () => {
    const passThrough = { status: 422, contentType: 'text/plain', body: `${CANARY} is not allowed` }
    gateway.images.answer = async () => err({ kind: 'error', reason: 'refused', passThrough })
    const { failure } = await explainedCall(IMAGES)
    expect(failure?.message).toBe(
      'The upstream provider refused the request with status 422. Its own message was in the response and is not stored.',
    )
  })

  test('of an unknown model, does not repeat its name', async () => {
    const answer = await gateway.as(key.secret, '/v1/chat/completions', post({ ...ECHO, model: `sandbox/${CANARY}` }))
    expect((await explained(idOf(answer))).failure).toMatchObject({ route: '/v1/chat/completions', param: 'model' })
  })

  test('is hidden from other accounts, and from other keys of the account', async () => {
    const { id } = await explainedCall(`${IMAGES}&count=900`)
    const stranger = await gateway.owner()
    expect(await refusalOf(stranger.api(`/api/requests/${id}`))).toMatchObject({ status: 404 })
    const other = await keyBench(owner).create()
    expect(await callWith(gateway, other.secret, `/v1/usage/${id}`)).toBe('404 resource_not_found')
    const own = await (await gateway.as(key.secret, `/v1/usage/${id}`)).json()
    expect(own).toMatchObject({ failure: { param: 'count' } })
  })
})

test('a charged call is explained with its times and its arithmetic', async () => {
  gateway.images.answer = async () => {
    gateway.clock.advance(1234)
    return ok({ body: '{}' })
  }
  expect(await explainedCall(IMAGES)).toMatchObject({
    provider: 'fixture',
    failure: null,
    latency_ms: 1234,
    times: { waiting_ms: 0, upstream_ms: 1234, total_ms: 1234 },
    charge: { arithmetic: '1 request x 0.005 USD = 0.005 USD' },
  })
  gateway.images.answer = async () => ok({ body: '{}', ageSeconds: 3 })
  expect(await explainedCall(IMAGES)).toMatchObject({ provider: 'cache' })
})

test('a call says what was held for it: charged in full or released; nothing for one that was refused before', async () => {
  gateway.images.answer = async () => ok({ body: '{}' })
  expect(await explainedCall(IMAGES)).toMatchObject({ held_micros_usd: 5_000, charge: { charged_micros_usd: 5_000 } })
  gateway.clock.advance(60_000)
  gateway.images.answer = async () => err({ kind: 'unavailable', reason: 'away' })
  expect(await explainedCall(IMAGES)).toMatchObject({
    code: 'upstream_unavailable',
    held_micros_usd: 5_000,
    charge: null,
  })
  expect(await explainedCall(`${IMAGES}&count=900`)).toMatchObject({ held_micros_usd: null, charge: null })
  const [row] = await gateway.core.stores.db.all<{ held: number | null }>(
    sql`SELECT held FROM requests WHERE cost = 5000 LIMIT 1`,
  )
  expect(row?.held, 'a fixed price costs its row nothing').toBeNull()
})

test('no row stores anything that its caller sent, from any part of the request', async () => {
  const quoted = [CANARY, `"${CANARY}"`, `a"${CANARY}`, `$${CANARY}`, `|foo$boost=${CANARY}`, `$site=${CANARY} x"y`]
  const queries = Object.keys({ ...IMAGE_SEARCH.parameters, ...LLM_CONTEXT.parameters }).flatMap((name) =>
    quoted.map((value) => `${name}=${encodeURIComponent(value)}`),
  )
  const calls: [string, RequestInit][] = [
    ...queries.flatMap((query): [string, RequestInit][] => [
      [`/apis/v1/websearch/images/search?q=x&${query}`, {}],
      [`${CONTEXT}?q=x&${query}`, {}],
    ]),
    ...Object.keys(LLM_CONTEXT.parameters).map((name): [string, RequestInit] => [
      CONTEXT,
      post({ q: 'x', [name]: { [CANARY]: [CANARY] } }),
    ]),
    [CONTEXT, post({ q: 'x', [`${CANARY}1`]: CANARY })],
    [CONTEXT, { method: 'POST', headers: { 'content-type': CANARY }, body: CANARY }],
    [CONTEXT, { method: 'POST', headers: { 'content-type': 'application/json' }, body: `{"${CANARY}` }],
    ...[
      'accept',
      'x-max-price-usd',
      'x-cost-mode',
      'idempotency-key',
      'cache-control',
      'x-loc-lat',
      'content-encoding',
    ].map((name): [string, RequestInit] => [IMAGES, { headers: { [name]: `${CANARY}/${CANARY} é`.slice(0, 19) } }]),
    [CONTEXT, post({ q: 'x' }, { 'content-encoding': CANARY })],
    [`/v1/models/${CANARY}`, {}],
    [`/v1/${CANARY}`, {}],
    [`/v1/usage/${CANARY}`, {}],
    [`/v1/usage?start_time=${CANARY}&timezone=${CANARY}`, {}],
    [`/v1beta/models/${CANARY}:generateContent`, post({ contents: [] })],
    [`/v1beta/models/${CANARY}:embedContent`, post({ model: 'models/other', content: { parts: [{ text: 'x' }] } })],
    [`/v1beta/models/${CANARY}:batchEmbedContents`, post({ requests: [{ model: 'models/other' }] })],
    [`/v1beta/models/${CANARY}:countTokens`, post({ generateContentRequest: { model: 'models/x', contents: [] } })],
    [`/v1beta/models/sandbox/embed:embedContent`, post({ model: CANARY, content: { parts: [{ text: 'x' }] } })],
    ['/v1/chat/completions', post({ ...ECHO, model: CANARY })],
    ['/v1/chat/completions', post({ ...ECHO, [`${CANARY}2`]: CANARY })],
    ['/v1/chat/completions', post({ ...ECHO, tools: [{ type: CANARY }] })],
    ['/v1/chat/completions', post({ ...ECHO, n: CANARY, stream: CANARY, max_tokens: CANARY })],
    ['/v1/messages', post({ ...ECHO, system: [{ type: CANARY }] }, { 'anthropic-version': CANARY })],
    ['/v1/deep-research', post({ model: CANARY, query: CANARY })],
  ]
  for (const [path, init] of calls) {
    gateway.clock.advance(1000)
    await gateway.as(key.secret, path, init)
  }
  await gateway.core.stores.journal.drained()
  const rows = await gateway.core.stores.db.all<{ code: string; failure: string }>(
    sql`SELECT code, failure FROM requests WHERE status >= 400`,
  )
  expect(rows.length).toBeGreaterThan(60)
  expect(rows.filter(({ failure }) => failure === null)).toEqual([])
  const kept = rows.filter(({ failure }) => failure.toLowerCase().includes(CANARY.toLowerCase()))
  expect(kept).toEqual([])
})
