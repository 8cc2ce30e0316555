import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { ModelEntry } from '../../../server/core/models/model-entry'
import { type ModelGateway, openModelGateway } from '../../support/model-gateway'
import { reconcile } from '../../support/reconcile'
import { eventStream, openAi, openVendor, type VendorDouble } from '../../support/vendor-double'

const DOCS = join(import.meta.dir, '../../../docs/models.md')

let server: VendorDouble
let gateway: ModelGateway
let written: ModelEntry
/** The first example of docs/models.md, but for the port of the server in this test. */
beforeAll(async () => {
  server = openVendor(() => openAi.plain('Hi', { input: 10, output: 4 }))
  const [, example = ''] = /```json\n([\s\S]*?)```/.exec(await Bun.file(DOCS).text()) ?? []
  const { models } = JSON.parse(example.replace(/127\.0\.0\.1:\d+/, new URL(server.origin).host)) as {
    models: ModelEntry[]
  }
  const [first] = models
  if (!first) throw new Error('docs/models.md has no example')
  written = first
  gateway = await openModelGateway(models)
})
afterAll(async () => {
  await gateway.close(true)
  server.close()
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

test('an OpenAI-compatible server needs three lines: it is listed, called and streamed, without a key for it', async () => {
  const { key, balance } = await gateway.funded()
  const { data } = (await (await gateway.as(key, '/v1/models')).json()) as { data: { id: string }[] }
  expect(data.map(({ id }) => id)).toContain(written.id)
  const plain = await gateway.chat(key, { model: written.id })
  expect(plain.status).toBe(200)
  expect(plain.headers.get('x-cost-micros-usd')).toBe('0')
  const received = server.received.at(-1)
  expect(received?.path).toBe('/v1/chat/completions')
  expect(received?.headers.get('authorization')).toBeNull()
  expect(received?.body).toMatchObject({ model: written.id, max_tokens: expect.any(Number) })
  server.answer = () => eventStream(openAi.words(['Hel', 'lo'], { input: 10, output: 2 }))
  const stream = await gateway.chat(key, { model: written.id, stream: true })
  const text = await stream.text()
  expect(text).toContain('"content":"Hel"')
  expect(text).toEndWith('data: [DONE]\n\n')
  expect(await balance()).toEqual({ paid: 10_000_000, held: 0 })
})
