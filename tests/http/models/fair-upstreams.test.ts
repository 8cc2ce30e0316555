import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { Breaker } from '../../../server/adapters/models/breaker'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { until } from '../../support/until'
import { openAi, openVendor, type Received, type VendorDouble } from '../../support/vendor-double'

/** An account's calls at an upstream take nothing from the others. */
let vendor: VendorDouble
let gateway: ModelGateway
let origin: string
let operator: Awaited<ReturnType<ModelGateway['owner']>>
const good = () => openAi.plain('Hi', { input: 10, output: 4 })
beforeAll(async () => {
  vendor = openVendor(good)
  const at = (path: string, concurrency = 64) => ({
    ...({ kind: 'openai', base_url: `${vendor.origin}/${path}`, concurrency } as const),
    key_env: 'OPENAI_DOUBLE_KEY',
  })
  gateway = await openModelGateway([
    { id: 'wide', upstream: at('wide'), price: PRICE },
    { id: 'healthy', upstream: at('healthy'), price: PRICE },
    { id: 'poisoned', upstream: at('poisoned'), price: PRICE },
    { id: 'broken', upstream: at('broken'), price: PRICE },
  ])
  origin = vendor.origin
  // The first account of an install.
  operator = await gateway.owner()
})
beforeEach(() => {
  vendor.answer = good
  vendor.received.length = 0
})
afterAll(async () => {
  await gateway.close(true)
  vendor.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

type Key = Awaited<ReturnType<ModelGateway['key']>>
const call = async (key: Key, model: string, content = 'Hello') =>
  (await gateway.chat(key, { model, max_tokens: 10, messages: [{ role: 'user', content }] })).status
const poisoned = ({ text }: Received) => (text.includes('venom') ? openAi.error(500, {}) : good())

describe('the slots of an upstream', () => {
  test.each([
    ['half of them', { rpm: 1000, tpm: 10_000_000, concurrency: 100 }, 32],
    ['twice the concurrency of its tier', { rpm: 1000, tpm: 10_000_000, concurrency: 5 }, 10],
  ])('are for one account at most %s, by however many keys; others are served', async (_, limits, most) => {
    const hog = await gateway.funded(10, {}, limits)
    const keys = await Promise.all(Array.from({ length: 14 }, () => gateway.key(hog.account)))
    const release = Promise.withResolvers<void>()
    vendor.answer = async ({ text }) => {
      if (text.includes('slow')) await release.promise
      return good()
    }
    const calls = Array.from({ length: 70 }, (_each, at) =>
      gateway.chat(keys[at % 14] ?? hog.key, {
        model: 'wide',
        max_tokens: 10,
        messages: [{ role: 'user', content: 'slow' }],
      }),
    )
    const refused: Response[] = []
    for (const each of calls) void each.then((answer) => answer.status === 429 && refused.push(answer))
    await until(() => vendor.received.length === most && refused.length === 70 - most)
    expect(await refused.at(-1)?.json()).toMatchObject({
      error: { code: 'rate_limit_exceeded', limit_source: 'account' },
    })
    const others = await Promise.all(Array.from({ length: 15 }, async () => call((await gateway.funded()).key, 'wide')))
    expect(others).toEqual(Array<number>(15).fill(200))
    release.resolve()
    const ended = (await Promise.all(calls)).map(({ status }) => status)
    expect(ended.filter((status) => status === 200)).toHaveLength(most)
    expect(await call(hog.key, 'wide')).toBe(200)
    expect((await hog.balance()).held).toBe(0)
  })
})

describe('the breaker', () => {
  test('stays closed for others however often one account fails, and opens for that account alone', async () => {
    const [thief, other] = [await gateway.funded(), await gateway.funded()]
    vendor.answer = poisoned
    const statuses: number[] = []
    for (let i = 0; i < 10; i++) statuses.push(await call(thief.key, 'poisoned', 'venom'))
    expect(statuses).toEqual([502, 502, 502, 502, 502, 503, 503, 503, 503, 503])
    expect(await call(other.key, 'poisoned')).toBe(200)
    gateway.clock.advance(15_000)
    const [test, more] = [await call(thief.key, 'poisoned', 'venom'), await call(thief.key, 'poisoned')]
    expect([test, more, await call(other.key, 'poisoned')]).toEqual([502, 503, 200])
    expect((await thief.balance()).paid).toBe(10_000_000)
    gateway.clock.advance(15_000)
    expect([await call(thief.key, 'poisoned'), await call(thief.key, 'poisoned')]).toEqual([200, 200])
  })

  test('of one model leaves the others of the same server and key alone', async () => {
    vendor.answer = ({ path }) => (path.startsWith('/broken') ? openAi.error(502, {}) : good())
    for (let i = 0; i < 5; i++) expect(await call((await gateway.funded()).key, 'broken')).toBe(502)
    const { key } = await gateway.funded()
    expect([await call(key, 'broken'), await call(key, 'healthy')]).toEqual([503, 200])
    const { models } = (await gateway.readiness()) as { models: { name: string; breaker: string }[] }
    const name = (model: string) => `openai ${new URL(origin).host} OPENAI_DOUBLE_KEY ${model}`
    const state = (model: string) => models.find((one) => one.name === name(model))?.breaker
    expect([state('broken'), state('healthy')]).toEqual(['open', 'closed'])
  })
})

test('upstream.down follows calls of at least two accounts, and names the model', async () => {
  const down = async () => {
    await gateway.gateway.delivering.run()
    const { notices } = (await (await operator.api('/api/notices?limit=200')).json()) as {
      notices: { type: string; data: { upstream: string } }[]
    }
    return notices.filter(({ type }) => type === 'upstream.down').map(({ data }) => data.upstream)
  }
  const [one, other] = [await gateway.funded(), await gateway.funded()]
  // The open rest of the tests before.
  gateway.clock.advance(60_000)
  expect(await call(other.key, 'broken')).toBe(200)
  vendor.answer = ({ path }) => (path.startsWith('/broken') ? openAi.error(500, {}) : good())
  for (let i = 0; i < 6; i++) {
    expect(await call(one.key, 'broken')).toBe(502)
    gateway.clock.advance(30_000)
    expect(await call(other.key, 'healthy')).toBe(200)
  }
  expect(await down()).toEqual([])
  expect(await call(other.key, 'broken')).toBe(502)
  await until(async () => (await down()).length > 0)
  expect(await down()).toEqual([`openai ${new URL(origin).host} OPENAI_DOUBLE_KEY broken`])
})

describe('an open breaker', () => {
  /** Opened by two accounts. */
  function opened() {
    let now = 0
    const breaker = new Breaker(() => now)
    const fails = (caller: string, isUnreachable = false) => breaker.failed({ caller, isUnreachable })
    for (const caller of ['a', 'a', 'a', 'b', 'b']) fails(caller)
    return { breaker, fails, later: (ms: number) => (now += ms) }
  }

  test('lets others test the recovery at once when one account fails its test, or does not end it', () => {
    const { breaker, fails, later } = opened()
    expect(['a', 'c'].map((one) => breaker.admits(one))).toEqual([false, false])
    later(15_000)
    expect(breaker.admits('a')).toBe(true)
    fails('a')
    expect(breaker.admits('a')).toBe(false)
    // One test at a time of each account, and two in all.
    expect(['c', 'c', 'd', 'e'].map((one) => breaker.admits(one))).toEqual([true, false, true, false])
    later(15_000)
    expect(['c', 'e'].map((one) => breaker.admits(one))).toEqual([false, true])
    breaker.succeeded('e')
    expect([breaker.state, ...['a', 'c', 'd', 'f'].map((one) => breaker.admits(one))]).toEqual([
      'closed',
      true,
      true,
      true,
      true,
    ])
  })

  test('stays open after a test of an account whose calls had not failed before', () => {
    const { breaker, fails, later } = opened()
    later(15_000)
    expect(breaker.admits('c')).toBe(true)
    fails('c')
    expect([breaker.state, breaker.admits('d')]).toEqual(['open', false])
  })

  test('was opened by one account only where the upstream could not be reached', () => {
    const [reached, unreached] = [new Breaker(() => 0), new Breaker(() => 0)]
    for (let i = 0; i < 100; i++) {
      reached.failed({ caller: 'a', isUnreachable: false })
      if (i < 5) unreached.failed({ caller: 'a', isUnreachable: true })
    }
    expect([reached.state, reached.admits('b'), unreached.state, unreached.admits('b')]).toEqual([
      'closed',
      true,
      'open',
      false,
    ])
  })

  test('opens not by many failures of one account and one of another', () => {
    const breaker = new Breaker(() => 0)
    for (let i = 0; i < 100; i++) breaker.failed({ caller: 'a', isUnreachable: false })
    breaker.succeeded('c')
    for (let i = 0; i < 3; i++) breaker.failed({ caller: 'a', isUnreachable: false })
    breaker.failed({ caller: 'b', isUnreachable: false })
    expect([breaker.state, breaker.admits('a'), breaker.admits('b')]).toEqual(['closed', false, true])
  })
})
