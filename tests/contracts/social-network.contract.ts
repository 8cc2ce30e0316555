import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { Grant, SocialAction, SocialNetwork } from '../../server/core/social/network'
import { OFFLINE_ACCESS, SOCIAL_SCOPES } from '../../server/core/social/scopes'
import { newLinkSecrets } from '../../server/core/social/state-token'

/** The faults of a network, by its order for the next request of the account. */
export type Trouble = 'rate_limit' | 'credits' | 'unavailable' | 'only_errors' | 'lost_answer'

export interface NetworkUnderTest {
  readonly network: SocialNetwork
  /** The same network, met with a wrong client secret. */
  readonly impostor: SocialNetwork
  readonly redirectUri: string
  /** The account that approves, and two others. */
  readonly me: { readonly id: string; readonly username: string }
  readonly other: { readonly id: string; readonly username: string }
  readonly third: { readonly id: string }
  /** A person's decision on the page behind the address; gives the query that the browser comes back with. */
  decide(authUrl: string, decision: 'approve' | 'deny'): Promise<URLSearchParams>
  /** The account takes its access back. */
  withdraw(): Promise<void>
  /** Two hours pass for its access tokens. */
  expire(): Promise<void>
  trouble(what: Trouble): Promise<void>
  /** Posts of the account that say this, as the network sees them. */
  postsSaying(text: string): Promise<number>
  close(): Promise<void>
}

/** The rules of every social network, as the gateway meets it over its wire. */
export function socialNetworkContract(name: string, open: () => Promise<NetworkUnderTest>): void {
  describe(`social network: ${name}`, () => {
    let parts: NetworkUnderTest
    let network: SocialNetwork
    const patience = new AbortController().signal
    beforeAll(async () => {
      parts = await open()
      network = parts.network
    })
    afterAll(() => parts.close())

    const code = async (scopes: readonly string[] = [...SOCIAL_SCOPES, OFFLINE_ACCESS]) => {
      const secrets = newLinkSecrets()
      const { state, challenge } = secrets
      const authUrl = network.authorizeUrl({ state, challenge, scopes, redirectUri: parts.redirectUri })
      const query = await parts.decide(authUrl, 'approve')
      expect(query.get('state')).toBe(state)
      return { code: query.get('code') ?? '', verifier: secrets.verifier }
    }
    const linked = async (scopes?: readonly string[]): Promise<Grant> => {
      const { code: value, verifier } = await code(scopes)
      const grant = await network.exchange(value, verifier, parts.redirectUri, patience)
      if (!grant.ok) throw new Error(`${grant.error.kind}: ${grant.error.reason}`)
      return grant.value
    }
    let grant: Grant
    const act = (action: SocialAction, accessToken = grant.access) =>
      network.act({ userId: parts.me.id, accessToken }, action, patience)
    const done = async (action: SocialAction) => {
      const outcome = await act(action)
      if (!outcome.ok) throw new Error(JSON.stringify(outcome.error))
      return outcome.value
    }
    const post = async (text: string, more: { inReplyToTweetId?: string; quoteTweetId?: string } = {}) => {
      const { data } = await done({ kind: 'post', text, inReplyToTweetId: null, quoteTweetId: null, ...more })
      return String(data['id'])
    }
    let texts = 0
    const text = () => `A sentence that was not said before: ${++texts}`
    beforeEach(async () => {
      grant ??= await linked()
    })

    describe('authorization', () => {
      test('requests the wanted scopes, with the challenge and never the verifier (RFC 7636)', () => {
        const { state, challenge, verifier } = newLinkSecrets()
        const url = network.authorizeUrl({
          state,
          challenge,
          scopes: ['tweet.read', OFFLINE_ACCESS],
          redirectUri: parts.redirectUri,
        })
        expect(Object.fromEntries(new URL(url).searchParams)).toMatchObject({
          response_type: 'code',
          redirect_uri: parts.redirectUri,
          scope: 'tweet.read offline.access',
          state,
          code_challenge: challenge,
          code_challenge_method: 'S256',
        })
        expect(url).toContain('scope=tweet.read%20offline.access')
        expect(url).not.toContain(verifier)
      })

      test('refused by the person returns access_denied with the state', async () => {
        const { state, challenge } = newLinkSecrets()
        const authUrl = network.authorizeUrl({
          state,
          challenge,
          scopes: ['tweet.read', 'users.read'],
          redirectUri: parts.redirectUri,
        })
        const query = await parts.decide(authUrl, 'deny')
        expect([query.get('error'), query.get('state'), query.get('code')]).toEqual(['access_denied', state, null])
      })

      test('returns a pair of tokens for two hours, and the granted scopes', async () => {
        const given = await linked(['tweet.read', 'users.read', OFFLINE_ACCESS])
        expect(given.expiresInSeconds).toBe(7200)
        expect(given.refresh).not.toBeNull()
        expect(given.scope?.split(' ').sort()).toEqual([OFFLINE_ACCESS, 'tweet.read', 'users.read'])
        expect(await network.me(given.access, patience)).toMatchObject({ ok: true, value: parts.me })
      })

      test('without offline.access returns no refresh token', async () => {
        expect((await linked(['tweet.read', 'users.read'])).refresh).toBeNull()
      })

      test('accepts a code once, and only with its own verifier', async () => {
        const first = await code()
        const forged = await network.exchange(first.code, newLinkSecrets().verifier, parts.redirectUri, patience)
        expect(forged).toMatchObject({ ok: false, error: { kind: 'dead' } })
        const { code: value, verifier } = await code()
        expect((await network.exchange(value, verifier, parts.redirectUri, patience)).ok).toBe(true)
        const again = await network.exchange(value, verifier, parts.redirectUri, patience)
        expect(again).toMatchObject({ ok: false, error: { kind: 'dead' } })
      })

      test('refuses a client with a wrong secret, which is our fault', async () => {
        const { code: value, verifier } = await code()
        const outcome = await parts.impostor.exchange(value, verifier, parts.redirectUri, patience)
        expect(outcome).toMatchObject({ ok: false, error: { kind: 'about_us' } })
      })
    })

    describe('tokens', () => {
      const withToken = (accessToken: string) => network.me(accessToken, patience)

      test('a refresh returns a new pair and invalidates the old one', async () => {
        const first = await linked()
        const second = await network.refresh(first.refresh ?? '', patience)
        if (!second.ok) throw new Error(second.error.reason)
        expect(second.value.refresh).not.toBe(first.refresh)
        expect((await withToken(second.value.access)).ok).toBe(true)
        expect(await withToken(first.access)).toMatchObject({ ok: false, error: { kind: 'token_refused' } })
        expect(await network.refresh(first.refresh ?? '', patience)).toMatchObject({
          ok: false,
          error: { kind: 'dead' },
        })
      })

      test('an expired access token is refused, and the refresh token stays valid', async () => {
        const first = await linked()
        await parts.expire()
        expect(await withToken(first.access)).toMatchObject({ ok: false, error: { kind: 'token_refused' } })
        const second = await network.refresh(first.refresh ?? '', patience)
        expect(second.ok && (await withToken(second.value.access)).ok).toBe(true)
        grant = await linked()
      })

      test('a revoked grant is invalid: no call, no refresh', async () => {
        const first = await linked()
        expect(await network.revoke(first.refresh ?? '', patience)).toBe(true)
        expect(await withToken(first.access)).toMatchObject({ ok: false, error: { kind: 'token_refused' } })
        expect(await network.refresh(first.refresh ?? '', patience)).toMatchObject({
          ok: false,
          error: { kind: 'dead' },
        })
      })

      test('a grant that the person withdrew is invalid', async () => {
        const first = await linked()
        await parts.withdraw()
        expect(await withToken(first.access)).toMatchObject({ ok: false, error: { kind: 'token_refused' } })
        expect(await network.refresh(first.refresh ?? '', patience)).toMatchObject({
          ok: false,
          error: { kind: 'dead' },
        })
        grant = await linked()
      })

      test('an invalid token is refused', async () => {
        expect(await withToken('forged')).toMatchObject({ ok: false, error: { kind: 'token_refused' } })
        expect(await network.refresh('forged', patience)).toMatchObject({ ok: false, error: { kind: 'dead' } })
      })
    })

    describe('actions', () => {
      test('follow and unfollow; repeating it changes nothing and succeeds (spec D7)', async () => {
        for (const kind of ['follow', 'follow', 'unfollow', 'unfollow'] as const) {
          const { data } = await done({ kind, targetUserId: parts.other.id })
          expect(data['following']).toBe(kind === 'follow')
        }
      })

      test('like and unlike; repeating it changes nothing and succeeds', async () => {
        const tweetId = await post(text())
        for (const kind of ['like', 'like', 'unlike', 'unlike'] as const)
          expect((await done({ kind, tweetId })).data['liked']).toBe(kind === 'like')
      })

      test('post, reply, quote and delete', async () => {
        const [said, answer, about] = [text(), text(), text()]
        const first = await post(said)
        expect(first).toMatch(/^\d{1,19}$/)
        const reply = await post(answer, { inReplyToTweetId: first })
        const quote = await post(about, { quoteTweetId: first })
        expect(new Set([first, reply, quote]).size).toBe(3)
        expect(await parts.postsSaying(answer)).toBe(1)
        expect((await done({ kind: 'delete', tweetId: reply })).data).toEqual({ deleted: true })
        expect(await parts.postsSaying(answer)).toBe(0)
      })

      test('a message arrives in its thread, and messages are read page by page, newest first', async () => {
        const words = [text(), text(), text()]
        for (const each of words) {
          const { data } = await done({ kind: 'dm', recipientId: parts.other.id, text: each })
          expect(data['dm_event_id']).toMatch(/^\d+$/)
        }
        await done({ kind: 'dm', recipientId: parts.third.id, text: text() })
        const read = (more: { withUserId?: string; pageToken?: string } = {}) =>
          done({ kind: 'messages', max: 2, withUserId: null, pageToken: null, ...more })
        const all = await read()
        expect(all.items).toBe(2)
        expect(all.data['threads']).toHaveLength(2)
        const one = await read({ withUserId: parts.other.id })
        const two = await read({ withUserId: parts.other.id, pageToken: String(one.data['next_token']) })
        const seen = [one, two].flatMap(({ data }) =>
          (data['threads'] as { messages: { text: string; sender_id: string }[] }[]).flatMap(
            ({ messages }) => messages,
          ),
        )
        expect(seen.slice(0, 3).map((message) => message.text)).toEqual(words.toReversed())
        expect(seen[0]?.sender_id).toBe(parts.me.id)
      })

      test('no messages are a success', async () => {
        const { data, items } = await done({ kind: 'messages', max: 5, withUserId: '1999', pageToken: null })
        expect([data['threads'], items, data['next_token']]).toEqual([[], 0, null])
      })

      test('a user is found by name and by id', async () => {
        for (const [by, value] of [
          ['username', parts.other.username],
          ['id', parts.other.id],
        ] as const)
          expect((await done({ kind: 'user', by, value })).data).toMatchObject(parts.other)
      })
    })

    describe('failures', () => {
      test('an unknown user is 404, although the network says 200', async () => {
        const outcome = await act({ kind: 'user', by: 'username', value: 'nobody_at_all' })
        expect(outcome).toMatchObject({ ok: false, error: { kind: 'refused', status: 404 } })
        expect(JSON.stringify(outcome)).toContain('Could not find user')
      })

      test("an error of the caller's own request comes with the network's words", async () => {
        const said = text()
        await post(said)
        const again = await act({ kind: 'post', text: said, inReplyToTweetId: null, quoteTweetId: null })
        expect(again).toMatchObject({ ok: false, error: { kind: 'refused', status: 403 } })
        expect(JSON.stringify(again)).toContain('duplicate content')
      })

      test('a bare 403 is our fault: the scopes were checked before, so it is the plan', async () => {
        const narrow = await linked(['tweet.read', 'users.read', OFFLINE_ACCESS])
        const outcome = await act({ kind: 'follow', targetUserId: parts.other.id }, narrow.access)
        expect(outcome).toMatchObject({ ok: false, error: { kind: 'about_us' } })
      })

      test('an exhausted window reports when it ends, from its reset (spec 7.1)', async () => {
        await parts.trouble('rate_limit')
        const outcome = await act({ kind: 'follow', targetUserId: parts.other.id })
        if (outcome.ok || outcome.error.kind !== 'rate_limited') throw new Error(JSON.stringify(outcome))
        expect(outcome.error.retryAfterSeconds).toBeWithin(1, 901)
      })

      test('exhausted credits are our fault', async () => {
        await parts.trouble('credits')
        expect(await act({ kind: 'user', by: 'id', value: parts.other.id })).toMatchObject({
          error: { kind: 'about_us' },
        })
      })

      test('a 503 leaves a read undone, and a write with an unknown outcome', async () => {
        await parts.trouble('unavailable')
        expect(await act({ kind: 'user', by: 'id', value: parts.me.id })).toMatchObject({
          error: { kind: 'unavailable' },
        })
        await parts.trouble('unavailable')
        expect(await act({ kind: 'follow', targetUserId: parts.other.id })).toMatchObject({
          error: { kind: 'unknown' },
        })
      })

      test('a 200 with only errors is not a success', async () => {
        await parts.trouble('only_errors')
        const outcome = await act({ kind: 'follow', targetUserId: parts.other.id })
        expect(outcome).toMatchObject({ ok: false, error: { kind: 'refused' } })
      })

      test('a write whose answer is lost has an unknown outcome, and was sent once', async () => {
        const said = text()
        await parts.trouble('lost_answer')
        const outcome = await act({ kind: 'post', text: said, inReplyToTweetId: null, quoteTweetId: null })
        expect(outcome).toMatchObject({ ok: false, error: { kind: 'unknown' } })
        expect(await parts.postsSaying(said)).toBe(1)
      })

      test('no failure contains a token', async () => {
        const { access, refresh } = grant
        for (const what of ['rate_limit', 'credits', 'unavailable', 'only_errors', 'lost_answer'] as const) {
          await parts.trouble(what)
          const words = JSON.stringify(await act({ kind: 'dm', recipientId: parts.other.id, text: text() }))
          expect(words).toContain('"ok":false')
          expect(words).not.toContain(access)
          expect(words).not.toContain(refresh ?? '-')
        }
      })
    })
  })
}
