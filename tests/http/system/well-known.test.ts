import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness()
})
afterAll(() => gateway.close())

const read = async (path: string) => {
  const answer = await gateway.call(path)
  return { answer, body: (await answer.json()) as Record<string, unknown> }
}

describe('discovery by an app', () => {
  test.each(['/mcp', '/v1', '/apis/v1'])('for %s: the authorization server (RFC 9728, spec 5.2)', async (path) => {
    const { answer, body } = await read(`/.well-known/oauth-protected-resource${path}`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(body).toMatchObject({
      resource: gateway.config.baseUrl + path,
      authorization_servers: [`${gateway.config.baseUrl}/api/auth`],
      bearer_methods_supported: ['header'],
    })
  })

  test('for the origin alone: the MCP server', async () => {
    const { body } = await read('/.well-known/oauth-protected-resource')
    expect(body['resource']).toBe(`${gateway.config.baseUrl}/mcp`)
  })

  test('the OAuth server: S256 only, and only endpoints that answer (RFC 8414)', async () => {
    const { body } = await read('/.well-known/oauth-authorization-server/api/auth')
    expect(body['issuer']).toBe(`${gateway.config.baseUrl}/api/auth`)
    expect((await read('/.well-known/oauth-authorization-server')).body).toEqual(body)
    expect(body['code_challenge_methods_supported']).toEqual(['S256'])
    expect(body['response_types_supported']).toEqual(['code'])
    const endpoints = Object.entries(body).filter(([name]) => name.endsWith('_endpoint'))
    expect(endpoints.length).toBe(6)
    for (const [name, url] of endpoints) {
      const method = name === 'authorization_endpoint' ? 'GET' : 'POST'
      const answer = await gateway.call(new URL(String(url)).pathname, { method })
      expect(answer.status, name).not.toBe(404)
    }
  })

  test('from a browser: a preflight succeeds', async () => {
    for (const path of ['/.well-known/oauth-protected-resource/mcp', '/api/auth/oauth2/token'])
      expect((await gateway.call(path, { method: 'OPTIONS' })).status).toBe(204)
  })
})
