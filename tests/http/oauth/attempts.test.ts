import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { closeReconciled } from '../owner-bench'

const JSON_TYPE = { 'content-type': 'application/json' }

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness({ env: { TRUSTED_PROXIES: '127.0.0.1' } })
})
afterAll(() => closeReconciled(gateway))

type Sent = (call: number) => RequestInit & { readonly headers: Record<string, string> }

describe('routes without a session are limited per address', () => {
  let address = 0
  /** Calls until it is refused, at most 70 times: how many were not, and what the refusal said. */
  async function flood(path: string, sent: Sent, headers: (call: number) => Record<string, string>) {
    for (let call = 0; call < 70; call++) {
      const init = sent(call)
      const answer = await gateway.call(path, {
        method: 'POST',
        ...init,
        headers: { ...init.headers, ...headers(call) },
      })
      if (answer.status === 429) return { taken: call, wait: Number(answer.headers.get('retry-after')) }
    }
    return { taken: 70, wait: Number.NaN }
  }
  const form = (fields: Record<string, string>) => ({
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  })
  const json = (body: unknown) => ({ headers: JSON_TYPE, body: JSON.stringify(body) })
  const DOORS: readonly (readonly [string, Sent, number])[] = [
    // Each for an account of its own: one account's failures have a wait of their own.
    [
      '/api/auth/sign-in/email',
      (call) => json({ email: `nobody-${call}@example.com`, password: 'wrong wrong wrong' }),
      10,
    ],
    ['/api/auth/reset-password', () => json({ token: 'x', newPassword: 'another horse battery' }), 10],
    [
      '/api/auth/oauth2/register',
      () => json({ client_name: 'x', redirect_uris: ['http://127.0.0.1/cb'], token_endpoint_auth_method: 'none' }),
      5,
    ],
    [
      '/api/auth/oauth2/token',
      () => form({ grant_type: 'refresh_token', client_id: 'gateway-cli', refresh_token: 'gwrt_x' }),
      60,
    ],
    ['/api/auth/device/code', () => form({ client_id: 'gateway-cli', scope: 'data:read' }), 10],
  ]

  test.each(DOORS)(
    '%s: what callers write about their address changes nothing, and the wait is reported',
    async (path, sent, most) => {
      const own = `203.0.113.${++address}`
      // The right-most hop is what the trusted proxy saw; everything before it is the caller's word.
      const { taken, wait } = await flood(path, sent, (call) => ({ 'x-forwarded-for': `198.51.100.${call}, ${own}` }))
      expect(taken).toBe(most)
      expect(wait).toBeGreaterThan(0)
      expect(wait).toBeLessThanOrEqual(60)
      const init = sent(71)
      const other = { ...init.headers, 'x-forwarded-for': `203.0.113.${200 + address}` } as Record<string, string>
      expect((await gateway.call(path, { method: 'POST', ...init, headers: other })).status).not.toBe(429)
    },
  )
})
