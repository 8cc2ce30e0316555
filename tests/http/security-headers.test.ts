import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { builtDashboard } from '../support/dashboard/built-dashboard'
import { openServedGateway } from '../support/servers/served-gateway'

const ANSWERS: [string, string, string][] = [
  ['a page of the dashboard', '/keys', 'GET'],
  ['an asset that is missing', '/assets/nothing.js', 'GET'],
  ['an icon', '/media/key.svg', 'GET'],
  ['the documents', '/docs', 'GET'],
  ['the description for programs', '/openapi.json', 'GET'],
  ['a 404', '/nothing/at/all.txt', 'GET'],
  ['a 405', '/health', 'POST'],
  ['a 401', '/v1/usage', 'GET'],
  ['a 402', '/apis/v1/websearch/images/search?q=card', 'GET'],
  ['a 400', '/apis/v1/websearch/images/search', 'GET'],
  ['the sign-in library', '/api/auth/get-session', 'GET'],
  ['health', '/health', 'GET'],
  ['well-known documents', '/.well-known/oauth-authorization-server/api/auth', 'GET'],
  ['the MCP server', '/mcp', 'POST'],
]

describe('security headers, over real sockets', () => {
  let gateway: Awaited<ReturnType<typeof openServedGateway>>
  let local: string
  beforeAll(async () => {
    await builtDashboard()
    gateway = await openServedGateway({ BASE_URL: 'https://api.example.com' })
    local = `http://127.0.0.1:${gateway.config.port}`
  })
  afterAll(() => gateway.close())

  test.each(ANSWERS)(
    '%s is not sniffed, and binds this host to https without its subdomains',
    async (_, path, method) => {
      const answer = await fetch(local + path, { method })
      await answer.text()
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
      expect(answer.headers.get('strict-transport-security')).toBe('max-age=31536000')
    },
  )

  test('a CSV file and a stream of events are not sniffed', async () => {
    const owner = await gateway.owner()
    const headers = { cookie: owner.cookie }
    const csv = await fetch(`${local}/api/transactions.csv`, { headers })
    expect(csv.headers.get('x-content-type-options')).toBe('nosniff')
    await csv.text()
    const gone = new AbortController()
    const events = await fetch(`${local}/api/events`, { headers, signal: gone.signal })
    expect(events.headers.get('content-type')).toStartWith('text/event-stream')
    expect(events.headers.get('x-content-type-options')).toBe('nosniff')
    gone.abort()
  })

  test('a page has its own window isolation and policy; a page that an app opens can still answer that app', async () => {
    const accept = { headers: { accept: 'text/html' } }
    const page = await fetch(`${local}/keys`, accept)
    expect(page.headers.get('cross-origin-opener-policy')).toBe('same-origin')
    expect(page.headers.get('permissions-policy')).toContain('geolocation=()')
    for (const path of ['/sign-in', '/sign-up', '/consent'])
      expect((await fetch(local + path, accept)).headers.get('cross-origin-opener-policy')).toBeNull()
  })
})

test('on plain http there is no HSTS', async () => {
  const gateway = await openServedGateway()
  const answer = await fetch(`${gateway.origin}/health`)
  expect(answer.headers.get('strict-transport-security')).toBeNull()
  expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
  await gateway.close()
})
