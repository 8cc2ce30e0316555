import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readConfig } from '../../server/config'
import { ConfigError } from '../../server/config/config-error'
import { type Harness, openHarness } from '../support/harness'

const PAGE = 'https://app.example.com'

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness({ env: { CORS_ORIGINS: `${PAGE}, http://localhost:5173` } })
})
afterAll(() => gateway.close())

const send = (path: string, headers: Record<string, string>, method = 'GET') =>
  gateway.gateway.fetch(new Request(`http://localhost${path}`, { method, headers }))
const preflight = (path: string, origin: string) =>
  send(
    path,
    {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization, content-type',
    },
    'OPTIONS',
  )

describe('a page of a configured origin', () => {
  test.each(['/mcp', '/apis/v1/websearch/images/search', '/v1/chat/completions', '/v1beta/models/x:generateContent'])(
    'may call %s: its preflight is answered without a key',
    async (path) => {
      const answer = await preflight(path, PAGE)
      expect(answer.status).toBe(204)
      expect(answer.headers.get('access-control-allow-origin')).toBe(PAGE)
      expect(answer.headers.get('access-control-allow-headers')).toBe('authorization, content-type')
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    },
  )

  test('may read the response and our headers, failures included', async () => {
    const key = await gateway.key(await gateway.account(1))
    for (const authorization of [`Bearer ${key.secret}`, 'Bearer wrong']) {
      const answer = await send('/apis/v1/websearch/images/search?q=x', { origin: PAGE, authorization })
      expect(answer.headers.get('access-control-allow-origin')).toBe(PAGE)
      expect(answer.headers.get('access-control-expose-headers')).toContain('x-cost-micros-usd')
      expect(answer.headers.get('vary')).toContain('origin')
      expect(answer.headers.get('access-control-allow-credentials')).toBeNull()
    }
  })

  test('may not call the owner’s routes', async () => {
    const answer = await preflight('/api/keys', PAGE)
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  })
})

test('a page of any other origin may call nothing, and null is no origin', async () => {
  for (const origin of ['https://evil.example', 'null', `${PAGE}.evil.example`]) {
    const asked = await preflight('/v1/chat/completions', origin)
    expect([asked.status, asked.headers.get('access-control-allow-origin')]).toEqual([405, null])
    const answer = await send('/v1/models', { origin })
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  }
})

test('documents may be read by every page', async () => {
  for (const path of ['/openapi.json', '/v1/catalog', '/.well-known/x402', '/.well-known/mcp/server.json']) {
    const answer = await send(path, { origin: 'https://any.example' })
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, '*'])
  }
})

test('a setting that is no list of exact origins is refused', () => {
  const given = { SECRET_KEY: 'a secret that only tests know, 32 bytes and more', NODE_ENV: 'test' }
  for (const wrong of ['*', 'app.example.com', 'https://app.example.com/', 'https://*.example.com', 'ftp://x'])
    expect(() => readConfig({ ...given, CORS_ORIGINS: wrong }, {})).toThrow(ConfigError)
})
