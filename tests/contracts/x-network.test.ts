import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { XNetwork } from '../../server/adapters/social/x/x-network'
import type { SocialAction } from '../../server/core/social/network'
import { newLinkSecrets } from '../../server/core/social/state-token'
import { creditsDepleted, inFifteenMinutes, problem, tooMany, XDouble } from '../support/social/x-double'
import {
  BLOCKED,
  DUPLICATE,
  NOT_ENROLLED,
  noSuchUser,
  SPEND_CAP,
  THIRD_SHAPE,
  TOO_MANY_OLD,
} from '../support/social/x-recordings'
import { socialNetworkContract } from './social-network.contract'

const overTheNet = (url: string, init: RequestInit) => fetch(url, init)

function networkOf(double: XDouble, more: { clientSecret?: string | null; apiUrl?: string; timeoutMs?: number } = {}) {
  return new XNetwork({
    name: 'x',
    authorizeUrl: 'https://x.com/i/oauth2/authorize',
    apiUrl: double.url,
    clientId: double.clientId,
    clientSecret: double.clientSecret,
    transport: overTheNet,
    clock: { now: () => Date.now() },
    timeoutMs: 5000,
    ...more,
  })
}

socialNetworkContract('x, against a double of it', async () => {
  const double = new XDouble()
  const troubles = {
    rate_limit: () => tooMany(),
    credits: creditsDepleted,
    unavailable: () => problem({ status: 503 }),
    only_errors: () => Response.json(noSuchUser('somebody')),
  }
  const [me, other, third] = double.users
  if (!me || !other || !third) throw new Error('the double has too few users')
  return {
    network: networkOf(double),
    impostor: networkOf(double, { clientSecret: 'wrong' }),
    redirectUri: double.redirectUri,
    me: { id: me.id, username: me.username },
    other: { id: other.id, username: other.username },
    third,
    decide: async (authUrl, decision) => double.decide(authUrl, decision),
    withdraw: async () => double.withdrawAll(),
    expire: async () => double.expireAll(),
    async trouble(what) {
      if (what === 'lost_answer') double.cutsNext = true
      else double.next = troubles[what]
    },
    postsSaying: async (text) => double.postsSaying(text),
    close: () => double.stop(),
  }
})

describe('x: specifics of the real wire', () => {
  let double: XDouble
  let network: XNetwork
  let accessToken = ''
  const patience = new AbortController().signal
  beforeAll(async () => {
    double = new XDouble()
    network = networkOf(double)
    const { state, challenge, verifier } = newLinkSecrets()
    const scopes = ['tweet.read', 'users.read', 'tweet.write', 'like.write', 'dm.read']
    const query = double.decide(
      network.authorizeUrl({ state, challenge, scopes, redirectUri: double.redirectUri }),
      'approve',
    )
    const grant = await network.exchange(query.get('code') ?? '', verifier, double.redirectUri, patience)
    if (!grant.ok) throw new Error(grant.error.reason)
    accessToken = grant.value.access
  })
  afterAll(() => double.stop())

  const READ: SocialAction = { kind: 'user', by: 'id', value: '783214' }
  const WRITE: SocialAction = { kind: 'like', tweetId: '20' }
  const act = (action: SocialAction, of = network) => of.act({ userId: double.me.id, accessToken }, action, patience)
  const answered = (response: () => Response | Promise<Response>, action: SocialAction = WRITE) => {
    double.next = response
    return act(action)
  }

  test("approval happens at the vendor's address", () => {
    const { state, challenge } = newLinkSecrets()
    const url = network.authorizeUrl({ state, challenge, scopes: ['tweet.read'], redirectUri: double.redirectUri })
    expect(url).toStartWith('https://x.com/i/oauth2/authorize?response_type=code&client_id=')
  })

  test('a like is sent as the published description requires', async () => {
    await act(WRITE)
    expect(double.requests.at(-1)).toEqual({
      method: 'POST',
      path: '/2/users/2244994945/likes',
      authorization: `Bearer ${accessToken}`,
      contentType: 'application/json',
      body: '{"tweet_id":"20"}',
    })
  })

  test('a reply and a quote as well', async () => {
    await act({ kind: 'post', text: 'both', inReplyToTweetId: '20', quoteTweetId: '21' })
    expect(JSON.parse(double.requests.at(-1)?.body ?? '')).toEqual({
      text: 'both',
      reply: { in_reply_to_tweet_id: '20' },
      quote_tweet_id: '21',
    })
  })

  test('an id cannot escape its place in the address', async () => {
    await act({ kind: 'unlike', tweetId: '../../oauth2/revoke?x=' })
    expect(double.requests.at(-1)?.path).toBe('/2/users/2244994945/likes/..%2F..%2Foauth2%2Frevoke%3Fx%3D')
  })

  test.each([
    ['the older body', () => tooMany(TOO_MANY_OLD), 900],
    [
      'no body',
      () => new Response(null, { status: 429, headers: { 'x-rate-limit-reset': String(inFifteenMinutes()) } }),
      900,
    ],
    [
      "a day's window that is used up",
      () =>
        new Response('{}', {
          status: 429,
          headers: {
            'x-rate-limit-remaining': '12',
            'x-rate-limit-reset': String(inFifteenMinutes()),
            'x-user-limit-24hour-remaining': '0',
            'x-user-limit-24hour-reset': String(inFifteenMinutes() + 2700),
          },
        }),
      3600,
    ],
    ['a window that just ended', () => new Response('{}', { status: 429, headers: { 'x-rate-limit-reset': '1' } }), 1],
    ['no word of a window', () => new Response('{}', { status: 429, headers: { 'x-rate-limit-reset': '0' } }), 60],
  ])('429 with %s', async (_, response, seconds) => {
    const outcome = await answered(response)
    if (outcome.ok || outcome.error.kind !== 'rate_limited') throw new Error(JSON.stringify(outcome))
    expect(outcome.error.retryAfterSeconds).toBeWithin(seconds - 5, seconds + 1)
  })

  test.each([
    ['an app without a project (403 client-forbidden)', () => problem(NOT_ENROLLED, 403)],
    ['a spend cap (403)', () => problem(SPEND_CAP, 403)],
    [
      'a monthly cap (429 usage-capped)',
      () => problem({ type: 'https://api.x.com/2/problems/usage-capped' } as object, 429),
    ],
    ['a guard before the API (403 in HTML)', () => new Response(BLOCKED, { status: 403 })],
    ['a route that the plan does not have (404 without a body)', () => new Response(null, { status: 404 })],
    ['a redirect, which is not followed', () => Response.redirect('https://elsewhere.example/')],
  ])('%s is our fault', async (_, response) => {
    expect(await answered(response)).toMatchObject({ ok: false, error: { kind: 'about_us' } })
  })

  test('the words of a 403 about the request are passed on unchanged', async () => {
    const outcome = await answered(() => problem(DUPLICATE))
    if (outcome.ok || outcome.error.kind !== 'refused') throw new Error(JSON.stringify(outcome))
    expect([outcome.error.status, outcome.error.contentType]).toEqual([403, 'application/problem+json'])
    expect(JSON.parse(outcome.error.body)).toEqual(DUPLICATE)
  })

  test('the third shape of a 400 as well', async () => {
    expect(await answered(() => problem(THIRD_SHAPE, 400))).toMatchObject({ error: { kind: 'refused', status: 400 } })
  })

  test('data with errors is a success', async () => {
    const outcome = await answered(() => Response.json({ data: { liked: true }, ...noSuchUser('x') }))
    expect(outcome).toMatchObject({ ok: true, value: { data: { liked: true } } })
  })

  test('data that says it was not done is not a success', async () => {
    expect(await answered(() => Response.json({ data: { liked: false } }))).toMatchObject({
      error: { kind: 'refused' },
    })
  })

  test('a deletion may be answered 204', async () => {
    double.next = () => new Response(null, { status: 204 })
    expect(await act({ kind: 'delete', tweetId: '20' })).toEqual({ ok: true, value: { data: { deleted: true } } })
  })

  test('an unreadable success: a write may have happened, a read is undone', async () => {
    for (const response of [() => new Response(BLOCKED), () => Response.json([1]), () => Response.json({ data: [] })]) {
      expect(await answered(response)).toMatchObject({ error: { kind: 'unknown' } })
      expect(await answered(response, READ)).toMatchObject({ error: { kind: 'unavailable' } })
    }
  })

  test('more messages than requested are not paid for', async () => {
    const event = {
      id: '1',
      event_type: 'MessageCreate',
      text: 'x',
      sender_id: '2',
      dm_conversation_id: '1-2',
      created_at: '',
    }
    double.next = () => Response.json({ data: [event, event, { ...event, event_type: 'ParticipantsJoin' }, event] })
    const outcome = await act({ kind: 'messages', max: 2, withUserId: null, pageToken: null })
    expect(outcome).toMatchObject({ ok: true, value: { items: 2 } })
  })

  test('an answer of more than a megabyte is a failure', async () => {
    const outcome = await answered(() => Response.json({ data: { id: '1', filler: 'x'.repeat(1_100_000) } }), READ)
    expect(outcome).toMatchObject({ error: { kind: 'unknown', reason: 'AnswerTooLarge' } })
  })

  test('an unreachable network: nothing was sent, so nothing happened', async () => {
    const gone = new XDouble()
    const lost = networkOf(gone)
    await gone.stop()
    expect(await act(WRITE, lost)).toMatchObject({ error: { kind: 'unavailable' } })
    expect(await lost.refresh('any', patience)).toMatchObject({ error: { kind: 'unavailable' } })
  })

  test('no answer: the outcome is unknown after the timeout, for a write and for a renewal', async () => {
    const hasty = networkOf(double, { timeoutMs: 50 })
    const never = new Promise<Response>(() => undefined)
    double.next = () => never
    expect(await act(WRITE, hasty)).toMatchObject({ error: { kind: 'unknown', reason: 'TimeoutError' } })
    const silent = new XNetwork({
      name: 'x',
      authorizeUrl: '',
      apiUrl: double.url,
      clientId: 'a',
      clientSecret: null,
      clock: { now: () => 0 },
      timeoutMs: 50,
      transport: (_, { signal }) =>
        new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
    })
    expect(await silent.refresh('any', patience)).toMatchObject({ error: { kind: 'unknown' } })
  })

  test('a caller that aborted before: nothing is sent', async () => {
    const before = double.requests.length
    const outcome = await network.act({ userId: '1', accessToken }, WRITE, AbortSignal.abort())
    expect(outcome).toMatchObject({ error: { kind: 'unavailable' } })
    expect(double.requests).toHaveLength(before)
  })

  test('a public client sends its id in the body and no header', async () => {
    const forms: (readonly [string | null, string])[] = []
    const open = new XNetwork({
      name: 'x',
      authorizeUrl: '',
      apiUrl: 'https://api.x.com',
      clientId: 'public',
      clientSecret: null,
      clock: { now: () => 0 },
      timeoutMs: 1000,
      transport: async (url, init) => {
        const request = new Request(url, init)
        forms.push([request.headers.get('authorization'), await request.text()])
        return Response.json({ revoked: true })
      },
    })
    expect(await open.revoke('t', patience)).toBe(true)
    expect(forms).toEqual([[null, 'token=t&client_id=public']])
  })
})
