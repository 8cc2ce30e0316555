import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { type Harness, type MadeKey, openHarness } from '../../support/harness'
import { comeBack, decide, linkKey, press, questionOf, startLink } from '../../support/social/linked-key'

const CONFIRM = '/apis/v1/social/oauth_callback/confirm'
const TEN_MINUTES = 600_000

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness()
})
afterAll(() => gateway.close())

const actsWith = async (key: MadeKey) =>
  (await gateway.as(key, '/apis/v1/social/user_social')).status === 200 ? 'linked' : 'not linked'
const anyKey = async () => gateway.key(await gateway.account())
const grantsOf = async (user: string) => (await gateway.gateway.sandbox?.grants.of(user))?.length

/** The victim's browser after it approved what the attacker's key asked for. */
async function approved(key: MadeKey, user = '1001') {
  return questionOf(await comeBack(gateway, await decide(gateway, await startLink(gateway, key), 'approve', user)))
}

describe('an attacker who sends a victim their own linking URL (spec D7)', () => {
  test('gains nothing by the approval: the page names the requesting account, without its email, and the purpose', async () => {
    const attacker = await gateway.owner('mallory@example.com')
    await attacker.api('/api/settings/profile', { name: 'Mallory' }, 'PATCH')
    const made = (await (await attacker.api('/api/keys', { name: 'Photo contest' })).json()) as {
      key: { id: string }
      secret: string
    }
    const key = { id: made.key.id, secret: made.secret }
    const { text } = await approved(key)
    const name = ((await (await attacker.api('/api/account')).json()) as { name: string }).name
    for (const words of [name, 'Photo contest', '@ada', 'Ada Lovelace', 'Post, reply and quote', 'Send messages'])
      expect(text).toContain(words)
    expect(text).not.toContain('mallory@example.com')
    expect(text).not.toMatch(/<script|[\w-]{43}/)
    expect(await actsWith(key)).toBe('not linked')
  })

  test('cannot press the button for the victim: another browser, no cookie, a forged one and another page are refused', async () => {
    const key = await anyKey()
    const [question, other] = [await approved(key), await approved(await anyKey())]
    const name = question.cookie.split('=')[0]
    const proof = question.cookie.split('=')[1] ?? ''
    for (const [cookie, headers] of [
      ['', {}],
      [`${name}=${'A'.repeat(43)}`, {}],
      [other.cookie, {}],
      [`${name}=${other.cookie.split('=')[1]}`, {}],
      [`${name}=`, {}],
      [question.cookie, { 'sec-fetch-site': 'cross-site' }],
      [question.cookie, { 'sec-fetch-site': 'same-site' }],
      [question.cookie, { 'sec-fetch-site': 'none' }],
    ] as const) {
      const answer = await press(gateway, { link: question.link, cookie }, headers)
      expect([answer.status, (await answer.text()).includes('This request could not be confirmed')]).toEqual([
        400,
        true,
      ])
    }
    for (const body of [`link=${question.link}&proof=${proof}`, '', `link=${'x'.repeat(5000)}`])
      expect((await gateway.call(CONFIRM, { method: 'POST', body })).status).toBe(400)
    expect(await actsWith(key)).toBe('not linked')
    expect((await press(gateway, question)).status).toBe(200)
    expect(await actsWith(key)).toBe('linked')
  })

  test('cannot get their page confirmed by a press on another one in the same browser', async () => {
    const [mine, his] = [await anyKey(), await anyKey()]
    const [question, trap] = [await approved(mine), await approved(his)]
    const jar = `${question.cookie}; ${trap.cookie}`
    expect((await press(gateway, { link: question.link, cookie: jar })).status).toBe(200)
    expect([await actsWith(mine), await actsWith(his)]).toEqual(['linked', 'not linked'])
  })

  test('cannot change the page: markup and direction characters in names have no effect', async () => {
    const account = await gateway.account()
    const key = await gateway.key(account, { name: '<img src=x onerror=alert(1)>"' })
    const { db } = gateway.core.stores
    const { text, ...question } = await approved(key)
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;')
    expect(text).not.toContain('<img')
    // As a version before took names, and as networks do.
    await db.run(
      sql.raw(
        `UPDATE social_approvals SET name = '\u202eecaf<b>', username = 'a\u0007d\u2066a' WHERE link_id = '${question.link}'`,
      ),
    )
    const done = await (await press(gateway, question)).text()
    for (const sign of ['\u202e', '\u2066', '\u0007', '<b>']) expect(done).not.toContain(sign)
  })
})

describe('the cookie of the button', () => {
  test('is limited to this page: no script reads it, no other site sends it, and the press removes it', async () => {
    const answer = await comeBack(gateway, await decide(gateway, await startLink(gateway, await anyKey())))
    const [line] = answer.headers.getSetCookie()
    expect(line).toMatch(
      /^gateway_link_[0-9a-f]{32}=[\w-]{43}; Path=[\w/]+\/confirm; Max-Age=600; HttpOnly; SameSite=Strict$/,
    )
    const question = await questionOf(answer)
    const stored = JSON.stringify(await gateway.core.stores.db.all(sql`SELECT * FROM social_approvals`))
    expect(stored).not.toContain(question.cookie.split('=')[1] ?? '-')
    expect(stored).toMatch(/"access_token":"v1\./)
    const done = await press(gateway, question)
    expect(done.headers.getSetCookie()[0]).toContain('Max-Age=0')
  })

  test('is Secure if the gateway is reached by https', async () => {
    const behind = await openHarness({ env: { BASE_URL: 'https://gateway.example' } })
    const key = await behind.key(await behind.account())
    const link = await startLink(behind, key)
    const answer = await comeBack(behind, await decide(behind, link))
    expect(answer.headers.getSetCookie()[0]).toEndWith('; Secure')
    await behind.close()
  })

  test('works once: of many presses at once one links', async () => {
    const key = await anyKey()
    const question = await approved(key)
    const pages = await Promise.all(Array.from({ length: 12 }, () => press(gateway, question)))
    expect(pages.map(({ status }) => status).sort()).toEqual([200, ...Array(11).fill(400)])
    expect(await actsWith(key)).toBe('linked')
    expect((await press(gateway, question)).status).toBe(400)
  })

  test('accepts only POST, and answers 405 otherwise', async () => {
    const answer = await gateway.call(CONFIRM)
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
  })
})

describe('an approval without a confirmation', () => {
  const revokeOverdue = () => gateway.gateway.social?.approvals.revokeOverdue(AbortSignal.timeout(30_000))

  test('cannot be confirmed after ten minutes, and is revoked at the network', async () => {
    const key = await anyKey()
    const question = await approved(key, '1004')
    gateway.clock.advance(TEN_MINUTES - 1)
    await revokeOverdue()
    expect(await grantsOf('1004')).toBe(1)
    gateway.clock.advance(1)
    expect((await press(gateway, question)).status).toBe(400)
    await revokeOverdue()
    expect(await grantsOf('1004')).toBe(0)
    expect(await actsWith(key)).toBe('not linked')
    expect(
      await gateway.core.stores.db.all(sql`SELECT * FROM social_approvals WHERE link_id = ${question.link}`),
    ).toEqual([])
  })

  test("leaves the key's previous account linked", async () => {
    const key = await anyKey()
    await linkKey(gateway, key, undefined, '1003')
    const question = await approved(key, '1003')
    gateway.clock.advance(TEN_MINUTES)
    await revokeOverdue()
    expect((await press(gateway, question)).status).toBe(400)
    expect(await actsWith(key)).toBe('linked')
  })

  test('is revoked even if the gateway restarted in between', async () => {
    const before = await openHarness()
    const key = await before.key(await before.account())
    await questionOf(await comeBack(before, await decide(before, await startLink(before, key), 'approve', '1002')))
    const now = before.clock.now()
    await before.close(true)
    const after = await openHarness({ folder: before.folder, now: now + TEN_MINUTES })
    // The start looks by itself; a look waits for nothing else.
    await after.gateway.social?.approvals.revokeOverdue(AbortSignal.timeout(30_000))
    expect(await after.core.stores.db.all(sql`SELECT * FROM social_approvals`)).toEqual([])
    expect(await after.gateway.sandbox?.grants.of('1002')).toHaveLength(0)
    await after.close()
  })

  test('links nothing if the key was revoked in between, and is revoked', async () => {
    const account = await gateway.account()
    const key = await gateway.key(account)
    const question = await approved(key, '1004')
    const owner = {
      accountId: account.id,
      tier: { ...account, toppedUp: 0 as never },
      actor: { kind: 'operator', id: 'test', address: null } as const,
    }
    await gateway.core.keys.revoke(owner, key.id)
    const answer = await press(gateway, question)
    expect([answer.status, (await answer.text()).includes('no longer has access')]).toEqual([400, true])
    expect(await grantsOf('1004')).toBe(0)
  })
})
