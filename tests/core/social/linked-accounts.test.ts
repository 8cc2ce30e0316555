import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { KeyRing } from '../../../server/adapters/sealing/key-ring'
import type { ApiKey } from '../../../server/core/credentials/api-key'
import { makeId } from '../../../server/core/ids'
import { err, type Result } from '../../../server/core/result'
import { resealSessions } from '../../../server/jobs/social'
import { until } from '../../support/until'
import { OWNER, openSocialParts } from './social-parts'

const TWO_HOURS = 7_200_000
let social: Awaited<ReturnType<typeof openSocialParts>>
beforeAll(async () => {
  social = await openSocialParts()
})
afterAll(() => social.close())
beforeEach(() => {
  social.changes.length = 0
  social.trouble.length = 0
  social.network.refreshRefusal = null
  social.network.actFailure = null
  social.network.givesRefreshToken = true
  social.network.granted = null
})

const codeOf = (outcome: Result<unknown, unknown>) => {
  if (outcome.ok) return 'ok'
  const error = outcome.error as { kind: string; failure?: { code: string } }
  return error.failure?.code ?? error.kind
}
const stored = (key: ApiKey) => social.store.session(key.poolId)

describe('a call of a linked account', () => {
  test('acts as the account with its token', async () => {
    const key = await social.linked()
    expect(await social.like(key)).toEqual({ ok: true, value: { data: { done: 'like' } } })
    expect(social.network.asked.at(-1)?.actor.userId).toBe('1001')
  })

  test('of a key without one gets social_session_required, and the network is not called', async () => {
    const asked = social.network.asked.length
    expect(codeOf(await social.like(await social.key()))).toBe('social_session_required')
    expect(social.network.asked).toHaveLength(asked)
  })

  test('that needs a missing scope learns which one and how to add it, before the network is called (spec 4.3)', async () => {
    const key = await social.linked(['dm.read'])
    social.changes.length = 0
    const asked = social.network.asked.length
    const outcome = await social.like(key)
    expect(outcome).toMatchObject({
      ok: false,
      error: { failure: { code: 'insufficient_scope', param: 'like.write' } },
    })
    expect(JSON.stringify(outcome)).toContain('POST /apis/v1/social/auth_social')
    expect(social.network.asked).toHaveLength(asked)
    expect((await stored(key))?.missingScope).toBe('like.write')
    await social.like(key)
    expect(social.changes).toEqual(['scope_missing'])
  })

  test("passes the network's own failures on unchanged", async () => {
    const key = await social.linked()
    for (const failure of [
      { kind: 'rate_limited', reason: 'x', retryAfterSeconds: 9 },
      { kind: 'unknown', reason: 'x' },
      { kind: 'about_us', reason: 'x' },
    ] as const) {
      social.network.actFailure = failure
      expect(await social.like(key)).toEqual({ ok: false, error: failure })
    }
  })
})

describe('renewal', () => {
  test('happens when less than five minutes of the token are left, and the new pair is durable before use', async () => {
    const key = await social.linked()
    const before = await stored(key)
    const { refreshes } = social.network
    social.advance(TWO_HOURS - 301_000)
    await social.like(key)
    expect(social.network.refreshes).toBe(refreshes)
    social.advance(2000)
    let atUse: Awaited<ReturnType<typeof stored>> = null
    await social.accounts.use(key, 'like.write', async (actor) => {
      atUse = await stored(key)
      return social.network.act(actor, { kind: 'like', tweetId: '1' })
    })
    expect(social.network.refreshes).toBe(refreshes + 1)
    expect(atUse).not.toEqual(before)
    expect((await stored(key))?.refreshedAt).not.toBeNull()
  })

  test('happens once for any number of concurrent calls: a refresh token is used once', async () => {
    const key = await social.linked()
    social.advance(TWO_HOURS)
    const gate = Promise.withResolvers<void>()
    social.network.refreshGate = gate.promise
    const { refreshes } = social.network
    const calls = Array.from({ length: 30 }, () => social.like(key))
    gate.resolve()
    expect((await Promise.all(calls)).every(({ ok }) => ok)).toBe(true)
    expect(social.network.refreshes).toBe(refreshes + 1)
    // And the pair that was saved is good for the next one.
    social.advance(TWO_HOURS)
    expect((await social.like(key)).ok).toBe(true)
  })

  test('happens once after a refused token, and the call succeeds with the new one', async () => {
    const key = await social.linked()
    social.network.expireAccess()
    const { refreshes } = social.network
    const outcomes = await Promise.all([social.like(key), social.like(key), social.like(key)])
    expect(outcomes.every(({ ok }) => ok)).toBe(true)
    expect(social.network.refreshes).toBe(refreshes + 1)
  })

  test('that returns no new refresh token keeps the previous one (RFC 6749 6)', async () => {
    const key = await social.linked()
    const refreshBefore = (await stored(key))?.tokens.refresh
    social.network.givesRefreshToken = false
    social.advance(TWO_HOURS)
    expect((await social.like(key)).ok).toBe(true)
    const after = await stored(key)
    expect(after?.tokens.refresh).not.toBeNull()
    expect(after?.tokens.refresh).not.toBe(refreshBefore)
  })

  test('that fails in transit leaves the session unchanged, and the old token is used while valid', async () => {
    const key = await social.linked()
    social.advance(TWO_HOURS - 60_000)
    social.network.refreshRefusal = { kind: 'unknown', reason: 'timeout' }
    expect((await social.like(key)).ok).toBe(true)
    social.advance(60_000)
    expect(codeOf(await social.like(key))).toBe('unavailable')
    expect((await stored(key))?.revokedAt).toBeNull()
    social.network.refreshRefusal = null
    expect((await social.like(key)).ok).toBe(true)
  })
})

describe("a renewal reads the session again first (the caller's copy may be stale)", () => {
  /** Another caller does something while the first one's token is being refused. */
  const refusedWhile = async (key: ApiKey, meanwhile: () => Promise<unknown>) => {
    const actors: string[] = []
    const outcome = await social.accounts.use(key, 'like.write', async (actor) => {
      actors.push(actor.userId)
      if (actors.length > 1) return social.network.act(actor, { kind: 'like', tweetId: '1' })
      await meanwhile()
      return err({ kind: 'token_refused', reason: 'expired' })
    })
    return { outcome, actors }
  }

  test('and uses the pair that another renewal just saved: the refresh token is not used twice', async () => {
    const key = await social.linked()
    const { refreshes } = social.network
    const { outcome } = await refusedWhile(key, async () => {
      social.network.expireAccess()
      expect((await social.like(key)).ok).toBe(true)
    })
    expect(codeOf(outcome)).toBe('ok')
    expect(social.network.refreshes).toBe(refreshes + 1)
  })

  test('and never acts as an account that was linked in between', async () => {
    const key = await social.linked()
    const { outcome, actors } = await refusedWhile(key, () => social.link(key))
    expect(codeOf(outcome)).toBe('social_session_required')
    expect(actors).toHaveLength(1)
  })

  test('and leaves a session that was revoked in between unchanged', async () => {
    const key = await social.linked()
    const { refreshes } = social.network
    const { outcome } = await refusedWhile(key, async () => {
      const session = await stored(key)
      if (!session) throw new Error('no session')
      await social.store.markRevoked(session.id, social.clock.now(), {
        id: makeId('audit', social.clock.now()),
        at: social.clock.now(),
        actor: OWNER,
        detail: {},
        before: null,
        accountId: session.accountId,
        keyId: session.keyId,
        action: 'social.revoked',
      })
    })
    expect(codeOf(outcome)).toBe('social_session_required')
    expect(social.network.refreshes).toBe(refreshes)
  })
})

describe('idle accounts', () => {
  const WEEK = 7 * 24 * 60 * 60 * 1000
  const none = new AbortController().signal

  test('are renewed after a week without use, once; those in use are left alone', async () => {
    const [idle, used] = [await social.linked(), await social.linked()]
    social.advance(WEEK)
    expect((await social.like(used)).ok).toBe(true)
    const { refreshes } = social.network
    await social.accounts.renewIdle(none)
    expect((await stored(idle))?.refreshedAt).toBe(social.clock.now())
    const after = social.network.refreshes
    expect(after).toBeGreaterThan(refreshes)
    expect(await social.accounts.renewIdle(none)).toBe(0)
    expect(social.network.refreshes).toBe(after)
    social.advance(TWO_HOURS - 400_000)
    expect((await social.like(idle)).ok).toBe(true)
  })

  test('that were withdrawn at the network show as withdrawn, without a call; those without an answer are retried', async () => {
    const key = await social.linked()
    social.advance(WEEK)
    social.network.refreshRefusal = { kind: 'unknown', reason: 'timeout' }
    await social.accounts.renewIdle(none)
    expect((await stored(key))?.revokedAt).toBeNull()
    expect(social.trouble.join()).toContain('timeout')
    social.network.refreshRefusal = { kind: 'dead', reason: 'invalid_request' }
    social.changes.length = 0
    await social.accounts.renewIdle(none)
    expect((await stored(key))?.revokedAt).toBe(social.clock.now())
    expect(social.changes).toContain('revoked')
  })

  test('whose tokens cannot be opened do not block the others, and a stop ends the round', async () => {
    const [broken, whole] = [await social.linked(), await social.linked()]
    const mine = await stored(broken)
    const foreign = await stored(whole)
    if (!mine || !foreign) throw new Error('no session')
    await social.store.saveTokens(mine.id, foreign.tokens, 0)
    social.advance(WEEK)
    expect(await social.accounts.renewIdle(AbortSignal.abort())).toBe(0)
    await social.accounts.renewIdle(none)
    expect((await stored(whole))?.refreshedAt).toBe(social.clock.now())
    expect((await stored(broken))?.refreshedAt).toBe(0)
  })
})

describe('a grant that the network reports as dead', () => {
  test('revokes the session for good, notifies the watchers, and asks to link again', async () => {
    const key = await social.linked()
    social.changes.length = 0
    social.network.refreshRefusal = { kind: 'dead', reason: 'invalid_request' }
    social.network.expireAccess()
    const outcome = await social.like(key)
    expect(codeOf(outcome)).toBe('social_session_required')
    expect(JSON.stringify(outcome)).toContain('@ada withdrew')
    expect((await stored(key))?.revokedAt).not.toBeNull()
    expect(social.changes).toEqual(['revoked'])
    const { refreshes } = social.network
    const asked = social.network.asked.length
    expect(codeOf(await social.like(key))).toBe('social_session_required')
    expect([social.network.refreshes, social.network.asked.length]).toEqual([refreshes, asked])
  })

  test('is replaced by linking again', async () => {
    const key = await social.linked()
    social.network.refreshRefusal = { kind: 'dead', reason: 'invalid_request' }
    social.network.expireAccess()
    await social.like(key)
    social.network.refreshRefusal = null
    await social.link(key)
    expect((await social.like(key)).ok).toBe(true)
  })
})

describe('a session without a refresh token', () => {
  test('ends with its access token: expired by time, revoked if it is refused earlier', async () => {
    social.network.givesRefreshToken = false
    const [one, other] = [await social.linked(), await social.linked()]
    social.network.expireAccess()
    expect(codeOf(await social.like(one))).toBe('social_session_required')
    expect((await stored(one))?.revokedAt).not.toBeNull()
    social.advance(TWO_HOURS)
    const outcome = await social.like(other)
    expect(JSON.stringify(outcome)).toContain('has expired')
    expect(social.failing.at(-1)).toBe('expired')
    expect((await stored(other))?.revokedAt).toBeNull()
  })
})

describe('unlinking', () => {
  test('deletes the account here and revokes the grant at the network', async () => {
    const key = await social.linked()
    const session = await stored(key)
    if (!session) throw new Error('no session')
    const revoked = social.network.revoked.length
    expect(await social.accounts.unlink(session, OWNER, social.unlinkSignal)).toBe(true)
    expect(await stored(key)).toBeNull()
    expect(social.network.revoked.slice(revoked)).toEqual([expect.stringMatching(/^refresh-/)])
    expect(await social.accounts.unlink(session, OWNER, social.unlinkSignal)).toBe(false)
    expect(codeOf(await social.like(key))).toBe('social_session_required')
  })

  test('during a renewal leaves nothing behind', async () => {
    const key = await social.linked()
    const session = await stored(key)
    if (!session) throw new Error('no session')
    social.advance(TWO_HOURS)
    const gate = Promise.withResolvers<void>()
    social.network.refreshGate = gate.promise
    const renewals = social.network.refreshes
    const call = social.like(key)
    await until(() => social.network.refreshes !== renewals)
    const revoked = social.network.revoked.length
    await social.accounts.unlink(session, OWNER, social.unlinkSignal)
    gate.resolve()
    expect(codeOf(await call)).toBe('social_session_required')
    expect(await stored(key)).toBeNull()
    expect(social.network.revoked).toHaveLength(revoked + 2)
  })
})

describe('a stored token', () => {
  test('that was changed, or moved from another row, is never used: the caller is asked to link again', async () => {
    const [one, other] = [await social.linked(), await social.linked()]
    const [mine, foreign] = [await stored(one), await stored(other)]
    if (!mine || !foreign) throw new Error('no session')
    await social.store.saveTokens(mine.id, foreign.tokens, 0)
    const asked = social.network.asked.length
    expect(codeOf(await social.like(one))).toBe('social_session_required')
    expect(social.network.asked).toHaveLength(asked)
    expect(social.trouble.join()).toContain('social_sessions.access_token')
  })

  test('is sealed again with the newest key, so that the old one may be removed; one that no key opens stays as it is', async () => {
    const linked = await social.linked()
    const ring = (id: string) => ({ id, bytes: new Uint8Array(randomBytes(32)) })
    const newestKey = ring('k9')
    const newest = new KeyRing([newestKey])
    const trouble: string[] = []
    const reseal = (sealing: KeyRing) =>
      resealSessions({ store: social.store, sealing, onTrouble: (reason) => trouble.push(reason) })
    const before = await stored(linked)
    expect(await reseal(newest)).toBe(0)
    expect([trouble.some((line) => line.startsWith(before?.id ?? '')), await stored(linked)]).toEqual([true, before])
    const both = new KeyRing([newestKey, ...social.sealingKeys])
    expect(await reseal(both)).toBeGreaterThan(0)
    expect(await reseal(both)).toBe(0)
    const place = { table: 'social_sessions', row: before?.id ?? '', column: 'refresh_token' }
    expect(newest.open((await stored(linked))?.tokens.refresh ?? '', place).stale).toBe(false)
  })
})
