import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Revenue } from '../../../server/http/operator/money/revenue-record'
import { type ModelGateway, openModelGateway } from '../../support/model-gateway'
import { openAi, openVendor, type VendorDouble } from '../../support/vendor-double'

let vendor: VendorDouble
let gateway: ModelGateway
beforeAll(async () => {
  vendor = openVendor(() => openAi.plain('Hi', { input: 10, output: 4 }))
  gateway = await openModelGateway([])
})
afterAll(async () => {
  await gateway.close()
  vendor.close()
})

async function order(path: string, body?: object, method?: string) {
  const answer = await gateway.control(path, body, method)
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}

describe("an operator's models", () => {
  test('are sold from the next call on, can be repriced, explain charges at the price of the time, and end when removed', async () => {
    const { key } = await gateway.funded()
    const call = () => gateway.chat(key, { model: 'llama', max_tokens: 100 })
    expect((await call()).status).toBe(404)
    const entry = {
      id: 'llama',
      upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` },
      price: { input: 1, output: 2 },
    }
    expect((await order('/models', { entry })).status).toBe(200)
    const first = await call()
    expect(first.headers.get('x-cost-micros-usd')).toBe('18')
    expect((await order('/models/llama', { price: { input: 10, output: 20 } }, 'PATCH')).status).toBe(200)
    expect((await call()).headers.get('x-cost-micros-usd')).toBe('180')
    const explained = await gateway.explained(key, first.headers.get('x-gateway-request-id') ?? '')
    expect(JSON.stringify(explained['charge'])).toContain(
      '10 input_tokens x 1 USD / 1000000 + 4 output_tokens x 2 USD / 1000000',
    )
    expect((await order('/models')).body['models']).toMatchObject([
      { id: 'llama', pricing: { input: 10 } },
      ...['draw', 'echo', 'embed', 'extract', 'moderate', 'rerank', 'speak', 'transcribe'].map((name) => ({
        id: `sandbox/${name}`,
      })),
    ])
    expect((await order('/models/llama', {}, 'DELETE')).status).toBe(200)
    expect((await call()).status).toBe(404)
    const entries = await gateway.core.stores.db.all<{ action: string }>(
      "SELECT action FROM audit_log WHERE action LIKE 'model.%' ORDER BY id",
    )
    expect(entries.map(({ action }) => action)).toEqual(['model.put', 'model.put', 'model.remove'])
  })

  test('with a purchase price say what their calls cost and left, at the price of the time; callers never see it', async () => {
    const { key } = await gateway.funded()
    const entry = (input: number, output: number) => ({
      id: 'bought',
      upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` },
      price: { input: 10, output: 20 },
      purchase_price: { input, output },
    })
    await order('/models', { entry: entry(5, 10) })
    const answer = await gateway.chat(key, { model: 'bought', max_tokens: 100 })
    await order('/models', { entry: entry(1, 2) })
    await gateway.chat(key, { model: 'bought', max_tokens: 100 })
    const { rows } = (await order('/revenue?group_by=model')).body as unknown as Revenue
    expect(rows.find(({ name }) => name === 'bought')).toMatchObject({
      calls: 2,
      revenue_micros_usd: 360,
      upstream_cost_micros_usd: 108,
      margin_micros_usd: 252,
    })
    // The model of the test above had none.
    expect(rows.find(({ name }) => name === 'llama')).toMatchObject({ unknown_cost_calls: 2, margin_micros_usd: null })
    const shown = [
      await gateway.explained(key, answer.headers.get('x-gateway-request-id') ?? ''),
      await (await gateway.as(key, '/v1/models/bought')).json(),
    ]
    expect(JSON.stringify(shown)).not.toMatch(/purchase|upstream_cost/)
    const wrong = { ...entry(1, 2), purchase_price: { input: 1 } }
    expect(JSON.stringify(await order('/models', { entry: wrong }))).toContain(
      'purchase_price: bought: price needs input',
    )
  })

  test('are refused if invalid, with every error', async () => {
    expect(await order('/models', { entry: { id: 'x', upstream: { kind: 'openai' } } })).toMatchObject({
      status: 400,
      body: { error: { code: 'invalid_parameter', message: 'x: price is missing; for a free model, set it to 0' } },
    })
    expect((await order('/models/sandbox%2Fecho', {}, 'DELETE')).status).toBe(404)
    expect((await order('/models/nobody', { price: { input: 1, output: 1 } }, 'PATCH')).status).toBe(404)
  })
})
