import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { openAi, openVendor, type VendorDouble } from '../../support/vendor-double'
import { closeReconciled, keyBench, type MadeKey, type Owner, read } from '../owner-bench'

interface Report {
  readonly totals: Record<string, number>
  readonly groups: readonly ({ readonly name: string } & Record<string, unknown>)[]
}
interface Row {
  readonly id: string
  readonly operation: string
  readonly model: string | null
  readonly status: number
  readonly code: string | null
  readonly usage_source: string | null
}

let vendor: VendorDouble
let gateway: ModelGateway
let owner: Owner
let app: MadeKey

/** Two calls of `open`, one of the sandbox, one image search, and refused calls of models that are there and of one that is not. */
beforeAll(async () => {
  vendor = openVendor(() => openAi.plain('Hi', { input: 100, output: 40, cached: 60 }))
  const upstream = { kind: 'openai', base_url: `${vendor.origin}/v1` } as const
  gateway = await openModelGateway(
    [
      { id: 'open', upstream, price: PRICE, recharge_required: false },
      { id: 'paid', upstream, price: PRICE },
    ],
    { CREDIT_BUYS_PAID_PROVIDERS: 'true' },
  )
  owner = await gateway.owner()
  app = await keyBench(owner).create({ name: 'app' })
  const chat = async (body: object) => (await gateway.chat(app.secret, { max_tokens: 100, ...body })).status
  expect(await chat({ model: 'open' })).toBe(200)
  expect(await chat({ model: 'open' })).toBe(200)
  expect(await chat({ model: 'sandbox/echo' })).toBe(200)
  expect(await chat({ model: 'paid' })).toBe(402)
  expect(await chat({ model: 'made-up' })).toBe(404)
  expect(await chat({ model: 'paid', max_tokens: 10_000_000 })).toBe(422)
  const messages = { model: 'open', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] }
  expect((await gateway.post(app.secret, '/v1/messages', messages)).status).toBe(400)
  const research = { model: 'paid', query: 'What is a card?' }
  expect((await gateway.post(app.secret, '/v1/deep-research', research)).status).toBe(402)
  expect((await gateway.as(app.secret, '/apis/v1/websearch/images/search?q=card')).status).toBe(200)
  await gateway.core.stores.journal.drained()
})
afterAll(async () => {
  vendor.close()
  await closeReconciled(gateway)
})

const rows = async (query = '') => (await read<{ requests: Row[] }>(owner.api(`/api/requests${query}`))).requests

describe('usage by model', () => {
  test('sums requests, tokens, cache and spend of each; calls without a model are a group', async () => {
    const { groups, totals } = await read<Report>(owner.api('/api/usage?group_by=model'))
    const of = (name: string) => groups.find((group) => group.name === name)
    expect(of('open')).toMatchObject({
      requests: 3,
      failed_requests: 1,
      input_tokens: 200,
      output_tokens: 80,
      cache_read_tokens: 120,
      cache_write_tokens: 0,
      charged_micros_usd: 1150,
    })
    expect(of('sandbox/echo')).toMatchObject({ requests: 1, failed_requests: 0, charged_micros_usd: 0 })
    expect(of('paid')).toMatchObject({ requests: 3, failed_requests: 3, charged_micros_usd: 0 })
    // The image search, and the model that does not exist.
    expect(of('')).toMatchObject({ requests: 2, failed_requests: 1, input_tokens: 0, charged_micros_usd: 5000 })
    expect(totals).toMatchObject({ requests: 9, charged_micros_usd: 6150 })
  })

  test('can be filtered by one model, alone and with a key', async () => {
    const totals = async (query: string) => (await read<Report>(owner.api(`/api/usage?${query}`))).totals
    expect(await totals('model=open')).toMatchObject({ requests: 3, charged_micros_usd: 1150 })
    expect(await totals(`model=open&key=${app.key.id}`)).toMatchObject({ requests: 3 })
    expect(await totals('model=open&key=key_other')).toMatchObject({ requests: 0 })
    expect(await totals('model=open&status=200&operation=chat-completions')).toMatchObject({ requests: 2 })
    expect(await totals('model=nothing')).toMatchObject({ requests: 0 })
  })
})

describe('the request log', () => {
  test('names the model of every call, even if it was refused before it reached a vendor', async () => {
    const refused = (await rows()).filter(({ status }) => status >= 400)
    expect(refused.map(({ operation, model, code }) => `${operation} ${model} ${code}`).sort()).toEqual([
      'chat-completions null unknown_model',
      'chat-completions paid max_tokens_exceeded',
      'chat-completions paid recharge_required',
      'deep-research paid recharge_required',
      'messages open model_route_not_supported',
    ])
  })

  test('is filtered by model, and names the source of the token counts', async () => {
    const open = await rows('?model=open')
    expect(open.map(({ status, usage_source: source }) => [status, source])).toEqual([
      [400, null],
      [200, 'exact'],
      [200, 'exact'],
    ])
    expect(await rows('?model=made-up')).toEqual([])
  })

  test('as CSV has the model, the tokens with the cache, and the source of the counts', async () => {
    const text = await (await owner.api('/api/usage.csv?model=open&status=200')).text()
    const [head = '', ...lines] = text.trimEnd().split('\r\n')
    const names = head.split(',')
    expect(lines).toHaveLength(2)
    for (const line of lines) {
      const cell = Object.fromEntries(line.split(',').map((value, at) => [names[at], value]))
      expect(cell).toMatchObject({
        model: 'open',
        tokens_in: '100',
        tokens_out: '40',
        tokens_cache_read: '60',
        tokens_cache_write: '0',
        usage_source: 'exact',
        cost_usd: '0.000575',
      })
    }
  })
})
