import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openApiUpstream } from '../support/api-upstream'
import { anApi, anOperation, saving } from '../support/apis'
import { databaseOf } from '../support/databases/test-database'
import { searxngDouble } from '../support/doubles/searxng-server'
import { openTestStores } from '../support/ledger-parts'
import { reconcile } from '../support/reconcile'
import { dataFolder, removeFolder, type ServerProcess, signUp, startServer } from '../support/servers/server-process'
import { eventStream, openAi, openVendor } from '../support/vendor-double'

// Two starts of the real server, on a machine that may be busy; the first run of a checkout builds its search index too.
setDefaultTimeout(120_000)

const PRICE = 5000
const IMPORTED_PRICE = 10_000
const upstream = openApiUpstream()
const searxng = searxngDouble(() => ({
  results: [{ url: 'https://example.org/', img_src: 'https://example.org/i.png' }],
}))
const vendor = openVendor(() => openAi.plain('Hi', { input: 1000, output: 400 }))
let folder = ''
beforeAll(async () => {
  folder = await dataFolder()
  const operations = [
    anOperation({}),
    anOperation({ id: 'order', path: '/v1/orders', method: 'POST', effect: 'write' }),
  ]
  const stores = await openTestStores({ folder })
  await stores.apis.write([saving(anApi({ baseUrl: upstream.url, operations }))])
  await stores.close()
})
afterAll(async () => {
  vendor.close()
  await upstream.close()
  await searxng.stop()
  await removeFolder(folder)
})

async function start(): Promise<ServerProcess> {
  const entry = {
    id: 'paid',
    upstream: { kind: 'openai', base_url: `${vendor.origin}/v1` },
    price: { input: 2.5, output: 10 },
    recharge_required: false,
  }
  await writeFile(join(folder, 'models.json'), JSON.stringify({ models: [entry] }))
  return startServer(folder, {
    MODELS_FILE: join(folder, 'models.json'),
    WEBSEARCH_PROVIDER: 'searxng',
    SEARXNG_URL: searxng.url,
    CREDIT_BUYS_PAID_PROVIDERS: 'true',
    ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1',
  })
}

test('kill -9: an answer under an Idempotency-Key is returned again after the restart, charged once; an unanswered call runs; an interrupted stream or write does not run a second time (spec D5)', async () => {
  let server = await start()
  const owner = await signUp(server.url, 'ada@example.com')
  const allowed = ['image-search', 'chat-completions', 'weather.forecast', 'weather.order']
  const { secret } = await owner.api('/api/keys', { name: 'idempotency', allowed_endpoints: allowed })
  const headers = (name: string) => ({
    authorization: `Bearer ${secret}`,
    'content-type': 'application/json',
    'idempotency-key': name,
  })
  const search = (name: string) =>
    fetch(`${server.url}/apis/v1/websearch/images/search?q=card`, { headers: headers(name) })
  const chat = (name: string, more: object = {}) => {
    const body = { model: 'paid', max_tokens: 1000, messages: [{ role: 'user', content: 'Hello' }], ...more }
    return fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: headers(name),
      body: JSON.stringify(body),
    })
  }
  const imported = (name: string) => fetch(`${server.url}/apis/v1/weather/v1/forecast`, { headers: headers(name) })
  const order = (name: string) =>
    fetch(`${server.url}/apis/v1/weather/v1/orders`, { method: 'POST', headers: headers(name) })
  const first = [await search('search'), await chat('chat'), await imported('imported')]
  const answers = await Promise.all(first.map((answer) => answer.text()))
  const hanging = Promise.withResolvers<void>()
  searxng.instead = ({ path }) => {
    if (path === '/search') hanging.resolve()
    return new Promise<Response>(() => undefined)
  }
  const lost = search('lost').catch(() => null)
  await hanging.promise
  const [asked, ordered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  upstream.answers(({ method }) => {
    if (method === 'GET') asked.resolve()
    else ordered.resolve()
    return new Promise<Response>(() => undefined)
  })
  const lostCalls = [imported('lost-import').catch(() => null), order('order').catch(() => null)]
  await Promise.all([asked.promise, ordered.promise])
  vendor.answer = () => eventStream([openAi.chunk({ content: 'x'.repeat(400) })], () => undefined)
  const reader = (await chat('stream', { stream: true })).body?.getReader()
  await reader?.read()
  await server.kill('SIGKILL')
  await Promise.all([lost, ...lostCalls])

  searxng.reset()
  upstream.answers(() => Response.json({ sun: true }))
  upstream.calls.length = 0
  vendor.received.length = 0
  server = await start()
  const again = [await search('search'), await chat('chat'), await imported('imported')]
  expect(again.map(({ headers }) => headers.get('idempotency-replayed'))).toEqual(['true', 'true', 'true'])
  expect(await Promise.all(again.map((answer) => answer.text()))).toEqual(answers)
  expect(searxng.received.filter(({ path }) => path === '/search')).toEqual([])
  expect(vendor.received).toEqual([])
  const cut = await chat('stream', { stream: true })
  expect([cut.status, ((await cut.json()) as { error: { code: string } }).error.code]).toEqual([409, 'outcome_unknown'])
  expect(vendor.received).toHaveLength(0)
  const unknown = await order('order')
  expect([unknown.status, (await unknown.json()).error.code]).toEqual([409, 'outcome_unknown'])
  expect(upstream.calls).toEqual([])
  expect((await imported('lost-import')).status).toBe(200)
  expect(upstream.calls).toHaveLength(1)
  const anew = await search('lost')
  await anew.text()
  expect([anew.status, anew.headers.get('idempotency-replayed')]).toEqual([200, null])
  const { balance_micros_usd, held_micros_usd } = await owner.api('/api/account', undefined, server.url)
  const { requests } = await owner.api('/api/requests', undefined, server.url)
  const streamed = requests.find(({ code }: { code: string }) => code === 'gateway_restarted').cost_micros_usd
  expect(balance_micros_usd).toBe(2_000_000 - 2 * PRICE - 2 * IMPORTED_PRICE - 6500 - streamed)
  expect(held_micros_usd).toBe(0)
  await server.kill('SIGTERM')
  expect(await reconcile(await databaseOf(folder))).toMatchObject({ charges: 6, problems: [] })
})
