import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { opaqueOf } from '../../../server/adapters/payments/mpp/challenge-writer'
import { LibsqlCellDirectory } from '../../../server/adapters/stores/libsql/cluster/cell-directory'
import { accountDirectory } from '../../../server/adapters/stores/libsql/schema/directory'
import { DirectoryRouter, openRouter, type UsersOfRequests } from '../../../server/compose/cluster/cells/cell-router'
import { type CellDirectory, type CellRouter, DirectoryUnavailable } from '../../../server/core/cluster/cells'
import { hashSecret, newSecret } from '../../../server/core/credentials/secret'
import { makeId } from '../../../server/core/ids'
import { newLinkSecrets } from '../../../server/core/social/state-token'
import { keyBench } from '../../http/owner-bench'
import { oauthApp } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'

const CELLS = ['main', 'c2']

/** What the cell of a route's request follows from. */
type Follows =
  /** A key, an access token, or else nothing. */
  | 'caller'
  /** The session. */
  | 'session'
  | 'main'
  /** What the address or the payment names; its own tests are below. */
  | 'named'

/** Each resource of the gateway: its first two segments, or the whole path where that decides. A new one must be added here. */
const RESOURCES: Readonly<Record<string, Follows>> = {
  '/v1/audio': 'caller',
  '/v1/catalog': 'caller',
  '/v1/chat': 'caller',
  '/v1/completions': 'caller',
  '/v1/credits': 'caller',
  '/v1/deep-research': 'caller',
  '/v1/embeddings': 'caller',
  '/v1/images': 'caller',
  '/v1/keys': 'caller',
  '/v1/messages': 'caller',
  '/v1/models': 'caller',
  '/v1/moderations': 'caller',
  '/v1/responses': 'caller',
  '/v1/topups': 'caller',
  '/v1/usage': 'caller',
  '/v1/wallet': 'caller',
  '/v1/webhooks': 'caller',
  '/v1/whoami': 'caller',
  '/v1beta/models': 'caller',
  '/apis/v1': 'caller',
  '/mcp': 'caller',
  '/mcp/paid': 'caller',
  '/api/account': 'session',
  '/api/apps': 'session',
  '/api/audit': 'session',
  '/api/audit.csv': 'session',
  '/api/audit.jsonl': 'session',
  '/api/batch': 'session',
  '/api/billing': 'session',
  '/api/error-report': 'session',
  '/api/events': 'session',
  '/api/keys': 'session',
  '/api/keys.csv': 'session',
  '/api/limit-requests': 'session',
  '/api/limits': 'session',
  '/api/models': 'session',
  '/api/notices': 'session',
  '/api/payments': 'session',
  '/api/prices': 'session',
  '/api/requests': 'session',
  '/api/settings': 'session',
  '/api/social': 'session',
  '/api/thumbnail': 'session',
  '/api/topups': 'session',
  '/api/transactions': 'session',
  '/api/transactions.csv': 'session',
  '/api/try': 'session',
  '/api/usage': 'session',
  '/api/usage.csv': 'session',
  '/api/webhooks': 'session',
  '/api/auth': 'main',
  '/api/operator': 'main',
  '/api/settings/email/confirm': 'main',
  '/api/webhooks/stripe': 'main',
  '/.well-known/mcp': 'main',
  '/.well-known/oauth-authorization-server': 'main',
  '/.well-known/oauth-protected-resource': 'main',
  '/.well-known/x402': 'main',
  '/docs': 'main',
  '/docs/guide': 'main',
  '/health': 'main',
  '/llms.txt': 'main',
  '/media/lucide': 'main',
  '/openapi.json': 'main',
  '/openapi/operations': 'main',
  '/ready': 'main',
  '/sandbox/social': 'main',
  '/schemas/catalog.json': 'main',
  '/schemas/gateway.json': 'main',
  '/unsubscribe': 'named',
  '/apis/v1/social/oauth_callback': 'named',
  '/apis/v1/social/oauth_callback/confirm': 'named',
}

describe('the cell of a request', () => {
  let gateway: Harness
  let router: CellRouter
  /** What a request may carry, and the cell of whom it names: as a caller, and as the owner of a session. */
  let carried: Record<string, { headers: Record<string, string>; query?: string; caller: string; session: string }>
  let accountOfC2: string
  let directory: LibsqlCellDirectory

  beforeAll(async () => {
    gateway = await openHarness()
    const [root, ada] = [await gateway.owner('root@example.com'), await gateway.owner('ada@example.com')]
    const { controlDb } = gateway.core.stores
    directory = new LibsqlCellDirectory(controlDb)
    accountOfC2 = ((await (await ada.api('/api/account')).json()) as { id: string }).id
    const { secret: ofMain } = await keyBench(root).create()
    const tokens = await oauthApp(gateway, ada).connect()
    const cookie = (of: typeof root) => ({ cookie: of.cookie })
    const [ofC2, unknown] = [newSecret().secret, newSecret().secret]
    await directory.claimKey(hashSecret(ofC2), 'c2', null)
    await controlDb
      .update(accountDirectory)
      .set({ cell: 'c2' })
      .where(eq(accountDirectory.accountId, accountOfC2 as 'acct_'))
    const bearer = (secret: string) => ({ authorization: `Bearer ${secret}` })
    const forged = ada.cookie.replace(/(session_token=[^.]+\.)../, '$1zz')
    carried = {
      nothing: { headers: {}, caller: 'main', session: 'main' },
      'a key of c2': { headers: bearer(ofC2), caller: 'c2', session: 'main' },
      'a key of c2, in lower case': { headers: { authorization: `bearer  ${ofC2} ` }, caller: 'c2', session: 'main' },
      'a key of main': { headers: bearer(ofMain), caller: 'main', session: 'main' },
      'an unknown key': { headers: bearer(unknown), caller: 'main', session: 'main' },
      'no key at all': { headers: bearer('sk-something'), caller: 'main', session: 'main' },
      'another scheme': { headers: { authorization: `Basic ${ofC2}` }, caller: 'main', session: 'main' },
      'a key as Anthropic sends it': { headers: { 'x-api-key': ofC2 }, caller: 'c2', session: 'main' },
      'a key as Google sends it': { headers: { 'x-goog-api-key': ofC2 }, caller: 'c2', session: 'main' },
      'a key as Azure sends it, behind one of a vendor': {
        ...{ headers: { 'api-key': `AIza-vendor, ${ofC2}` }, caller: 'c2', session: 'main' },
      },
      'a key of main before one of c2': {
        ...{ headers: { ...bearer(ofMain), 'x-api-key': ofC2 }, caller: 'main', session: 'main' },
      },
      'a payment': { headers: { authorization: 'Payment e30' }, caller: 'main', session: 'main' },
      'a payment beside a key of c2': {
        ...{ headers: { authorization: 'Payment e30', 'x-api-key': ofC2 }, caller: 'c2', session: 'main' },
      },
      'an x402 payment': { headers: { 'x-payment': 'e30' }, caller: 'main', session: 'main' },
      'an x402 payment beside a key of c2': {
        ...{ headers: { 'payment-signature': 'e30', ...bearer(ofC2) }, caller: 'c2', session: 'main' },
      },
      'an access token of c2': { headers: bearer(tokens.access_token), caller: 'c2', session: 'main' },
      'an unknown access token': { headers: bearer('gwat_nobodys'), caller: 'main', session: 'main' },
      'a session of c2': { headers: cookie(ada), caller: 'main', session: 'c2' },
      'a session of c2 among other cookies': {
        ...{ headers: { cookie: `theme=dark; ${ada.cookie}; a="b;c"` }, caller: 'main', session: 'c2' },
      },
      'a session of main': { headers: cookie(root), caller: 'main', session: 'main' },
      'a forged session': { headers: { cookie: forged }, caller: 'main', session: 'main' },
      'a session of c2 and a key of main': {
        headers: { ...cookie(ada), ...bearer(ofMain) },
        caller: 'main',
        session: 'c2',
      },
    }
  })
  afterAll(() => gateway.close())

  const fresh = () => openRouter(gateway.config, CELLS, gateway.core.stores.controlDb)
  const ask = (path: string, init: RequestInit = {}) => router.cellOf(new Request(`http://localhost${path}`, init))

  test('follows from what the request carries, for every route of the gateway and every credential', async () => {
    const wrong: string[] = []
    for (const asked of ['first', 'again']) {
      if (asked === 'first') router = fresh()
      for (const { method, path } of gateway.gateway.app.routes) {
        const follows = RESOURCES[path] ?? RESOURCES[path.split('/').slice(0, 3).join('/')]
        if (follows === undefined) wrong.push(`${path} is not in the table of this test`)
        if (follows === undefined || follows === 'named') continue
        const real = path.replace(/:\w+/g, 'x').replace('*', 'x/y')
        for (const [name, { headers, ...cells }] of Object.entries(carried)) {
          const expected = follows === 'main' ? 'main' : cells[follows]
          const found = await ask(real, { method: method === 'ALL' ? 'POST' : method, headers })
          if (found !== expected) wrong.push(`${method} ${path} with ${name}: ${found}, not ${expected} (${asked})`)
        }
      }
    }
    expect(wrong).toEqual([])
  })

  test('follows from a key in the query only where the gateway reads one', async () => {
    router = fresh()
    const secret = newSecret().secret
    await directory.claimKey(hashSecret(secret), 'c2', null)
    expect(await ask(`/v1beta/models/x:generateContent?key=${secret}`)).toBe('c2')
    expect(await ask(`/v1/models?key=${secret}`)).toBe('main')
    expect(await ask(`/api/keys?key=${secret}`)).toBe('main')
  })

  test('follows from the account of an unsubscribe link and of a payment that tops it up without a key', async () => {
    router = fresh()
    expect(await ask(`/unsubscribe?token=${accountOfC2}.signature`)).toBe('c2')
    expect(await ask('/unsubscribe?token=acct_0.signature')).toBe('main')
    expect(await ask('/unsubscribe')).toBe('main')
    const credential = (account: string) => {
      const challenge = { id: 'x', realm: 'x', method: 'tempo', opaque: opaqueOf({ op: 'top-up', account }) }
      return Buffer.from(JSON.stringify({ challenge, payload: {} })).toString('base64url')
    }
    const pay = (path: string, account: string) =>
      ask(path, { method: 'POST', headers: { authorization: `Payment ${credential(account)}` } })
    expect(await pay('/v1/wallet/topups', accountOfC2)).toBe('c2')
    expect(await pay('/v1/wallet/topups', makeId('acct', 0))).toBe('main')
    expect(await pay('/v1/chat/completions', accountOfC2)).toBe('main')
  })

  test('follows from the state that a social network returns, and from the link that is confirmed', async () => {
    router = fresh()
    const [{ state, stateHash }, link] = [newLinkSecrets(), makeId('link', 0)]
    await directory.claimKey(stateHash, 'c2', null)
    await directory.claimKey(link, 'c2', null)
    expect(await ask(`/apis/v1/social/oauth_callback?state=${state}&code=x`)).toBe('c2')
    expect(await ask(`/apis/v1/social/oauth_callback?state=${newLinkSecrets().state}`)).toBe('main')
    expect(await ask(`/apis/v1/social/oauth_callback/confirm?link=${link}`, { method: 'POST' })).toBe('c2')
    expect(await ask('/apis/v1/social/oauth_callback/confirm', { method: 'POST' })).toBe('main')
  })

  test('of a request whose address cannot be parsed is found like any other', async () => {
    router = fresh()
    const headers = carried['a key of c2']?.headers ?? {}
    for (const url of ['/v1/models', 'http://gw/v1/models', 'http://a b/v1/models']) {
      const request = new Request('http://localhost/', { headers })
      Object.defineProperty(request, 'url', { value: url })
      expect(await router.cellOf(request)).toBe('c2')
    }
  })
})

describe('a router', () => {
  const secret = () => newSecret().secret
  const request = (key: string) => new Request('http://localhost/v1/models', { headers: { 'x-api-key': key } })
  const nobody: UsersOfRequests = {
    sessionIn: () => 'session',
    tokenIn: () => 'token',
    userOfSession: async () => 'ada',
    userOfToken: async () => null,
  }

  let revision = 0
  function routerOver(answers: Partial<CellDirectory>, cells = CELLS) {
    const none = async () => null
    const claims = { claimKey: async () => undefined, claimPayment: async () => 'main' }
    const directory = { ofKey: none, ofUser: none, ofAccount: none, ...claims, ...answers }
    return new DirectoryRouter({ cells, directory, users: nobody, revision: async () => revision })
  }

  test('of one cell asks nobody and makes nobody wait', () => {
    const router = routerOver({ ofKey: async () => 'c2' }, ['main'])
    expect(router.cellOf(request(secret()))).toBe('main')
  })

  test('asks once for requests that arrive together, and then answers at once, also for keys of main', async () => {
    let asked = 0
    const [there, here] = [secret(), secret()]
    const router = routerOver({
      ofKey: async (hash) => {
        asked++
        return hash === hashSecret(there) ? 'c2' : null
      },
    })
    for (const [key, cell] of [[there, 'c2'] as const, [here, 'main'] as const]) {
      const together = [1, 2, 3].map(() => router.cellOf(request(key)))
      expect(await Promise.all(together)).toEqual([cell, cell, cell])
      expect(router.cellOf(request(key))).toBe(cell)
    }
    expect(asked).toBe(2)
  })

  test('asks again for a key that no cell had once lost keys were added to the directory again, also if it was being asked', async () => {
    let cell: string | null = null
    const [known, asked] = [secret(), secret()]
    const slow = Promise.withResolvers<null>()
    const router = routerOver({ ofKey: (hash) => (hash === hashSecret(asked) ? slow.promise : Promise.resolve(cell)) })
    await router.refresh()
    expect(await router.cellOf(request(known))).toBe('main')
    const asking = router.cellOf(request(asked))
    cell = 'c2'
    await router.refresh()
    expect(router.cellOf(request(known))).toBe('main')
    revision++
    await router.refresh()
    slow.resolve(null)
    expect([await asking, await router.cellOf(request(known))]).toEqual(['main', 'c2'])
    expect(router.cellOf(request(asked))).toBeInstanceOf(Promise)
  })

  test('asks again for a user who had no account', async () => {
    let cell: string | null = null
    const router = routerOver({ ofUser: async () => cell })
    const page = () => router.cellOf(new Request('http://localhost/api/account'))
    expect(await page()).toBe('main')
    cell = 'c2'
    expect(await page()).toBe('c2')
    cell = null
    expect(page()).toBe('c2')
  })

  test('throws while the directory cannot be read, and answers as soon as it can', async () => {
    let isDown = true
    const router = routerOver({
      ofKey: async () => {
        if (isDown) throw new Error('down')
        return 'c2'
      },
    })
    const key = secret()
    const failed = await Promise.resolve(router.cellOf(request(key))).catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(DirectoryUnavailable)
    isDown = false
    expect(await router.cellOf(request(key))).toBe('c2')
  })
})
