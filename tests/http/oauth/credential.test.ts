import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import type { Client, InStatement } from '@libsql/client'
import { hashToken } from '../../../server/core/credentials/oauth-grant'
import { oauthApp, type Tokens } from '../../support/agents/oauth'
import { countingReads } from '../../support/databases/counting-reads'
import { openFile } from '../../support/databases/database-file'
import { type Harness, openHarness, WIDE } from '../../support/harness'
import { reconcile } from '../../support/reconcile'

let gateway: Harness
let owner: Awaited<ReturnType<Harness['owner']>>
let app: ReturnType<typeof oauthApp>
let tokens: Tokens
beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
  app = oauthApp(gateway, owner)
  tokens = await app.connect('data:read usage:read offline_access', ['/v1', '/apis/v1'])
})
afterAll(async () => {
  await gateway.close(true)
  const { problems } = await reconcile(gateway.databaseFile)
  expect(problems).toEqual([])
})

const SEARCH = '/apis/v1/websearch/images/search?q=card'
const errorOf = async (answer: Response) =>
  ((await answer.json()) as { error: { code: string; param?: string; limit_source?: string } }).error

async function accountOf() {
  const body = (await (await owner.api('/api/account')).json()) as { id: string; balance_micros_usd: number }
  return body
}

describe('an access token on REST (spec D10)', () => {
  test("calls like a key, spends its owner’s balance, and logs its row under the app's grant", async () => {
    const before = (await accountOf()).balance_micros_usd
    const answer = await gateway.as(tokens.access_token, SEARCH)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-cost-micros-usd')).toBe('5000')
    expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('60')
    expect((await accountOf()).balance_micros_usd).toBe(before - 5000)
    const id = answer.headers.get('x-gateway-request-id')
    const explained = await gateway.as(tokens.access_token, `/v1/usage/${id}`)
    expect(await explained.json()).toMatchObject({ id, key_id: expect.stringMatching(/^conn_/), cost_micros_usd: 5000 })
  })

  test('reads the usage of the whole account, where a key gets 403 (spec 4.6)', async () => {
    const made = (await (await owner.api('/api/keys', { name: 'beside' })).json()) as { secret: string }
    expect((await gateway.as(made.secret, SEARCH)).status).toBe(200)
    const read = async (scope: string) =>
      (await (await gateway.as(tokens.access_token, `/v1/usage?scope=${scope}`)).json()) as {
        scope: string
        totals: { requests: number }
      }
    const [own, all] = [await read('key'), await read('account')]
    expect(all.scope).toBe('account')
    expect(all.totals.requests).toBe(own.totals.requests + 1)
    const refused = await gateway.as(made.secret, '/v1/usage?scope=account')
    expect([refused.status, (await errorOf(refused)).code]).toEqual([403, 'insufficient_permissions'])
  })

  test('reads the limits and the balance', async () => {
    const answer = await gateway.as(tokens.access_token, '/v1/credits/balance')
    expect(await answer.json()).toMatchObject({ currency: 'USD', api_key: { unlimited: true } })
  })
})

describe('an access token in use', () => {
  /** A gateway with one app that has called. */
  async function openUsed() {
    const own = await openHarness()
    const its = oauthApp(own, await own.owner())
    const { access_token: token } = await its.connect('data:read offline_access', ['/apis/v1'])
    expect((await own.as(token, SEARCH)).status).toBe(200)
    return { own, its, token, call: () => own.as(token, SEARCH), [Symbol.asyncDispose]: () => own.close() }
  }

  test('needs no query until a second has passed', async () => {
    await using used = await openUsed()
    const readsOf = async () => (await countingReads(used.own, used.call)).reads
    expect([await readsOf(), await readsOf()]).toEqual([0, 0])
    used.own.clock.advance(1000)
    expect([await readsOf(), await readsOf()]).toEqual([1, 0])
  })

  test('is refused on the next call if it was revoked during its look-up', async () => {
    await using used = await openUsed()
    used.own.clock.advance(1000)
    const read = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    const { $client: client } = used.own.core.stores.db as typeof used.own.core.stores.db & { readonly $client: Client }
    const execute = client.execute.bind(client)
    const spy = spyOn(client, 'execute').mockImplementationOnce((async (statement: InStatement) => {
      const row = await execute(statement)
      read.resolve()
      await held.promise
      return row
    }) as typeof client.execute)
    const early = used.call()
    await read.promise
    await used.its.form('/oauth2/revoke', { client_id: 'gateway-cli', token: used.token })
    held.resolve()
    expect((await early).status).toBe(200)
    expect((await used.call()).status).toBe(401)
    spy.mockRestore()
  })

  test('is refused on the next call once its app is disabled, or its owner is gone', async () => {
    for (const change of [
      `UPDATE oauth_client SET disabled = 1 WHERE client_id = 'gateway-cli'`,
      'DELETE FROM identity_user',
    ]) {
      await using used = await openUsed()
      await used.own.core.stores.db.run(change as never)
      expect((await used.call()).status).toBe(401)
    }
  })

  test('is refused within a second if it is revoked directly in the database', async () => {
    await using used = await openUsed()
    const hand = openFile(used.own.databaseFile)
    await hand.execute('DELETE FROM oauth_access_token')
    hand.close()
    used.own.clock.advance(1000)
    expect((await used.call()).status).toBe(401)
  })
})

describe('401 invalid_token', () => {
  const expectRefused = async (token: string, path = SEARCH) => {
    const answer = await gateway.as(token, path)
    expect([answer.status, (await errorOf(answer)).code]).toEqual([401, 'invalid_token'])
    const challenge = answer.headers.get('www-authenticate') ?? ''
    expect(challenge).toContain('error="invalid_token"')
    expect(challenge).toContain(`resource_metadata="${app.origin}/.well-known/oauth-protected-resource`)
  }

  test('for an unknown token, and one with a letter changed', async () => {
    await expectRefused('gwat_nope')
    await expectRefused(`${tokens.access_token.slice(0, -1)}${tokens.access_token.endsWith('a') ? 'b' : 'a'}`)
  })

  test('for another audience', async () => {
    const { access_token } = await app.connect('data:read usage:read', ['/mcp'])
    await expectRefused(access_token)
    await expectRefused(access_token, '/v1/usage')
  })

  test('for one after its hour; its refresh token gives another', async () => {
    await using later = await laterGateway()
    await later.expectExpired()
  })

  test('for a revoked one, from the next request on', async () => {
    const own = await app.connect('data:read offline_access', ['/apis/v1'])
    expect((await gateway.as(own.access_token, SEARCH)).status).toBe(200)
    await app.form('/oauth2/revoke', { client_id: 'gateway-cli', token: own.access_token })
    await expectRefused(own.access_token)
  })

  test('for a guess needs no query once the address’s minute is full, while a known app continues', async () => {
    await using crowded = await openCrowded()
    await crowded.run()
  })

  test('for a guess counts toward the address: during a full minute no unknown token is looked up', async () => {
    await using crowded = await openCrowded()
    await crowded.runUnseen()
  })

  test('for a revoked token counts as a guess', async () => {
    await using crowded = await openCrowded()
    await crowded.runRevoked()
  })

  test('for one at its exact expiry, and not a millisecond earlier', async () => {
    await using own = await openHarness().then((opened) => ({ opened, [Symbol.asyncDispose]: () => opened.close() }))
    const { opened } = own
    const { access_token: token } = await oauthApp(opened, await opened.owner()).connect('data:read', ['/apis/v1'])
    const ends = (await opened.core.grants.byHash(hashToken(token)))?.expiresAt ?? 0
    opened.clock.advance(ends - 1 - opened.clock.now())
    expect((await opened.as(token, SEARCH)).status).toBe(200)
    opened.clock.advance(1)
    const refused = await opened.as(token, SEARCH)
    expect([refused.status, (await errorOf(refused)).code]).toEqual([401, 'invalid_token'])
  })
})

/** A gateway whose clock is moved past the life of a token. */
async function laterGateway() {
  const own = await openHarness()
  const person = await own.owner()
  const its = oauthApp(own, person)
  return {
    async expectExpired() {
      const first = await its.connect('data:read offline_access', ['/apis/v1'])
      expect((await own.as(first.access_token, SEARCH)).status).toBe(200)
      own.clock.advance(Date.now() - own.clock.now() + 3_601_000)
      expect((await own.as(first.access_token, SEARCH)).status).toBe(401)
      const { status, body } = await its.refresh(first.refresh_token)
      expect(status).toBe(200)
      expect(body.access_token).not.toBe(first.access_token)
    },
    [Symbol.asyncDispose]: () => own.close(),
  }
}

async function openCrowded() {
  const own = await openHarness({ env: { ANON_RPM: '3' } })
  const its = oauthApp(own, await own.owner())
  return {
    async run() {
      const known = await its.connect('data:read offline_access', ['/apis/v1'])
      expect((await own.as(known.access_token, SEARCH)).status).toBe(200)
      const guesses: { status: number; reads: number }[] = []
      for (let i = 0; i < 5; i++) {
        const { result, reads } = await countingReads(own, () => own.as(`gwat_guess${i}`, SEARCH))
        guesses.push({ status: result.status, reads })
      }
      const [looked, refused] = [
        { status: 401, reads: 1 },
        { status: 429, reads: 0 },
      ]
      expect(guesses).toEqual([looked, looked, looked, refused, refused])
      expect((await own.as(known.access_token, SEARCH)).status).toBe(200)
    },
    /** A token that is good, and not yet known, is refused like a guess: nothing is read, so the two look the same. */
    async runUnseen() {
      const { access_token: unseen } = await its.connect('data:read offline_access', ['/apis/v1'])
      for (let i = 0; i < 3; i++) expect((await own.as(`gwat_guess${i}${unseen.slice(-12)}`, SEARCH)).status).toBe(401)
      const { result: refused, reads } = await countingReads(own, () => own.as(unseen, SEARCH))
      expect(reads).toBe(0)
      expect([refused.status, (await errorOf(refused)).limit_source]).toEqual([429, 'address'])
      own.clock.advance(60_000)
      expect((await own.as(unseen, SEARCH)).status).toBe(200)
    },
    /** One that was revoked is a guess again, although it was good once. */
    async runRevoked() {
      const ended = await its.connect('data:read offline_access', ['/apis/v1'])
      expect((await own.as(ended.access_token, SEARCH)).status).toBe(200)
      await its.form('/oauth2/revoke', { client_id: 'gateway-cli', token: ended.access_token })
      expect((await own.as(ended.access_token, SEARCH)).status).toBe(401)
      for (let i = 0; i < 3; i++) await own.as(`gwat_guess${i}`, SEARCH)
      const { result: refused, reads } = await countingReads(own, () => own.as(ended.access_token, SEARCH))
      expect([refused.status, reads]).toEqual([429, 0])
    },
    [Symbol.asyncDispose]: () => own.close(),
  }
}

describe('the scope in a 401', () => {
  test('is the one that the route needs, with offline_access', async () => {
    const named = async (path: string, method = 'GET') => {
      const answer = await gateway.as('gwat_nobody', path, { method })
      expect(answer.status).toBe(401)
      return / scope="([^"]+)"/.exec(answer.headers.get('www-authenticate') ?? '')?.[1]
    }
    expect(await named(SEARCH)).toBe('data:read offline_access')
    expect(await named('/v1/chat/completions', 'POST')).toBe('models:use offline_access')
    expect(await named('/v1/keys')).toBe('keys:write offline_access')
    expect(await named('/apis/v1/social/post_social', 'POST')).toBe('social:write offline_access')
    expect(await named('/v1/models')).toBe('data:read usage:read offline_access')
  })
})

describe('403 insufficient_scope', () => {
  test('names the missing scope, in the body and in the challenge', async () => {
    const { access_token } = await app.connect('usage:read offline_access', ['/v1', '/apis/v1'])
    const answer = await gateway.as(access_token, SEARCH)
    expect([answer.status, await errorOf(answer)]).toMatchObject([
      403,
      { code: 'insufficient_scope', param: 'data:read' },
    ])
    expect(answer.headers.get('www-authenticate')).toContain('error="insufficient_scope"')
    expect(answer.headers.get('www-authenticate')).toContain('scope="data:read"')
    const narrow = await app.connect('data:read offline_access', ['/v1', '/apis/v1'])
    expect((await errorOf(await gateway.as(narrow.access_token, '/v1/usage'))).param).toBe('usage:read')
  })

  test('is for both scopes of deep research, which uses models and searches', async () => {
    const research = async (scopes: string) => {
      const { access_token } = await app.connect(`${scopes} offline_access`, ['/v1'])
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
      return gateway.as(access_token, '/v1/deep-research', init)
    }
    const answer = await research('models:use')
    expect([answer.status, (await errorOf(answer)).param]).toEqual([403, 'data:read'])
    expect((await errorOf(await research('data:read'))).param).toBe('models:use')
    expect((await research('models:use data:read')).status).toBe(400)
    const unknown = await gateway.as('gwat_nobody', '/v1/deep-research', { method: 'POST' })
    expect(unknown.headers.get('www-authenticate')).toContain('scope="models:use data:read offline_access"')
  })
})

describe('an app grant', () => {
  test('exists once per owner and app: another login of the same app spends from the same pool', async () => {
    const again = await app.connect('data:read usage:read offline_access', ['/v1', '/apis/v1'])
    const used = async () =>
      (
        (await (await gateway.as(again.access_token, '/v1/credits/balance')).json()) as {
          api_key: { used_micros_usd: number }
        }
      ).api_key.used_micros_usd
    const before = await used()
    await gateway.as(tokens.access_token, SEARCH)
    expect(await used()).toBe(before + 5000)
  })

  test('has a spending limit that holds under any number of concurrent calls, like a key’s', async () => {
    const own = await openHarness()
    const person = await own.owner()
    const its = oauthApp(own, person)
    const { body } = await its.register()
    const clientId = String(body['client_id'])
    const account = (await own.core.accounts.list(10, null))[0]!
    await own.core.operator.setLimits({ kind: 'operator', id: 'test', address: null }, account.id, WIDE)
    const actor = { kind: 'owner', id: account.userId, address: null } as const
    const limited = await own.core.appGrants.setLimit(
      { accountId: account.id, member: account, actor },
      clientId,
      20_000 as never,
    )
    expect(limited.ok).toBe(true)
    const got = await its.connect('data:read offline_access', ['/apis/v1'], clientId)
    const answers = await Promise.all(Array.from({ length: 30 }, () => own.as(got.access_token, SEARCH)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(4)
    const refused = answers.find(({ status }) => status === 402)!
    expect(await errorOf(refused)).toMatchObject({
      code: 'insufficient_api_key_balance',
      message: expect.stringContaining('the spending limit of this app has less'),
    })
    await own.close(true)
    expect((await reconcile(own.databaseFile)).problems).toEqual([])
  })

  test('has its own limit per minute, by its owner’s tier', async () => {
    const own = await openHarness()
    const its = oauthApp(own, await own.owner())
    const got = await its.connect('data:read offline_access', ['/apis/v1'])
    const statuses = []
    for (let i = 0; i < 61; i++) statuses.push((await own.as(got.access_token, `${SEARCH}&count=0`)).status)
    expect(statuses.filter((status) => status === 429)).toHaveLength(1)
    const refused = await own.as(got.access_token, SEARCH)
    expect(await errorOf(refused)).toMatchObject({ code: 'rate_limit_exceeded', limit_source: 'app' })
    await own.close()
  })

  test('that was ended is refused on the next call, while its calls are in progress, and so is its refresh token', async () => {
    const { body } = await app.register()
    const clientId = String(body['client_id'])
    const own = await app.connect('data:read offline_access', ['/apis/v1'], clientId)
    const account = (await gateway.core.accounts.list(10, null))[0]!
    const actor = { kind: 'owner', id: account.userId, address: null } as const
    const running = Promise.all(Array.from({ length: 10 }, () => gateway.as(own.access_token, SEARCH)))
    expect(await gateway.core.appGrants.disconnect(account.userId, clientId, actor)).toBeLessThanOrEqual(1)
    const next = await gateway.as(own.access_token, SEARCH)
    expect(next.status).toBe(401)
    for (const { status } of await running) expect([200, 401]).toContain(status)
    expect((await app.refresh(own.refresh_token, { client_id: clientId })).body.error).toBe('invalid_grant')
    expect((await gateway.as(tokens.access_token, SEARCH)).status).toBe(200)
  })
})

describe('keys, by an app (spec D10)', () => {
  test('are created, listed, changed and revoked with keys:write; the audit names the app grant', async () => {
    const { access_token } = await app.connect('keys:write offline_access', ['/v1'])
    const send = (path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') =>
      gateway.as(access_token, path, {
        method,
        ...(body !== undefined && { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
      })
    const made = await send('/v1/keys', { name: 'made by an app', spending_limit: 1 })
    expect(made.status).toBe(201)
    expect(made.headers.get('x-ratelimit-limit-requests')).toBe('60')
    expect(made.headers.get('cache-control')).toBe('no-store')
    const { key, secret } = (await made.json()) as { key: { id: string }; secret: string }
    expect(key).toMatchObject({ created_by: { id: expect.stringMatching(/^conn_/), name: expect.any(String) } })
    expect((await gateway.as(secret, SEARCH)).status).toBe(200)
    expect(await (await send(`/v1/keys/${key.id}`, { name: 'renamed' }, 'PATCH')).json()).toMatchObject({
      key: { name: 'renamed' },
    })
    expect((await send(`/v1/keys/${key.id}/revoke`, undefined, 'POST')).status).toBe(200)
    expect((await gateway.as(secret, SEARCH)).status).toBe(401)
    expect((await send('/v1/keys/key_nope')).status).toBe(404)
    const audit = await gateway.core.stores.db.run(
      `SELECT actor_kind, actor_id FROM audit_log WHERE key_id = '${key.id}'` as never,
    )
    expect(audit.rows.map((row) => [row['actor_kind'], String(row['actor_id']).slice(0, 5)])).toEqual(
      Array(3).fill(['app', 'conn_']),
    )
  })

  test('are never created by a key, nor by an app without keys:write', async () => {
    const made = (await (await owner.api('/api/keys', { name: 'no maker' })).json()) as { secret: string }
    const byKey = await gateway.as(made.secret, '/v1/keys')
    expect([byKey.status, (await errorOf(byKey)).code]).toEqual([403, 'insufficient_permissions'])
    const byApp = await gateway.as(tokens.access_token, '/v1/keys')
    expect([byApp.status, (await errorOf(byApp)).code]).toEqual([403, 'insufficient_scope'])
    expect((await gateway.call('/v1/keys')).status).toBe(401)
  })
})

test('a top-up needs wallet:topup, and goes to the owner’s account', async () => {
  const start = (token: string) =>
    gateway.as(token, '/v1/wallet/topups', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ amount: '10.00' }),
    })
  const allowed = await app.connect('wallet:topup offline_access', ['/v1'])
  // Payment is asked for: the challenge is bound to the account.
  expect((await start(allowed.access_token)).status).toBe(402)
  const refused = await start(tokens.access_token)
  expect([refused.status, (await errorOf(refused)).code]).toEqual([403, 'insufficient_scope'])
})
