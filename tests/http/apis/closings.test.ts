import { Database } from 'bun:sqlite'
import { afterEach, expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import type { OneApi } from '../../../server/http/apis/record'
import { type ApiUpstream, openApiUpstream } from '../../support/api-upstream'
import { type Harness, openHarness } from '../../support/harness'
import { reconcile } from '../../support/reconcile'
import { auditRows, read, refusalOf } from '../owner-bench'

const APIS = '/api/operator/apis'
const PATH = '/apis/v1/weather/v1/forecast'
const ENV = { ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1', CREDIT_BUYS_PAID_PROVIDERS: 'true' }
const FIXED = { mode: 'fixed', usd: '0.01' }
const PRICE = { mode: 'units', usd: '0.001', count: '/data', maximum: 10 }

let gateway: Harness | null = null
let upstream: ApiUpstream | null = null
afterEach(async () => {
  if (gateway) {
    await gateway.close(true)
    expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
    await rm(gateway.folder, { recursive: true, force: true })
  }
  await upstream?.close()
  gateway = null
  upstream = null
})

/** A gateway that sells one operation at 10 units at most, of an upstream that always claims 1,000. */
async function greedy(accounts: number) {
  upstream = openApiUpstream(() => Response.json({ data: Array(1000).fill(0) }))
  const opened = await openHarness({ env: ENV })
  gateway = opened
  const operator = await opened.owner()
  const operations = ['forecast', 'alerts'].map((id) => ({ id, method: 'GET', path: `/v1/${id}`, price: PRICE }))
  await read(operator.api(APIS, { name: 'weather', base_url: upstream.url, auth: 'none', operations }), 201)
  const people = await Promise.all(
    Array.from({ length: accounts }, async () => {
      const account = await opened.account(5)
      return { id: account.id, secret: (await opened.key(account)).secret }
    }),
  )
  const show = async () => read<OneApi>(operator.api(`${APIS}/weather`))
  return { operator, people, show, change: (body: object) => read(operator.api(`${APIS}/weather`, body, 'PATCH')) }
}

const statusFor = async (secret: string, path = PATH) => (await gateway?.as(secret, path))?.status

test('a closing survives a restart, is shown at its API, and ends when the operator lifts it', async () => {
  const { people, operator } = await greedy(2)
  const [ada, bob] = people
  if (!ada || !bob || !gateway) throw new Error('two accounts are needed')
  expect(await statusFor(ada.secret)).toBe(200)
  expect(await statusFor(ada.secret)).toBe(503)
  await gateway.close(true)
  gateway = await openHarness({ env: ENV, folder: gateway.folder, now: gateway.clock.now() })
  const as = gateway.call
  const api = (path: string, init: RequestInit = {}) =>
    as(path, { ...init, headers: { cookie: operator.cookie, 'content-type': 'application/json' } })
  expect(await statusFor(ada.secret)).toBe(503)
  expect(await statusFor(ada.secret, PATH.replace('forecast', 'alerts'))).toBe(200)
  const { closed } = await read<OneApi>(api(`${APIS}/weather`))
  expect(closed.map(({ operation, account }) => [operation, account])).toEqual([
    ['forecast', ada.id],
    ['alerts', ada.id],
  ])
  expect(await statusFor(bob.secret)).toBe(200)
  const lift = (body: object) => api(`${APIS}/weather/lift`, { method: 'POST', body: JSON.stringify(body) })
  const left = await read<OneApi>(lift({ operation: 'forecast', account: ada.id }))
  expect(left.closed.map(({ operation, account }) => `${operation} ${account}`).sort()).toEqual(
    [`alerts ${ada.id}`, `forecast ${bob.id}`].sort(),
  )
  expect(await statusFor(ada.secret)).toBe(200)
  expect(await refusalOf(lift({ operation: 'nothing' }))).toMatchObject({ status: 404 })
  expect((await read<OneApi>(lift({}))).closed).toEqual([])
  expect((await auditRows(gateway)).filter(({ action }) => action === 'api.lift')).toHaveLength(2)
})

test('the operation that three accounts closed is off sale, also after a restart, until it is put back on sale', async () => {
  const { people, show, change, operator } = await greedy(4)
  for (const { secret } of people.slice(0, 3)) expect(await statusFor(secret)).toBe(200)
  expect(await statusFor(people[3]?.secret ?? '')).not.toBe(200)
  // The change that takes it off sale is in the catalog's turn before this one.
  await change({ title: 'Weather 2' })
  const { api, closed } = await show()
  expect(api.operations.map(({ enabled }) => enabled)).toEqual([false, true])
  expect(closed).toHaveLength(3)
  await change({ operations: [{ id: 'forecast', enabled: true }] })
  expect((await show()).closed).toEqual([])
  if (!gateway) throw new Error('no gateway is open')
  await gateway.close(true)
  gateway = await openHarness({ env: ENV, folder: gateway.folder, now: gateway.clock.now() })
  expect(await statusFor(people[0]?.secret ?? '')).toBe(200)
  expect(
    (await gateway.call(`${APIS}/weather/lift`, { method: 'POST', headers: { cookie: operator.cookie } })).status,
  ).toBe(200)
})

test('a start finishes what a crash left: an operation that three accounts closed is disabled', async () => {
  const { people, show, operator } = await greedy(3)
  for (const { secret } of people.slice(0, 2)) expect(await statusFor(secret)).toBe(200)
  const [first] = (await show()).closed
  if (!gateway || !first) throw new Error('no gateway is open')
  await gateway.close(true)
  // The stored state of the process at its end: the third closing, and no change of the operation.
  const database = new Database(gateway.databaseFile)
  database.run(
    `INSERT INTO api_closings SELECT operation, '${people[2]?.id}', price_version, at FROM api_closings WHERE account_id = '${first.account}'`,
  )
  database.close()
  gateway = await openHarness({ env: ENV, folder: gateway.folder, now: gateway.clock.now() })
  const api = (path: string, init: RequestInit = {}) =>
    read<OneApi>(
      gateway?.call(path, {
        ...init,
        headers: { cookie: operator.cookie, 'content-type': 'application/json' },
      }) as Promise<Response>,
    )
  // A change waits for its turn in the catalog, so it comes after those of the start.
  await api(`${APIS}/weather`, { method: 'PATCH', body: JSON.stringify({ title: 'Weather 2' }) })
  const { api: shown, closed } = await api(`${APIS}/weather`)
  expect(shown.operations.map(({ enabled }) => enabled)).toEqual([false, true])
  expect(closed).toHaveLength(3)
  const disabled = (await auditRows(gateway)).filter(({ actor_id }) => actor_id === 'overruns')
  expect(disabled).toHaveLength(1)
  // Put back on sale, it stays on sale.
  await api(`${APIS}/weather`, {
    method: 'PATCH',
    body: JSON.stringify({ operations: [{ id: 'forecast', enabled: true }] }),
  })
  await gateway.close(true)
  gateway = await openHarness({ env: ENV, folder: gateway.folder, now: gateway.clock.now() })
  const again = await api(`${APIS}/weather`, { method: 'PATCH', body: JSON.stringify({ title: 'Weather 3' }) })
  expect(again.api.operations.map(({ enabled }) => enabled)).toEqual([true, true])
})

test('a new price opens an operation, another setting does not', async () => {
  const { people, change, show } = await greedy(1)
  const secret = people[0]?.secret ?? ''
  expect(await statusFor(secret)).toBe(200)
  await change({ title: 'Other', operations: [{ id: 'forecast', title: 'Other' }] })
  expect(await statusFor(secret)).toBe(503)
  await change({ operations: [{ id: 'forecast', price: { ...PRICE, maximum: 2000 } }] })
  expect((await show()).closed).toEqual([])
  expect(await statusFor(secret)).toBe(200)
  expect(await statusFor(secret)).toBe(200)
})

test('the trial of a write is audited before it is sent, and that of a read is not', async () => {
  upstream = openApiUpstream(() => Response.json({ ok: true }))
  gateway = await openHarness({ env: ENV })
  const operator = await gateway.owner()
  const operations = ['GET', 'POST'].map((method) => ({
    id: method.toLowerCase(),
    method,
    path: '/v1/x',
    price: FIXED,
  }))
  await read(operator.api(APIS, { name: 'weather', base_url: upstream.url, auth: 'none', operations }), 201)
  for (const operation of ['get', 'post']) await read(operator.api(`${APIS}/weather/test`, { operation, input: {} }))
  const tried = (await auditRows(gateway)).filter(({ action }) => action === 'api.try')
  expect(tried.map(({ detail }) => detail)).toEqual([JSON.stringify({ operation: 'weather.post' })])
  expect(upstream.calls).toHaveLength(2)
})
