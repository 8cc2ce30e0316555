import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { openRouter } from '../../server/compose/cluster/cells/cell-router'
import type { CellRouter } from '../../server/core/cluster/cells'
import { type AccountBody, read } from '../http/owner-bench'
import { IMAGES_CALL } from '../http/wire'
import { oauthApp } from '../support/agents/oauth'
import { totp } from '../support/agents/totp'
import { C2, type Cells, openCells } from '../support/cluster/cells'
import type { Harness } from '../support/harness'
import { moneyMoved } from '../support/payments/money-moved'
import { MERCHANT, openPaymentSandbox } from '../support/payments/payment-sandbox'
import { reconcile } from '../support/reconcile'

const PRICE_UNITS = 5000n
const ROOT = { kind: 'operator', id: 'test', address: null } as const

/** The gateways of two cells, with the router in front of them, as a node has it. Callers know nothing of cells. */
describe('through the router of two cells', () => {
  let sandbox: Awaited<ReturnType<typeof openPaymentSandbox>>
  let cells: Cells
  let router: CellRouter
  /** An owner in each cell, with the account and a key. */
  let people: Record<'main' | 'c2', Awaited<ReturnType<typeof person>>>

  beforeAll(async () => {
    sandbox = await openPaymentSandbox()
    const env = { ...sandbox.env, PAYMENTS_ATTEMPTS_RPM: '1000000', ANON_RPM: '1000000' }
    cells = await openCells({ env, running: true })
    for (const { gateway } of [cells.main, cells.c2]) await gateway.rail.open()
    router = openRouter(cells.main.config, ['main', C2], cells.control.db)
    people = { main: await person('root@example.com'), c2: await person('ada@example.com') }
  })
  afterAll(async () => {
    await cells.close(true)
    for (const folder of cells.folders) expect((await reconcile(join(folder, 'gateway.db'))).problems).toEqual([])
    await sandbox.close()
  })

  async function send(path: string, init: RequestInit = {}): Promise<Response> {
    const cell = await router.cellOf(new Request(`http://localhost${path}`, init))
    return cells.gatewayOf(cell).call(path, init)
  }
  const json = (headers: Record<string, string>, body: unknown, method = 'POST'): RequestInit => ({
    method,
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  async function person(email: string) {
    const { cookie } = await cells.main.owner(email, send)
    const { id } = await read<AccountBody>(send('/api/account', { headers: { cookie } }))
    const made = await read<{ secret: string; key: { id: string } }>(
      send('/api/keys', json({ cookie }, { name: 'first' })),
      201,
    )
    return { email, cookie, id, secret: made.secret, key: made.key.id }
  }
  const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
  const balanceOf = async (cell: 'main' | 'c2') => {
    const { credit_micros_usd: credit, topped_up_micros_usd: toppedUp } = await read<AccountBody>(
      send('/api/account', { headers: { cookie: people[cell].cookie } }),
    )
    return { credit, toppedUp }
  }
  const moved = moneyMoved(() => sandbox.balance(MERCHANT))

  test('an account, its session and its key work, wherever they are', async () => {
    for (const cell of ['main', C2] as const) {
      const { id, secret } = people[cell]
      expect(await cells.main.core.stores.cells.ofAccount(id as 'acct_')).toBe(cell)
      expect((await send(IMAGES_CALL, { headers: bearer(secret) })).status).toBe(200)
      expect(await balanceOf(cell)).toEqual({ credit: 1_995_000, toppedUp: 0 })
    }
  })

  test('a rotated key and its successor work, and neither does after it was disabled', async () => {
    const { cookie, secret, key } = people.c2
    const next = await read<{ secret: string; key: { id: string } }>(
      send(`/api/keys/${key}/rotate`, json({ cookie }, {})),
      201,
    )
    const statuses = async () =>
      Promise.all([secret, next.secret].map(async (one) => (await send('/v1/whoami', { headers: bearer(one) })).status))
    expect(await statuses()).toEqual([200, 200])
    for (const id of [key, next.key.id]) await read(send(`/api/keys/${id}/disable`, json({ cookie }, {})))
    expect(await statuses()).toEqual([401, 401])
    for (const id of [key, next.key.id]) await read(send(`/api/keys/${id}/enable`, json({ cookie }, {})))
    expect(await statuses()).toEqual([200, 200])
  })

  const apps = (cookie: string) => {
    const routed = { config: cells.main.config, gateway: { app: { handle: sendWhole } } } as unknown as Harness
    return oauthApp(routed, { cookie } as Parameters<typeof oauthApp>[1])
  }
  const calls = async (token: string) => (await send(IMAGES_CALL, { headers: bearer(token) })).status

  test('an app that is connected at main acts for an account in another cell, until it is disconnected there', async () => {
    const { cookie } = people.c2
    const { access_token: token } = await apps(cookie).connect('data:read offline_access', ['/apis/v1'])
    expect(await calls(token)).toBe(200)
    await read(send('/api/apps/disconnect', json({ cookie }, {})))
    expect(await calls(token)).toBe(401)
  })

  test('an app that gives its token back at main gets no more events of an account in another cell', async () => {
    const { cookie } = people.c2
    const app = apps(cookie)
    const tokens = await app.connect('webhooks:write offline_access', ['/v1'])
    const hook = { url: 'https://example.com/app', events: ['key.disabled'] }
    await read(send('/v1/webhooks', json(bearer(tokens.access_token), hook)), 201)
    const status = async () =>
      (await read<{ webhooks: { status: string }[] }>(send('/api/webhooks', { headers: { cookie } }))).webhooks
    expect(await status()).toMatchObject([{ status: 'unconfirmed' }])
    await app.form('/oauth2/revoke', { client_id: 'gateway-cli', token: tokens.refresh_token })
    expect(await status()).toMatchObject([{ status: 'paused' }])
  })

  test('an owner in another cell sets a new password at main, which ends the other sessions and the apps', async () => {
    const { email, cookie, id } = people.c2
    const { access_token: token } = await apps(cookie).connect('data:read offline_access', ['/apis/v1'])
    const other = await cells.main.signIn(email)
    const passwords = { currentPassword: 'correct horse battery', newPassword: 'another horse battery' }
    await read(send('/api/auth/change-password', json({ cookie: other.cookie }, passwords)))
    expect(await calls(token)).toBe(401)
    for (const old of [cookie, other.cookie])
      expect((await send('/api/account', { headers: { cookie: old } })).status).toBe(401)
    const signIn = await send('/api/auth/sign-in/email', json({}, { email, password: passwords.newPassword }))
    const fresh = signIn.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ')
    people.c2 = { ...people.c2, cookie: fresh }
    const { entries } = await read<{ entries: { action: string }[] }>(
      send('/api/audit?limit=50', { headers: { cookie: fresh } }),
    )
    const actions = entries.map(({ action }) => action)
    expect(actions).toContain('account.password')
    expect(actions.filter((action) => action === 'connection.end')).toHaveLength(2)
    expect(await cells.c2.core.accounts.byId(id as 'acct_')).not.toBeNull()
  })

  test('the owner of a suspended account in another cell lets no app in', async () => {
    const { id, cookie } = people.c2
    const app = apps(cookie)
    const { url } = app.authorizeUrl()
    const { location } = await app.visit(url)
    if (!location) throw new Error('no consent was asked')
    await cells.c2.core.operator.suspend(ROOT, id as 'acct_', 'for a test')
    expect(await app.decide(location, true)).toMatchObject({
      status: 403,
      body: { error: { code: 'account_suspended' } },
    })
    await cells.c2.core.operator.lift(ROOT, id as 'acct_', 'for a test')
    expect((await app.decide(location, true)).status).toBe(200)
  })

  const sendWhole = async (request: Request) =>
    cells.gatewayOf(await router.cellOf(request)).gateway.app.handle(request)

  test('every route answers an owner in another cell as it answers one in main', async () => {
    const bodies: Readonly<Record<string, unknown>> = {
      'POST /api/keys': { name: 'another', spending_limit: 1 },
      'PATCH /api/settings': { name: 'Grace' },
      'POST /api/webhooks': { url: 'https://example.com/hook', events: ['key.disabled'] },
    }
    // They end the session, or never end by themselves.
    const left = ['/api/settings/sessions/end-all', '/api/auth/revoke-sessions', '/api/events', '/api/auth/*']
    const routes = cells.main.gateway.app.routes.filter(
      ({ path }) => (path.startsWith('/api/') || path.startsWith('/v1/')) && !left.includes(path),
    )
    // The first account is an operator's.
    const { main, c2 } = people
    await read(send(`/api/operator/accounts/${c2.id}/role`, json({ cookie: main.cookie }, { role: 'operator' })))
    const different: string[] = []
    for (const { method, path } of routes) {
      const [ofMain, ofC2] = await Promise.all(
        [main, c2].map(async ({ cookie, secret }) => {
          const headers = path.startsWith('/api/') ? { cookie } : bearer(secret)
          const given = bodies[`${method} ${path}`] ?? {}
          const real = path.replace(/:\w+/g, 'x').replace('*', 'x')
          const answer = await send(real, method === 'GET' ? { headers } : json(headers, given, method))
          const { error } = (await answer.json().catch(() => ({}))) as { error?: { code: string } }
          return `${answer.status} ${error?.code ?? ''}`
        }),
      )
      if (ofMain !== ofC2 || ofC2?.startsWith('5'))
        different.push(`${method} ${path}: ${ofMain} in main, ${ofC2} in c2`)
    }
    expect(different).toEqual([])
  })

  test('an owner in another cell changes the address, and signs in with it at main', async () => {
    const { cookie, email } = people.c2
    await read(send('/api/settings/email', json({ cookie }, { email: `new-${email}` })))
    const signIn = (address: string) =>
      send('/api/auth/sign-in/email', json({}, { email: address, password: 'another horse battery' }))
    expect([(await signIn(`new-${email}`)).status, (await signIn(email)).status]).toEqual([200, 401])
  })

  test('one payment buys one call, though it is shown to both cells at once, and later', async () => {
    const { secret } = people.c2
    const credential = await sandbox.payer().createCredential(await send(IMAGES_CALL))
    const show = (i: number) =>
      send(IMAGES_CALL, { headers: { authorization: credential, ...(i % 2 && { 'x-api-key': secret }) } })
    const before = [cells.main, cells.c2].map(({ images }) => images.asked.length)
    const money = await moved(async () => {
      const statuses = (await Promise.all(Array.from({ length: 8 }, (_, i) => show(i)))).map(({ status }) => status)
      expect(statuses.filter((status) => status === 200)).toHaveLength(1)
      for (const i of [0, 1]) expect((await show(i)).status).not.toBe(200)
    })
    const asked = [cells.main, cells.c2].map(({ images }, i) => images.asked.length - (before[i] ?? 0))
    expect([money, asked.toSorted()]).toEqual([PRICE_UNITS, [0, 1]])
  })

  test('a wallet tops up an account in another cell, with its key and without', async () => {
    const { secret } = people.c2
    const ask = (headers: Record<string, string>) => send('/v1/wallet/topups', json(headers, { amount: '10.00' }))
    const money = await moved(async () => {
      const paid = await sandbox.payer().createCredential(await ask(bearer(secret)))
      expect((await ask({ ...bearer(secret), 'payment-authorization': paid })).status).toBe(201)
      const alone = await sandbox.payer().createCredential(await ask(bearer(secret)))
      expect((await ask({ authorization: alone })).status).toBe(201)
    })
    expect(money).toBe(20_000_000n)
    expect(await balanceOf(C2)).toMatchObject({ toppedUp: 20_000_000 })
    expect(await balanceOf('main')).toMatchObject({ toppedUp: 0 })
  })

  test('a payment tops up the account that it names, though the request also has a key of another cell', async () => {
    const ask = (headers: Record<string, string>) => send('/v1/wallet/topups', json(headers, { amount: '10.00' }))
    for (const [named, other] of [
      ['main', C2],
      [C2, 'main'],
    ] as const) {
      const before = await balanceOf(named)
      const payment = await sandbox.payer().createCredential(await ask(bearer(people[named].secret)))
      expect((await ask({ authorization: payment, 'x-api-key': people[other].secret })).status).toBe(201)
      expect((await balanceOf(named)).toppedUp - before.toppedUp).toBe(10_000_000)
    }
  })

  test('no gateway takes money for an account that it does not have', async () => {
    const ask = (headers: Record<string, string>) => json(headers, { amount: '10.00' })
    const money = await moved(async () => {
      const challenge = await send('/v1/wallet/topups', ask(bearer(people.c2.secret)))
      const authorization = await sandbox.payer().createCredential(challenge)
      expect((await cells.main.call('/v1/wallet/topups', ask({ authorization }))).status).toBe(402)
    })
    expect(money).toBe(0n)
  })

  test('of two sessions in one request the first one counts, whatever its cell', async () => {
    const { main, c2 } = people
    const accountOf = async (...cookies: readonly string[]) =>
      (await read<AccountBody>(send('/api/account', { headers: { cookie: cookies.join('; ') } }))).id
    expect([await accountOf(main.cookie, c2.cookie), await accountOf(c2.cookie, main.cookie)]).toEqual([main.id, c2.id])
  })

  test('an owner in another cell sets up an authenticator app at main, and the account has the audit entry', async () => {
    const [, { cookie, id }] = [await person('bob@example.com'), await person('eva@example.com')]
    expect(await cells.main.core.stores.cells.ofAccount(id as 'acct_')).toBe(C2)
    const password = 'correct horse battery'
    const { totpURI } = await read<{ totpURI: string }>(
      send('/api/auth/two-factor/enable', json({ cookie }, { password })),
    )
    await read(send('/api/auth/two-factor/verify-totp', json({ cookie }, { code: totp(totpURI) })))
    const trail = await cells.c2.core.stores.audit.ofAccount(id as 'acct_', 1, null)
    expect(trail?.rows[0]?.action).toBe('account.second_factor_on')
  })
})
