import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, type MadeKey, openHarness } from '../support/harness'
import { CONTEXT_CALL, endAndReconcile, IMAGES_CALL, refusalOf, verdictOf } from './wire'

describe('methods and paths (spec 1, 4, spec D2)', () => {
  let gateway: Harness
  let key: MadeKey

  beforeAll(async () => {
    gateway = await openHarness()
    key = await gateway.key(await gateway.account())
  })
  afterAll(() => endAndReconcile(gateway))

  const asked = () => gateway.images.asked.length + gateway.context.asked.length

  test.each<[string, string, string]>([
    ['HEAD', IMAGES_CALL, 'GET'],
    ['POST', IMAGES_CALL, 'GET'],
    ['PUT', IMAGES_CALL, 'GET'],
    ['PATCH', IMAGES_CALL, 'GET'],
    ['DELETE', IMAGES_CALL, 'GET'],
    ['OPTIONS', IMAGES_CALL, 'GET'],
    ['HEAD', CONTEXT_CALL, 'GET, POST'],
    ['PUT', CONTEXT_CALL, 'GET, POST'],
    ['DELETE', CONTEXT_CALL, 'GET, POST'],
    ['OPTIONS', CONTEXT_CALL, 'GET, POST'],
    ['POST', '/v1/usage', 'GET'],
    ['PUT', '/v1/usage', 'GET'],
    ['DELETE', '/v1/usage/req_x', 'GET'],
    ['POST', '/v1/credits/balance', 'GET'],
  ])('%s %s is 405 method_not_allowed with Allow: %s, runs nothing and costs nothing', async (method, path, allow) => {
    const before = asked()
    const answer = await gateway.as(key, path, { method })
    expect(answer.headers.get('allow')).toBe(allow)
    expect(answer.status).toBe(405)
    expect(answer.headers.get('x-request-id')).toStartWith('req_')
    if (method !== 'HEAD')
      expect(await refusalOf(answer)).toMatchObject({ type: 'invalid_request_error', code: 'method_not_allowed' })
    expect(asked()).toBe(before)
  })

  test('a wrong method is 405 for every caller: no credential, an unknown one, a valid one', async () => {
    expect(await verdictOf(gateway.call(IMAGES_CALL, { method: 'POST' }))).toBe('405 method_not_allowed')
    expect(await verdictOf(gateway.as('gwk_nobody', IMAGES_CALL, { method: 'POST' }))).toBe('405 method_not_allowed')
  })

  test.each([
    '/apis/v1/websearch/images/search/',
    '/apis/v1/websearch/llm/context/',
    '/v1/usage/',
    '/v1/usage/a/b',
    '/v1/credits/balance/',
    '/apis/v1/websearch/images%2Fsearch',
    '/apis/v1/websearch/images/se%61rch',
    '/apis/v1/websearch//images/search',
    '/apis/v1/websearch/images/Search',
    '/apis/v1/websearch/images',
    '/apis/v1',
    '/apis/v2/websearch/images/search',
    '/apis',
    '/v1',
    '/v1/',
    '/v1/%75sage',
    '/v1/nothing',
    '/v1beta',
    '/mcp/nothing',
  ])('%s is 404 unknown_endpoint, and never the route it looks like', async (path) => {
    const before = asked()
    const answer = await gateway.as(key, `${path}?q=card`)
    expect(await refusalOf(answer)).toMatchObject({
      status: 404,
      type: 'invalid_request_error',
      code: 'unknown_endpoint',
    })
    expect(asked()).toBe(before)
  })

  test('the path is checked before the credential: an unknown path is 404 without a key too', async () => {
    expect(await verdictOf(gateway.call('/apis/v1/nothing'))).toBe('404 unknown_endpoint')
    expect(await verdictOf(gateway.as('gwk_nobody', '/v1/nothing'))).toBe('404 unknown_endpoint')
  })

  test('a path outside the gated prefixes is a 404 in the same shape, without limit headers', async () => {
    const answer = await gateway.call('/api/nothing')
    expect(answer.headers.get('x-ratelimit-limit-requests')).toBeNull()
    expect(await verdictOf(answer)).toBe('404 unknown_endpoint')
  })
})
