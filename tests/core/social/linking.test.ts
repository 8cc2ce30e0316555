import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { LINK_LIFETIME_MS } from '../../../server/core/social/state-token'
import { openFile } from '../../support/databases/database-file'
import { OWNER, openSocialParts } from './social-parts'

let social: Awaited<ReturnType<typeof openSocialParts>>
beforeAll(async () => {
  social = await openSocialParts()
})
afterAll(() => social.close())
beforeEach(() => {
  social.changes.length = 0
  social.trouble.length = 0
})

describe('a new link', () => {
  test('has a state of 256 bits, lives ten minutes, and requests the wanted and the required scopes', async () => {
    const { link, state, authUrl } = await social.linking.start(await social.key(), ['dm.write'], OWNER)
    expect(Buffer.from(state, 'base64url')).toHaveLength(32)
    expect(link.expiresAt - link.createdAt).toBe(600_000)
    expect(link.scopes).toEqual(['tweet.read', 'users.read', 'dm.write'])
    const query = new URL(authUrl).searchParams
    expect(query.get('scope')).toBe('tweet.read users.read dm.write offline.access')
    expect(query.get('state')).toBe(state)
    expect(query.get('redirect_uri')).toBe('https://gateway.example/apis/v1/social/oauth_callback')
    expect(social.changes).toEqual(['linking'])
  })

  test('without scopes requests all seven (spec 4.3)', async () => {
    const { link } = await social.linking.start(await social.key(), [], OWNER)
    expect(link.scopes).toEqual([
      'follows.write',
      'tweet.read',
      'users.read',
      'tweet.write',
      'like.write',
      'dm.read',
      'dm.write',
    ])
  })

  test('stores neither its state nor its verifier in the database; the challenge is of the verifier (RFC 7636)', async () => {
    const { link, state, authUrl } = await social.linking.start(await social.key(), [], OWNER)
    const bytes = Buffer.concat([await readFile(social.stores.file), await readFile(`${social.stores.file}-wal`)])
    expect(bytes.includes(state)).toBe(false)
    expect(bytes.includes(createHash('sha256').update(state).digest('hex'))).toBe(true)
    const code = social.code()
    await social.finish({ state, code })
    const verifier = social.network.codes.get(code)?.verifier ?? ''
    expect(verifier).toMatch(/^[\w-]{43}$/)
    expect(bytes.includes(verifier)).toBe(false)
    expect(new URL(authUrl).searchParams.get('code_challenge')).toBe(
      createHash('sha256').update(verifier).digest('base64url'),
    )
    expect(link.verifier).toStartWith('v1.k1.')
  })
})

describe('a callback', () => {
  test('links the approving account once confirmed, with the granted scopes, tokens sealed', async () => {
    const key = await social.key()
    const { state } = await social.linking.start(key, [], OWNER)
    social.network.granted = 'tweet.read users.read like.write offline.access something.else'
    const end = await social.approved(state)
    social.network.granted = null
    expect(await social.confirm(end)).toMatchObject({ kind: 'linked', session: { user: { username: 'ada' } } })
    const session = await social.store.session(key.poolId)
    expect(session?.scopes).toEqual(['tweet.read', 'users.read', 'like.write'])
    expect(session?.tokens.access).toMatch(/^v1\.k1\./)
    expect(JSON.stringify(session)).not.toContain('access-')
    expect(social.changes).toEqual(['linking', 'linked'])
  })

  test('of many concurrent ones with one state, one may be confirmed and the others learn that it was used', async () => {
    const key = await social.key()
    const { state } = await social.linking.start(key, [], OWNER)
    const ends = await Promise.all(Array.from({ length: 10 }, () => social.finish({ state, code: social.code() })))
    expect(ends.filter(({ kind }) => kind === 'approved')).toHaveLength(1)
    expect(ends.filter(({ kind }) => kind === 'replayed')).toHaveLength(9)
  })

  test('that is repeated after it linked changes nothing, whatever code it has', async () => {
    const key = await social.linked()
    const before = await social.store.session(key.poolId)
    const exchanges = social.network.exchanges
    const { state } = await social.linking.start(key, [], OWNER)
    await social.finish({ state, error: 'access_denied' })
    expect(await social.finish({ state, code: social.code() })).toEqual({ kind: 'replayed' })
    expect(await social.store.session(key.poolId)).toEqual(before)
    expect(social.network.exchanges).toBe(exchanges)
  })

  test('with an unknown, malformed or missing state does not call the network', async () => {
    const exchanges = social.network.exchanges
    for (const state of [null, '', 'x', 'A'.repeat(43), `${'A'.repeat(42)}'`])
      expect(await social.finish({ state, code: social.code() })).toEqual({ kind: 'wrong_state' })
    expect(social.network.exchanges).toBe(exchanges)
  })

  test('after ten minutes reports that the link has expired (spec 3)', async () => {
    const { state } = await social.linking.start(await social.key(), [], OWNER)
    social.advance(LINK_LIFETIME_MS)
    expect(await social.finish({ state, code: social.code() })).toEqual({ kind: 'expired' })
  })

  test('with a refusal is `denied`; with another error, or without a code, `failed`', async () => {
    for (const [error, kind] of [
      ['access_denied', 'denied'],
      ['server_error', 'failed'],
      [null, 'failed'],
    ] as const) {
      const key = await social.key()
      const { link, state } = await social.linking.start(key, [], OWNER)
      expect(await social.finish({ state, error })).toEqual({ kind })
      expect((await social.store.linkById(link.id))?.outcome).toBe(kind)
      expect(await social.store.session(key.poolId)).toBeNull()
    }
  })

  test('with a code that the network refuses is `failed`, without the code in the log', async () => {
    const { state } = await social.linking.start(await social.key(), [], OWNER)
    expect(await social.finish({ state, code: 'forged-code' })).toEqual({ kind: 'failed' })
    expect(social.trouble.join()).toContain('not exchanged')
    expect(social.trouble.join()).not.toContain('forged-code')
  })

  test('whose account cannot be read revokes its grant', async () => {
    const { state } = await social.linking.start(await social.key(), [], OWNER)
    social.network.meFailure = { kind: 'unavailable', reason: 'down' }
    const revoked = social.network.revoked.length
    expect(await social.finish({ state, code: social.code() })).toEqual({ kind: 'failed' })
    social.network.meFailure = null
    expect(social.network.revoked.slice(revoked)).toEqual([expect.stringMatching(/^refresh-/)])
  })

  test('links nothing if its key was revoked in the meantime, and revokes its grant', async () => {
    const key = await social.key()
    const { state } = await social.linking.start(key, [], OWNER)
    social.state.keyIsLive = false
    const revoked = social.network.revoked.length
    expect(await social.finish({ state, code: social.code() })).toEqual({ kind: 'key_gone' })
    social.state.keyIsLive = true
    expect(await social.store.session(key.poolId)).toBeNull()
    expect(social.network.revoked).toHaveLength(revoked + 1)
  })
})

describe('linking again', () => {
  test('replaces the old session; for the same account nothing is revoked', async () => {
    const key = await social.linked(['like.write'])
    const before = await social.store.session(key.poolId)
    const revoked = social.network.revoked.length
    await social.link(key)
    const after = await social.store.session(key.poolId)
    expect(after?.id).not.toBe(before?.id)
    expect(after?.scopes).toContain('dm.write')
    expect(await social.store.sessionsOf(key.accountId)).toHaveLength(1)
    expect(social.network.revoked).toHaveLength(revoked)
  })

  test('to another account revokes the previous grant', async () => {
    const key = await social.linked()
    const { state } = await social.linking.start(key, [], OWNER)
    const code = social.code()
    const { me } = social.network
    social.network.me = async () => ({ ok: true, value: { id: '1002', username: 'bob', name: 'Bob' } })
    const revoked = social.network.revoked.length
    const end = await social.finish({ state, code })
    if (end.kind !== 'approved') throw new Error(end.kind)
    expect(await social.confirm(end)).toMatchObject({ kind: 'linked', session: { user: { username: 'bob' } } })
    social.network.me = me
    expect(social.network.revoked).toHaveLength(revoked + 1)
  })
})

describe('a cancelled link', () => {
  test('invalidates its state; another account cannot cancel it', async () => {
    const key = await social.key()
    const { link, state } = await social.linking.start(key, [], OWNER)
    expect(await social.linking.cancel((await social.key()).accountId, link.id)).toBe(false)
    expect(await social.linking.cancel(key.accountId, link.id)).toBe(true)
    expect(await social.linking.cancel(key.accountId, link.id)).toBe(false)
    expect(await social.finish({ state, code: social.code() })).toEqual({ kind: 'replayed' })
  })
})

test('appears in the audit log, without tokens', async () => {
  const key = await social.linked()
  const client = openFile(social.stores.file)
  const { rows } = await client.execute({
    sql: 'SELECT action, actor_kind, detail FROM audit_log WHERE key_id = ? ORDER BY id',
    args: [key.id],
  })
  client.close()
  expect(rows.map((row) => [row['action'], row['actor_kind']])).toEqual([
    ['social.link.start', 'owner'],
    ['social.linked', 'system'],
  ])
  expect(JSON.stringify(rows)).not.toMatch(/access-|refresh-|v1\.k1/)
})
