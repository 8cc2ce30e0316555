import { afterAll, beforeAll, describe, expect, setSystemTime, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { oauthApp } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'

const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

type Owner = Awaited<ReturnType<Harness['owner']>>
type Stored = Record<string, string>

const rows = (gateway: Harness, table: string) =>
  gateway.core.stores.db.all<Stored>(sql.raw(`SELECT * FROM "${table}"`))
/** The token in a session cookie, without its signature. */
const tokenIn = (cookie: string) => decodeURIComponent(cookie.slice(cookie.indexOf('=') + 1)).split('.')[0] ?? ''
const isSignedIn = async (owner: Pick<Owner, 'api'>) => (await owner.api('/api/account')).status === 200

async function startDevice(app: ReturnType<typeof oauthApp>) {
  const asked = { client_id: 'gateway-cli', scope: 'data:read offline_access', resource: `${app.origin}/mcp` }
  const { body } = await app.form('/device/code', asked)
  return { deviceCode: String(body['device_code']), userCode: String(body['user_code']) }
}

const poll = (app: ReturnType<typeof oauthApp>, deviceCode: string) =>
  app.form('/oauth2/token', { grant_type: DEVICE_GRANT, client_id: 'gateway-cli', device_code: deviceCode })

describe('a stored session or device code', () => {
  let gateway: Harness
  let owner: Owner
  let app: ReturnType<typeof oauthApp>
  beforeAll(async () => {
    gateway = await openHarness()
    owner = await gateway.owner()
    app = oauthApp(gateway, owner)
  })
  afterAll(() => gateway.close())

  test('is a hash under the gateway’s own key, and grants no access by itself', async () => {
    const device = await startDevice(app)
    const stored = JSON.stringify([await rows(gateway, 'identity_session'), await rows(gateway, 'oauth_device_code')])
    for (const secret of [tokenIn(owner.cookie), device.deviceCode, device.userCode]) {
      expect(secret.length).toBeGreaterThanOrEqual(8)
      expect(stored).not.toContain(secret)
    }
    const [row] = await rows(gateway, 'oauth_device_code')
    expect((await poll(app, row?.['device_code'] ?? '')).body.error).toBe('invalid_grant')
    const page = await owner.api(`/api/auth/device?user_code=${encodeURIComponent(row?.['user_code'] ?? '')}`)
    expect(page.status).toBe(400)
  })

  test('is never returned: a list of sessions has no token', async () => {
    const list = (await (await owner.api('/api/auth/list-sessions')).json()) as Record<string, unknown>[]
    expect(list.length).toBeGreaterThan(0)
    for (const session of list) {
      expect(Object.keys(session)).not.toContain('token')
      expect(JSON.stringify(session)).not.toContain('hmac:')
    }
  })

  test('ends with the session: the others by one call, this one by signing out', async () => {
    const again = await gateway.call('/api/auth/sign-in/email', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: owner.email, password: 'correct horse battery' }),
    })
    const cookie = again.headers.getSetCookie()[0]?.split(';')[0] ?? ''
    const here = { api: (path: string) => gateway.call(path, { headers: { cookie } }) }
    expect([await isSignedIn(owner), (await here.api('/api/account')).status]).toEqual([true, 200])
    const post = (path: string) =>
      gateway.call(path, { method: 'POST', headers: { cookie, 'content-type': 'application/json' }, body: '{}' })
    expect((await post('/api/auth/revoke-other-sessions')).status).toBe(200)
    expect([await isSignedIn(owner), (await here.api('/api/account')).status]).toEqual([false, 200])
    expect((await post('/api/auth/sign-out')).status).toBe(200)
    expect((await here.api('/api/account')).status).toBe(401)
    expect(await rows(gateway, 'identity_session')).toEqual([])
  })
})

describe('a row that expires now', () => {
  test('is expired: session, refresh token and device code at their exact expiry, and not a millisecond earlier', async () => {
    const gateway = await openHarness()
    const owner = await gateway.owner()
    const app = oauthApp(gateway, owner)
    const { refresh_token: token } = await app.connect()
    const device = await startDevice(app)
    const { db } = gateway.core.stores
    const now = Date.now()
    setSystemTime(now)
    try {
      const endAt = async (at: number) => {
        for (const table of ['identity_session', 'oauth_refresh_token', 'oauth_device_code'])
          await db.run(sql.raw(`UPDATE ${table} SET expires_at = ${at}`))
      }
      await endAt(now + 1)
      expect(await isSignedIn(owner)).toBe(true)
      expect((await poll(app, device.deviceCode)).body.error).toBe('authorization_pending')
      await endAt(now)
      expect(await isSignedIn(owner)).toBe(false)
      expect((await app.refresh(token)).body.error).toBe('invalid_grant')
    } finally {
      setSystemTime()
      await gateway.close()
    }
  })
})
