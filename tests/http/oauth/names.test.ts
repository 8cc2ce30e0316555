import { afterAll, beforeAll, expect, test } from 'bun:test'
import { oauthClient } from '../../../server/adapters/stores/libsql/schema/oauth'
import { oauthApp } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'
import { closeReconciled, read } from '../owner-bench'

const SEARCH = '/apis/v1/websearch/images/search?q=card'

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness()
})
afterAll(() => closeReconciled(gateway))

interface Name {
  readonly id: string
  readonly kind: string
  readonly name: string
  readonly last4: string | null
  readonly revoked: boolean
}

test("an app's calls and spending appear under its name in usage, log and CSV, even after it was disconnected and deleted", async () => {
  const owner = await gateway.owner()
  const app = oauthApp(gateway, owner)
  const { body } = await app.register({ client_name: 'My "agent", =1+1' })
  const clientId = String(body['client_id'])
  const tokens = await app.connect('data:read offline_access', ['/apis/v1'], clientId)
  const { secret } = await read<{ secret: string }>(owner.api('/api/keys', { name: 'a key' }), 201)
  for (const credential of [tokens.access_token, tokens.access_token, secret])
    expect((await gateway.as(credential, SEARCH)).status).toBe(200)
  await gateway.core.stores.applied()
  const names = async () => (await read<{ names: Name[] }>(owner.api('/api/keys/names'))).names
  const connection = (await names()).find(({ kind }) => kind === 'app')
  expect(connection).toMatchObject({ name: 'My "agent", =1+1', last4: null, revoked: false })

  await owner.api(`/api/apps/${clientId}/disconnect`, {})
  await gateway.core.stores.db.delete(oauthClient)
  expect(await names()).toEqual(
    expect.arrayContaining([
      { ...connection!, revoked: true },
      expect.objectContaining({ kind: 'key', name: 'a key' }),
    ]),
  )
  const now = Math.floor(gateway.clock.now() / 1000)
  const span = `start_time=${now - 86_400}&end_time=${now + 3_600}&bucket_width=1d`
  const usage = await read<{ groups: { name: string; charged_micros_usd: number }[] }>(
    owner.api(`/api/usage?group_by=key&${span}`),
  )
  expect(usage.groups.find(({ name }) => name === connection?.id)?.charged_micros_usd).toBe(10_000)
  const log = await read<{ requests: { key_id: string }[] }>(owner.api(`/api/requests?key=${connection?.id}`))
  expect(log.requests.map(({ key_id }) => key_id)).toEqual(Array(2).fill(connection?.id))
  const csv = await (await owner.api('/api/usage.csv')).text()
  const lines = csv.trim().split('\r\n').slice(1)
  expect(lines.map((line) => line.split(',').at(-2)).sort()).toEqual(['app', 'app', 'key'])
  expect(lines.filter((line) => line.includes('"My ""agent"", =1+1"'))).toHaveLength(2)
})

test('an app whose record is gone at its first call has no name, and its call is not refused for it', async () => {
  const account = await gateway.account(1)
  const made = await gateway.core.appGrants.of({ ...account, clientId: 'forgotten' }, '127.0.0.1')
  expect(made.name).toBe('App')
})
