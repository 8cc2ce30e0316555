import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { gzipSync } from 'node:zlib'
import { trustedFetch } from '../../../../server/adapters/outbound/one-hop'
import { openBraveWebsearch } from '../../../../server/adapters/websearch/brave/open-brave-websearch'
import type { UpstreamFailure } from '../../../../server/core/providers/provider'
import {
  CONTEXT,
  errorBody,
  IMAGES,
  RATE_HEADERS,
  TOKEN_INVALID,
  validationBody,
} from '../../../support/doubles/brave-bodies'
import { cutDouble, HttpDouble } from '../../../support/doubles/http-double'
import { SOMEBODY } from '../../../support/somebody'
import { contextInput, imageInput } from '../local/fixture-index'

const KEY = 'BSA-secret-key'
const JSON_TYPE = { 'content-type': 'application/json' }
let brave: HttpDouble
let now = 0

beforeAll(() => {
  brave = new HttpDouble(() => new Response(CONTEXT, { headers: JSON_TYPE }))
})
beforeEach(() => {
  brave.reset()
  now = 0
})
afterAll(() => brave.stop())

const open = (baseUrl = brave.url) =>
  openBraveWebsearch({ baseUrl, apiKey: KEY, fetch: trustedFetch, clock: { now: () => now } })
const never = new AbortController().signal

async function failure(plug = open(), signal = never): Promise<UpstreamFailure> {
  const answer = await plug.context.call(contextInput('a b', { goggles: ['/a$boost'] }), signal, SOMEBODY)
  if (answer.ok) throw new Error('it answered')
  expect(answer.error.reason).not.toContain(KEY)
  expect(answer.error.passThrough?.body ?? '').not.toContain(KEY)
  return answer.error
}
const answering = (status: number, body: string, headers = {}) => {
  brave.instead = () => new Response(body, { status, headers: { ...JSON_TYPE, ...headers } })
  return failure()
}

describe('messages of Brave about our own account are never shown to a caller', () => {
  test.each([
    ['a bad key, which is 422', 422, TOKEN_INVALID],
    ['a plan without it', 400, errorBody(400, 'OPTION_NOT_IN_PLAN', { component: 'authentication' })],
    ['not entitled', 403, errorBody(403, 'RESOURCE_NOT_ALLOWED', { component: 'api' })],
    ['no subscription', 404, errorBody(404, 'SUBSCRIPTION_NOT_FOUND', { component: 'subscriptions' })],
    ['no credit', 402, errorBody(402, 'CREDIT_EXHAUSTED', {})],
    ['a cap', 400, errorBody(400, 'USAGE_LIMIT_EXCEEDED', {})],
    ['401 without a body', 401, ''],
  ])('%s is unavailable', async (_, status, body) => {
    const told = await answering(status, body)
    expect(told.kind).toBe('unavailable')
    expect(told.passThrough).toBeUndefined()
    expect(told.reason).toContain(String(status))
  })

  test('the log names the code', async () => {
    expect((await answering(422, TOKEN_INVALID)).reason).toBe('brave: 422 SUBSCRIPTION_TOKEN_INVALID')
  })
})

describe('an error of the request is passed on, in Brave’s own format (spec 7 rule 2)', () => {
  test('a goggle that Brave refuses', async () => {
    const body = validationBody(['query', 'goggles', '0'], 'just words')
    expect(await answering(422, body)).toEqual({
      kind: 'error',
      reason: 'brave: 422 VALIDATION at query.goggles.0',
      passThrough: { status: 422, contentType: 'application/json', body },
    })
  })

  test('the documented form with a list of errors is read as well', async () => {
    const list = '{"type":"ErrorResponse","errors":[{"code":"INVALID_URL","status":400,"meta":{}}],"time":1}'
    expect(await answering(400, list)).toMatchObject({ kind: 'error', passThrough: { status: 400, body: list } })
  })

  test.each([
    ['a question longer than an older version takes', ['query', 'q']],
    ['the token', ['header', 'x-subscription-token']],
    ['the version', ['header', 'Api-Version']],
  ])('%s is not the caller’s fault', async (_, loc) => {
    const told = await answering(422, validationBody(loc, 'x'))
    expect(told.kind).toBe('error')
    expect(told.passThrough).toBeUndefined()
  })

  test('nothing is passed on that contains our key, is not JSON, or is huge', async () => {
    expect((await answering(422, validationBody(['query', 'goggles'], KEY))).passThrough).toBeUndefined()
    expect((await answering(422, '<html>no</html>')).passThrough).toBeUndefined()
    expect((await answering(422, validationBody(['query', 'goggles'], 'x'.repeat(70_000)))).passThrough).toBeUndefined()
  })
})

describe('429', () => {
  const limited = async (headers: Record<string, string>) => {
    const body = errorBody(429, 'RATE_LIMITED', { plan: 'Search', rate_limit: 1, component: 'rate_limiter' })
    const told = await answering(429, body, headers)
    expect(told.kind).toBe('rate_limited')
    expect(told.passThrough).toBeUndefined()
    return told.retryAfterSeconds
  }

  test('waits for the window that is exhausted', async () => {
    expect(await limited(RATE_HEADERS)).toBe(1)
    expect(await limited({ ...RATE_HEADERS, 'x-ratelimit-remaining': '1, 0' })).toBe(1_419_704)
  })
  test('a limit of 0 is no cap', async () => {
    const uncapped = { 'x-ratelimit-limit': '50, 0', 'x-ratelimit-remaining': '0, 0', 'x-ratelimit-reset': '7, 2' }
    expect(await limited(uncapped)).toBe(7)
  })
  test('waits at least a second, also without headers', async () => {
    expect(await limited({ ...RATE_HEADERS, 'x-ratelimit-reset': '0, 5' })).toBe(1)
    expect(await limited({})).toBe(1)
    expect(await limited({ 'retry-after': '12' })).toBe(12)
    expect(await limited({ 'x-ratelimit-reset': 'soon', 'x-ratelimit-remaining': '0' })).toBe(1)
  })
})

describe('a failing server', () => {
  test.each<[number, UpstreamFailure['kind']]>([
    [500, 'error'],
    [502, 'error'],
    [503, 'unavailable'],
    [504, 'timeout'],
    [418, 'error'],
  ])('%d is %s', async (status, kind) => {
    const told = await answering(status, '<h1>oops</h1>')
    expect(told.kind).toBe(kind)
    expect(told.passThrough).toBeUndefined()
  })

  test('503 passes on its Retry-After', async () => {
    expect(await answering(503, '', { 'retry-after': '30' })).toMatchObject({ retryAfterSeconds: 30 })
  })

  test('a redirect is not followed: it would send the key elsewhere', async () => {
    const elsewhere = new HttpDouble(() => new Response(CONTEXT))
    brave.instead = () => Response.redirect(`${elsewhere.url}/`, 302)
    expect(await failure()).toMatchObject({ kind: 'error' })
    expect(elsewhere.received).toHaveLength(0)
    brave.instead = ({ path }) => Response.redirect(`${brave.url}${path}`, 307)
    brave.received.length = 0
    expect(await failure()).toMatchObject({ kind: 'error' })
    expect(brave.received).toHaveLength(1)
    await elsewhere.stop()
  })

  test.each([
    ['no JSON', '<html></html>'],
    ['half a JSON', CONTEXT.slice(0, 80)],
    ['a list', '[]'],
    ['null', 'null'],
    ['an error in a 200', TOKEN_INVALID],
    ['no sources', '{"grounding":{"generic":[]}}'],
    ['grounding of another kind', '{"grounding":[],"sources":{}}'],
    ['nothing', ''],
  ])('a 200 with %s is an error, never an answer', async (_, body) => {
    expect(await answering(200, body)).toMatchObject({ kind: 'error' })
  })

  test('a 200 image answer without results, or not UTF-8, is an error', async () => {
    for (const body of ['{"type":"images"}', new Uint8Array([0x7b, 0xff, 0x7d]), CONTEXT]) {
      brave.instead = () => new Response(body, { headers: JSON_TYPE })
      expect((await open().images.call(imageInput('a'), never, SOMEBODY)).ok).toBe(false)
    }
    brave.instead = () => new Response(IMAGES)
    expect((await open().images.call(imageInput('a'), never, SOMEBODY)).ok).toBe(true)
  })

  test('an answer over 16 MiB is an error, compressed or not', async () => {
    const large = `{"grounding":{"generic":[]},"sources":{},"x":"${'x'.repeat(16 * 1024 * 1024)}"}`
    expect(await answering(200, large)).toMatchObject({ kind: 'error', reason: expect.stringContaining('too_large') })
    brave.instead = () => new Response(gzipSync(large), { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } })
    expect(await failure()).toMatchObject({ kind: 'error', reason: expect.stringContaining('too_large') })
  })

  test.each([
    ['in the headers', 'HTTP/1.1 200 OK\r\ncontent-type: appl', 'unavailable'],
    ['in the body', `HTTP/1.1 200 OK\r\ncontent-length: ${CONTEXT.length}\r\n\r\n${CONTEXT.slice(0, 50)}`, 'error'],
  ])('an answer that is cut %s is %s', async (_, bytes, kind) => {
    const cut = cutDouble(bytes)
    expect((await failure(open(cut.url))).kind).toBe(kind as UpstreamFailure['kind'])
    cut.stop()
  })

  test('broken gzip is an error', async () => {
    brave.instead = () => new Response('not gzip', { headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } })
    expect(await failure()).toMatchObject({ kind: 'error' })
  })

  test('an unreachable server is unavailable', async () => {
    const gone = new HttpDouble(() => new Response())
    await gone.stop()
    expect(await failure(open(gone.url))).toMatchObject({ kind: 'unavailable' })
  })

  test('a slow one is ended by the call’s signal, with timeout', async () => {
    brave.instead = () => new Promise(() => undefined)
    expect(await failure(open(), AbortSignal.timeout(30))).toMatchObject({ kind: 'timeout' })
    brave.instead = () =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new TextEncoder().encode('{"grounding"')),
          pull: () => new Promise(() => undefined),
        }),
      )
    expect(await failure(open(), AbortSignal.timeout(30))).toMatchObject({ kind: 'timeout' })
  })
})

describe('ready', () => {
  test('reports how the last call went, for half a minute, without a request', async () => {
    const plug = open()
    expect(await plug.context.ready()).toBe(true)
    brave.instead = () => new Response(TOKEN_INVALID, { status: 422 })
    await failure(plug)
    expect(await plug.context.ready()).toBe(false)
    expect(await plug.images.ready()).toBe(false)
    now += 30_000
    expect(await plug.context.ready()).toBe(true)
    await failure(plug)
    brave.instead = null
    await plug.context.call(contextInput('a'), never, SOMEBODY)
    expect(await plug.context.ready()).toBe(true)
    expect(brave.received).toHaveLength(3)
  })

  test('a caller who hangs up says nothing about Brave; a passed deadline does', async () => {
    const plug = open()
    brave.instead = () => new Promise(() => undefined)
    const abort = new AbortController()
    const waiting = failure(plug, abort.signal)
    abort.abort()
    await waiting
    expect(await plug.context.ready()).toBe(true)
    await failure(plug, AbortSignal.timeout(20))
    expect(await plug.context.ready()).toBe(false)
  })

  test('an invalid request says nothing about Brave', async () => {
    const plug = open()
    brave.instead = () => new Response(validationBody(['query', 'goggles'], 'x'), { status: 422 })
    await failure(plug)
    expect(await plug.context.ready()).toBe(true)
  })
})
