import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ApiPrice } from '../../server/core/apis/api'
import { micros } from '../../server/core/money'
import { openApiUpstream } from '../support/api-upstream'
import { anApi, anOperation, saving } from '../support/apis'
import { databaseOf } from '../support/databases/test-database'
import { searxngDouble } from '../support/doubles/searxng-server'
import { openTestStores } from '../support/ledger-parts'
import { reconcile } from '../support/reconcile'
import { dataFolder, removeFolder, type ServerProcess, signUp, startServer } from '../support/servers/server-process'
import { readUntil } from '../support/until'
import { eventStream, openAi, openVendor } from '../support/vendor-double'

// Two starts of the real server, on a machine that may be busy; the first run of a checkout builds its search index too.
setDefaultTimeout(120_000)

const PRICE = 5000
const IMPORTED_PRICE = 10_000
const KILOBYTES: ApiPrice = {
  mode: 'units',
  amount: micros(1000),
  figure: { kind: 'kilobytes' },
  block: 1,
  minimum: 0,
  maximum: 100,
  onMissing: null,
}
const upstream = openApiUpstream()
const searxng = searxngDouble(() => ({
  results: [{ url: 'https://example.org/', img_src: 'https://example.org/i.png' }],
}))
const vendor = openVendor(() => openAi.plain('Hi', { input: 1000, output: 400 }))
let folder = ''
let server: ServerProcess
beforeAll(async () => {
  folder = await dataFolder()
  const operations = [
    anOperation({}),
    anOperation({ id: 'order', path: '/v1/orders', method: 'POST', effect: 'write' }),
    anOperation({ id: 'counted', path: '/counted', answer: 'stream', price: KILOBYTES }),
    anOperation({ id: 'fixed', path: '/fixed', answer: 'stream' }),
  ]
  const stores = await openTestStores({ folder })
  await stores.apis.write([saving(anApi({ baseUrl: upstream.url, operations }))])
  await stores.close()
  const entry = {
    id: 'paid',
    upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` },
    price: { input: 2.5, output: 10 },
    recharge_required: false,
  }
  await writeFile(join(folder, 'models.json'), JSON.stringify({ models: [entry] }))
})
afterAll(async () => {
  vendor.close()
  await upstream.close()
  await searxng.stop()
  await removeFolder(folder)
})

const start = () =>
  startServer(folder, {
    MODELS_FILE: join(folder, 'models.json'),
    WEBSEARCH_PROVIDER: 'searxng',
    SEARXNG_URL: searxng.url,
    CREDIT_BUYS_PAID_PROVIDERS: 'true',
    ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1',
  })

/** The calls of one key, each under an Idempotency-Key if it has a name. */
function callsOf(secret: string) {
  const send = (path: string, name?: string, init: RequestInit = {}) =>
    fetch(server.url + path, {
      ...init,
      headers: {
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        ...(name && { 'idempotency-key': name }),
      },
    })
  const chat = (name: string | undefined, more: object = {}) => {
    const body = { model: 'paid', max_tokens: 8000, messages: [{ role: 'user', content: 'Hello' }], ...more }
    return send('/v1/chat/completions', name, { method: 'POST', body: JSON.stringify(body) })
  }
  return {
    chat,
    search: (name?: string) => send('/apis/v1/websearch/images/search?q=card', name),
    forecast: (name: string) => send('/apis/v1/weather/v1/forecast', name),
    order: (name: string) => send('/apis/v1/weather/v1/orders', name, { method: 'POST' }),
    download: (operation: string) => send(`/apis/v1/weather/${operation}`),
    explained: async (id: string | null) => (await send(`/v1/usage/${id}`)).json(),
  }
}

/** A body of parts, each on the wire for itself, that then waits. */
function endlessBody(sizes: readonly number[]): Response {
  const parts = sizes.map((size) => new TextEncoder().encode(`${'x'.repeat(size)}\n`))
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await Bun.sleep(20)
      const part = parts.shift()
      if (part) controller.enqueue(part)
      else await new Promise(() => undefined)
    },
  })
  return new Response(body, { headers: { 'content-type': 'application/octet-stream' } })
}

/** Begins a call of each kind that the kill leaves without an answer. */
async function beginCalls(call: ReturnType<typeof callsOf>) {
  const [searched, asked, ordered] = [0, 1, 2].map(() => Promise.withResolvers<void>())
  searxng.instead = ({ path }) => {
    if (path === '/search') searched?.resolve()
    return new Promise<Response>(() => undefined)
  }
  upstream.answers(({ method, target }) => {
    if (target.endsWith('/counted') || target.endsWith('/fixed')) return endlessBody([4000, 20])
    if (method === 'GET') asked?.resolve()
    else ordered?.resolve()
    return new Promise<Response>(() => undefined)
  })
  const lost = [call.search('lost'), call.forecast('lost-import'), call.order('order')].map((one) =>
    one.catch(() => null),
  )
  await Promise.all([searched?.promise, asked?.promise, ordered?.promise])
  vendor.answer = () =>
    eventStream([openAi.chunk({ content: 'x'.repeat(10_000) }), openAi.chunk({ content: 'and more' })], () => undefined)
  const streams: Record<'chat' | 'counted' | 'fixed', string | null> = { chat: null, counted: null, fixed: null }
  const chat = await call.chat('stream', { stream: true })
  streams.chat = chat.headers.get('x-gateway-request-id')
  await readUntil(chat.body?.getReader(), (text) => text.includes('and more'))
  for (const name of ['counted', 'fixed'] as const) {
    const answer = await call.download(name)
    streams[name] = answer.headers.get('x-gateway-request-id')
    // The second part has come, so the first was counted and written down.
    await readUntil(answer.body?.getReader(), (text) => text.split('\n').length > 2)
  }
  return { lost, streams }
}

test('kill -9 with calls of each kind under way: answers under an Idempotency-Key are returned again, charged once; unanswered calls run; an interrupted stream or write does not run a second time; streams cost their last recorded usage (spec D4, D5)', async () => {
  server = await start()
  const owner = await signUp(server.url, 'ada@example.com')
  const allowed = ['image-search', 'chat-completions', 'forecast', 'order', 'counted', 'fixed'].map((name) =>
    name.includes('-') ? name : `weather.${name}`,
  )
  const { secret } = await owner.api('/api/keys', { name: 'under way', allowed_endpoints: allowed })
  const call = callsOf(secret)
  const first = [await call.search('search'), await call.chat('chat'), await call.forecast('imported')]
  const answers = await Promise.all(first.map((answer) => answer.text()))
  const plainCost = Number(first[1]?.headers.get('x-cost-micros-usd'))
  const { lost, streams } = await beginCalls(call)
  expect((await owner.api('/api/account')).held_micros_usd).toBeGreaterThan(80_000)
  // A charge after them in the log is durable, so what was counted before it is.
  searxng.reset()
  expect((await call.search()).status).toBe(200)
  await server.kill('SIGKILL')
  await Promise.all(lost)

  upstream.answers(() => Response.json({ sun: true }))
  upstream.calls.length = 0
  vendor.received.length = 0
  searxng.received.length = 0
  server = await start()
  const again = [await call.search('search'), await call.chat('chat'), await call.forecast('imported')]
  expect(again.map(({ headers }) => headers.get('idempotency-replayed'))).toEqual(['true', 'true', 'true'])
  expect(await Promise.all(again.map((answer) => answer.text()))).toEqual(answers)
  expect(searxng.received.filter(({ path }) => path === '/search')).toEqual([])
  for (const cut of [await call.chat('stream', { stream: true }), await call.order('order')])
    expect([cut.status, (await cut.json()).error.code]).toEqual([409, 'outcome_unknown'])
  expect([vendor.received, upstream.calls]).toEqual([[], []])
  expect((await call.forecast('lost-import')).status).toBe(200)
  expect(upstream.calls).toHaveLength(1)
  const anew = await call.search('lost')
  expect([anew.status, anew.headers.get('idempotency-replayed')]).toEqual([200, null])

  const chat = await call.explained(streams.chat)
  expect(chat).toMatchObject({ code: 'gateway_restarted', usage_source: 'estimated' })
  expect(Number(chat['output_tokens'])).toBeWithin(2500, 2503) // the last words may have come in the same read
  expect(await call.explained(streams.counted)).toMatchObject({ code: 'gateway_restarted', cost_micros_usd: 4000 })
  expect(await call.explained(streams.fixed)).toMatchObject({ code: 'gateway_restarted', cost_micros_usd: 0 })
  const { balance_micros_usd, held_micros_usd } = await owner.api('/api/account', undefined, server.url)
  const streamed = Number(chat['cost_micros_usd']) + 4000
  expect(balance_micros_usd).toBe(2_000_000 - 3 * PRICE - 2 * IMPORTED_PRICE - plainCost - streamed)
  expect(held_micros_usd).toBe(0)
  await server.kill('SIGTERM')
  expect((await reconcile(await databaseOf(folder))).problems).toEqual([])
})
