import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { isDocumentId, readClientDocument } from '../../../server/adapters/identity/oauth/client-documents'
import { openGuardedFetch } from '../../../server/adapters/outbound/guarded-fetch'
import { hashToken } from '../../../server/core/credentials/oauth-grant'
import type { OutboundFetch, OutboundProblemKind, OutboundRequest } from '../../../server/core/outbound/outbound-fetch'
import { err, ok } from '../../../server/core/result'
import { oauthApp, REDIRECT } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'

const MINUTE = 60_000
const CALLER = '198.51.100.7'

let gateway: Harness
let app: ReturnType<typeof oauthApp>
let published: Map<string, { status?: number; type?: string; body: string } | OutboundProblemKind>
let fetched: OutboundRequest[]
/** The real way out, which no test lets out: it resolves no name. */
const guarded = openGuardedFetch({ userAgent: 'test', resolver: async () => ['10.0.0.1'] })
const web: OutboundFetch = async (request) => {
  fetched.push(request)
  const found = published.get(request.url)
  if (found === undefined) return guarded(request)
  if (typeof found === 'string') return err({ kind: found, reason: 'for the log' })
  const { status = 200, type = 'application/json', body } = found
  return ok({
    url: request.url,
    status,
    contentType: type,
    body: new TextEncoder().encode(body),
    headers: new Headers({ location: 'https://elsewhere.example/app.json' }),
  })
}
let ids = 0

beforeAll(async () => {
  gateway = await openHarness({ outbound: web, env: { TRUSTED_PROXIES: '127.0.0.1' } })
  app = oauthApp(gateway, await gateway.owner())
})
afterAll(() => gateway.close())
beforeEach(() => {
  published = new Map()
  fetched = []
  gateway.clock.advance(MINUTE)
})

function publish(more: Record<string, unknown> = {}, id = `https://app.example/${++ids}.json`): string {
  const document = { client_id: id, client_name: 'An editor', redirect_uris: [REDIRECT], ...more }
  published.set(id, { body: JSON.stringify(document) })
  return id
}

/** Where the browser is sent that opens an app's request, from an address of its own. */
async function opened(id: string, more: Record<string, string> = {}): Promise<URL> {
  const { location } = await app.visit(app.authorizeUrl({ client_id: id, ...more }).url)
  if (!location) throw new Error('no redirect')
  return location
}

const reasonOf = (page: URL) => [
  page.pathname,
  page.searchParams.get('error'),
  page.searchParams.get('error_description'),
]

describe('an app whose client_id is the URL of its metadata document', () => {
  test('connects without registering, and refreshes its token without another look at the document', async () => {
    const id = publish()
    const tokens = await app.connect('data:read offline_access', ['/mcp'], id)
    expect((await gateway.core.grants.byHash(hashToken(tokens.access_token)))?.clientId).toBe(id)
    expect(fetched).toHaveLength(1)
    expect(fetched[0]).toMatchObject({ url: id, timeoutMs: 5000, maxBytes: 65_536 })
    expect(fetched[0]?.maxRedirects ?? 0).toBe(0)
    gateway.clock.advance(10 * MINUTE)
    published.clear()
    const { status } = await app.refresh(tokens.refresh_token, { client_id: id })
    expect([status, fetched.length]).toEqual([200, 1])
    expect((await opened(id)).searchParams.get('error')).toBe('invalid_client')
  })

  test('is named in plain text, with the host of its URL', async () => {
    const id = publish({ client_name: '\u202eAn\neditor', logo_uri: 'javascript:alert(1)', skip_consent: true })
    expect((await opened(id)).pathname).toBe('/consent')
    const owner = await gateway.owner()
    const answer = await app.call(`/api/apps/${encodeURIComponent(id)}`, { headers: { cookie: owner.cookie } })
    expect([answer.status, (await answer.json()) as unknown]).toEqual([
      200,
      { app: expect.objectContaining({ name: 'An editor', document_host: 'app.example', first_party: false }) },
    ])
  })

  test('is offered in the metadata of the authorization server', async () => {
    const answer = await app.call('/.well-known/oauth-authorization-server')
    expect(await answer.json()).toMatchObject({ client_id_metadata_document_supported: true })
  })

  test('gets its code only at an address that the document lists exactly', async () => {
    const id = publish({ redirect_uris: ['https://app.example/cb'] })
    for (const uri of ['https://app.example/cb/', 'https://app.example/cb?x=1', 'https://evil.example/cb', REDIRECT])
      expect((await opened(id, { redirect_uri: uri })).searchParams.get('error')).toBe('invalid_redirect')
    expect((await opened(id, { redirect_uri: 'https://app.example/cb' })).searchParams.get('error')).toBeNull()
  })

  test('is looked at again when the owner decides: an address that it no longer lists gets no code', async () => {
    const id = publish()
    const consent = await opened(id)
    expect(consent.pathname).toBe('/consent')
    publish({ redirect_uris: ['https://app.example/new'] }, id)
    gateway.clock.advance(5 * MINUTE)
    const { body } = await app.decide(consent, true)
    expect(String(body.url)).not.toContain('code=')
    expect(fetched).toHaveLength(2)
    expect(await gateway.core.grants.app(id)).toMatchObject({ redirectHosts: ['https://app.example'] })
  })

  test('keeps no consent: a changed document is asked about again, by its new name', async () => {
    const id = publish()
    await app.connect('data:read offline_access', ['/mcp'], id)
    publish({ client_name: 'Another name' }, id)
    gateway.clock.advance(5 * MINUTE)
    expect((await opened(id)).pathname).toBe('/consent')
    expect((await gateway.core.grants.app(id))?.name).toBe('Another name')
  })

  test('has no secret and no other grant', async () => {
    const id = publish()
    const got = await app.code({ client_id: id })
    const answer = await app.redeem(got, { client_id: id, code_verifier: 'x'.repeat(43) })
    expect(answer.status).toBeOneOf([400, 401])
    const device = await app.form('/device/code', { client_id: id, scope: 'data:read' })
    expect(device.status).toBeOneOf([400, 401])
  })
})

describe('a document that cannot be used', () => {
  test.each<[string, Record<string, unknown>, string]>([
    ['names another client_id', { client_id: 'https://other.example/app.json' }, 'its client_id is not its own URL'],
    ['names no client_id', { client_id: undefined }, 'its client_id is not its own URL'],
    ['has a secret', { client_secret: 'x' }, 'its client_secret'],
    ['signs with keys', { token_endpoint_auth_method: 'private_key_jwt' }, 'must be none'],
    ['sends a secret', { token_endpoint_auth_method: 'client_secret_basic' }, 'must be none'],
    ['lists a script', { redirect_uris: ['javascript:alert(1)'] }, 'redirect URI'],
    ['lists plain http', { redirect_uris: ['http://app.example/cb'] }, 'redirect URI'],
    ['lists a wildcard', { redirect_uris: ['https://*.example/cb'] }, 'redirect URI'],
    ['lists a URI with a password', { redirect_uris: ['https://u:p@app.example/cb'] }, 'redirect URI'],
    ['lists nothing', { redirect_uris: [] }, 'redirect_uris'],
  ])('because it %s, connects no app', (_what, more, reason) => {
    const id = 'https://app.example/a.json'
    const text = JSON.stringify({ client_id: id, redirect_uris: [REDIRECT], ...more })
    const read = readClientDocument(id, text)
    expect(read.ok).toBe(false)
    if (!read.ok) expect(read.error.replace('it has a client_secret', 'its client_secret')).toContain(reason)
  })

  test('shows the person why, and is stored nowhere', async () => {
    const id = publish({ client_id: 'https://other.example/app.json' })
    expect(reasonOf(await opened(id))).toEqual([
      '/consent',
      'invalid_client',
      'app.example did not identify the app: its client_id is not its own URL.',
    ])
    expect(await gateway.core.grants.app(id)).toBeNull()
  })

  test.each<[string, { status?: number; type?: string; body: string } | OutboundProblemKind, string]>([
    ['redirects', { status: 302, body: '' }, 'answered with 302'],
    ['is missing', { status: 404, body: '{}' }, 'answered with 404'],
    ['is a page', { type: 'text/html', body: '<p>' }, 'not application/json'],
    ['is no JSON', { body: '{' }, 'not a JSON object'],
    ['is a list', { body: '[]' }, 'not a JSON object'],
    ['is huge', 'too_large', 'larger than 64 KiB'],
    ['is slow', 'timeout', 'longer than 5 seconds'],
    ['does not answer', 'unreachable', 'could not be fetched'],
  ])('because it %s, connects no app', async (what, found, reason) => {
    const id = `https://${what.toLowerCase().replaceAll(' ', '-')}.example/app.json`
    published.set(id, found)
    expect(reasonOf(await opened(id))[2]).toContain(reason)
    expect(fetched).toHaveLength(1)
  })

  test('at a private address is not fetched, and gets the same error as a host that does not answer', async () => {
    for (const host of ['127.0.0.1', '169.254.169.254', '[::1]', 'intranet.example'])
      expect(reasonOf(await opened(`https://${host}/app.json`))[2]).toContain('its document could not be fetched')
  })

  test.each([
    'http://app.example/a.json',
    'https://app.example',
    'https://app.example/',
    'https://u:p@app.example/a.json',
    'https://app.example/a.json#x',
    'https://app.example/a/../b.json',
    'https://APP.example/a.json',
    'https://app.example:443/a.json',
    `https://app.example/${'x'.repeat(500)}`,
  ])('has no such URL: %s', (id) => expect(isDocumentId(id)).toBe(false))
})

describe('looking up documents', () => {
  test('happens once for many requests at a time, and ten times a minute for one address', async () => {
    const id = publish()
    const from = (client: string) =>
      app
        .call(app.authorizeUrl({ client_id: client }).url, { headers: { 'x-forwarded-for': CALLER } })
        .then((answer) => new URL(answer.headers.get('location') ?? '', app.origin))
    await Promise.all(Array.from({ length: 8 }, () => from(id)))
    expect(fetched).toHaveLength(1)
    const more = Array.from({ length: 12 }, () => publish())
    const pages = await Promise.all(more.map(from))
    expect(pages.filter((page) => reasonOf(page)[2]?.includes('try again in a minute'))).toHaveLength(3)
    expect(fetched).toHaveLength(10)
    const other = publish()
    expect((await opened(other)).pathname).toBe('/consent')
  })
})
