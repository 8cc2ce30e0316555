import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { AUTH_ENDPOINTS, PROVIDER_ENDPOINTS } from '../../../server/adapters/identity/auth-request'
import { PROTOCOL } from '../../../server/adapters/identity/oauth/oauth-request'
import { oauthApp } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'
import { codeOfWebhook } from '../../support/webhooks'
import { auditRows, closeReconciled } from '../owner-bench'

const CALL = 'the request log and the ledger'
const CONNECTION = 'connection.open, with the first call' // tests/http/oauth/credential.test.ts
/** The audit action of each write outside `/api`, or the reason for its absence. */
const OUTSIDE_API: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    [
      ...[
        '/apis/v1/websearch/llm/context',
        '/v1beta/models/*',
        '/v1/models/*',
        '/v1/chat/completions',
        '/v1/responses',
      ],
      ...['/v1/completions', '/v1/messages', '/v1/messages/count_tokens', '/v1/embeddings', '/v1/moderations'],
      ...[
        '/v1/images/generations',
        '/v1/images/edits',
        '/v1/audio/speech',
        '/v1/audio/transcriptions',
        '/v1/rerank',
        '/v1beta/models/:model',
        '/v1/deep-research',
        '/mcp',
        '/mcp/paid',
      ],
      ...['follow', 'unfollow', 'like', 'unlike', 'post', 'delete', 'dm'].map((act) => `/apis/v1/social/${act}_social`),
    ].map((path) => [`POST ${path}`, CALL]),
  ),
  'POST /apis/v1/social/auth_social': 'nothing, until its user approves',
  'POST /apis/v1/social/oauth_callback/confirm': 'social.linked', // owner-social.test.ts
  'POST /v1/keys': 'key.create',
  'PATCH /v1/keys/:id': 'key.change',
  'POST /v1/keys/:id/disable': 'key.disable',
  'POST /v1/keys/:id/enable': 'key.enable',
  'POST /v1/keys/disable': 'key.disable',
  'POST /v1/keys/:id/rotate': 'key.rotate',
  'POST /v1/keys/:id/revoke': 'key.revoke',
  'POST /v1/webhooks': 'webhook.create',
  'PATCH /v1/webhooks/:id': 'webhook.change',
  'POST /v1/webhooks/:id/confirm': 'webhook.confirm',
  'POST /v1/webhooks/:id/rotate': 'webhook.rotate',
  'DELETE /v1/webhooks/:id': 'webhook.delete',
  'POST /v1/webhooks/:id/code': 'the log of deliveries',
  'POST /v1/webhooks/:id/test': 'the log of deliveries',
  'POST /v1/webhooks/:id/deliveries/:delivery/resend': 'the log of deliveries',
  'POST /v1/topups': 'the ledger, once it is paid',
  'POST /v1/wallet/topups': 'the ledger, once it is paid',
  'POST /unsubscribe': 'notices.unsubscribed',
  'ALL /sandbox/social': 'nothing: a double of the network, for trying',
  'ALL /sandbox/social/*': 'nothing: a double of the network, for trying',
}
/** The same for the writes of the sign-in library. */
const SIGN_IN_LIBRARY: Readonly<Record<string, string>> = {
  '/sign-up/email': 'account.open',
  '/sign-in/email': 'the list of sessions, and sign_in.new_device',
  '/sign-in/social': 'account.open, or the list of sessions, once the provider sent them back',
  '/link-social': 'account.identity_linked, once the provider sent them back',
  '/sign-out': 'nothing: it ends its own session',
  '/update-user': 'nothing: the name',
  '/change-password': 'account.password',
  '/request-password-reset': 'nothing, until the link is used',
  '/reset-password': 'account.password_reset',
  '/revoke-session': 'the list of sessions',
  '/revoke-sessions': 'session.end',
  '/revoke-other-sessions': 'session.end',
  '/two-factor/enable': 'nothing, until the first code',
  '/two-factor/disable': 'account.second_factor_off',
  '/two-factor/verify-totp': 'account.second_factor_on, the first time',
  '/two-factor/verify-backup-code': 'the list of sessions, and a mail',
  '/two-factor/generate-backup-codes': 'account.recovery_codes',
  '/passkey/verify-registration': 'account.passkey_added',
  '/passkey/verify-authentication': 'the list of sessions, and sign_in.new_device',
  '/passkey/delete-passkey': 'account.passkey_removed',
  '/passkey/update-passkey': 'nothing: the name',
  '/oauth2/consent': CONNECTION,
  '/device/approve': CONNECTION,
  '/device/deny': 'nothing',
  '/oauth2/token': CONNECTION,
  '/oauth2/revoke': 'nothing: the app gives its own access back',
  '/oauth2/introspect': 'nothing: it reads',
  '/oauth2/register': 'nothing: of no account',
  '/device/code': 'nothing, until it is approved',
}

describe('every write outside /api has a decision about its audit entry', () => {
  let gateway: Harness
  beforeAll(async () => {
    gateway = await openHarness()
    await gateway.owner('root@example.com')
  })
  afterAll(() => closeReconciled(gateway))

  test('by route, and by endpoint of the sign-in library', () => {
    const { routes } = gateway.gateway.app
    const writes = routes.filter(
      ({ path, method }) => !path.startsWith('/api/') && !['GET', 'OPTIONS'].includes(method),
    )
    expect(new Set(writes.map(({ method, path }) => `${method} ${path}`))).toEqual(new Set(Object.keys(OUTSIDE_API)))
    const posted = [...AUTH_ENDPOINTS, ...PROVIDER_ENDPOINTS]
      .filter(([, method]) => method === 'POST')
      .map(([path]) => path)
    expect([...posted, ...PROTOCOL.keys()].toSorted()).toEqual(Object.keys(SIGN_IN_LIBRARY).toSorted())
  })

  test('those of apps write one entry that names the app', async () => {
    const app = oauthApp(gateway, await gateway.owner('ada@example.com'))
    const token = (await app.connect('keys:write webhooks:write', ['/v1'])).access_token
    await gateway.as(token, '/v1/whoami')
    const bodies: Record<string, object> = {
      'POST /v1/keys': { name: 'of an app' },
      'PATCH /v1/keys/:id': { note: 'n' },
      'POST /v1/keys/:id/rotate': {},
      'POST /v1/webhooks': { url: 'https://a.example/path' },
      'PATCH /v1/webhooks/:id': { events: ['key.created'] },
    }
    let id = ''
    for (const [route, action] of Object.entries(OUTSIDE_API)) {
      if (!/^(key|webhook)\./.test(action)) continue
      const [method = '', path = ''] = route.split(' ')
      const before = (await auditRows(gateway)).length
      if (action === 'webhook.confirm') bodies[route] = { code: await codeOfWebhook(gateway, id) }
      const form = route === 'POST /v1/keys/disable' ? { ids: [id] } : bodies[route]
      const sent = form && {
        body: JSON.stringify(form),
        headers: { 'content-type': 'application/json' },
      }
      const answer = await gateway.as(token, path.replace(':id', id), { method, ...sent })
      const text = await answer.text()
      expect(`${route} ${answer.status} ${text}`).toMatch(/ 20[01] /)
      const made = JSON.parse(text) as { key?: { id: string }; webhook?: { id: string } }
      if (action.endsWith('.create')) id = made.key?.id ?? made.webhook?.id ?? ''
      expect((await auditRows(gateway)).slice(before)).toMatchObject([{ action, actor_kind: 'app' }])
    }
  })
})
