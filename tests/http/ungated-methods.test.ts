import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../support/harness'

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness()
})
afterAll(() => gateway.close())

describe('a path outside the gated prefixes (spec D2)', () => {
  test.each([
    ['PUT', '/api/keys', 'GET, POST'],
    ['DELETE', '/api/keys/key_1', 'GET, PATCH'],
    ['GET', '/api/keys/key_1/disable', 'POST'],
    ['POST', '/api/account', 'GET'],
    ['POST', '/ready', 'GET'],
  ])('%s %s is 405 and names the allowed methods', async (method, path, allow) => {
    const answer = await gateway.call(path, { method })
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toBe(allow)
    expect((await answer.json()).error.code).toBe('method_not_allowed')
  })

  test.each(['/api/keys/', '/api/account/', '/api/nope', '/media/lucide/'])('%s is 404', async (path) => {
    const answer = await gateway.call(path)
    expect(answer.status).toBe(404)
    expect((await answer.json()).error.code).toBe('unknown_endpoint')
  })
})
