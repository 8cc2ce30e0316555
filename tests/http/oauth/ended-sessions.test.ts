import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { oauthApp } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'
import { type AccountBody, auditRows, closeReconciled, type Owner, read } from '../owner-bench'

const OLD = 'correct horse battery'
const NEW = 'another horse battery'

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness()
})
afterAll(() => closeReconciled(gateway))

async function letIn() {
  const owner = await gateway.owner()
  const app = oauthApp(gateway, owner)
  const tokens = await app.connect('usage:read offline_access', ['/v1'])
  const works = async () => (await gateway.as(tokens.access_token, '/v1/whoami')).status
  expect(await works()).toBe(200)
  const { id } = await read<AccountBody>(owner.api('/api/account'))
  const ends = async () =>
    (await auditRows(gateway))
      .filter((row) => row.account_id === id && row.action === 'connection.end')
      .map((row) => JSON.parse(row.detail) as { client_id: string; because?: string })
  return { owner, works, ends, refresh: () => app.refresh(tokens.refresh_token) }
}

const change = (owner: Owner, query = '', current = OLD) =>
  owner.api(`/api/auth/change-password${query}`, { currentPassword: current, newPassword: NEW })

async function resetPassword(owner: Owner) {
  const answer = await gateway.control(
    `/accounts/${(await (await owner.api('/api/account')).json()).id}/reset-link`,
    {},
  )
  const { link } = (await answer.json()) as { link: string }
  return gateway.call('/api/auth/reset-password', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ token: /#token=([\w.-]+)/.exec(link)?.[1], newPassword: NEW }),
  })
}

type Ending = readonly [what: string, act: (owner: Owner) => Promise<Response>, because: string]
const ENDINGS: readonly Ending[] = [
  ['a new password', (owner) => change(owner), 'new_password'],
  ['a password set by a reset link', resetPassword, 'new_password'],
  ['signing out all others', (owner) => owner.api('/api/settings/sessions/end-others', {}), 'sign_out_everywhere'],
  ['signing out everywhere', (owner) => owner.api('/api/auth/revoke-sessions', {}), 'sign_out_everywhere'],
  [
    'the library’s own way to do so',
    (owner) => owner.api('/api/auth/revoke-other-sessions', {}),
    'sign_out_everywhere',
  ],
]

describe('signing an owner out elsewhere ends the access of apps', () => {
  test.each(ENDINGS)('by %s: refused on the next call, with an audit row that says why', async (_, act, because) => {
    const { owner, works, ends, refresh } = await letIn()
    expect((await act(owner)).status).toBe(200)
    expect(await works()).toBe(401)
    expect((await refresh()).body.error).toBe('invalid_grant')
    expect(await ends()).toEqual([expect.objectContaining({ client_id: 'gateway-cli', because })])
  })

  test.each<[string, (owner: Owner) => Promise<Response>]>([
    ['a new password', (owner) => change(owner, '?apps=keep')],
    ['signing out all others', (owner) => owner.api('/api/settings/sessions/end-others?apps=keep', {})],
  ])('but not by %s of an owner who keeps them', async (_, act) => {
    const { owner, ends, refresh } = await letIn()
    expect((await act(owner)).status).toBe(200)
    // An access token may end with the session that gave it; the app's refresh token gives it the next one.
    const { body } = await refresh()
    expect((await gateway.as(String(body.access_token), '/v1/whoami')).status).toBe(200)
    expect(await ends()).toEqual([])
  })

  test('not by a failed attempt: a wrong password, no session, a foreign page', async () => {
    const { owner, works, ends } = await letIn()
    expect((await change(owner, '', 'wrong wrong wrong')).status).toBe(400)
    const nobody = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
    expect((await gateway.call('/api/auth/revoke-sessions', nobody)).status).toBe(401)
    const foreign = { ...nobody, headers: { ...nobody.headers, cookie: owner.cookie, origin: 'https://evil.example' } }
    for (const path of ['/api/auth/revoke-sessions', '/api/settings/sessions/end-others'])
      expect((await gateway.call(path, foreign)).status).toBe(403)
    expect(await works()).toBe(200)
    expect(await ends()).toEqual([])
  })

  test('only for the apps of that owner', async () => {
    const [one, other] = [await letIn(), await letIn()]
    expect((await change(one.owner)).status).toBe(200)
    expect(await other.works()).toBe(200)
    expect(await other.ends()).toEqual([])
  })
})

const DISCONNECTIONS: readonly (readonly [what: string, act: (owner: Owner) => Promise<Response>])[] = [
  ['that app is disconnected', (owner) => owner.api('/api/apps/gateway-cli/disconnect', {})],
  ['all apps are disconnected', (owner) => owner.api('/api/apps/disconnect', {})],
]

describe('grants that an app has not redeemed yet end too', () => {
  const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'

  /** A device whose owner has said yes, and that has not asked since. */
  async function approvedDevice(owner: Owner) {
    const app = oauthApp(gateway, owner)
    const { body } = await app.form('/device/code', {
      client_id: 'gateway-cli',
      scope: 'data:read offline_access',
      resource: `${app.origin}/mcp`,
    })
    const userCode = String(body['user_code'])
    await owner.api(`/api/auth/device?user_code=${userCode}`)
    expect((await owner.api('/api/auth/device/approve', { userCode })).status).toBe(200)
    const fields = { grant_type: DEVICE, client_id: 'gateway-cli', device_code: String(body['device_code']) }
    return () => app.form('/oauth2/token', fields)
  }

  const all = [...ENDINGS.map(([what, act]) => [what, act] as const), ...DISCONNECTIONS]
  test.each(all)('the tokens of a device, when %s', async (_, act) => {
    gateway.clock.advance(60_000)
    const owner = await gateway.owner()
    const fetch = await approvedDevice(owner)
    expect((await act(owner)).status).toBe(200)
    expect(await fetch()).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
  })

  test.each(DISCONNECTIONS)('the tokens of a code, when %s', async (_, act) => {
    const owner = await gateway.owner()
    const app = oauthApp(gateway, owner)
    const got = await app.code()
    expect((await act(owner)).status).toBe(200)
    expect(await app.redeem(got)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
  })

  test('but not those of another app, or of another owner', async () => {
    gateway.clock.advance(60_000)
    const [owner, other] = [await gateway.owner(), await gateway.owner()]
    const fetchers = [await approvedDevice(owner), await approvedDevice(other)]
    const got = await oauthApp(gateway, owner).code()
    await owner.api('/api/apps/another-app/disconnect', {})
    expect((await oauthApp(gateway, owner).redeem(got)).status).toBe(200)
    for (const fetch of fetchers) expect((await fetch()).status).toBe(200)
  })
})
