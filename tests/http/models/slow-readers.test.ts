import { afterAll, beforeAll, expect, spyOn, test } from 'bun:test'
import type { MadeKey } from '../../support/harness'
import { type ModelGateway, openModelGateway, PRICE } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { slowReader, UNREAD_BYTES } from '../../support/slow-reader'
import { until } from '../../support/until'
import { eventStream, openAi, openVendor, type VendorDouble } from '../../support/vendor-double'

let vendor: VendorDouble
let gateway: ModelGateway
let origin: string
beforeAll(async () => {
  vendor = openVendor(() => Response.error())
  const upstream = { kind: 'openai' as const, base_url: `${vendor.origin}/v1` }
  gateway = await openModelGateway([{ id: 'writer', upstream, price: PRICE }])
  origin = gateway.serve()
})
afterAll(async () => {
  await gateway.close(true)
  vendor.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

const words = 'x'.repeat(400)
/** An event that fills the connection of a caller who does not read, although its text is short. */
const LARGE = openAi
  .chunk({ content: words.repeat(25) })
  .replace('"usage":null', `"obfuscation":"${'y'.repeat(UNREAD_BYTES)}","usage":null`)

/** So many parts of 60 kB are several times what the connections to and from the gateway take. */
const PARTS = 1000

/** A streamed call whose caller reads nothing yet. */
function call(key: MadeKey) {
  const messages = [{ role: 'user', content: 'Hello' }]
  return slowReader(origin, '/v1/chat/completions', {
    method: 'POST',
    headers: { authorization: `Bearer ${key.secret}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'writer', max_tokens: 40_000, stream: true, messages }),
  })
}

/** A call whose caller reads nothing of a stream that fills its connection. The vendor ends the stream when it is told to. */
async function unread(key: MadeKey) {
  const end = Promise.withResolvers<void>()
  vendor.answer = () =>
    eventStream([openAi.chunk({ content: words }), LARGE], async (controller) => {
      await end.promise
      controller.close()
    })
  const keep = spyOn(gateway.core.ledger, 'keep')
  const reader = await call(key)
  // Once before its first byte, and again for the text of the large event.
  await until(() => keep.mock.calls.length > 1)
  keep.mockRestore()
  return { reader, end: end.resolve }
}

async function settled(balance: () => Promise<{ paid: number; held: number }>): Promise<number> {
  await until(async () => (await balance()).held === 0)
  return 10_000_000 - (await balance()).paid
}

test.each([
  [1_001, (words.length * 26) / 4],
  [60_001, (words.length * 26) / 4],
  [1_000, null],
])(
  'a stream whose reader is %d ms behind when its vendor gives up is charged for what arrived, from a second on',
  async (behindMs, output) => {
    const { key, balance } = await gateway.funded()
    const { reader, end } = await unread(key)
    gateway.clock.advance(behindMs)
    end()
    reader.read()
    const { headers, text } = await reader.answer()
    expect(text.length).toBeGreaterThan(UNREAD_BYTES)
    expect(text).toContain('upstream_error')
    const charged = await settled(balance)
    await gateway.core.stores.journal.drained()
    const explained = await gateway.explained(key, headers.get('x-gateway-request-id') ?? '')
    expect(explained).toMatchObject({ code: 'stream_cut', cost_micros_usd: charged })
    if (output === null) expect(charged).toBe(0)
    else expect(explained).toMatchObject({ usage_source: 'estimated', output_tokens: output })
  },
)

test('the upstream of a caller who does not read waits, so that what was sent stays within the connections', async () => {
  const { key, balance } = await gateway.funded()
  const part = openAi.chunk({ content: 'x' }).replace('"usage":null', `"obfuscation":"${'y'.repeat(60_000)}"`)
  const rest = openAi.words([], { input: 9, output: 1000 }).join('')
  let sent = 0
  vendor.answer = () =>
    eventStream([], (controller) => {
      const isLast = ++sent === PARTS
      controller.enqueue(new TextEncoder().encode(isLast ? rest : part))
      if (isLast) controller.close()
    })
  const reader = await call(key)
  let [last, looks] = [0, 0]
  await until(() => {
    looks = sent > 0 && sent === last ? looks + 1 : 0
    last = sent
    return looks === 20
  })
  expect(sent).toBeLessThan(PARTS / 2)
  reader.read()
  const { text } = await reader.answer()
  expect([text.length > (PARTS - 1) * part.length, text.endsWith('[DONE]\n\n')]).toEqual([true, true])
  expect(await settled(balance)).toBe(Math.ceil(9 * PRICE.input + 1000 * PRICE.output))
})

test('a stream whose caller read slowly but still listens when the process shuts down: nothing is charged, as its error says', async () => {
  const { key, balance } = await gateway.funded()
  const { reader, end } = await unread(key)
  gateway.clock.advance(60_001)
  reader.read()
  await until(() => reader.came() > UNREAD_BYTES)
  await gateway.gateway.streamsEnded(0)
  end()
  expect((await reader.answer()).text).toContain('service_unavailable')
  expect(await settled(balance)).toBe(0)
})
