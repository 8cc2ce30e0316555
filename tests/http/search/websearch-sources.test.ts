import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { buildIndex } from '../../../server/adapters/websearch/local/build/build-index'
import type { Account } from '../../../server/core/accounts/account'
import { micros } from '../../../server/core/money'
import { pagesAbout, writeFixtureProject } from '../../adapters/websearch/local/fixture-index'
import {
  CONTEXT as BRAVE_CONTEXT,
  IMAGES as BRAVE_IMAGES,
  errorBody,
  TOKEN_INVALID,
} from '../../support/doubles/brave-bodies'
import { HttpDouble } from '../../support/doubles/http-double'
import { type Found, searxngDouble } from '../../support/doubles/searxng-server'
import { type Harness, type MadeKey, newFolder, openHarness } from '../../support/harness'
import { CONTEXT, endAndReconcile, IMAGES, PRICE, refusalOf, verdictOf } from '../wire'

const CONTEXT_CALL = `${CONTEXT}?q=quartz`
const IMAGES_CALL = `${IMAGES}?q=wallet`
const KEY = 'BSA-secret-key'
let brave: HttpDouble
let gateway: Harness

beforeAll(() => {
  brave = new HttpDouble(({ path }) => new Response(path.endsWith('/context') ? BRAVE_CONTEXT : BRAVE_IMAGES))
})
beforeEach(() => brave.reset())
afterEach(() => endAndReconcile(gateway))
afterAll(() => brave.stop())

/** A gateway whose sources are those of `env`, on an index with pages about quartz. */
async function open(env: Record<string, string>, withIndex = true): Promise<void> {
  const folder = await newFolder()
  if (withIndex) {
    const sources = writeFixtureProject(join(folder, 'project'))
    await buildIndex({ indexPath: join(folder, 'search.db'), ...sources, extraDocuments: pagesAbout('quartz', 2, 2) })
  }
  const access = { BRAVE_BASE_URL: brave.url, BRAVE_API_KEY: KEY }
  gateway = await openHarness({ folder, env: { ...access, ...env }, configuredProviders: true })
}
const posted = async (account: Account) => Number((await gateway.core.ledger.balance(account.id))?.posted)
const urlsOf = async (answer: Response): Promise<string[]> => {
  expect(answer.status).toBe(200)
  const { grounding } = (await answer.json()) as { grounding: { generic: { url: string }[] } }
  return grounding.generic.map(({ url }) => url)
}
/** An account with the signup credit, and what it topped up besides. */
async function accountWith(paidUsd: number): Promise<{ account: Account; key: MadeKey }> {
  const account = await gateway.account()
  const money = { kind: 'top_up', part: 'paid', description: 'test', reference: `test-${account.id}` } as const
  if (paidUsd > 0) {
    const added = await gateway.core.ledger.credit({
      ...money,
      account: account.id,
      amount: micros(paidUsd * 1_000_000),
    })
    if (!added.ok) throw new Error(added.error)
  }
  return { account, key: await gateway.key(account) }
}

describe('WEBSEARCH_PROVIDER=brave,local', () => {
  const ORDER = { WEBSEARCH_PROVIDER: 'brave,local', CREDIT_BUYS_PAID_PROVIDERS: 'true' }

  test('answers from Brave, charged once', async () => {
    await open(ORDER)
    const { account, key } = await accountWith(0)
    expect(await urlsOf(await gateway.as(key, CONTEXT_CALL))).toEqual(['https://example.com/page'])
    const images = await gateway.as(key, IMAGES_CALL)
    expect(await images.text()).toBe(BRAVE_IMAGES)
    expect(images.headers.get('x-cost-micros-usd')).toBe(String(PRICE))
    expect(await posted(account)).toBe(2_000_000 - 2 * PRICE)
  })

  test('answers from the index when Brave fails, charged once, and the log says why', async () => {
    await open(ORDER)
    const { account, key } = await accountWith(0)
    brave.instead = () => new Response(errorBody(429, 'RATE_LIMITED', {}), { status: 429 })
    expect((await urlsOf(await gateway.as(key, CONTEXT_CALL)))[0]).toContain('https://pages.example/quartz/')
    expect(brave.received).toHaveLength(1)
    expect(await posted(account)).toBe(2_000_000 - PRICE)
    expect(gateway.logged.join('')).toContain('brave: 429 RATE_LIMITED')
    expect(gateway.logged.join('')).not.toContain(KEY)
  })

  test("fails uncharged when both fail, with Brave's error", async () => {
    await open(ORDER, false)
    const { account, key } = await accountWith(0)
    brave.instead = () => new Response(TOKEN_INVALID, { status: 422 })
    const answer = await gateway.as(key, CONTEXT_CALL)
    expect(answer.headers.get('x-cost-micros-usd')).toBe('0')
    expect(await verdictOf(answer)).toBe('503 upstream_unavailable')
    expect(await posted(account)).toBe(2_000_000)
  })

  test('each has its own state, which operators see; the gateway is ready even if none works', async () => {
    await open(ORDER, false)
    const { key } = await accountWith(0)
    const ready = () => gateway.readiness()
    expect(await ready()).toMatchObject({ status: 'ready', sources: { brave: true, local: false } })
    brave.instead = () => new Response('', { status: 500 })
    await gateway.as(key, CONTEXT_CALL)
    expect(await ready()).toMatchObject({ status: 'ready', sources: { brave: false, local: false } })
    expect(await (await gateway.call('/ready')).text()).toBe('{"status":"ready"}')
    gateway.clock.advance(30_000)
    expect(await ready()).toMatchObject({ sources: { brave: true, local: false } })
  })
})

describe('an account that runs on signup credit (spec D4)', () => {
  test('never reaches Brave: with brave,local it gets local', async () => {
    await open({ WEBSEARCH_PROVIDER: 'brave,local' })
    const { account, key } = await accountWith(0)
    expect((await urlsOf(await gateway.as(key, CONTEXT_CALL)))[0]).toContain('https://pages.example/quartz/')
    expect((await gateway.as(key, IMAGES_CALL)).status).toBe(200)
    expect(brave.received).toHaveLength(0)
    expect(await posted(account)).toBe(2_000_000 - 2 * PRICE)
  })

  test('nor when local,brave would fail over to it', async () => {
    await open({ WEBSEARCH_PROVIDER: 'local,brave' }, false)
    const { account, key } = await accountWith(0)
    expect(await verdictOf(gateway.as(key, CONTEXT_CALL))).toBe('503 upstream_unavailable')
    expect(brave.received).toHaveLength(0)
    expect(await posted(account)).toBe(2_000_000)
  })

  test('must top up if Brave is the only source', async () => {
    await open({ WEBSEARCH_PROVIDER: 'brave' })
    const { account, key } = await accountWith(0)
    const refusal = await refusalOf(gateway.as(key, CONTEXT_CALL))
    expect(refusal).toMatchObject({
      status: 402,
      code: 'insufficient_balance',
      message: expect.stringMatching(/signup credit/),
    })
    expect(brave.received).toHaveLength(0)
    expect(await posted(account)).toBe(2_000_000)
  })

  test('reaches Brave with what it topped up, until that is used up; the credit stays for the index', async () => {
    await open({ WEBSEARCH_PROVIDER: 'brave,local' })
    const { account, key } = await accountWith(0.01)
    for (let i = 0; i < 3; i++) await gateway.as(key, CONTEXT_CALL)
    expect(brave.received).toHaveLength(2)
    const balance = await gateway.core.ledger.balance(account.id)
    expect(Number(balance?.posted)).toBe(2_000_000 - PRICE)
  })

  test('of many calls at once none more reaches Brave than the topped-up money pays for', async () => {
    await open({ WEBSEARCH_PROVIDER: 'brave,local' })
    const { account, key } = await accountWith(0.01)
    const answers = await Promise.all(Array.from({ length: 12 }, () => gateway.as(key, CONTEXT_CALL)))
    expect(answers.map(({ status }) => status)).toEqual(Array(12).fill(200))
    expect(brave.received).toHaveLength(2)
    expect(await posted(account)).toBe(2_010_000 - 12 * PRICE)
  })
})

describe('answers of Brave that are no success', () => {
  const ONLY = { WEBSEARCH_PROVIDER: 'brave', CREDIT_BUYS_PAID_PROVIDERS: 'true' }

  test("about our key become an uncharged 503; Brave's message is only logged", async () => {
    await open(ONLY)
    const { account, key } = await accountWith(0)
    brave.instead = () => new Response(TOKEN_INVALID, { status: 422 })
    const answer = await gateway.as(key, IMAGES_CALL)
    const text = await answer.text()
    expect(answer.status).toBe(503)
    expect(text).not.toContain('subscription')
    expect(await posted(account)).toBe(2_000_000)
  })

  test('429: ours, with Retry-After', async () => {
    await open(ONLY)
    const { key } = await accountWith(0)
    const headers = { 'x-ratelimit-limit': '50', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '7' }
    brave.instead = () => new Response(errorBody(429, 'RATE_LIMITED', {}), { status: 429, headers })
    const answer = await gateway.as(key, IMAGES_CALL)
    expect(answer.headers.get('retry-after')).toBe('7')
    expect(answer.headers.get('x-ratelimit-limit-requests')).toBe('1000000')
    expect(await refusalOf(answer)).toMatchObject({
      status: 429,
      code: 'upstream_rate_limit',
      limit_source: 'upstream',
    })
  })
})

describe('WEBSEARCH_PROVIDER=searxng', () => {
  let searxng: HttpDouble
  let found: Found

  beforeAll(() => {
    searxng = searxngDouble(() => found)
  })
  afterAll(() => searxng.stop())
  const openSearxng = () => open({ WEBSEARCH_PROVIDER: 'searxng', SEARXNG_URL: searxng.url }, false)

  test('answers pictures, which signup credit pays for', async () => {
    found = { results: [{ url: 'https://photos.example/1', title: 'Wallet', img_src: 'https://photos.example/1.jpg' }] }
    await openSearxng()
    const { account, key } = await accountWith(0)
    const answer = await gateway.as(key, IMAGES_CALL)
    expect(await answer.json()).toMatchObject({ type: 'images', results: [{ title: 'Wallet' }] })
    expect(await posted(account)).toBe(2_000_000 - PRICE)
    expect(await gateway.readiness()).toMatchObject({ status: 'ready', sources: { searxng: true } })
  })

  test('a search whose engines all failed is a failure, and not charged (spec D4)', async () => {
    found = { results: [], unresponsive: [['google', 'CAPTCHA']] }
    await openSearxng()
    const { account, key } = await accountWith(0)
    for (const call of [IMAGES_CALL, CONTEXT_CALL])
      expect(await verdictOf(gateway.as(key, call))).toBe('502 upstream_error')
    expect(await posted(account)).toBe(2_000_000)
  })

  test('a query that consists of commands is 400, and not charged', async () => {
    found = { results: [] }
    await openSearxng()
    const { account, key } = await accountWith(0)
    expect(await verdictOf(gateway.as(key, `${CONTEXT}?q=${encodeURIComponent('!! :')}`))).toBe('400 invalid_parameter')
    expect(await posted(account)).toBe(2_000_000)
  })

  test('with the real configuration, no page on this machine is ever fetched', async () => {
    const inside = new HttpDouble(
      () => new Response('<p>quartz secret</p>', { headers: { 'content-type': 'text/html' } }),
    )
    const local = inside.url.replace('127.0.0.1', 'localhost')
    found = {
      results: [inside.url, local].map((url) => ({ url: `${url}/`, title: 'Inside', content: 'an excerpt on quartz' })),
    }
    await openSearxng()
    const { key } = await accountWith(0)
    const answer = await (await gateway.as(key, CONTEXT_CALL)).text()
    expect(answer).toContain('an excerpt on quartz')
    expect(answer).not.toContain('secret')
    expect(inside.received).toEqual([])
    await inside.stop()
  })
})

describe('WEBSEARCH_CACHE', () => {
  test('a cached answer has an Age, calls no source, and is charged the catalog price', async () => {
    await open({ WEBSEARCH_PROVIDER: 'brave', CREDIT_BUYS_PAID_PROVIDERS: 'true', WEBSEARCH_CACHE: 'llm-context=60' })
    const { account, key } = await accountWith(0)
    const fresh = await gateway.as(key, CONTEXT_CALL)
    expect(fresh.headers.get('age')).toBeNull()
    gateway.clock.advance(5_000)
    const kept = await gateway.as(key, CONTEXT_CALL)
    expect(kept.headers.get('age')).toBe('5')
    expect(kept.headers.get('x-cost-micros-usd')).toBe(String(PRICE))
    expect(await kept.text()).toBe(await fresh.text())
    const post = await gateway.as(key, CONTEXT, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"q":"quartz","count":20}',
    })
    expect(post.headers.get('age')).toBe('5')
    expect(brave.received).toHaveLength(1)
    const asked = await gateway.as(key, CONTEXT_CALL, { headers: { 'cache-control': 'no-cache' } })
    expect(asked.headers.get('age')).toBeNull()
    expect(brave.received).toHaveLength(2)
    expect(await posted(account)).toBe(2_000_000 - 4 * PRICE)
    expect((await gateway.as(key, IMAGES_CALL)).status).toBe(200)
    expect((await gateway.as(key, IMAGES_CALL)).headers.get('age')).toBeNull()
    expect(brave.received).toHaveLength(4)
  })

  test('is off unless it is set', async () => {
    await open({ WEBSEARCH_PROVIDER: 'brave', CREDIT_BUYS_PAID_PROVIDERS: 'true' })
    const { key } = await accountWith(0)
    for (let i = 0; i < 2; i++) expect((await gateway.as(key, CONTEXT_CALL)).headers.get('age')).toBeNull()
    expect(brave.received).toHaveLength(2)
  })
})
