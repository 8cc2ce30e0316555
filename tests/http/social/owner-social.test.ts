import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { comeBack, confirmed, decide, type Link, linkKey, press, questionOf } from '../../support/social/linked-key'

interface Account {
  readonly key: { readonly id: string; readonly name: string }
  readonly state: string
  readonly account: { readonly username: string } | null
  readonly scopes: readonly string[]
  readonly missing_scope: string | null
  readonly link: { readonly id: string; readonly state: string } | null
}

let gateway: Harness
let owner: Awaited<ReturnType<Harness['owner']>>
beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
})
afterAll(() => gateway.close())

async function key(of = owner) {
  const made = await of.api('/api/keys', { name: `key ${crypto.randomUUID()}` })
  const { key: record, secret } = (await made.json()) as { key: { id: string }; secret: string }
  return { id: record.id, secret }
}
const start = async (id: string, scopes?: readonly string[]) => {
  const answer = await owner.api('/api/social', { key_id: id, ...(scopes && { scopes }) })
  return { status: answer.status, link: (await answer.json()) as Link & { link_id: string } }
}
const accountOf = async (id: string, of = owner): Promise<Account | undefined> => {
  const { accounts } = (await (await of.api('/api/social')).json()) as { accounts: Account[] }
  return accounts.find((account) => account.key.id === id)
}
const unlink = (id: string, of = owner) => of.api(`/api/social/${id}`, undefined, 'DELETE')

describe('GET /api/social', () => {
  test('has every key, the network, and the scopes in words', async () => {
    const made = await key()
    const body = (await (await owner.api('/api/social')).json()) as {
      network: string
      scopes: { name: string; meaning: string }[]
    }
    expect(body.network).toBe('sandbox')
    expect(body.scopes).toContainEqual({ name: 'tweet.write', meaning: 'Post, reply and quote' })
    expect(body.scopes).toHaveLength(7)
    expect(await accountOf(made.id)).toMatchObject({ state: 'none', account: null, link: null })
  })

  test('has pages of keys, which a search and the id of a key narrow', async () => {
    const many = await gateway.owner()
    for (const name of ['one', 'two', 'Twofold']) await many.api('/api/keys', { name })
    const page = async (query: string) => {
      const body = (await (await many.api(`/api/social?${query}`)).json()) as {
        accounts: { key: { id: string; name: string } }[]
        next_cursor: string | null
      }
      return { keys: body.accounts.map((account) => account.key), next: body.next_cursor }
    }
    const first = await page('limit=2')
    const rest = await page(`limit=2&cursor=${first.next}`)
    expect([...first.keys, ...rest.keys].map(({ name }) => name).sort()).toEqual(['Twofold', 'one', 'two'])
    expect(rest.next).toBeNull()
    expect((await page('q=TWO')).keys.map(({ name }) => name).sort()).toEqual(['Twofold', 'two'])
    expect((await page(`key=${first.keys[0]?.id}`)).keys).toEqual([first.keys[0] as (typeof first.keys)[0]])
    expect((await many.api('/api/social?cursor=nothing')).status).toBe(400)
  })

  test('follows a link through its states: pending, refused, expired, linked', async () => {
    const made = await key()
    const { link } = await start(made.id)
    expect(await accountOf(made.id)).toMatchObject({ state: 'none', link: { id: link.link_id, state: 'waiting' } })
    await comeBack(gateway, await decide(gateway, link, 'deny'))
    expect((await accountOf(made.id))?.link?.state).toBe('denied')
    await start(made.id)
    gateway.clock.advance(600_000)
    expect((await accountOf(made.id))?.link?.state).toBe('expired')
    const again = await start(made.id, ['tweet.write'])
    const question = await questionOf(await comeBack(gateway, await decide(gateway, again.link)))
    expect(await accountOf(made.id)).toMatchObject({ state: 'none', link: { state: 'waiting' } })
    await press(gateway, question)
    const linked = await accountOf(made.id)
    expect(linked).toMatchObject({ state: 'linked', account: { username: 'ada' }, link: null })
    expect(linked?.scopes).toEqual(['tweet.read', 'users.read', 'tweet.write'])
  })

  test('says which permission a call lacked, and when access was withdrawn', async () => {
    const made = await key()
    await linkKey(gateway, made.secret, ['tweet.read'], '1002')
    const like = () =>
      gateway.as(made.secret, '/apis/v1/social/like_social', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"tweet_id":"1"}',
      })
    await like()
    expect(await accountOf(made.id)).toMatchObject({ state: 'linked', missing_scope: 'like.write' })
    const { sandbox } = gateway.gateway
    for (const { id } of (await sandbox?.grants.of('1002')) ?? []) await sandbox?.grants.withdraw('1002', id)
    await gateway.as(made.secret, '/apis/v1/social/user_social')
    expect((await accountOf(made.id))?.state).toBe('revoked')
  })

  test('shows a rotated key once, under its successor, with its account', async () => {
    const made = await key()
    await linkKey(gateway, made.secret)
    const rotated = (await (await owner.api(`/api/keys/${made.id}/rotate`, {})).json()) as { key: { id: string } }
    expect(await accountOf(made.id)).toBeUndefined()
    expect(await accountOf(rotated.key.id)).toMatchObject({ state: 'linked', account: { username: 'ada' } })
  })

  test('a revoked key is shown while an account is linked to it, so that it can be unlinked', async () => {
    const [bare, linked] = [await key(), await key()]
    await linkKey(gateway, linked.secret)
    for (const { id } of [bare, linked]) await owner.api(`/api/keys/${id}/revoke`, {})
    expect(await accountOf(bare.id)).toBeUndefined()
    expect((await accountOf(linked.id))?.state).toBe('linked')
    expect((await unlink(linked.id)).status).toBe(200)
    expect(await accountOf(linked.id)).toBeUndefined()
  })

  test('contains no token, sealed or not', async () => {
    const made = await key()
    await linkKey(gateway, made.secret)
    expect(await (await owner.api('/api/social')).text()).not.toMatch(/token|verifier|v1\.|[\w-]{43}/)
  })
})

describe('POST /api/social', () => {
  test("returns what auth_social returns, for the session's owner", async () => {
    const { status, link } = await start((await key()).id, ['dm.read'])
    expect(status).toBe(201)
    expect(link.scopes).toEqual(['tweet.read', 'users.read', 'dm.read', 'offline.access'])
    expect(link.link_id).toStartWith('link_')
  })

  test.each([
    [{}, 400],
    [{ key_id: 7 }, 400],
    [{ key_id: 'key_x', scopes: ['nothing'] }, 400],
    [{ key_id: 'key_x', more: 1 }, 400],
    [{ key_id: 'key_x' }, 404],
  ])('%j is %d', async (body, status) => {
    expect((await owner.api('/api/social', body)).status).toBe(status)
  })

  test("another account's key is 404, a revoked one 409", async () => {
    const stranger = await gateway.owner()
    const made = await key()
    expect((await stranger.api('/api/social', { key_id: made.id })).status).toBe(404)
    await owner.api(`/api/keys/${made.id}/revoke`, {})
    expect((await start(made.id)).status).toBe(409)
  })

  test('without a session is 401, from another site 403', async () => {
    const made = await key()
    const body = JSON.stringify({ key_id: made.id })
    const headers = { 'content-type': 'application/json' }
    expect((await gateway.call('/api/social', { method: 'POST', headers, body })).status).toBe(401)
    expect(
      (await owner.api('/api/social', { key_id: made.id }, 'POST', { origin: 'https://evil.example' })).status,
    ).toBe(403)
    expect((await gateway.as(made.secret, '/api/social')).status).toBe(401)
  })
})

describe('DELETE /api/social/{id}', () => {
  test('unlinks, revokes the grant at the network, and can be repeated', async () => {
    const made = await key()
    await linkKey(gateway, made.secret, undefined, '1004')
    const { sandbox } = gateway.gateway
    expect(await sandbox?.grants.of('1004')).toHaveLength(1)
    const answer = await unlink(made.id)
    expect([answer.status, ((await answer.json()) as { account: Account }).account.state]).toEqual([200, 'none'])
    expect(await sandbox?.grants.of('1004')).toHaveLength(0)
    expect((await unlink(made.id)).status).toBe(200)
    expect((await gateway.as(made.secret, '/apis/v1/social/user_social')).status).toBe(403)
  })

  test('cancels a pending link: its approval comes too late', async () => {
    const made = await key()
    const { link } = await start(made.id)
    await unlink(made.id)
    expect((await accountOf(made.id))?.link?.state).toBe('cancelled')
    expect((await comeBack(gateway, await decide(gateway, link))).status).toBe(400)
    expect((await accountOf(made.id))?.state).toBe('none')
  })

  test('cancels one that was approved but not confirmed: the access is revoked at the network', async () => {
    const made = await key()
    const { link } = await start(made.id)
    const grants = async () => (await gateway.gateway.sandbox?.grants.of('1002'))?.length ?? 0
    const before = await grants()
    const question = await questionOf(await comeBack(gateway, await decide(gateway, link, 'approve', '1002')))
    expect(await grants()).toBe(before + 1)
    await unlink(made.id)
    expect(await grants()).toBe(before)
    expect((await press(gateway, question)).status).toBe(400)
    expect(await accountOf(made.id)).toMatchObject({ state: 'none', link: { state: 'cancelled' } })
  })

  test("another account's key is 404", async () => {
    const made = await key()
    await linkKey(gateway, made.secret)
    expect((await unlink(made.id, await gateway.owner())).status).toBe(404)
    expect((await accountOf(made.id))?.state).toBe('linked')
  })
})

describe('live events', () => {
  test('report every step: pending, linked, withdrawn, unlinked', async () => {
    const made = await key()
    const { account } = await ownAccount()
    const watcher = gateway.core.events.watch(account)
    if (!watcher) throw new Error('nobody may watch')
    const next = async () => (await watcher.take(5000))?.filter(({ type }) => type === 'social')
    const expected = [{ type: 'social', keyId: made.id }] as never[]
    const { link } = await start(made.id)
    expect(await next()).toEqual(expected)
    await confirmed(gateway, await decide(gateway, link, 'approve', '1003'))
    expect(await next()).toEqual(expected)
    const { sandbox } = gateway.gateway
    for (const { id } of (await sandbox?.grants.of('1003')) ?? []) await sandbox?.grants.withdraw('1003', id)
    await gateway.as(made.secret, '/apis/v1/social/user_social')
    expect(await next()).toEqual(expected)
    await unlink(made.id)
    expect(await next()).toEqual(expected)
    watcher.close()
  })

  async function ownAccount() {
    const body = (await (await owner.api('/api/account')).json()) as { id: string }
    return { account: body.id as Parameters<Harness['core']['events']['watch']>[0] }
  }
})
