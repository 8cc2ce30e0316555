import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Account } from '../../server/core/accounts/account'
import type { Api } from '../../server/core/apis/api'
import type { Actor } from '../../server/core/audit'
import { type Money, micros } from '../../server/core/money'
import { openApiUpstream } from '../support/api-upstream'
import { anApi, anOperation } from '../support/apis'
import { type Harness, type MadeKey, openHarness } from '../support/harness'
import { reconcile } from '../support/reconcile'
import { openAi, openVendor } from '../support/vendor-double'

const OPERATOR: Actor = { kind: 'operator', id: 'test', address: null }
const TOKENS = 10
const OLD = micros(10_000)
const NEW = micros(20_000)

/** A price that changes after a worker has quoted it, and before the primary holds it. */
describe('a price that changes while a worker asks for the hold', () => {
  const worker = { hasLease: true, before: async (_kind: string): Promise<unknown> => undefined }
  const vendor = openVendor(() => openAi.plain('Hi', { input: 3, output: TOKENS }))
  const upstream = openApiUpstream(() => Response.json({ sun: true }))
  let gateway: Harness
  let account: Account
  let key: MadeKey
  let holds = 0

  beforeAll(async () => {
    gateway = await openHarness({
      env: { ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1', CREDIT_BUYS_PAID_PROVIDERS: 'true' },
      byWorker: worker,
    })
    await putModel(OLD)
    gateway.core.apis.replace([weather(OLD)])
  })
  afterEach(() => {
    holds = 0
    worker.before = async () => undefined
  })
  afterAll(async () => {
    await gateway.close(true)
    vendor.close()
    await upstream.close()
    expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
  })

  const weather = (amount: Money, part: Partial<Api> = {}): Api =>
    anApi({
      baseUrl: upstream.url,
      operations: [anOperation({ price: { mode: 'fixed', amount }, priceVersion: `price_${amount}` })],
      ...part,
    })
  const putModel = (amount: Money) =>
    gateway.core.modelAdmin.put(OPERATOR, {
      id: 'sold',
      upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` },
      price: { input: 0, output: amount / TOKENS },
      recharge_required: false,
    })
  /** `times`: before how many of the call's frames of this kind. */
  const changing = (change: (hold: number) => Promise<unknown>, at = 'hold', times = 1) => {
    let left = times
    worker.before = async (kind) => {
      if (kind === 'hold') holds++
      if (kind === at && left-- > 0) await change(holds)
    }
  }
  const own = (operation: string, amount: Money) =>
    gateway.core.operator.setPrice(OPERATOR, operation as 'image-search', account.id, amount)
  const chat = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'sold', max_tokens: TOKENS, messages: [{ role: 'user', content: 'Hello' }] }),
  }
  const kinds: readonly [string, string, RequestInit, () => Promise<unknown>, () => Promise<unknown>][] = [
    [
      'a search',
      '/apis/v1/websearch/images/search?q=card&count=1',
      {},
      () => own('image-search', OLD),
      () => own('image-search', NEW),
    ],
    ['a chat', '/v1/chat/completions', chat, () => putModel(OLD), () => putModel(NEW)],
    [
      'an imported operation, whose price the operator sets',
      '/apis/v1/weather/v1/forecast',
      {},
      () => own('weather.forecast', OLD),
      () => own('weather.forecast', NEW),
    ],
  ]
  const opened = async () => {
    account = await gateway.account(0)
    key = await gateway.key(account)
  }
  const spent = async () => {
    const balance = await gateway.core.ledger.balance(account.id)
    return [2_000_000 - Number(balance?.posted), Number(balance?.held)]
  }
  const ask = (path: string, init: RequestInit, more: Record<string, string> = {}) =>
    gateway.as(key, path, { ...init, headers: { ...init.headers, ...more } })

  test.each(kinds)('%s is served and charged at the new price', async (_, path, init, before, after) => {
    await opened()
    await before()
    changing(after)
    const answer = await ask(path, init)
    expect([answer.status, await spent(), holds]).toEqual([200, [NEW, 0], 2])
  })

  test.each(kinds)('%s is refused above the maximum that its caller named', async (_, path, init, before, after) => {
    await opened()
    await before()
    changing(after)
    const answer = await ask(path, init, { 'x-max-price-usd': '0.015' })
    expect([answer.status, (await answer.json()).error.code]).toEqual([412, 'estimated_price_exceeds_max_price'])
    expect([await spent(), holds]).toEqual([[0, 0], 1])
    expect((await ask(path, init, { 'x-max-price-usd': '0.02' })).status).toBe(200)
  })

  test('an imported operation that was changed is sold as it is now, and one that is gone is refused', async () => {
    await opened()
    const replaced = (...apis: Api[]) => {
      gateway.core.apis.replace(apis)
      return gateway.core.changed()
    }
    const path = '/apis/v1/weather/v1/forecast'
    // The worker goes by the route of before, and the primary admits the call to that of now.
    changing(() => replaced(weather(NEW)), 'admit')
    expect([(await ask(path, {})).status, await spent(), holds]).toEqual([200, [NEW, 0], 2])
    changing(() => replaced(), 'admit')
    expect([(await ask(path, {})).status, await spent()]).toEqual([404, [NEW, 0]])
    await replaced(weather(OLD))
  })

  test('a price that changes with each hold is refused in the end, uncharged, and leaves nothing held', async () => {
    await opened()
    changing((hold) => own('image-search', micros(10_000 + hold)), 'hold', 10)
    const answer = await ask(kinds[0]?.[1] ?? '', {})
    expect([answer.status, (await answer.json()).error.code]).toEqual([503, 'service_unavailable'])
    expect([await spent(), holds]).toEqual([[0, 0], 3])
  })
})
