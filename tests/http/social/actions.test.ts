import { afterAll, beforeAll, describe, expect, spyOn, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { type Harness, type MadeKey, openHarness } from '../../support/harness'
import { reconcile } from '../../support/reconcile'
import { ADA, GRACE, linkKey } from '../../support/social/linked-key'
import { until } from '../../support/until'

const JSON_TYPE = { 'content-type': 'application/json' }

let gateway: Harness
let linked: MadeKey
beforeAll(async () => {
  gateway = await openHarness()
  linked = await newLinked()
})
afterAll(async () => {
  await gateway.close(true)
  const books = await reconcile(gateway.databaseFile)
  expect(books.problems).toEqual([])
  expect(books.charges).toBeGreaterThan(10)
})

async function newLinked(scopes?: readonly string[], user?: string): Promise<MadeKey> {
  const made = await gateway.key(await gateway.account(20))
  await linkKey(gateway, made, scopes, user)
  return made
}

interface Told {
  readonly status: number
  readonly cost: string | null
  readonly headers: Headers
  readonly data: Record<string, unknown>
  readonly error: {
    readonly code: string
    readonly message: string
    readonly param?: string
    readonly details?: { param: string }[]
  }
}
async function told(answer: Response): Promise<Told> {
  const body = (await answer.json()) as Pick<Told, 'data' | 'error'>
  return { ...body, status: answer.status, headers: answer.headers, cost: answer.headers.get('x-cost-micros-usd') }
}
const write = async (name: string, body: unknown, key: MadeKey = linked, headers: Record<string, string> = {}) =>
  told(
    await gateway.as(key, `/apis/v1/social/${name}_social`, {
      method: 'POST',
      headers: { ...JSON_TYPE, ...headers },
      body: JSON.stringify(body),
    }),
  )
const read = async (path: string, key: MadeKey = linked) => told(await gateway.as(key, `/apis/v1/social/${path}`))
const sandbox = () => {
  const { sandbox: site } = gateway.gateway
  if (!site) throw new Error('the sandbox is off')
  return site
}
let said = 0
const sentence = () => `Sentence ${++said} of this test`
const spent = async (key: MadeKey) =>
  ((await (await gateway.as(key, '/v1/credits/balance')).json()) as { api_key: { used_micros_usd: number } }).api_key
    .used_micros_usd

describe('200', () => {
  test('follow and unfollow, and again (spec D7): 0.015 and 0.010 USD each time', async () => {
    const target = { target_user_id: GRACE.id }
    for (const _ of [1, 2]) {
      const { status, data, cost } = await write('follow', target)
      expect([status, data, cost]).toEqual([200, { following: true, pending_follow: false }, '15000'])
    }
    for (const _ of [1, 2]) {
      const { status, data, cost } = await write('unfollow', target)
      expect([status, data, cost]).toEqual([200, { following: false }, '10000'])
    }
  })

  test('post, reply, quote, like, unlike and delete, each at its price, and the network shows them', async () => {
    const [first, second, third] = [sentence(), sentence(), sentence()]
    const post = await write('post', { content: first })
    expect([post.status, post.data['text'], post.cost]).toEqual([200, first, '15000'])
    const id = String(post.data['id'])
    const reply = await write('post', { content: second, in_reply_to_tweet_id: id })
    const quote = await write('post', { content: third, quote_tweet_id: id })
    expect([reply.status, quote.status]).toEqual([200, 200])
    expect([(await write('like', { tweet_id: id })).cost, (await write('unlike', { tweet_id: id })).cost]).toEqual([
      '15000',
      '10000',
    ])
    await write('like', { tweet_id: id })
    expect(await sandbox().community.findPost(id)).toMatchObject({ text: first, username: 'ada', likedBy: ['ada'] })
    expect(await sandbox().community.findPost(String(reply.data['id']))).toMatchObject({ replyTo: id })
    expect(await sandbox().community.findPost(String(quote.data['id']))).toMatchObject({ quoteOf: id })
    const gone = await write('delete', { tweet_id: id })
    expect([gone.status, gone.data, gone.cost]).toEqual([200, { deleted: true }, '10000'])
    expect(await sandbox().community.findPost(id)).toBeNull()
  })

  test.each([
    ['https://example.com', '200000'],
    ['see example.com, it is good', '200000'],
    ['no address in node.js, e.g. this', '15000'],
  ])('a post that says "%s" costs %s micro-USD', async (words, cost) => {
    expect((await write('post', { content: `${words} (${++said})` })).cost).toBe(cost)
  })

  test('a message is sent, and read by who got it: 0.010 USD for each message returned, the rest of the hold goes back', async () => {
    const words = [sentence(), sentence()]
    for (const text of words) expect((await write('dm', { recipient_id: GRACE.id, text })).cost).toBe('15000')
    const grace = await newLinked(undefined, GRACE.id)
    const before = await spent(grace)
    const inbox = await read('dm_threads_social?count=50', grace)
    expect([inbox.status, inbox.cost]).toEqual([200, '20000'])
    expect(inbox.data).toMatchObject({
      result_count: 2,
      next_token: null,
      threads: [{ dm_conversation_id: '1001-1002' }],
    })
    const [thread] = inbox.data['threads'] as { messages: { text: string; sender_id: string }[] }[]
    expect(thread?.messages.map(({ text }) => text)).toEqual(words.toReversed())
    expect((await spent(grace)) - before).toBe(20_000)
    const page = await read('dm_threads_social?count=1', grace)
    const next = await read(`dm_threads_social?count=1&next_token=${page.data['next_token']}`, grace)
    expect([page.cost, next.cost, next.data['next_token']]).toEqual(['10000', '10000', null])
    expect((await read('dm_threads_social?participant_id=1003', grace)).cost).toBe('0')
  })

  test('a charge of messages is explained by their number', async () => {
    const grace = await newLinked(undefined, GRACE.id)
    const answer = await gateway.as(grace, '/apis/v1/social/dm_threads_social?count=2')
    const id = answer.headers.get('x-gateway-request-id')
    const { charge } = (await (await gateway.as(grace, `/v1/usage/${id}`)).json()) as { charge: { inputs: unknown } }
    expect(charge.inputs).toMatchObject({ unit: 'message', units: 2, unit_price_micros_usd: 10_000 })
  })

  test('a profile by name, by id, and the own one: 0.010 USD', async () => {
    for (const [path, who] of [
      ['user_social?username=grace', GRACE],
      ['user_social?id=1002', GRACE],
      ['user_social', ADA],
    ] as const) {
      const { data, cost } = await read(path)
      expect(data).toMatchObject(who)
      expect(cost).toBe('10000')
    }
  })

  test('a quote costs nothing and runs nothing, also of a key without an account', async () => {
    const key = await gateway.key(await gateway.account())
    const answer = await gateway.as(key, '/apis/v1/social/post_social', {
      method: 'POST',
      headers: { ...JSON_TYPE, 'x-cost-mode': 'quote' },
      body: '{"content":"look at https://example.com"}',
    })
    expect(await answer.json()).toMatchObject({
      quote: { operation: 'social-post', price: { mode: 'fixed', amount: '0.2' }, cost_micros_usd: 200_000 },
    })
    const threads = await gateway.as(key, '/apis/v1/social/dm_threads_social', { headers: { 'x-cost-mode': 'quote' } })
    expect(await threads.json()).toMatchObject({ quote: { price: { mode: 'most', amount: '0.2' } } })
  })

  test("an operator's price of a post with an address binds the next one", async () => {
    const operator = { kind: 'operator', id: 'test', address: null } as const
    const account = await gateway.account(20)
    const key = await gateway.key(account)
    await linkKey(gateway, key)
    await gateway.core.operator.setPrice(operator, 'social-post-with-address', account.id, 123_000 as never)
    expect((await write('post', { content: `${sentence()} https://example.com` }, key)).cost).toBe('123000')
    expect((await write('post', { content: sentence() }, key)).cost).toBe('15000')
  })
})

describe('400: bodies are strict', () => {
  test.each([
    ['follow', {}, 'target_user_id'],
    ['follow', { target_user_id: 1002 }, 'target_user_id'],
    ['follow', { target_user_id: '@grace' }, 'target_user_id'],
    ['follow', { target_user_id: '12345678901234567890' }, 'target_user_id'],
    ['like', { tweet_id: '' }, 'tweet_id'],
    ['like', { tweet_id: '1', more: true }, 'more'],
    ['post', {}, 'content'],
    ['post', { content: '   ' }, 'content'],
    ['post', { content: 'x'.repeat(25_001) }, 'content'],
    ['post', { content: 'a', in_reply_to_tweet_id: '../2' }, 'in_reply_to_tweet_id'],
    ['post', { content: 'a', quote_tweet_id: null }, 'quote_tweet_id'],
    ['post', { text: 'a' }, 'content'],
    ['delete', { tweet_id: 'x' }, 'tweet_id'],
    ['dm', { recipient_id: '1002' }, 'text'],
    ['dm', { recipient_id: '1002', text: 'x'.repeat(10_001) }, 'text'],
  ])('%s %j', async (name, body, param) => {
    const { status, error, cost } = await write(name, body)
    expect([status, cost]).toEqual([400, '0'])
    expect(error.details?.map((detail) => detail.param)).toContain(param)
  })

  test.each([
    'user_social?username=a-b',
    'user_social?id=x',
    'dm_threads_social?count=0',
    'dm_threads_social?count=101',
  ])('%s', async (path) => {
    expect((await read(path)).status).toBe(400)
  })
})

describe('401', () => {
  test('without a key every operation asks for one, and offers no payment (spec 5)', async () => {
    for (const [path, init] of [
      ['/apis/v1/social/user_social', {}],
      ['/apis/v1/social/like_social', { method: 'POST', headers: JSON_TYPE, body: '{"tweet_id":"1"}' }],
    ] as const) {
      const answer = await gateway.call(path, init)
      expect([answer.status, ((await answer.json()) as Told).error.code]).toEqual([401, 'missing_api_key'])
    }
  })
})

describe('403', () => {
  test('social_session_required without a linked account; nothing is charged', async () => {
    const key = await gateway.key(await gateway.account())
    const { status, error, cost } = await write('like', { tweet_id: '1' }, key)
    expect([status, error.code, cost]).toEqual([403, 'social_session_required', '0'])
    expect(error.message).toContain('POST /apis/v1/social/auth_social')
    expect(await spent(key)).toBe(0)
  })

  test.each([
    ['follow', { target_user_id: '1002' }, 'follows.write'],
    ['unfollow', { target_user_id: '1002' }, 'follows.write'],
    ['like', { tweet_id: '1' }, 'like.write'],
    ['unlike', { tweet_id: '1' }, 'like.write'],
    ['post', { content: 'a' }, 'tweet.write'],
    ['delete', { tweet_id: '1' }, 'tweet.write'],
    ['dm', { recipient_id: '1002', text: 'a' }, 'dm.write'],
  ])(
    'insufficient_scope: %s names the scope that is missing and how to add it (spec 4.3)',
    async (name, body, scope) => {
      const key = await newLinked(['tweet.read'])
      const { status, error, headers } = await write(name, body, key)
      expect([status, error.code, error.param]).toEqual([403, 'insufficient_scope', scope])
      // It is the network's to grant: an app that asked our server for it would be refused.
      expect(headers.get('www-authenticate')).toBeNull()
      expect(error.message).toContain(`auth_social with "${scope}"`)
      expect(await spent(key)).toBe(0)
    },
  )

  test('insufficient_scope: reading messages needs dm.read', async () => {
    const { status, error } = await read('dm_threads_social', await newLinked(['dm.write']))
    expect([status, error.param]).toEqual([403, 'dm.read'])
  })

  test('a link that lacks a scope is an event for its owner, once until it is linked again (spec D11)', async () => {
    const key = await newLinked(['dm.write'])
    const events = () =>
      gateway.core.stores.db.all<{ data: string }>(
        sql`SELECT data FROM events WHERE type = 'social.failing' AND data LIKE ${`%${key.id}%`}`,
      )
    for (let i = 0; i < 3; i++) expect((await read('dm_threads_social', key)).status).toBe(403)
    await until(async () => (await events()).length > 0)
    expect((await events()).map(({ data }) => JSON.parse(data))).toEqual([
      { key_id: key.id, user: expect.any(String), reason: 'missing_scope', scope: 'dm.read' },
    ])
    await linkKey(gateway, key, ['dm.write'])
    expect((await read('dm_threads_social', key)).status).toBe(403)
    await until(async () => (await events()).length === 2)
  })

  test('insufficient_permissions: a key can be kept to some operations', async () => {
    const key = await gateway.key(await gateway.account(), { allowed_endpoints: ['social-post'] })
    expect((await write('like', { tweet_id: '1' }, key)).error.code).toBe('insufficient_permissions')
  })

  test('access that was withdrawn at the network: the session is revoked until somebody links again (spec 2.3)', async () => {
    const key = await newLinked(undefined, '1003')
    for (const { id } of await sandbox().grants.of('1003')) await sandbox().grants.withdraw('1003', id)
    const first = await read('user_social', key)
    expect([first.status, first.error.code]).toEqual([403, 'social_session_required'])
    expect(first.error.message).toContain('@alan withdrew')
    await linkKey(gateway, key, undefined, '1003')
    expect((await read('user_social', key)).status).toBe(200)
  })
})

describe('402', () => {
  test('a balance below the price, and a spending limit below it', async () => {
    const poor = await gateway.key(await gateway.account())
    const tight = await gateway.key(await gateway.account(), { spending_limit: 0.1 })
    await linkKey(gateway, poor)
    await linkKey(gateway, tight)
    expect((await read('dm_threads_social?count=100', tight)).error.code).toBe('insufficient_api_key_balance')
    for (let i = 0; i < 9; i++) await write('post', { content: `${sentence()} https://example.com` }, poor)
    expect((await read('dm_threads_social?count=100', poor)).error.code).toBe('insufficient_balance')
  })
})

describe('412', () => {
  test('X-Max-Price-USD below the price of a post with an address', async () => {
    const { status, error } = await write('post', { content: 'https://example.com' }, linked, {
      'x-max-price-usd': '0.1',
    })
    expect([status, error.code]).toEqual([412, 'estimated_price_exceeds_max_price'])
  })
})

describe('refusals of the network and failures on the way: nothing is charged', () => {
  const fault = (what: Parameters<ReturnType<typeof sandbox>['faults']['set']>[1]) =>
    sandbox().faults.set(ADA.id, what, 1)
  const costsNothing = async (run: () => Promise<Told>) => {
    const before = await spent(linked)
    const outcome = await run()
    expect(outcome.cost).toBe('0')
    expect(await spent(linked)).toBe(before)
    return outcome
  }

  test('its own words about the request come through, with its status (spec 7 rule 2)', async () => {
    const content = sentence()
    await write('post', { content })
    const answer = await gateway.as(linked, '/apis/v1/social/post_social', {
      method: 'POST',
      headers: JSON_TYPE,
      body: JSON.stringify({ content }),
    })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([403, 'application/problem+json'])
    expect(((await answer.json()) as { detail: string }).detail).toContain('duplicate content')
    expect((await costsNothing(() => write('like', { tweet_id: '1' }))).status).toBe(404)
    expect((await costsNothing(() => read('user_social?username=nobody'))).status).toBe(404)
  })

  test('429 upstream_rate_limit with a Retry-After computed from its reset', async () => {
    await fault('rate_limit')
    const answer = await gateway.as(linked, '/apis/v1/social/user_social')
    const { error } = (await answer.json()) as Told
    expect([answer.status, error.code]).toEqual([429, 'upstream_rate_limit'])
    // The clock stands at 12:00:20, its window ends at 12:15.
    expect(Number(answer.headers.get('retry-after'))).toBe(880)
  })

  test('503 upstream_unavailable when it is about the gateway itself: its credits, its plan', async () => {
    await fault('credits')
    const { status, error } = await costsNothing(() => write('follow', { target_user_id: GRACE.id }))
    expect([status, error.code]).toEqual([503, 'upstream_unavailable'])
    expect(error.message).not.toContain('credits')
  })

  test('a 200 with only errors is no success', async () => {
    await fault('only_errors')
    expect((await costsNothing(() => write('follow', { target_user_id: GRACE.id }))).status).toBe(404)
  })

  test('504 when the outcome of a write is unknown: it was sent once, may have happened, and is not charged', async () => {
    await fault('lost_answer')
    const content = sentence()
    const { status, error } = await costsNothing(() => write('post', { content }))
    expect([status, error.code]).toEqual([504, 'upstream_timeout'])
    expect(error.message).toContain('it may have happened')
    const posts = await sandbox().community.timeline(100)
    expect(posts.filter(({ text }) => text === content)).toHaveLength(1)
  })

  test('503 for a read of a network that is down', async () => {
    await fault('unavailable')
    expect((await costsNothing(() => read('user_social'))).error.code).toBe('upstream_unavailable')
  })

  test('a caller who hangs up after sending pays for what was done', async () => {
    const key = await newLinked(undefined, GRACE.id)
    const content = sentence()
    const gone = new AbortController()
    const reached = spyOn(sandbox().faults, 'take').mockImplementationOnce(async () => {
      gone.abort()
      return null
    })
    const call = gateway.as(key, '/apis/v1/social/post_social', {
      method: 'POST',
      headers: JSON_TYPE,
      body: JSON.stringify({ content }),
      signal: gone.signal,
    })
    await call.then(
      () => undefined,
      () => undefined,
    )
    reached.mockRestore()
    const posted = (await sandbox().community.timeline(100)).filter(({ text }) => text === content).length
    expect([posted, await spent(key)]).toEqual([1, 15_000])
  })
})
