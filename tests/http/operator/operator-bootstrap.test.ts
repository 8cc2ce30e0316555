import { describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { openServedGateway } from '../../support/servers/served-gateway'
import { type AccountBody, auditRows, closeReconciled, read } from '../owner-bench'

const PERSON = { name: 'Ada', password: 'correct horse battery' }

/** Signs up with these headers in addition to those of a script on this machine; the account that it makes. */
async function signUp(gateway: Harness, headers: Record<string, string>, email = 'first@example.com') {
  const send = (path: string, init: RequestInit = {}) =>
    gateway.call(path, {
      ...init,
      headers: {
        host: `localhost:${gateway.config.port}`,
        'content-type': 'application/json',
        ...headers,
        ...init.headers,
      },
    })
  const body = JSON.stringify({ ...PERSON, email })
  const answer = await send('/api/auth/sign-up/email', { method: 'POST', body })
  expect(answer.status).toBe(200)
  const cookie = answer.headers.getSetCookie().join('; ')
  return read<AccountBody>(send('/api/account', { headers: { cookie } }))
}

async function firstAccount(env: Record<string, string>, headers: Record<string, string>) {
  const gateway = await openHarness({ env })
  const account = await signUp(gateway, headers)
  await closeReconciled(gateway)
  return account
}

describe('the first account (spec D4)', () => {
  test.each<[string, Record<string, string>]>([
    ['localhost', {}],
    ['127.0.0.1 with a port', { host: '127.0.0.1:3000' }],
    ['::1', { host: '[::1]:3000' }],
  ])('is operator when it signs up on this machine, at %s', async (_, headers) => {
    expect(await firstAccount({}, headers)).toMatchObject({ operator: true })
  })

  test.each<[string, Record<string, string>]>([
    ['X-Forwarded-For', { 'x-forwarded-for': '203.0.113.7' }],
    ['an X-Forwarded-For that says loopback', { 'x-forwarded-for': '127.0.0.1' }],
    ['an empty X-Forwarded-For', { 'x-forwarded-for': '' }],
    ['X-Forwarded-Proto alone', { 'x-forwarded-proto': 'https' }],
    ['Forwarded', { forwarded: 'for=127.0.0.1' }],
    ['X-Real-IP', { 'x-real-ip': '127.0.0.1' }],
    ['Via', { via: '1.1 proxy' }],
    ['a Host that is not loopback', { host: 'api.example.com' }],
    ['a Host that only begins like loopback', { host: '127.0.0.1.example.com' }],
  ])('is not operator when its request came past a proxy: %s', async (_, headers) => {
    expect(await firstAccount({}, headers)).toMatchObject({ operator: false })
  })

  test.each<[string, Record<string, string>]>([
    ['a public BASE_URL', { BASE_URL: 'https://api.example.com' }],
    ['a HOST that others reach', { HOST: '0.0.0.0' }],
    ['production', { NODE_ENV: 'production', SEALING_KEYS: `a:${Buffer.alloc(32, 7).toString('base64')}` }],
  ])('is not operator under %s, whatever the request looks like', async (_, env) => {
    expect(await firstAccount(env, {})).toMatchObject({ operator: false })
  })

  test('that belongs to a stranger gives the second no rights either', async () => {
    const gateway = await openHarness()
    expect(await signUp(gateway, { 'x-forwarded-for': '203.0.113.7' })).toMatchObject({ operator: false })
    expect(await signUp(gateway, {}, 'second@example.com')).toMatchObject({ operator: false })
    await closeReconciled(gateway)
  })

  test('is the only operator: of many concurrent first sign-ups exactly one is, and the audit log names it', async () => {
    const gateway = await openHarness()
    const opened = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        gateway.core.signUp.openAccount(`racer-${i}`, { address: '127.0.0.1', isFromThisMachine: true }),
      ),
    )
    const operators = opened.filter((account) => account?.operator)
    expect(operators).toHaveLength(1)
    const rows = (await auditRows(gateway)).filter((row) => row.action === 'account.open')
    expect(rows).toHaveLength(20)
    expect(rows.filter((row) => JSON.parse(row.detail).operator).map((row) => row.account_id)).toEqual([
      String(operators[0]?.id),
    ])
    await closeReconciled(gateway)
  })

  test('that signs up on this machine invalidates the printed token', async () => {
    const gateway = await openHarness()
    const token = gateway.gateway.setupToken.issue()
    await gateway.owner()
    const second = await gateway.owner()
    expect((await second.api('/api/account/operator', { token })).status).toBe(403)
    await closeReconciled(gateway)
  })
})

describe('behind a proxy on the same host', () => {
  test('the first stranger does not become operator, over real sockets', async () => {
    const gateway = await openServedGateway()
    const proxy = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      fetch(request) {
        const { pathname } = new URL(request.url)
        const headers = new Headers(request.headers)
        headers.set('x-forwarded-for', '203.0.113.7')
        return fetch(gateway.origin + pathname, { method: request.method, headers, body: request.body })
      },
    })
    const body = JSON.stringify({ ...PERSON, email: 'stranger@example.com' })
    const headers = { 'content-type': 'application/json' }
    expect((await fetch(`${proxy.url}api/auth/sign-up/email`, { method: 'POST', headers, body })).status).toBe(200)
    expect((await gateway.core.accounts.list(10, null)).map((account) => account.operator)).toEqual([false])
    await proxy.stop(true)
    await gateway.close()
  })
})
