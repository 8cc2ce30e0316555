import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { oauthApp, REDIRECT, type Tokens } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'

/** RFC 7662, for apps with a secret. */
let gateway: Harness
let app: ReturnType<typeof oauthApp>
let one: Client
let other: Client

interface Client {
  readonly id: string
  readonly secret: string
  readonly tokens: Tokens
}

beforeAll(async () => {
  gateway = await openHarness()
  app = oauthApp(gateway, await gateway.owner())
  one = await newClient()
  other = await newClient()
})
afterAll(() => gateway.close())

async function newClient(): Promise<Client> {
  const { body } = await app.register({ token_endpoint_auth_method: 'client_secret_post', redirect_uris: [REDIRECT] })
  const [id, secret] = [String(body['client_id']), String(body['client_secret'])]
  const resource = `${app.origin}/v1`
  const got = await app.code({ scope: 'data:read offline_access', resource, client_id: id })
  const redeemed = await app.redeem(got, { resource, client_id: id, client_secret: secret })
  expect(redeemed.status).toBe(200)
  return { id, secret, tokens: redeemed.body as unknown as Tokens }
}

const asked = (token: string, { id, secret }: Pick<Client, 'id' | 'secret'>, more: Record<string, string> = {}) =>
  app.form('/oauth2/introspect', { token, client_id: id, client_secret: secret, ...more })

describe('introspection', () => {
  test("shows an app its own access token, and nothing about the token's owner", async () => {
    const { status, body, headers } = await asked(one.tokens.access_token, one)
    expect([status, headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(body).toEqual({
      active: true,
      client_id: one.id,
      scope: 'data:read',
      token_type: 'Bearer',
      exp: expect.any(Number),
      iss: `${app.origin}/api/auth`,
      aud: [`${app.origin}/v1`],
    })
  })

  test('shows its own refresh token as well', async () => {
    const { body } = await asked(one.tokens.refresh_token, one, { token_type_hint: 'refresh_token' })
    expect(body).toMatchObject({ active: true, client_id: one.id, scope: 'data:read offline_access' })
    expect(body['sub']).toBeUndefined()
  })

  test("calls another app's, unknown and revoked tokens inactive, and adds nothing", async () => {
    const revoked = (await newClient()) satisfies Client
    await app.form('/oauth2/revoke', {
      client_id: revoked.id,
      client_secret: revoked.secret,
      token: revoked.tokens.access_token,
    })
    for (const [token, by] of [
      [one.tokens.access_token, other],
      [one.tokens.refresh_token, other],
      ['gwat_nobody', one],
      ['nothing', one],
      [revoked.tokens.access_token, revoked],
    ] as const) {
      const { status, body } = await asked(token, by)
      expect([status, body]).toEqual([200, { active: false }])
    }
  })

  test('is refused without the secret, with a wrong one, and for an app that has none', async () => {
    const { access_token } = one.tokens
    const own = await app.connect()
    for (const fields of [
      { token: access_token, client_id: one.id, client_secret: 'gwcs_wrong' },
      { token: access_token, client_id: one.id },
      { token: access_token },
      { token: own.access_token, client_id: 'gateway-cli' },
    ]) {
      const { status, body } = await app.form('/oauth2/introspect', fields)
      expect([status, body.error]).toBeOneOf([
        [401, 'invalid_client'],
        [400, 'invalid_client'],
      ])
    }
    const basic = { authorization: `Basic ${btoa(`${other.id}:${other.secret}`)}` }
    const mixed = await app.form('/oauth2/introspect', { token: access_token, client_id: one.id }, basic)
    expect(mixed.body['active']).not.toBe(true)
  })
})
