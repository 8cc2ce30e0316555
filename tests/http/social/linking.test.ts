import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, type MadeKey, openHarness } from '../../support/harness'
import { ADA, comeBack, confirmed, decide, linkKey, startLink } from '../../support/social/linked-key'

const LINK = '/apis/v1/social/auth_social'
const JSON_TYPE = { 'content-type': 'application/json' }
const SEVEN = ['follows.write', 'tweet.read', 'users.read', 'tweet.write', 'like.write', 'dm.read', 'dm.write']

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness()
})
afterAll(() => gateway.close())

const key = async (): Promise<MadeKey> => gateway.key(await gateway.account())
const post = async (body: string, headers: Record<string, string> = JSON_TYPE) =>
  gateway.as(await key(), LINK, { method: 'POST', headers, body })
const me = (who: MadeKey) => gateway.as(who, '/apis/v1/social/user_social')

describe('POST /apis/v1/social/auth_social (spec 4.3)', () => {
  describe('200', () => {
    test('gives an address, a state of 256 bits and ten minutes; without a body it asks for all seven scopes', async () => {
      const link = await startLink(gateway, await key())
      expect(Object.keys(link).sort()).toEqual(['auth_url', 'expires_at', 'scopes', 'state'])
      expect(Buffer.from(link.state, 'base64url')).toHaveLength(32)
      expect(Date.parse(link.expires_at) - gateway.clock.now()).toBe(600_000)
      expect(link.scopes).toEqual([...SEVEN, 'offline.access'])
      const url = new URL(link.auth_url)
      expect(url.origin + url.pathname).toBe(`${gateway.config.baseUrl}/sandbox/social/authorize`)
      expect(url.searchParams.get('scope')).toBe(link.scopes.join(' '))
      expect(url.searchParams.get('redirect_uri')).toBe(`${gateway.config.baseUrl}/apis/v1/social/oauth_callback`)
    })

    test('a narrower set is extended by the scopes that every call needs, and the response names them (spec D7)', async () => {
      const { scopes } = await startLink(gateway, await key(), ['dm.write', 'dm.write'])
      expect(scopes).toEqual(['tweet.read', 'users.read', 'dm.write', 'offline.access'])
    })

    test('is free, uncached, and carries the limit headers (spec 8)', async () => {
      const made = await key()
      const answer = await gateway.as(made, LINK, { method: 'POST' })
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.headers.get('x-ratelimit-remaining-requests')).not.toBeNull()
      const usage = (await (await gateway.as(made, '/v1/credits/balance')).json()) as {
        api_key: { used_micros_usd: number }
      }
      expect(usage.api_key.used_micros_usd).toBe(0)
    })

    test('again gives another state', async () => {
      const made = await key()
      expect((await startLink(gateway, made)).state).not.toBe((await startLink(gateway, made)).state)
    })
  })

  describe('400', () => {
    test.each([
      ['{"scopes":["tweet.write","tweets.write","like.read"]}', 'scopes', 'tweets.write, like.read'],
      ['{"scopes":[]}', 'scopes', 'list of 1 to 50 scopes'],
      ['{"scopes":"tweet.write"}', 'scopes', 'must be a list'],
      ['{"scopes":[7]}', 'scopes', '7'],
      ['{"scope":["tweet.write"]}', 'scope', 'not a known property'],
      ['[]', 'body', 'JSON object'],
      ['{', undefined, 'not valid JSON'],
    ])('%s is refused by name', async (body, param, words) => {
      const answer = await post(body)
      const { error } = (await answer.json()) as { error: { param?: string; message: string } }
      expect([answer.status, error.param]).toEqual([400, param])
      expect(error.message).toContain(words)
    })
  })

  test('401 without a key: accounts are linked to keys (spec 5)', async () => {
    const answer = await gateway.call(LINK, { method: 'POST' })
    expect([answer.status, ((await answer.json()) as { error: { code: string } }).error.code]).toEqual([
      401,
      'missing_api_key',
    ])
  })

  test('405 for another method; 415 for a body that is not JSON', async () => {
    const answer = await gateway.as(await key(), LINK)
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST'])
    expect((await post('scopes=x', { 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(415)
  })
})

describe('GET /apis/v1/social/oauth_callback (spec 3, 4.3)', () => {
  const pageOf = async (answer: Response) => ({
    status: answer.status,
    text: await answer.text(),
    headers: answer.headers,
  })

  test('after the approval and the press of its button names who was linked, and the key acts as that account', async () => {
    const made = await key()
    const query = await decide(gateway, await startLink(gateway, made))
    const page = await pageOf(await confirmed(gateway, query))
    expect(page.status).toBe(200)
    for (const words of ['@ada is linked', 'Ada Lovelace', 'Post, reply and quote', 'href="/social"'])
      expect(page.text).toContain(words)
    expect(((await (await me(made)).json()) as { data: unknown }).data).toMatchObject(ADA)
  })

  test('shows no token, code or state, runs no script, and cannot be cached or framed', async () => {
    const query = await decide(gateway, await startLink(gateway, await key()))
    const { text, headers } = await pageOf(await comeBack(gateway, query))
    for (const secret of [query.get('code') ?? '-', query.get('state') ?? '-']) expect(text).not.toContain(secret)
    expect(text).not.toMatch(/<script|[\w-]{43}/)
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'$/,
    )
    expect([headers.get('referrer-policy'), headers.get('cache-control'), headers.get('x-frame-options')]).toEqual([
      'no-referrer',
      'no-store',
      'DENY',
    ])
    expect(headers.get('x-ratelimit-limit-requests')).toBe('60')
  })

  test('after a refusal says that nothing was linked', async () => {
    const made = await key()
    const page = await pageOf(await comeBack(gateway, await decide(gateway, await startLink(gateway, made), 'deny')))
    expect([page.status, page.text.includes('Nothing was linked')]).toEqual([200, true])
    expect((await me(made)).status).toBe(403)
  })

  test.each([
    ['no state', 'code=abc'],
    ['a state that nobody issued', `code=abc&state=${'A'.repeat(43)}`],
    ['two states', `code=abc&state=${'A'.repeat(43)}&state=${'B'.repeat(43)}`],
    ['markup for a state', 'code=abc&state=%3Cscript%3Ealert(1)%3C/script%3E'],
  ])('with %s says that the link is not valid', async (_, query) => {
    const page = await pageOf(await comeBack(gateway, new URLSearchParams(query)))
    expect([page.status, page.text.includes('is not valid')]).toEqual([400, true])
    expect(page.text).not.toContain('<script')
  })

  test('is not an open redirect, whatever its query contains', async () => {
    const { state } = await startLink(gateway, await key())
    const query = new URLSearchParams({
      state,
      error: 'access_denied',
      redirect_uri: 'https://evil.example',
      next: '//evil.example',
    })
    const page = await pageOf(await comeBack(gateway, query))
    expect(page.headers.get('location')).toBeNull()
    expect(page.text).not.toContain('evil.example')
  })

  test('accepts only GET', async () => {
    const answer = await gateway.call('/apis/v1/social/oauth_callback', { method: 'POST' })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET'])
  })
})

describe('one account per key (spec D7)', () => {
  const whoIs = async (who: MadeKey) => ((await (await me(who)).json()) as { data: { username: string } }).data.username

  test('a rotated key keeps it, and so does its successor', async () => {
    const account = await gateway.account()
    const made = await gateway.key(account)
    await linkKey(gateway, made)
    const owner = {
      accountId: account.id,
      tier: { ...account, toppedUp: 0 as never },
      actor: { kind: 'operator', id: 'test', address: null } as const,
    }
    const rotated = await gateway.core.keys.rotate(owner, made.id, 86_400)
    if (!rotated.ok) throw new Error(rotated.error.message)
    const successor = { id: rotated.value.key.id, secret: rotated.value.secret }
    expect([await whoIs(made), await whoIs(successor)]).toEqual(['ada', 'ada'])
    await linkKey(gateway, successor, undefined, '1002')
    expect([await whoIs(made), await whoIs(successor)]).toEqual(['grace', 'grace'])
  })

  test('another key of the account has none', async () => {
    const account = await gateway.account()
    const [one, other] = [await gateway.key(account), await gateway.key(account)]
    await linkKey(gateway, one)
    expect((await me(other)).status).toBe(403)
  })
})
