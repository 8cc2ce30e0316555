import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ConnectedApps } from '../../../server/http/account/app-record'
import type { KeyWithSecret, OneKey } from '../../../server/http/keys/record'
import { oauthApp } from '../../support/agents/oauth'
import { type Harness, openHarness, WIDE } from '../../support/harness'
import { reconcile } from '../../support/reconcile'
import { closeReconciled, keyBench, type Owner, read, refusalOf } from '../owner-bench'

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness()
  await gateway.owner()
})
afterAll(() => closeReconciled(gateway))

const SEARCH = '/apis/v1/websearch/images/search?q=card'
const SCOPES = 'keys:write data:read usage:read offline_access'

/** An owner with a connected app that may spend `limit`. */
async function connected(open: Harness, limit: number | null = null) {
  const owner = await open.owner()
  const app = oauthApp(open, owner)
  const clientId = 'gateway-cli'
  await read(owner.api(`/api/apps/${clientId}/limit`, { spending_limit: limit }))
  const { access_token: token } = await app.connect(SCOPES, ['/v1', '/apis/v1'], clientId)
  const { id } = await read<{ id: `acct_${string}` }>(owner.api('/api/account'))
  await open.core.operator.setLimits({ kind: 'operator', id: 'test', address: null }, id, WIDE)
  const byApp = (path: string, body?: object, method = body ? 'POST' : 'GET') =>
    open.as(token, path, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    })
  const make = (body: object = {}) => read<KeyWithSecret>(byApp('/v1/keys', { name: `made ${++made}`, ...body }), 201)
  const shown = async () => (await read<ConnectedApps>(owner.api('/api/apps'))).apps[0]
  const end = (query = '') => read(owner.api(`/api/apps/${clientId}/disconnect${query}`, {}))
  return { owner, id, token, clientId, byApp, make, shown, end }
}
let made = 0
const statusOf = async (secret: string, open = gateway) => (await open.as(secret, SEARCH)).status

describe('the keys of an app spend from its limit', () => {
  test('its keys and its own calls together never pass it, however many ask at once, also after a restart', async () => {
    const open = await openHarness()
    const app = await connected(open, 0.03)
    const keys = [await app.make(), await app.make({ spending_limit: 1 }), await app.make({ spending_limit: 0.01 })]
    const callers = [app.token, ...keys.map(({ secret }) => secret)]
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => open.as(callers[i % 4]!, SEARCH)))
    expect(answers.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(6)
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 402]))
    expect(await app.shown()).toMatchObject({ spent_micros_usd: 30_000, spending_limit: 0.03 })
    const unlimited = await read<OneKey>(app.owner.api(`/api/keys/${keys[0]!.key.id}`))
    expect(unlimited.key).toMatchObject({ spending_limit: null, remaining_micros_usd: 0 })
    expect((await refusalOf(open.as(keys[0]!.secret, SEARCH))).code).toBe('insufficient_api_key_balance')
    await open.close(true)
    expect((await reconcile(open.databaseFile)).problems).toEqual([])
    const again = await openHarness({ folder: open.folder })
    expect(await statusOf(keys[1]!.secret, again)).toBe(402)
    await again.core.operator.setLimits({ kind: 'operator', id: 'test', address: null }, app.id, WIDE)
    const actor = { kind: 'owner', id: 'test', address: null } as const
    const { userId } = (await again.core.accounts.byId(app.id))!
    const owner = { accountId: app.id, member: { userId }, actor }
    await again.core.appGrants.setLimit(owner, app.clientId, 40_000 as never)
    const more = await Promise.all(Array.from({ length: 9 }, () => again.as(keys[1]!.secret, SEARCH)))
    expect(more.filter(({ status }) => status === 200)).toHaveLength(2)
    await closeReconciled(again)
  })

  test('a successor of its key counts there too, rotated by the app or the owner', async () => {
    const app = await connected(gateway, 0.01)
    const { key, secret } = await app.make()
    const byApp = await read<KeyWithSecret>(app.byApp(`/v1/keys/${key.id}/rotate`, {}), 201)
    const byOwner = await read<KeyWithSecret>(app.owner.api(`/api/keys/${byApp.key.id}/rotate`, {}), 201)
    const statuses: number[] = []
    for (const one of [secret, byApp.secret, byOwner.secret]) statuses.push(await statusOf(one))
    expect(statuses).toEqual([200, 200, 402])
  })
})

describe("of its owner's other keys", () => {
  test('an app reads and disables each, and changes, enables, rotates and revokes none', async () => {
    const { owner, byApp, make } = await connected(gateway)
    const { key, secret } = await keyBench(owner).create({ spending_limit: 1, allowed_ips: ['192.0.2.1'] })
    const at = `/v1/keys/${key.id}`
    for (const refused of [
      byApp(at, { spending_limit: null, allowed_ips: [] }, 'PATCH'),
      byApp(`${at}/rotate`, {}),
      byApp(`${at}/enable`, {}),
      byApp(`${at}/revoke`, {}),
    ])
      expect(await refusalOf(refused)).toMatchObject({ status: 403, code: 'insufficient_permissions' })
    expect((await read<OneKey>(byApp(at))).key).toMatchObject({ status: 'active', spending_limit: 1 })
    expect((await read<OneKey>(byApp(`${at}/disable`, {}))).key.status).toBe('disabled')
    expect((await gateway.as(secret, SEARCH)).status).toBe(401)
    const own = await make()
    expect((await read<OneKey>(byApp(`/v1/keys/${own.key.id}`, { note: 'mine' }, 'PATCH'))).key.note).toBe('mine')
    const another = await connected(gateway)
    expect((await refusalOf(another.byApp(at))).status).toBe(404)
  })
})

describe('disconnecting an app', () => {
  test('revokes the keys that it created, but for those that the owner keeps', async () => {
    const { owner, make, shown, end } = await connected(gateway)
    const own = await keyBench(owner).create()
    const [kept, ended] = [await make(), await make()]
    expect((await shown())?.keys).toEqual([ended, kept].map(({ key: { id, name } }) => ({ id, name })))
    await end(`?keep_key=${kept.key.id}`)
    expect(await Promise.all([own, kept, ended].map(({ secret }) => statusOf(secret)))).toEqual([200, 200, 401])
  })

  test.each<[string, (owner: Owner) => Promise<Response>]>([
    [
      'a new password',
      (owner) =>
        owner.api('/api/auth/change-password', {
          currentPassword: 'correct horse battery',
          newPassword: 'another horse battery',
        }),
    ],
    ['signing out everywhere', (owner) => owner.api('/api/settings/sessions/end-others', {})],
  ])('by %s revokes its keys too', async (_, act) => {
    const { owner, make } = await connected(gateway)
    const { secret } = await make()
    expect((await act(owner)).status).toBe(200)
    expect(await statusOf(secret)).toBe(401)
  })

  test('leaves no key that was being created meanwhile', async () => {
    const { byApp, end } = await connected(gateway)
    const creating = Array.from({ length: 30 }, () => byApp('/v1/keys', { name: `late ${++made}` }))
    const [, ...answers] = await Promise.all([end(), ...creating])
    const secrets = await Promise.all(answers.map(async (answer) => (await answer.json()).secret as string | undefined))
    for (const secret of secrets) if (secret !== undefined) expect(await statusOf(secret)).toBe(401)
  })
})

test('closing an account leaves no key that was being created meanwhile, and serves none', async () => {
  const owner = await gateway.owner()
  const creating = (round: number) =>
    Array.from({ length: 15 }, (_, i) => owner.api('/api/keys', { name: `late ${round} ${i}` }))
  const first = creating(1)
  const closing = owner.api('/api/settings/close', { email: owner.email })
  const answers = await Promise.all([...first, ...creating(2)])
  await read(closing)
  const secrets = await Promise.all(answers.map(async (answer) => (await answer.json()).secret as string | undefined))
  for (const secret of secrets) if (secret !== undefined) expect(await statusOf(secret)).toBe(401)
  const alive = await gateway.core.stores.db.all(
    `SELECT name FROM keys WHERE name LIKE 'late %' AND revoked_at IS NULL` as never,
  )
  expect(alive).toEqual([])
})
