import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { hashToken } from '../../../server/core/credentials/oauth-grant'
import { oauthApp, REDIRECT } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'

let gateway: Harness
let app: ReturnType<typeof oauthApp>
let owner: Awaited<ReturnType<Harness['owner']>>
beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
  app = oauthApp(gateway, owner)
})
// A minute of its own for each: the token endpoint takes 60 of one address.
beforeEach(() => gateway.clock.advance(60_000))
afterAll(() => gateway.close())

const grantOf = (token: string) => gateway.core.grants.byHash(hashToken(token))

describe('the authorization code flow (OAuth 2.1)', () => {
  test('returns an opaque token for the requested scopes and resource', async () => {
    const got = await app.code()
    expect(got.back.origin + got.back.pathname).toBe(REDIRECT)
    expect(got.back.searchParams.get('state')).toBe('a-state')
    expect(got.back.searchParams.get('iss')).toBe(`${app.origin}/api/auth`)
    const { status, body, headers } = await app.redeem(got, { resource: `${app.origin}/mcp` })
    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headers.get('access-control-allow-origin')).toBe('*')
    expect(body.access_token).toStartWith('gwat_')
    expect(body.refresh_token).toStartWith('gwrt_')
    const grant = await grantOf(String(body.access_token))
    expect([...(grant?.scopes ?? [])]).toEqual(['data:read'])
    expect([...(grant?.audiences ?? [])]).toEqual(['/mcp'])
    expect(grant?.clientId).toBe('gateway-cli')
  })

  test('returns one token for several resources (RFC 8707)', async () => {
    const { access_token } = await app.connect('data:read usage:read offline_access', ['/v1', '/apis/v1'])
    expect([...((await grantOf(access_token))?.audiences ?? [])].sort()).toEqual(['/apis/v1', '/v1'])
  })

  test('asks for consent every time, even if the app requested none (RFC 8252 8.6)', async () => {
    await app.connect()
    for (const prompt of [null, 'none', 'consent', 'select_account', 'create'])
      expect((await app.visit(app.authorizeUrl({ prompt }).url)).location?.pathname).toBe('/consent')
  })

  test('sends a browser without a session to sign-in, and from there to consent', async () => {
    const { location } = await app.visit(app.authorizeUrl().url, null)
    expect(location?.pathname).toBe('/sign-in')
    const answer = await app.call('/api/auth/sign-in/email', {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: app.origin },
      body: JSON.stringify({
        email: owner.email,
        password: 'correct horse battery',
        oauth_query: location?.search.slice(1),
      }),
    })
    const { url } = (await answer.json()) as { url: string }
    expect(new URL(url, app.origin).pathname).toBe('/consent')
  })

  test('reports to the app that the owner declined', async () => {
    const { location } = await app.visit(app.authorizeUrl().url)
    const { body } = await app.decide(location!, false)
    const back = new URL(String(body.url))
    expect(back.searchParams.get('error')).toBe('access_denied')
    expect(back.searchParams.get('state')).toBe('a-state')
    expect(back.searchParams.get('code')).toBeNull()
  })
})

describe('a redirect address', () => {
  test('of a loopback app may have any port (RFC 8252 7.3)', async () => {
    const { location } = await app.visit(app.authorizeUrl({ redirect_uri: 'http://127.0.0.1:49152/callback' }).url)
    expect(location?.pathname).toBe('/consent')
  })

  test.each([
    ['another path', 'http://127.0.0.1:7777/other'],
    ['another name of this machine', 'http://localhost:7777/callback'],
    ['another host', 'https://evil.example/callback'],
    ['a host that begins alike', 'http://127.0.0.1.evil.example/callback'],
    ['a longer path', `${REDIRECT}/..%2f..`],
  ])('of %s is never followed', async (_what, redirectUri) => {
    const { location, status } = await app.visit(app.authorizeUrl({ redirect_uri: redirectUri }).url)
    expect(status).toBe(302)
    // Told on a page of our own.
    expect(location?.origin).toBe(app.origin)
    expect(location?.searchParams.get('error')).toBeOneOf(['invalid_redirect', 'invalid_request'])
  })
})

test('a token requested for no resource is valid for all of them', async () => {
  const { body } = await app.redeem(await app.code({ resource: null }))
  expect([...((await grantOf(String(body.access_token)))?.audiences ?? [])]).toEqual(['/mcp', '/v1', '/apis/v1'])
})

describe('refused:', () => {
  test.each([
    ['no PKCE', { code_challenge: null, code_challenge_method: null }, 'invalid_request'],
    ['plain PKCE', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['an unknown resource', { resource: 'https://other.example/' }, 'invalid_target'],
    ['an unknown scope', { scope: 'admin' }, 'invalid_scope'],
  ])('%s', async (_what, more, error) => {
    const { location } = await app.visit(app.authorizeUrl(more).url)
    expect(location?.searchParams.get('error')).toBe(error)
    expect(location?.searchParams.get('code')).toBeNull()
  })

  test('a token instead of a code', async () => {
    const { status, location, answer } = await app.visit(app.authorizeUrl({ response_type: 'token' }).url)
    expect(status).toBeOneOf([302, 400])
    expect(location?.href ?? (await answer.text())).not.toContain('access_token')
    expect(location?.href ?? '').not.toContain('code=')
  })

  test('a wrong verifier, which invalidates the code', async () => {
    const got = await app.code()
    const wrong = await app.redeem({ ...got, verifier: randomBytes(32).toString('base64url') })
    expect([wrong.status, wrong.body.error]).toEqual([401, 'invalid_request'])
    expect((await app.redeem(got)).status).toBe(400)
  })

  test('a second use of a code, which revokes the tokens it gave', async () => {
    const got = await app.code()
    const first = await app.redeem(got)
    expect(first.status).toBe(200)
    const again = await app.redeem(got)
    expect(again.status).toBeGreaterThanOrEqual(400)
    expect(await grantOf(String(first.body.access_token))).toBeNull()
    expect((await app.refresh(String(first.body.refresh_token))).body.error).toBe('invalid_grant')
  })

  test('a parameter that is sent twice (RFC 6749 3.2)', async () => {
    const got = await app.code()
    const { status, body } = await app.redeem(got, { code: [got.code, got.code] })
    expect([status, body.error]).toEqual([400, 'invalid_request'])
  })

  test('a consent whose request was changed, belongs to another browser, or comes from another site', async () => {
    const { location } = await app.visit(app.authorizeUrl().url)
    const widened = new URL(location!)
    widened.searchParams.set('scope', 'data:read keys:write offline_access')
    expect((await app.decide(widened, true)).status).toBe(400)
    expect((await app.decide(location!, true, { cookie: '' })).status).toBe(401)
    const foreign = await app.decide(location!, true, { headers: { origin: 'https://evil.example' } })
    expect([foreign.status, foreign.body.error]).toMatchObject([403, { code: 'foreign_origin' }])
  })

  test('JSON in place of a form, a body that is too large, a wrong method, in the words of RFC 6749', async () => {
    const wire = (init: RequestInit) => app.call('/api/auth/oauth2/token', init)
    const asJson = await wire({ method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' })
    expect([asJson.status, await asJson.json()]).toMatchObject([415, { error: 'invalid_request' }])
    const huge = await app.form('/oauth2/token', { grant_type: 'x'.repeat(20_000) })
    expect([huge.status, huge.body.error]).toEqual([413, 'invalid_request'])
    expect((await wire({ method: 'GET' })).status).toBe(404)
  })
})

describe('refresh', () => {
  test('returns another refresh token; a repeat within the grace period gets the same answer', async () => {
    const tokens = await app.connect()
    const first = await app.refresh(tokens.refresh_token)
    expect(first.status).toBe(200)
    expect(first.body.refresh_token).not.toBe(tokens.refresh_token)
    const repeat = await app.refresh(tokens.refresh_token)
    expect(repeat.body.refresh_token).toBe(String(first.body.refresh_token))
    expect((await app.refresh(String(first.body.refresh_token))).status).toBe(200)
  })

  test('four times concurrently leaves a family that still works', async () => {
    const tokens = await app.connect()
    const all = await Promise.all([1, 2, 3, 4].map(() => app.refresh(tokens.refresh_token)))
    const won = all.filter(({ status }) => status === 200)
    expect(won.length).toBeGreaterThan(0)
    expect(new Set(won.map(({ body }) => body.refresh_token)).size).toBe(1)
    expect(await grantOf(String(won[0]?.body.access_token))).not.toBeNull()
    expect((await app.refresh(String(won[0]?.body.refresh_token))).status).toBe(200)
  })

  test('cannot extend what was allowed, nor serve another app', async () => {
    const tokens = await app.connect()
    const wider = await app.refresh(tokens.refresh_token, { scope: 'data:read keys:write' })
    expect([wider.status, wider.body.error]).toEqual([400, 'invalid_scope'])
    const { body } = await app.register()
    const other = await app.refresh(tokens.refresh_token, { client_id: String(body['client_id']) })
    expect(other.status).toBeGreaterThanOrEqual(400)
  })
})

describe('a code used concurrently', () => {
  const times = 20

  test('gives working tokens to exactly one; the others are invalid_grant and revoke nothing', async () => {
    const got = await app.code()
    const all = await Promise.all(Array.from({ length: times }, () => app.redeem(got)))
    const won = all.filter(({ status }) => status === 200)
    expect(won).toHaveLength(1)
    const lost = all.filter(({ status }) => status !== 200).map(({ status, body }) => `${status} ${body.error}`)
    expect(lost).toEqual(Array(times - 1).fill('400 invalid_grant'))
    expect(await grantOf(String(won[0]?.body.access_token))).not.toBeNull()
    expect((await app.refresh(String(won[0]?.body.refresh_token))).status).toBe(200)
    expect(gateway.logged.filter((line) => line.includes('FOREIGN KEY'))).toEqual([])
  })

  test('and then once more, revokes the tokens it gave (RFC 6749 4.1.2)', async () => {
    const got = await app.code()
    const all = await Promise.all(Array.from({ length: times }, () => app.redeem(got)))
    const won = all.find(({ status }) => status === 200)
    const late = await app.redeem(got)
    expect([late.status, late.body.error]).toEqual([400, 'invalid_grant'])
    expect(await grantOf(String(won?.body.access_token))).toBeNull()
    expect((await app.refresh(String(won?.body.refresh_token))).body.error).toBe('invalid_grant')
  })

  test('by someone without its verifier gives no token and no 500', async () => {
    const got = await app.code()
    const thief = { ...got, verifier: randomBytes(32).toString('base64url') }
    const all = await Promise.all(
      Array.from({ length: times }, (_, i) => app.redeem(i % 2 ? got : thief).then((answer) => ({ i, ...answer }))),
    )
    for (const { i, status, body } of all) {
      expect(status).toBeLessThan(500)
      if (i % 2 === 0) expect(body.access_token).toBeUndefined()
    }
  })
})

describe('a replaced refresh token', () => {
  test('becomes invalid once its successor was used; until then a lost answer may be requested again', async () => {
    const { refresh_token: first } = await app.connect()
    const second = await app.refresh(first)
    expect((await app.refresh(first)).body.refresh_token).toBe(String(second.body.refresh_token))
    const third = await app.refresh(String(second.body.refresh_token))
    expect(third.status).toBe(200)
    const replay = await app.refresh(first)
    expect([replay.status, replay.body.error, replay.body.access_token]).toEqual([400, 'invalid_grant', undefined])
    // Somebody holds what its owner gave up long ago: the two cannot be distinguished, so both stop (RFC 9700 4.14.2).
    expect((await app.refresh(String(third.body.refresh_token))).body.error).toBe('invalid_grant')
    expect(await grantOf(String(third.body.access_token))).toBeNull()
  })

  test('of another grant of the same app is not affected', async () => {
    const [one, other] = [await app.connect(), await app.connect()]
    await app.refresh(other.refresh_token)
    const second = await app.refresh(one.refresh_token)
    expect((await app.refresh(String(second.body.refresh_token))).status).toBe(200)
    expect((await app.refresh(other.refresh_token)).status).toBe(200)
  })
})

describe('the end of access', () => {
  test('revoking an access token, or the refresh token, applies at once (RFC 7009)', async () => {
    const tokens = await app.connect()
    const ended = await app.form('/oauth2/revoke', { client_id: 'gateway-cli', token: tokens.access_token })
    expect(ended.status).toBe(200)
    expect(await grantOf(tokens.access_token)).toBeNull()
    await app.form('/oauth2/revoke', { client_id: 'gateway-cli', token: tokens.refresh_token })
    expect((await app.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant')
  })

  test('a disconnect in the middle of a redemption gives no token and no 500', async () => {
    const got = await app.code()
    const user = (await grantOf((await app.connect()).access_token))?.userId ?? ''
    const ends = Array.from({ length: 40 }, () => gateway.core.grants.disconnect(user, 'gateway-cli'))
    const { status, body } = await app.redeem(got)
    await Promise.all(ends)
    expect([200, 400]).toContain(status)
    if (status === 400) expect(body.error).toBe('invalid_grant')
  })

  test('a disconnect in the middle of a refresh leaves no token', async () => {
    const tokens = await app.connect()
    // A disconnect that is committed when the old token is redeemed, and the new one is not stored yet.
    await gateway.core.stores.db.run(
      `CREATE TRIGGER disconnects AFTER UPDATE OF rotated_at ON oauth_refresh_token BEGIN
        DELETE FROM oauth_refresh_token; DELETE FROM oauth_access_token; DELETE FROM oauth_consent; END` as never,
    )
    const { status, body } = await app.refresh(tokens.refresh_token)
    await gateway.core.stores.db.run('DROP TRIGGER disconnects' as never)
    expect([status, body.error]).toEqual([400, 'invalid_grant'])
    expect(await gateway.core.stores.db.all('SELECT id FROM oauth_refresh_token' as never)).toEqual([])
  })

  test('a disconnect revokes access and refresh tokens together, of that app only', async () => {
    const { body } = await app.register()
    const kept = await app.connect()
    const dropped = await app.connect('data:read offline_access', ['/mcp'], String(body['client_id']))
    const user = (await grantOf(dropped.access_token))?.userId ?? ''
    await gateway.core.grants.disconnect(user, String(body['client_id']))
    expect(await grantOf(dropped.access_token)).toBeNull()
    const refreshed = await app.refresh(dropped.refresh_token, { client_id: String(body['client_id']) })
    expect(refreshed.body.error).toBe('invalid_grant')
    expect(await grantOf(kept.access_token)).not.toBeNull()
  })
})

test('only hashes of tokens and codes are stored', async () => {
  const got = await app.code()
  const { body } = await app.redeem(got)
  const stored = JSON.stringify([
    await gateway.core.stores.db.run('SELECT * FROM oauth_access_token' as never),
    await gateway.core.stores.db.run('SELECT * FROM oauth_refresh_token' as never),
    await gateway.core.stores.db.run('SELECT * FROM identity_verification' as never),
  ])
  for (const secret of [got.code, body.access_token, body.refresh_token])
    expect(stored).not.toContain(String(secret).replace(/^gw.t_/, ''))
})
