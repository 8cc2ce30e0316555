import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { MadeKey } from '../../support/harness'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { eventStream, openAi, openVendor, type Received, type VendorDouble } from '../../support/vendor-double'

/** Calls that refer to items of earlier answers, as the AI SDK does by default. */
let vendor: VendorDouble
let gateway: ModelGateway
const MESSAGE = {
  id: 'msg_vendor',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Hi "é"' }],
}
const HIDDEN = { id: 'rs_hidden', type: 'reasoning', summary: [] }
const SEALED = { id: 'rs_sealed', type: 'reasoning', summary: [], encrypted_content: 'x' }
const RESPONSE = {
  id: 'resp_vendor',
  object: 'response',
  status: 'completed',
  output: [HIDDEN, SEALED, MESSAGE],
  usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
}
const event = (type: string, more: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`
const COUNTS = { input: 10, output: 5 }

function answer({ path, body }: Pick<Received, 'path' | 'body'>): Response {
  const isNative = path.startsWith('/native')
  if (body['stream'] !== true) return isNative ? Response.json(RESPONSE) : openAi.plain('Hi', COUNTS)
  if (!isNative) return eventStream(openAi.words(['Hi'], COUNTS))
  return eventStream([
    event('response.created', { sequence_number: 0, response: { ...RESPONSE, output: [], usage: null } }),
    event('response.completed', { sequence_number: 1, response: RESPONSE }),
  ])
}

beforeAll(async () => {
  vendor = openVendor(answer)
  const chat = { kind: 'openai', base_url: `${vendor.origin}/v1` } as const
  gateway = await openModelGateway([
    { id: 'chat', upstream: chat, price: PRICE },
    { id: 'native', upstream: { ...chat, base_url: `${vendor.origin}/native/v1`, responses: true }, price: PRICE },
  ])
})
beforeEach(() => {
  vendor.received.length = 0
})
afterAll(async () => {
  await gateway.close(true)
  vendor.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

const ASKED = { role: 'user', content: 'Hello' }
const respond = (key: MadeKey, body: object, init?: RequestInit) =>
  gateway.post(key, '/v1/responses', { input: [ASKED], max_output_tokens: 100, ...body }, init)
const refer = (...ids: readonly unknown[]) => ids.map((id) => ({ type: 'item_reference', id }))
async function messageId(answered: Response): Promise<string> {
  const ids = (await answered.text()).match(/msg_\w+/)
  return ids?.[0] ?? ''
}
const problem = async (answered: Response) => {
  const { error } = (await answered.json()) as { error: { code: string; param: string; message: string } }
  return `${answered.status} ${error.code} ${error.param}`
}
const UNKNOWN = '422 unsupported_parameter input'

describe('an item_reference', () => {
  test.each([
    ['chat', false],
    ['chat', true],
    ['native', false],
    ['native', true],
  ])('of an item that %p answered, with stream %p, is replaced by the item', async (model, stream) => {
    const { key } = await gateway.funded()
    const id = await messageId(await respond(key, { model, stream }))
    const input = [ASKED, ...refer(id), { role: 'user', content: 'And?' }]
    expect((await respond(key, { model, input })).status).toBe(200)
    const { body } = vendor.received[1] ?? {}
    if (model === 'native') expect(body?.['input']).toEqual([input[0], MESSAGE, input[2]])
    else
      expect(body?.['messages']).toEqual([
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi' },
        { role: 'user', content: 'And?' },
      ])
  })

  test('of reasoning goes on only if its model can read it again, since the vendor stores nothing', async () => {
    const { key } = await gateway.funded()
    await (await respond(key, { model: 'native' })).text()
    const input = [...refer('rs_hidden'), ASKED, ...refer('rs_sealed', 'msg_vendor')]
    expect((await respond(key, { model: 'native', input })).status).toBe(200)
    expect(vendor.received[1]?.body['input']).toEqual([ASKED, SEALED, MESSAGE])
  })

  test('is unknown to other accounts, after half an hour, with store: false, in a failed call, and twice in one', async () => {
    const { key } = await gateway.funded()
    const { key: other } = await gateway.funded()
    const id = await messageId(await respond(key, { model: 'chat' }))
    const again = (who: MadeKey, ...ids: readonly unknown[]) => respond(who, { model: 'chat', input: refer(...ids) })
    expect(await problem(await again(other, id))).toBe(UNKNOWN)
    expect(await problem(await again(key, id, id))).toBe(UNKNOWN)
    for (const wrong of ['', null, 7, {}, 'constructor', '__proto__', 'x'.repeat(10_000)])
      expect([wrong, await problem(await again(key, wrong))]).toEqual([wrong, UNKNOWN])
    expect((await again(key, id)).status).toBe(200)
    const kept = await messageId(await respond(other, { model: 'chat', input: 'x', store: false }))
    expect(await problem(await again(other, kept))).toBe(UNKNOWN)
    gateway.clock.advance(30 * 60_000)
    expect(await problem(await again(key, id))).toBe(UNKNOWN)
  })

  test('is held and charged as the item, and repeated under one Idempotency-Key', async () => {
    const { key } = await gateway.funded()
    const id = await messageId(await respond(key, { model: 'chat' }))
    const quoteOf = async (input: readonly object[]) => {
      const quoted = await respond(key, { model: 'chat', input }, { headers: { 'x-cost-mode': 'quote' } })
      return ((await quoted.json()) as { quote: { cost_micros_usd: number } }).quote.cost_micros_usd
    }
    const item = {
      id,
      type: 'message',
      status: 'completed',
      role: 'assistant',
      content: [{ type: 'output_text', annotations: [], logprobs: [], text: 'Hi' }],
    }
    expect(await quoteOf([...refer(id), ASKED])).toBe(await quoteOf([item, ASKED]))
    const once = { headers: { 'idempotency-key': 'one' } }
    const body = { model: 'chat', input: [...refer(id), ASKED] }
    const first = await (await respond(key, body, once)).text()
    const repeat = await respond(key, body, once)
    expect([repeat.headers.get('idempotency-replayed'), await repeat.text()]).toEqual(['true', first])
  })
})
