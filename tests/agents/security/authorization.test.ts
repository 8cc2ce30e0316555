import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { closeReconciled } from '../../http/owner-bench'
import { oauthApp, REDIRECT } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'
import { CHECKLIST } from './checklist'

let gateway: Harness
let app: ReturnType<typeof oauthApp>
beforeAll(async () => {
  gateway = await openHarness()
  app = oauthApp(gateway, await gateway.owner())
})
afterAll(() => closeReconciled(gateway))

/** Where the browser ends up: at the consent page with nothing wrong, or elsewhere with an error. */
async function asked(more: Record<string, string | null>) {
  const { location } = await app.visit(app.authorizeUrl(more).url)
  return { path: `${location?.origin}${location?.pathname}`, error: location?.searchParams.get('error') ?? null }
}
const CONSENT = () => `${app.origin}/consent`

describe(CHECKLIST.authorization, () => {
  test.each([
    ['another path', 'http://127.0.0.1:7777/other'],
    ['a longer path', `${REDIRECT}/more`],
    ['a query that was not registered', `${REDIRECT}?a=b`],
    ['another name of this machine', 'http://localhost:7777/callback'],
    ['https for http', 'https://127.0.0.1:7777/callback'],
    ['a user in front', 'http://evil@127.0.0.1:7777/callback'],
    ['a host that begins alike', 'http://127.0.0.1.evil.example:7777/callback'],
  ])('a redirect to %s is refused on our page', async (_, redirect_uri) => {
    const { path, error } = await asked({ redirect_uri })
    expect([path, error === null]).toEqual([CONSENT(), false])
  })

  test('but an app on this machine may use any port (RFC 8252 7.3)', async () => {
    expect(await asked({ redirect_uri: 'http://127.0.0.1:54321/callback' })).toEqual({ path: CONSENT(), error: null })
  })

  test.each<[string, Record<string, string | null>, string]>([
    ['no PKCE', { code_challenge: null, code_challenge_method: null }, 'invalid_request'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['a resource that is not ours', { resource: 'https://evil.example/mcp' }, 'invalid_target'],
    ['a resource that is ours but for a slash', { resource: 'RESOURCE/' }, 'invalid_target'],
    ['a scope that there is not', { scope: 'admin' }, 'invalid_scope'],
  ])('%s is refused', async (_, more, expected) => {
    const parameters = Object.fromEntries(
      Object.entries(more).map(([name, value]) => [name, value === 'RESOURCE/' ? `${app.origin}/mcp/` : value]),
    )
    const { error } = await asked(parameters)
    expect(error).toBe(expected)
  })

  test('the answer names its issuer (RFC 9207), and a wrong verifier invalidates the code', async () => {
    const got = await app.code()
    expect(got.back.searchParams.get('iss')).toBe(`${app.origin}/api/auth`)
    expect((await app.redeem({ ...got, verifier: 'x'.repeat(43) })).body.access_token).toBeUndefined()
    expect((await app.redeem(got)).body.error).toBe('invalid_grant')
  })

  test('a code expires between one and ten minutes after it is issued', async () => {
    const { db } = gateway.core.stores
    const newest = sql`SELECT id, expires_at FROM identity_verification ORDER BY created_at DESC, rowid DESC LIMIT 1`
    const got = await app.code()
    const [row] = await db.all<{ id: string; expires_at: number }>(newest)
    const seconds = Math.round(((row?.expires_at ?? 0) - Date.now()) / 1000)
    expect(seconds).toBeGreaterThan(60)
    expect(seconds).toBeLessThanOrEqual(600)
    await db.run(sql`UPDATE identity_verification SET expires_at = ${Date.now() - 1} WHERE id = ${row?.id ?? ''}`)
    expect((await app.redeem(got)).body.error).toBe('invalid_grant')
  })

  test('a code works once; the second use revokes the tokens of the first', async () => {
    const got = await app.code({ resource: `${app.origin}/v1`, scope: 'usage:read offline_access' })
    const { body } = await app.redeem(got, { resource: `${app.origin}/v1` })
    expect((await gateway.as(String(body.access_token), '/v1/whoami')).status).toBe(200)
    expect((await app.redeem(got, { resource: `${app.origin}/v1` })).body.error).toBe('invalid_grant')
    expect((await gateway.as(String(body.access_token), '/v1/whoami')).status).toBe(401)
  })
})

describe(CHECKLIST.ssrf, () => {
  test('nothing that an app registers is fetched, stored or shown, from its registration to the end of its access', async () => {
    const fetched: string[] = []
    const outside = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch(request) {
        fetched.push(new URL(request.url).pathname)
        return Response.json({ keys: [] })
      },
    })
    const at = (path: string) => `http://127.0.0.1:${outside.port}/${path}`
    const metadata = [
      'logo_uri',
      'client_uri',
      'policy_uri',
      'tos_uri',
      'jwks_uri',
      'sector_identifier_uri',
      'backchannel_logout_uri',
      'initiate_login_uri',
    ]
    const { answer, body } = await app.register({
      ...Object.fromEntries(metadata.map((name) => [name, at(name)])),
      software_statement: 'x.y.z',
      client_name: 'An app',
    })
    expect(answer.status).toBe(201)
    expect(Object.keys(body).filter((name) => metadata.includes(name))).toEqual([])
    const tokens = await app.connect('data:read offline_access', ['/mcp'], String(body['client_id']))
    await app.refresh(tokens.refresh_token, { client_id: String(body['client_id']) })
    await app.form('/oauth2/revoke', { client_id: String(body['client_id']), token: tokens.refresh_token })
    const rows = await gateway.core.stores.db.all(sql`SELECT * FROM oauth_client`)
    expect(JSON.stringify(rows)).not.toContain(String(outside.port))
    expect(fetched).toEqual([])
    await outside.stop(true)
  })

  test.each([
    ['keys of its own', { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://keys.example/jwks' }],
    [
      'keys within this network',
      { token_endpoint_auth_method: 'private_key_jwt', jwks_uri: 'https://169.254.169.254/' },
    ],
    [
      'access without a person',
      { grant_types: ['client_credentials'], token_endpoint_auth_method: 'client_secret_post' },
    ],
    ['a script to be sent to', { redirect_uris: ['javascript:alert(1)'] }],
    ['plain http elsewhere', { redirect_uris: ['http://evil.example/cb'] }],
  ])('an app with %s is not registered', async (_, more) => {
    expect((await app.register(more)).answer.status).toBe(400)
  })
})
