import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import type { ModelEntry } from '../../../server/core/models/model-entry'
import type { OperatorModels } from '../../../server/http/operator/model-record'
import type { ModelPrice, OperatorPrices } from '../../../server/http/operator/record'
import { callTool, mcp } from '../../support/agents/mcp'
import type { MadeKey } from '../../support/harness'
import { type ModelGateway, openModelGateway } from '../../support/model-gateway'
import { openAi, openVendor, type VendorDouble } from '../../support/vendor-double'
import { closeReconciled, read, refusalOf } from '../owner-bench'

let vendor: VendorDouble
let gateway: ModelGateway
beforeAll(async () => {
  vendor = openVendor(() => openAi.plain('Hi', { input: 10, output: 4 }))
  const upstream = { kind: 'openai', base_url: `${vendor.origin}/v1` } as const
  const sold = { upstream, price: { input: 10, output: 20 }, recharge_required: false } satisfies Partial<ModelEntry>
  gateway = await openModelGateway([
    { id: 'open', ...sold, fallback: ['partners'] },
    { id: 'partners', ...sold, access: { tiers: ['starter'] } },
    { id: 'nobody', ...sold, access: {} },
  ])
})
afterAll(async () => {
  await closeReconciled(gateway)
  vendor.close()
})

const MESSAGES = [{ role: 'user', content: 'Hello' }]
const order = async <T>(path: string, body?: object, method?: string) =>
  read<T>(gateway.control(path, body, method) as Promise<Response>)
const listOf = async (key: MadeKey, path = '/v1/models', headers = {}) =>
  JSON.stringify(await read(gateway.as(key, path, { headers })))

/** What each wire, catalog and tool says of a model. */
async function saidOf(key: MadeKey, model: string): Promise<readonly string[]> {
  const calls: readonly [path: string, body: object][] = [
    ['/v1/chat/completions', { model, messages: MESSAGES }],
    ['/v1/responses', { model, input: 'Hello' }],
    ['/v1/completions', { model, prompt: 'Hello' }],
    ['/v1/messages', { model, max_tokens: 5, messages: MESSAGES }],
    ['/v1/messages/count_tokens', { model, messages: MESSAGES }],
    ['/v1/embeddings', { model, input: 'Hello' }],
    ['/v1/images/generations', { model, prompt: 'Hello' }],
    ['/v1/deep-research', { model, query: 'Hello' }],
    [`/v1beta/models/${model}:generateContent`, { contents: [{ parts: [{ text: 'Hello' }] }] }],
  ]
  const answers = await Promise.all([
    ...calls.map(([path, body]) => gateway.post(key, path, body)),
    ...['/v1/models', '/v1beta/models'].map((path) => gateway.as(key, `${path}/${model}`)),
    gateway.chat(key, { model: 'sandbox/echo' }, { headers: { 'x-fallback-models': model } }),
  ])
  const texts = await Promise.all(answers.map(async (answer) => `${answer.status} ${await answer.text()}`))
  return texts.map((text) => text.replaceAll(model, 'MODEL').replaceAll(/req_[0-9a-f]+/g, 'req_'))
}

describe('a model for some accounts', () => {
  test('does not exist for others: every wire and catalog says what it says of a name that was made up', async () => {
    const stranger = await gateway.key(await gateway.account(5))
    const [made, closed, empty] = await Promise.all(
      ['made-up', 'partners', 'nobody'].map((model) => saidOf(stranger, model)),
    )
    expect(closed).toEqual(made as string[])
    expect(empty).toEqual(made as string[])
    for (const text of made ?? []) expect(text).toMatch(/^404 /)
    const lists = await Promise.all([
      listOf(stranger),
      listOf(stranger, '/v1/models', { 'anthropic-version': '2023-06-01' }),
      listOf(stranger, '/v1beta/models'),
    ])
    expect(lists.join()).not.toMatch(/partners|nobody/)
    const { message } = await mcp(gateway, stranger, 'tools/list')
    expect(JSON.stringify(message)).not.toMatch(/partners|nobody/)
    expect(JSON.stringify(await callTool(gateway, stranger, 'models', {}))).not.toMatch(/partners|nobody/)
    const front = await (await gateway.call('/', { headers: { accept: 'text/html' } })).text()
    expect(front).toContain('open')
    expect(front).not.toMatch(/partners|nobody/)
    const owner = await gateway.owner('stranger@example.com')
    expect(JSON.stringify(await read(owner.api('/api/models')))).not.toMatch(/partners|nobody/)
    const key = (model: string) => refusalOf(owner.api('/api/keys', { name: 'one', allowed_models: [model] }))
    const [closedKey, madeKey] = [await key('partners'), await key('made-up')]
    expect(JSON.parse(JSON.stringify(closedKey).replaceAll('partners', 'made-up'))).toMatchObject({
      message: madeKey.message,
      details: madeKey.details,
    })
    const estimate = {
      endpoint_type: 'chat_completions',
      model: 'partners',
      body: { model: 'partners', messages: MESSAGES },
    }
    expect(await refusalOf(owner.api('/api/models/estimate', estimate))).toMatchObject({ status: 404 })
    expect((await gateway.chat(stranger, { model: 'open' })).status).toBe(200)
  })

  test('is open to a tier from the top-up on, and to accounts that an operator names, from the next call on', async () => {
    const { key, account } = await gateway.funded(10, {}, null)
    expect((await gateway.chat(key, { model: 'partners' })).status).toBe(200)
    expect(await listOf(key)).toContain('"partners"')
    const entry = {
      id: 'chosen',
      upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` },
      price: { input: 10, output: 20 },
      access: { tiers: ['growth'] },
    }
    await order('/models', { entry })
    const call = async () => (await gateway.chat(key, { model: 'chosen' })).status
    expect(await call()).toBe(404)
    const owner = await gateway.owner('partner@example.com')
    const { id } = await read<{ id: string }>(owner.api('/api/account'))
    await gateway.core.stores.db.run(
      sql`UPDATE identity_user SET email_verified = 1 WHERE email = 'partner@example.com'`,
    )
    const access = { tiers: [], accounts: [account.id, 'partner@example.com'] }
    const { models } = await order<OperatorModels>('/models/chosen', { access }, 'PATCH')
    expect(models).toMatchObject([{ access: { tiers: [], accounts: [account.id, id] } }])
    expect(await call()).toBe(200)
    await order('/models/chosen', { access: { tiers: [], accounts: [] } }, 'PATCH')
    expect(await call()).toBe(404)
    await order('/models/chosen', { access: null }, 'PATCH')
    expect(await call()).toBe(200)
    const wrong = { access: { tiers: [], accounts: ['nobody@example.com'] } }
    expect((await gateway.control('/models/chosen', wrong, 'PATCH')).status).toBe(404)
    await order('/models/chosen', {}, 'DELETE')
  })
})

describe("an account's price for models", () => {
  test('is part of the list price, in the catalog, the quote, the hold, the charge and its explanation; its own before that for all', async () => {
    const { key, account, balance } = await gateway.funded()
    const other = await gateway.funded()
    const call = (who = key, headers = {}) => gateway.chat(who, { model: 'open', max_tokens: 100 }, { headers })
    const cost = async (answer: Promise<Response>) => (await answer).headers.get('x-cost-micros-usd')
    const set = (percent: number | null, model?: string) =>
      order<ModelPrice>('/model-prices', { account: account.id, percent, ...(model && { model }) })
    expect(await cost(call())).toBe('180')
    const quote = async () =>
      Number(
        ((await (await call(key, { 'x-cost-mode': 'quote' })).json()) as Record<string, number>)['cost_micros_usd'],
      )
    const list = await quote()
    const all = await set(50)
    expect([await cost(call()), await cost(call(other.key))]).toEqual(['90', '180'])
    expect(await quote()).toBe(list / 2)
    const own = await set(33.33, 'open')
    const answer = await call()
    // 10 x 3.333 + 4 x 6.666 = 59.994, rounded up once.
    expect(answer.headers.get('x-cost-micros-usd')).toBe('60')
    const pricing = async (who: MadeKey) =>
      read<{ pricing: { input: number }; price_version: string }>(gateway.as(who, '/v1/models/open'))
    expect(await pricing(key)).toMatchObject({ pricing: { input: 3.333, output: 6.666 } })
    expect((await pricing(key)).price_version).toBe(`${(await pricing(other.key)).price_version}+${own.version}`)
    expect(await pricing(other.key)).toMatchObject({ pricing: { input: 10 } })
    const { charge } = await gateway.explained(key, answer.headers.get('x-gateway-request-id') ?? '')
    expect(JSON.stringify(charge)).toContain('10 input_tokens x 3.333 USD / 1000000')
    expect(JSON.stringify(charge)).toContain(own.version)
    const { models } = await order<OperatorPrices>('/prices')
    expect(models).toEqual([all, own])
    await set(null, 'open')
    expect(await cost(call())).toBe('90')
    await set(0, 'open')
    expect(await cost(call())).toBe('0')
    await set(null, 'open')
    await set(null)
    expect(await cost(call())).toBe('180')
    expect(await balance()).toMatchObject({ held: 0 })
  })

  test('is refused for an unknown model or account, and for a percentage that is none', async () => {
    const account = await gateway.account()
    const refused = async (form: object) =>
      (await gateway.control('/model-prices', { account: account.id, percent: 50, ...form })).status
    expect(await refused({ model: 'made-up' })).toBe(404)
    expect(await refused({ account: 'acct_1' })).toBe(404)
    for (const percent of [-1, 1001, 0.001, '50']) expect(await refused({ percent })).toBe(400)
  })
})
