import { afterAll, beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { reconcile } from '../support/reconcile'
import {
  control,
  dataFolder,
  removeFolder,
  type ServerProcess,
  signUp,
  startServer,
} from '../support/servers/server-process'
import { until } from '../support/until'

const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'
const ENV = { WEBHOOKS_ALLOW_PRIVATE: 'true' }
const LIVES = 3
const CALLS = 64
const PRICE_USD = 0.005

let folder: string
let receiver: Bun.Server<undefined>
/** The ids of what arrived, by type and what it is about. */
const arrived = new Map<string, Set<string>>()

beforeAll(async () => {
  folder = await dataFolder()
  receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { type, data } = (await request.json()) as {
        type: string
        data: { id?: string; percent?: number; code?: string }
      }
      if (type === 'webhook.confirm') return new Response(data.code)
      const name = `${type} ${data.percent ?? data.id ?? ''}`
      arrived.set(name, (arrived.get(name) ?? new Set()).add(request.headers.get('webhook-id') ?? ''))
      return new Response()
    },
  })
})
afterAll(async () => {
  await receiver.stop(true)
  await removeFolder(folder)
})

test('whatever the moment of a kill -9, each event of a commit arrives, under one id', async () => {
  let server = await startServer(folder, ENV)
  const owner = await signUp(server.url, 'ada@example.com')
  await control(folder, `/accounts/${owner.id}/limits`, { limits: { rpm: 1e6, tpm: 1e8, concurrency: 1000 } })
  const { cookie } = owner
  const post = (to: ServerProcess, path: string, body: unknown) =>
    fetch(`${to.url}${path}`, {
      method: 'POST',
      headers: { cookie, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
  await post(server, '/api/webhooks', { url: `http://127.0.0.1:${receiver.port}/hook` })
  const isConfirmed = async () =>
    (await (await fetch(`${server.url}/api/webhooks`, { headers: { cookie } })).text()).includes('"status":"active"')
  await until(isConfirmed)
  const limited = { name: 'limited', spending_limit: CALLS * PRICE_USD }
  const made = await (await post(server, '/api/keys', limited)).json()
  const { secret, key } = made as { secret: string; key: { id: string } }
  const created: string[] = []
  const headers = { authorization: `Bearer ${secret}` }
  for (let life = 1; life <= LIVES; life++) {
    const alive = server
    // A kill ends some of them.
    const calls = Promise.allSettled(
      Array.from({ length: Math.ceil(CALLS / LIVES) }, () => fetch(`${alive.url}${SEARCH}`, { headers })),
    )
    const answer = await post(alive, '/api/keys', { name: `key ${life}` })
    expect(answer.status).toBe(201)
    created.push(((await answer.json()) as { key: { id: string } }).key.id)
    if (life % 2 === 0) await calls
    await alive.kill('SIGKILL')
    await calls
    server = await startServer(folder, ENV)
  }
  // Calls that a kill ended may be uncharged: the limit is reached by as many as it takes.
  while ((await fetch(`${server.url}${SEARCH}`, { headers })).status === 200);
  const expected = [
    ...created.map((id) => `key.created ${id}`),
    `key.created ${key.id}`,
    `key.exhausted ${key.id}`,
    ...[50, 80, 100].map((percent) => `budget.threshold ${percent}`),
  ]
  await until(() => expected.every((name) => arrived.has(name)))
  for (const [name, ids] of arrived) expect(ids.size, name).toBe(1)
  expect(await server.kill('SIGTERM')).toBe(0)
  expect((await reconcile(join(folder, 'gateway.db'))).problems).toEqual([])
})
