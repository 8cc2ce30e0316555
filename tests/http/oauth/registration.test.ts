import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { openUpkeep } from '../../../server/adapters/identity/oauth/oauth-upkeep'
import { oauthClient } from '../../../server/adapters/stores/libsql/schema/oauth'
import { oauthApp } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'

let gateway: Harness
let app: ReturnType<typeof oauthApp>
let calls = 0
beforeAll(async () => {
  gateway = await openHarness({ env: { TRUSTED_PROXIES: '127.0.0.1' } })
  app = oauthApp(gateway, await gateway.owner())
})
afterAll(() => gateway.close())

/** Each from an address of its own, for five a minute is all that one may do. */
async function register(body: Record<string, unknown>, address = `198.51.100.${++calls}`) {
  const answer = await app.call('/api/auth/oauth2/register', {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': address },
    body: JSON.stringify({
      client_name: 'An app',
      redirect_uris: ['http://127.0.0.1:1111/cb'],
      token_endpoint_auth_method: 'none',
      ...body,
    }),
  })
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> }
}

describe('dynamic registration (RFC 7591)', () => {
  test('accepts a loopback app that does not declare itself native, as the official SDK and others send it', async () => {
    for (const uri of ['http://127.0.0.1:53682/cb', 'http://localhost:3334/oauth/callback', 'http://[::1]:9/cb']) {
      const { status, body } = await register({ redirect_uris: [uri] })
      expect([status, body['application_type']]).toEqual([201, 'native'])
    }
  })

  test('accepts a web app with https, and gives a confidential one a secret once', async () => {
    const { status, body } = await register({
      redirect_uris: ['https://claude.ai/api/mcp/auth_callback'],
      token_endpoint_auth_method: 'client_secret_basic',
    })
    expect([status, String(body['client_secret']).slice(0, 5)]).toEqual([201, 'gwcs_'])
  })

  test.each([
    ['a script as address', { redirect_uris: ['javascript:alert(1)'] }],
    ['http on another host', { redirect_uris: ['http://evil.example/cb'] }],
    ['a host that begins like ours', { redirect_uris: ['http://localhost.evil.example/cb'] }],
    ['a fragment', { redirect_uris: ['https://a.example/cb#x'] }],
    ['no address', { redirect_uris: [] }],
    ['eleven addresses', { redirect_uris: Array.from({ length: 11 }, (_, i) => `https://a.example/${i}`) }],
    ['an endless address', { redirect_uris: [`https://a.example/${'x'.repeat(600)}`] }],
    ['an unknown scope', { scope: 'admin' }],
    ['any host of a domain', { redirect_uris: ['https://*.example.com/cb'] }],
    ['any host of a domain, in disguise', { redirect_uris: ['https://%2a.example.com/cb'] }],
    ['any path', { redirect_uris: ['https://a.example/*'] }],
    ['any path of an app', { redirect_uris: ['cursor://anysphere.cursor-retrieval/*'], application_type: 'native' }],
    ['a page of data', { redirect_uris: ['data:text/html,hello'], application_type: 'native' }],
    ['a script behind slashes', { redirect_uris: ['javascript://a.example/%0aalert(1)'], application_type: 'native' }],
    ['a file', { redirect_uris: ['file:///etc/passwd'], application_type: 'native' }],
    ['a blob', { redirect_uris: ['blob:https://a.example/x'], application_type: 'native' }],
    ['a tool of the system', { redirect_uris: ['ms-msdt://a/b'], application_type: 'native' }],
    ['a page of the browser', { redirect_uris: ['view-source://a.example/'], application_type: 'native' }],
    ['an app that says it is a web page', { redirect_uris: ['cursor://a/cb'], application_type: 'web' }],
    ['an app with a fragment', { redirect_uris: ['cursor://a/cb#x'], application_type: 'native' }],
    ['an app with a password', { redirect_uris: ['cursor://u:p@a/cb'], application_type: 'native' }],
    ['an app with a line feed', { redirect_uris: ['cursor://a/c\nb'], application_type: 'native' }],
    ['an app with neither host nor domain', { redirect_uris: ['cursor:/cb'], application_type: 'native' }],
    ['http on another host, of a native app', { redirect_uris: ['http://a.example/cb'], application_type: 'native' }],
    ['keys of its own', { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://127.0.0.1/jwks' }],
    [
      'access without a person',
      { grant_types: ['client_credentials'], token_endpoint_auth_method: 'client_secret_post' },
    ],
  ])('refuses %s', async (_what, body) => {
    const answer = await register(body)
    expect(answer.status).toBe(400)
    expect(answer.body['error']).toBeOneOf(['invalid_client_metadata', 'invalid_redirect_uri', 'invalid_scope'])
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
  })

  test.each([
    ['Cursor', ['cursor://anysphere.cursor-retrieval/oauth/callback']],
    ['VS Code', ['vscode://vscode.github-authentication/did-authenticate', 'https://vscode.dev/redirect']],
    ['an app with a domain for a scheme (RFC 8252 7.1)', ['com.example.app:/oauth2redirect']],
    ['one with every kind', ['cursor://a.b/cb', 'https://www.cursor.com/cb', 'http://localhost:8787/callback']],
  ])('accepts %s, and sends the code to exactly that address', async (_what, uris) => {
    const { status, body } = await register({ redirect_uris: uris })
    expect([status, body['application_type'], body['redirect_uris']]).toEqual([201, 'native', uris])
    const client = String(body['client_id'])
    for (const uri of uris) {
      const asked = { client_id: client, redirect_uri: uri, resource: `${app.origin}/mcp` }
      const got = await app.code(asked)
      expect(got.back.href.startsWith(`${uri}?`)).toBe(true)
      expect((await app.redeem(got, asked)).status).toBe(200)
    }
    for (const other of [`${uris[0]}/more`, 'http://127.0.0.1/private-use', 'cursor://evil/cb']) {
      const { location } = await app.visit(app.authorizeUrl({ client_id: client, redirect_uri: other }).url)
      expect(location?.searchParams.get('error')).toBe('invalid_redirect')
    }
  })

  test('fixes the scopes: an app never gets one that it did not register', async () => {
    const { status, body } = await register({
      scope: 'data:read offline_access',
      redirect_uris: ['http://127.0.0.1:7777/callback'],
    })
    expect([status, body['scope']]).toEqual([201, 'data:read offline_access'])
    const client = String(body['client_id'])
    const { location } = await app.visit(app.authorizeUrl({ client_id: client, scope: 'data:read keys:write' }).url)
    expect(location?.searchParams.get('error')).toBe('invalid_scope')
    const tokens = await app.connect('data:read offline_access', ['/mcp'], client)
    const wider = await app.refresh(tokens.refresh_token, { client_id: client, scope: 'data:read keys:write' })
    expect([wider.status, wider.body.error]).toEqual([400, 'invalid_scope'])
  })

  test('stores nothing that a page could show or a server could fetch', async () => {
    const { status, body } = await register({
      logo_uri: 'javascript:alert(1)',
      client_uri: 'https://a.example',
      jwks_uri: 'http://169.254.169.254/',
      backchannel_logout_uri: 'http://169.254.169.254/',
      skip_consent: true,
    })
    expect(status).toBe(201)
    const row = await gateway.core.grants.app(String(body['client_id']))
    expect(row).toMatchObject({ name: 'An app', firstParty: false, redirectHosts: ['http://127.0.0.1:1111'] })
    for (const name of ['logo_uri', 'client_uri', 'jwks_uri', 'backchannel_logout_uri', 'skip_consent'])
      expect(body[name] ?? null).toBeNull()
  })

  test('cuts a name to one line of 80 characters, without bidirectional control characters', async () => {
    const { body } = await register({ client_name: `\u202eevil\n${'x'.repeat(10_000)}` })
    const app = await gateway.core.grants.app(String(body['client_id']))
    expect(app?.name.length).toBe(80)
    expect(app?.name).toStartWith('evil x')
  })

  test('is limited to five a minute per address, then 429 with Retry-After', async () => {
    const all = []
    for (let i = 0; i < 6; i++) all.push(await register({}, '203.0.113.9'))
    expect(all.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201, 429])
    expect(all[5]?.body['error']).toBe('temporarily_unavailable')
    expect(Number(all[5]?.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test('is deleted after 30 days if no owner approved the app; an app in use stays', async () => {
    const unused = String((await register({})).body['client_id'])
    const used = String((await register({ redirect_uris: ['http://127.0.0.1:7777/callback'] })).body['client_id'])
    await app.connect('data:read offline_access', ['/mcp'], used)
    const days = (count: number) => Date.now() + count * 86_400_000
    await openUpkeep(gateway.core.stores.db, () => days(29))()
    expect(await gateway.core.grants.app(unused)).not.toBeNull()
    await openUpkeep(gateway.core.stores.db, () => days(31))()
    expect(await gateway.core.grants.app(unused)).toBeNull()
    expect(await gateway.core.grants.app('gateway-cli')).not.toBeNull()
  })

  test('holds at most 10,000 unapproved apps: the oldest are deleted first', async () => {
    const rows = Array.from({ length: 10_050 }, (_, i) => ({
      id: `flood-${i}`,
      clientId: `flood-${i}`,
      redirectUris: '[]',
      createdAt: new Date(Date.now() - 3_600_000 + i),
      updatedAt: new Date(),
    }))
    for (let at = 0; at < rows.length; at += 1000)
      await gateway.core.stores.db.insert(oauthClient).values(rows.slice(at, at + 1000))
    await openUpkeep(gateway.core.stores.db, () => Date.now())()
    expect(await gateway.core.grants.app('flood-0')).toBeNull()
    expect(await gateway.core.grants.app('flood-10049')).not.toBeNull()
  })
})

test("the library's routes for client and resource records and userinfo cannot be called", async () => {
  for (const path of ['/oauth2/create-client', '/oauth2/get-clients', '/oauth2/delete-client'])
    expect((await app.call(`/api/auth${path}`, { method: 'POST' })).status).toBe(404)
  for (const path of [
    '/oauth2/userinfo',
    '/admin/oauth2/resources',
    '/device/token',
    '/oauth2/public-client?client_id=x',
  ])
    expect((await app.call(`/api/auth${path}`)).status).toBe(404)
})
