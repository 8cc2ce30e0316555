import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { ApiKey } from '../../server/core/credentials/api-key'
import { makeId } from '../../server/core/ids'
import { SOCIAL_SCOPES } from '../../server/core/social/scopes'
import type { LinkAttempt, SocialSession } from '../../server/core/social/session'
import type { SocialStore } from '../../server/core/social/store'
import { audit, NOON } from '../support/ledger-parts'

export interface SocialStoreUnderTest {
  readonly store: SocialStore
  /** A key of a new account, or of the account of `beside`. */
  key(beside?: ApiKey): Promise<ApiKey>
  /** The key is revoked, or stops at a time. */
  end(key: ApiKey, how: { revokedAt: number } | { stopsAt: number }): Promise<void>
  reopened(): Promise<SocialStore>
  close(): Promise<void>
}

/** The rules of every store of links and sessions. */
export function socialStoreContract(name: string, open: () => Promise<SocialStoreUnderTest>): void {
  describe(`social store: ${name}`, () => {
    let parts: SocialStoreUnderTest
    let store: SocialStore
    beforeAll(async () => {
      parts = await open()
      store = parts.store
    })
    afterAll(() => parts.close())

    let made = 0
    const linkOf = (key: ApiKey, more: Partial<LinkAttempt> = {}): LinkAttempt => ({
      id: makeId('link', NOON),
      stateHash: `hash ${++made}`,
      poolId: key.poolId,
      accountId: key.accountId,
      keyId: key.id,
      scopes: ['tweet.read', 'users.read'],
      verifier: 'sealed verifier',
      createdAt: NOON,
      expiresAt: NOON + 600_000,
      usedAt: null,
      outcome: null,
      ...more,
    })
    const sessionOf = (key: ApiKey, more: Partial<SocialSession> = {}): SocialSession => ({
      id: makeId('soc', NOON),
      poolId: key.poolId,
      accountId: key.accountId,
      keyId: key.id,
      network: 'sandbox',
      user: { id: '1001', username: 'ada', name: 'Ada' },
      scopes: SOCIAL_SCOPES,
      tokens: { access: 'sealed access', refresh: 'sealed refresh', accessExpiresAt: NOON + 7_200_000 },
      linkedAt: NOON,
      refreshedAt: null,
      revokedAt: null,
      missingScope: null,
      ...more,
    })
    const added = async (link: LinkAttempt) => {
      await store.addLink(link, audit())
      return link
    }
    const put = async (session: SocialSession, key: ApiKey) => {
      const link = await added(linkOf(key))
      await store.putSession(session, link.id, audit())
      return { session, link }
    }

    test('a link is returned as it was added, by its state and by its id', async () => {
      const link = await added(linkOf(await parts.key()))
      expect(await store.linkByState(link.stateHash)).toEqual(link)
      expect(await store.linkById(link.id)).toEqual(link)
      expect(await store.linkByState('another')).toBeNull()
    })

    test('of many that use one state concurrently, exactly one gets the link (spec 4.3)', async () => {
      const link = await added(linkOf(await parts.key()))
      const burned = await Promise.all(Array.from({ length: 20 }, (_, i) => store.burnLink(link.stateHash, NOON + i)))
      expect(burned.filter((found) => found !== null)).toHaveLength(1)
      expect(await store.burnLink(link.stateHash, NOON + 50)).toBeNull()
      expect((await store.linkByState(link.stateHash))?.usedAt).not.toBeNull()
    })

    test('an expired or unknown state uses up nothing', async () => {
      const link = await added(linkOf(await parts.key()))
      expect(await store.burnLink(link.stateHash, link.expiresAt)).toBeNull()
      expect((await store.linkByState(link.stateHash))?.usedAt).toBeNull()
      expect(await store.burnLink(link.stateHash, link.expiresAt - 1)).toMatchObject({ id: link.id })
      expect(await store.burnLink('never issued', NOON)).toBeNull()
    })

    test('one session per pool: a new one replaces the old, and ends its link (spec D7)', async () => {
      const key = await parts.key()
      await put(sessionOf(key), key)
      const { session, link } = await put(sessionOf(key, { user: { id: '1002', username: 'bob', name: 'Bob' } }), key)
      expect(await store.session(key.poolId)).toEqual(session)
      expect(await store.sessionsOf(key.accountId)).toEqual([session])
      expect((await store.linkById(link.id))?.outcome).toBe('linked')
    })

    test('saved tokens are what is read; those of a removed or revoked session are not saved', async () => {
      const key = await parts.key()
      const { session } = await put(sessionOf(key), key)
      const tokens = { access: 'new', refresh: null, accessExpiresAt: NOON + 1 }
      expect(await store.saveTokens(session.id, tokens, NOON + 5)).toBe(true)
      expect(await store.session(key.poolId)).toEqual({ ...session, tokens, refreshedAt: NOON + 5 })
      expect(await store.markRevoked(session.id, NOON + 6, audit())).toBe(true)
      expect(await store.markRevoked(session.id, NOON + 7, audit())).toBe(false)
      expect((await store.session(key.poolId))?.revokedAt).toBe(NOON + 6)
      expect(await store.saveTokens(session.id, tokens, NOON + 8)).toBe(false)
      expect(await store.saveTokens(makeId('soc', NOON), tokens, NOON)).toBe(false)
    })

    test('a newly sealed form of the same tokens replaces them only while they exist, revoked or not', async () => {
      const key = await parts.key()
      const { session } = await put(sessionOf(key), key)
      const [one, two] = ['one', 'two'].map((seal) => ({ ...session.tokens, access: seal, refresh: seal }))
      expect(await store.replaceTokens(session.id, session.tokens, one!)).toBe(true)
      expect(await store.replaceTokens(session.id, session.tokens, two!)).toBe(false)
      expect(await store.markRevoked(session.id, NOON + 6, audit())).toBe(true)
      expect(await store.replaceTokens(session.id, one!, { ...two!, refresh: null })).toBe(true)
      expect(await store.replaceTokens(session.id, { ...two!, refresh: null }, two!)).toBe(true)
      expect((await store.everySession()).filter(({ id }) => id === session.id)).toEqual([
        { ...session, tokens: two!, revokedAt: NOON + 6 },
      ])
    })

    test('a missing scope is remembered', async () => {
      const key = await parts.key()
      const { session } = await put(sessionOf(key), key)
      await store.noteMissingScope(session.id, 'dm.write')
      expect((await store.session(key.poolId))?.missingScope).toBe('dm.write')
    })

    test('a removed session is gone, once', async () => {
      const key = await parts.key()
      const { session } = await put(sessionOf(key), key)
      expect(await store.removeSession(session.id, audit())).toBe(true)
      expect(await store.removeSession(session.id, audit())).toBe(false)
      expect(await store.session(key.poolId)).toBeNull()
    })

    test('an account lists its own: the sessions newest first, and the newest link of each key', async () => {
      const [one, other] = [await parts.key(), await parts.key()]
      const second = await parts.key(one)
      await put(sessionOf(one), one)
      const { session: newest, link: linked } = await put(sessionOf(second), second)
      await put(sessionOf(other), other)
      const waiting = await added(linkOf(one))
      expect((await store.sessionsOf(one.accountId))[0]).toEqual(newest)
      expect(await store.sessionsOf(one.accountId)).toHaveLength(2)
      const links = await store.newestLinks(one.accountId)
      expect(links.map(({ id }) => id)).toEqual([waiting.id, linked.id])
    })

    test('idle sessions are listed, the longest idle first, unless they cannot be renewed or used', async () => {
      const WEEK = NOON - 1_000_000
      const idle = async (more: Partial<SocialSession>, how?: { revokedAt: number } | { stopsAt: number }) => {
        const key = await parts.key()
        const { session } = await put(sessionOf(key, { linkedAt: WEEK - 50, ...more }), key)
        if (how) await parts.end(key, how)
        return session
      }
      const tokens = { access: 'a', refresh: null, accessExpiresAt: NOON }
      const [second, first] = [await idle({ refreshedAt: WEEK - 10 }), await idle({ linkedAt: WEEK - 90 })]
      const third = await idle({ refreshedAt: WEEK }, { stopsAt: NOON + 1 })
      await idle({ refreshedAt: WEEK + 1 })
      await idle({ tokens })
      await idle({ revokedAt: NOON })
      await idle({ network: 'x' })
      await idle({}, { revokedAt: NOON })
      await idle({}, { stopsAt: NOON })
      const asked = { network: 'sandbox', idleSince: WEEK, now: NOON, limit: 10 } as const
      expect(await store.idleSessions(asked)).toEqual([first, second, third])
      expect(await store.idleSessions({ ...asked, limit: 1 })).toEqual([first])
    })

    test('everything survives a restart', async () => {
      const key = await parts.key()
      const { session } = await put(sessionOf(key), key)
      const link = await added(linkOf(key))
      await store.endLink(link.id, 'denied')
      store = await parts.reopened()
      expect(await store.session(key.poolId)).toEqual(session)
      expect(await store.linkById(link.id)).toEqual({ ...link, outcome: 'denied' })
    })
  })
}
