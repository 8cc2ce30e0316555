import { expect, test } from 'bun:test'
import { oauthApp } from '../../support/agents/oauth'
import { openHarness } from '../../support/harness'

test('closing an account ends the access of its apps: tokens and refresh tokens', async () => {
  const gateway = await openHarness()
  // Somebody else is the operator, who may not leave.
  await gateway.owner()
  const owner = await gateway.owner()
  const app = oauthApp(gateway, owner)
  const tokens = await app.connect('usage:read offline_access', ['/v1'])
  expect((await gateway.as(tokens.access_token, '/v1/whoami')).status).toBe(200)
  const closed = await owner.api('/api/settings/close', { email: owner.email })
  expect(`${closed.status} ${await closed.text()}`).toStartWith('200')
  expect((await gateway.as(tokens.access_token, '/v1/whoami')).status).toBe(401)
  expect((await app.refresh(tokens.refresh_token)).body.error).toBe('invalid_grant')
  await gateway.close()
})
