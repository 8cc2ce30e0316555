import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { hashToken } from '../../../server/core/credentials/oauth-grant'
import { oauthApp } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'

let gateway: Harness
let owner: Awaited<ReturnType<Harness['owner']>>
let other: Awaited<ReturnType<Harness['owner']>>
let app: ReturnType<typeof oauthApp>
beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
  other = await gateway.owner()
  app = oauthApp(gateway, owner)
})
afterAll(() => gateway.close())

const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

async function start(more: Record<string, string> = {}) {
  const { status, body } = await app.form('/device/code', {
    client_id: 'gateway-cli',
    scope: 'data:read offline_access',
    resource: `${app.origin}/mcp`,
    ...more,
  })
  expect(status).toBe(200)
  return { deviceCode: String(body['device_code']), userCode: String(body['user_code']), body }
}

const poll = (deviceCode: string, more: Record<string, string> = {}) =>
  app.form('/oauth2/token', { grant_type: GRANT, client_id: 'gateway-cli', device_code: deviceCode, ...more })

const page = (userCode: string, who = owner) => who.api(`/api/auth/device?user_code=${userCode}`)
const decide = (what: 'approve' | 'deny', userCode: string, who = owner) =>
  who.api(`/api/auth/device/${what}`, { userCode })

describe('a device (RFC 8628)', () => {
  test('gets tokens after its owner reviewed and approved', async () => {
    const { deviceCode, userCode, body } = await start()
    expect(body).toMatchObject({
      verification_uri: `${app.origin}/device`,
      verification_uri_complete: `${app.origin}/device?user_code=${userCode}`,
      expires_in: 600,
      interval: 5,
    })
    const shown = (await (await page(userCode)).json()) as Record<string, unknown>
    expect(shown).toMatchObject({ status: 'pending', client_id: 'gateway-cli', scope: 'data:read offline_access' })
    expect((await decide('approve', userCode)).status).toBe(200)
    const { status, body: tokens } = await poll(deviceCode)
    expect(status).toBe(200)
    const grant = await gateway.core.grants.byHash(hashToken(String(tokens.access_token)))
    expect([...(grant?.audiences ?? [])]).toEqual(['/mcp'])
    expect(tokens.refresh_token).toStartWith('gwrt_')
    expect((await poll(deviceCode)).body.error).toBe('invalid_grant')
  })

  test('has to wait, and to slow down', async () => {
    const { deviceCode } = await start()
    expect((await poll(deviceCode)).body.error).toBe('authorization_pending')
    expect((await poll(deviceCode)).body.error).toBe('slow_down')
  })

  test('learns that the owner declined', async () => {
    const { deviceCode, userCode } = await start()
    await page(userCode)
    expect((await decide('deny', userCode)).status).toBe(200)
    expect((await poll(deviceCode)).body.error).toBe('access_denied')
  })

  test('belongs to the first owner who reviewed it: no other owner, no visitor, and no owner without a review decides', async () => {
    const { deviceCode, userCode } = await start()
    expect((await decide('approve', userCode)).status).toBe(400)
    await page(userCode)
    expect((await decide('approve', userCode, other)).status).toBe(403)
    const anonymous = await app.call('/api/auth/device/approve', {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: app.origin },
      body: JSON.stringify({ userCode }),
    })
    expect(anonymous.status).toBe(401)
    const foreign = await owner.api('/api/auth/device/approve', { userCode }, 'POST', {
      origin: 'https://evil.example',
    })
    expect(foreign.status).toBe(403)
    expect((await poll(deviceCode)).body.error).toBe('authorization_pending')
  })

  test('cannot be bound to a person by the requester of the code', async () => {
    const { userCode } = await start({ user_id: 'somebody' })
    const shown = (await (await page(userCode)).json()) as Record<string, unknown>
    expect(shown['client_id']).toBe('gateway-cli')
  })

  test('that names no resource gets all of them', async () => {
    const { body } = await app.form('/device/code', { client_id: 'gateway-cli', scope: 'data:read' })
    await page(String(body['user_code']))
    await decide('approve', String(body['user_code']))
    const { body: tokens } = await poll(String(body['device_code']))
    const grant = await gateway.core.grants.byHash(hashToken(String(tokens.access_token)))
    expect([...(grant?.audiences ?? [])]).toEqual(['/mcp', '/v1', '/apis/v1'])
  })

  test('cannot request another resource than its owner saw, nor be another client', async () => {
    const { deviceCode, userCode } = await start()
    await page(userCode)
    await decide('approve', userCode)
    expect((await poll(deviceCode, { resource: `${app.origin}/v1` })).body.error).toBe('invalid_target')
    const { body } = await app.register()
    expect((await poll(deviceCode, { client_id: String(body['client_id']) })).status).toBeGreaterThanOrEqual(400)
  })
})
