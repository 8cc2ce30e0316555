import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { openSocialParts } from '../../core/social/social-parts'
import { closeReconciled } from '../../http/owner-bench'
import { type Harness, openHarness } from '../../support/harness'
import { comeBack, decide, press, questionOf, startLink } from '../../support/social/linked-key'
import { CHECKLIST } from './checklist'

let gateway: Harness
let social: Awaited<ReturnType<typeof openSocialParts>>
beforeAll(async () => {
  gateway = await openHarness()
  social = await openSocialParts()
})
afterAll(async () => {
  await social.close()
  await closeReconciled(gateway)
})

describe(CHECKLIST.outgoingLink, () => {
  test('256 bits, stored as a hash, the verifier sealed; the result page shows neither code nor token', async () => {
    const key = await gateway.key(await gateway.account())
    const link = await startLink(gateway, key)
    expect(Buffer.from(link.state, 'base64url')).toHaveLength(32)
    const stored = JSON.stringify(await gateway.core.stores.db.all(sql`SELECT * FROM social_links`))
    expect(stored).not.toContain(link.state)
    expect(stored).toMatch(/"verifier":"v1\./)
    const query = await decide(gateway, link)
    const page = await comeBack(gateway, query)
    const question = await questionOf(page)
    const done = await (await press(gateway, question)).text()
    for (const text of [question.text, done])
      for (const secret of [link.state, query.get('code') ?? 'none']) expect(text).not.toContain(secret)
    expect(done).toContain('@ada is linked')
    expect(done).toContain('to unlink it under')
    expect(page.headers.get('referrer-policy')).toBe('no-referrer')
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
  })

  test('of many concurrent callbacks one links, for the key and scopes that requested it', async () => {
    const [mine, other] = [await gateway.key(await gateway.account()), await gateway.key(await gateway.account())]
    const query = await decide(gateway, await startLink(gateway, mine, ['like.write']))
    const pages = await Promise.all(Array.from({ length: 6 }, () => comeBack(gateway, query)))
    expect(pages.map(({ status }) => status).sort()).toEqual([200, ...Array(5).fill(400)])
    const like = (key: typeof mine, path = 'like_social', body: object = { tweet_id: '1' }) =>
      gateway.as(key, `/apis/v1/social/${path}`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    expect((await like(other)).status).toBe(403)
    expect((await like(mine, 'dm_social', { recipient_id: '1002', text: 'x' })).status).toBe(403)
  })

  test('it expires after ten minutes', async () => {
    const link = await startLink(gateway, await gateway.key(await gateway.account()))
    const query = await decide(gateway, link)
    gateway.clock.advance(600_000)
    expect((await comeBack(gateway, query)).status).toBe(400)
  })
})

describe(CHECKLIST.linkedRefresh, () => {
  const TWO_HOURS = 7_200_000

  test('thirty concurrent calls renew once, and the pair is saved before it is used at the network', async () => {
    const key = await social.linked()
    social.advance(TWO_HOURS)
    const before = (await social.store.session(key.poolId))?.tokens
    const { refreshes } = social.network
    const seen: boolean[] = []
    await Promise.all(
      Array.from({ length: 30 }, () =>
        social.accounts.use(key, 'like.write', async (actor) => {
          seen.push((await social.store.session(key.poolId))?.tokens.access !== before?.access)
          return social.network.act(actor, { kind: 'like', tweetId: '1' })
        }),
      ),
    )
    expect(seen).toEqual(Array(30).fill(true))
    expect(social.network.refreshes).toBe(refreshes + 1)
  })

  test('a dead grant revokes the session for good, and asks to link again', async () => {
    const key = await social.linked()
    social.advance(TWO_HOURS)
    social.network.refreshRefusal = { kind: 'dead', reason: 'invalid_grant' }
    const refused = await social.like(key)
    social.network.refreshRefusal = null
    expect(refused).toMatchObject({ ok: false, error: { kind: 'own', failure: { code: 'social_session_required' } } })
    expect((await social.store.session(key.poolId))?.revokedAt).not.toBeNull()
    const { refreshes } = social.network
    expect((await social.like(key)).ok).toBe(false)
    expect(social.network.refreshes).toBe(refreshes)
  })
})
