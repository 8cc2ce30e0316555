import { afterAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import type { ApiPrice } from '../../server/core/apis/api'
import { micros } from '../../server/core/money'
import { openApiUpstream } from '../support/api-upstream'
import { anApi, anOperation, saving } from '../support/apis'
import { openTestStores } from '../support/ledger-parts'
import { reconcile } from '../support/reconcile'
import { dataFolder, removeFolder, signUp, startServer } from '../support/servers/server-process'
import { readUntil } from '../support/until'

let folder = ''
/** Two parts, each on the wire for itself; then it waits. */
const upstream = openApiUpstream(() => {
  const parts = [4000, 20].map((size) => new TextEncoder().encode(`${'x'.repeat(size)}\n`))
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      await Bun.sleep(20)
      const part = parts.shift()
      if (part) controller.enqueue(part)
      else await new Promise(() => undefined)
    },
  })
  return new Response(body, { headers: { 'content-type': 'application/octet-stream' } })
})
afterAll(async () => {
  await upstream.close()
  await removeFolder(folder)
})

test('kill -9 in the middle of a stream: the start charges the last recorded usage, and nothing at a fixed price', async () => {
  folder = await dataFolder()
  const stores = await openTestStores({ folder })
  const counted: ApiPrice = {
    mode: 'units',
    amount: micros(1000),
    figure: { kind: 'kilobytes' },
    block: 1,
    minimum: 0,
    maximum: 100,
    onMissing: null,
  }
  const operations = [
    anOperation({ id: 'counted', path: '/counted', answer: 'stream', price: counted }),
    anOperation({ id: 'fixed', path: '/fixed', answer: 'stream' }),
  ]
  const api = anApi({ baseUrl: `${upstream.url}/base`, operations })
  await stores.apis.write([saving(api)])
  await stores.close()

  const env = { ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1', CREDIT_BUYS_PAID_PROVIDERS: 'true' }
  const first = await startServer(folder, env)
  const owner = await signUp(first.url, 'ada@example.com')
  const { secret } = await owner.api('/api/keys', { name: 'streams' })
  const headers = { authorization: `Bearer ${secret}` }
  const open = async (name: string) => {
    const answer = await fetch(`${first.url}/apis/v1/weather/${name}`, { headers })
    expect(answer.status).toBe(200)
    // The second part has come, so the first was counted and written down.
    await readUntil(answer.body?.getReader(), (text) => text.split('\n').length > 2)
    return answer.headers.get('x-gateway-request-id')
  }
  const [counting, fixed] = [await open('counted'), await open('fixed')]
  expect((await owner.api('/api/account')).held_micros_usd).toBe(110_000)
  // A charge behind it in the log is durable, so the count before it is.
  expect((await fetch(`${first.url}/apis/v1/websearch/images/search?q=card`, { headers })).status).toBe(200)
  await first.kill('SIGKILL')

  const second = await startServer(folder, env)
  const explained = async (id: string | null) => (await fetch(`${second.url}/v1/usage/${id}`, { headers })).json()
  expect(await explained(counting)).toMatchObject({ code: 'gateway_restarted', cost_micros_usd: 4000 })
  expect(await explained(fixed)).toMatchObject({ code: 'gateway_restarted', cost_micros_usd: 0 })
  const account = await owner.api('/api/account', undefined, second.url)
  expect([account.balance_micros_usd, account.held_micros_usd]).toEqual([2_000_000 - 5000 - 4000, 0])
  await second.kill('SIGTERM')
  expect((await reconcile(join(folder, 'gateway.db'))).problems).toEqual([])
})
