import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { VERSION } from '../../server/core/version'
import type { WorkerRecord } from '../../server/http/operator/record'
import { databaseOf } from '../support/databases/test-database'
import { reconcile } from '../support/reconcile'
import { crashRun, richOwner } from '../support/servers/crash-run'
import { freePort } from '../support/servers/free-port'
import {
  control,
  dataFolder,
  removeFolder,
  type ServerProcess,
  signUp,
  startServer,
} from '../support/servers/server-process'
import { callOf, KIND_PRICE, KINDS, type Kind, openSoldKinds } from '../support/servers/sold-kinds'
import { until } from '../support/until'

setDefaultTimeout(120_000)

/** Connections that the kernel has accepted, and a process not yet, in the instant in which it closes its port (ADR 33), of hundreds. More on a busy machine. */
const MAX_RESET = 20

/** A real gateway whose paid calls three processes serve. */
describe('three workers on one machine', () => {
  let folder = ''
  let metricsPort = 0
  let server: ServerProcess
  let sold: Awaited<ReturnType<typeof openSoldKinds>>
  let owner: Awaited<ReturnType<typeof signUp>>

  beforeAll(async () => {
    folder = await dataFolder()
    metricsPort = await freePort()
    sold = await openSoldKinds(folder)
    server = await startServer(folder, {
      ...sold.env,
      WORKERS: '3',
      ANON_RPM: '1000000',
      METRICS_PORT: `${metricsPort}`,
    })
    await sold.importWeather()
    owner = await signUp(server.url, 'ada@example.com')
    await control(folder, `/accounts/${owner.id}/limits`, { limits: { rpm: 1e8, tpm: 1e8, concurrency: 1000 } })
    await control(folder, `/accounts/${owner.id}/grants`, { usd: '1000' })
    await until(
      async () => (await states()).length === 3,
      () => 'three workers',
    )
  })
  afterAll(async () => {
    try {
      expect(await server.kill('SIGTERM')).toBe(0)
      const { problems } = await reconcile(await databaseOf(folder))
      expect(problems).toEqual([])
    } finally {
      await sold.close()
      await removeFolder(folder)
    }
  })

  const key = async (body: object = {}): Promise<{ id: string; secret: string }> => {
    const made = await owner.api('/api/keys', { name: `key ${crypto.randomUUID()}`, ...body })
    return { id: made.key.id, secret: made.secret }
  }
  const search = ({ secret }: { secret: string }) => callOf('search', server.url, secret)
  const statuses = async (kind: Kind, secret: string, count: number) => {
    const answers = await Promise.all(Array.from({ length: count }, () => callOf(kind, server.url, secret)))
    await Promise.all(answers.map((answer) => answer.arrayBuffer()))
    return answers.map(({ status }) => status)
  }
  const states = async () => (await (await control(folder, '/workers')).json()).workers

  test.each(Object.keys(KINDS) as Kind[])('200 calls at once on a limit of 20 serve exactly 20: %s', async (kind) => {
    const { id, secret } = await key({ spending_limit: (20 * KIND_PRICE) / 1e6 })
    const found = await statuses(kind, secret, 200)
    const count = (status: number) => found.filter((one) => one === status).length
    expect([count(200), count(402)]).toEqual([20, 180])
    expect((await owner.api(`/api/keys/${id}`)).key).toMatchObject({ spent_micros_usd: 20 * KIND_PRICE })
  })

  test.each([
    ['disable', {}],
    ['revoke', {}],
    ['rotate', { grace_period_seconds: 0 }],
  ])('a key is refused on the next call after %s, whichever worker gets it, also under load', async (act, body) => {
    for (const kind of Object.keys(KINDS) as Kind[]) {
      const { id, secret } = await key()
      let confirmed = Number.POSITIVE_INFINITY
      let served = 0
      let late = 0
      let refused = 0
      const client = async () => {
        while (refused < 40) {
          const sentAt = performance.now()
          const answer = await callOf(kind, server.url, secret)
          await answer.arrayBuffer()
          if (answer.status === 200) served++
          if (answer.status === 200 && sentAt > confirmed) late++
          if (answer.status === 401) refused++
        }
      }
      const clients = Promise.all(Array.from({ length: 8 }, client))
      await until(() => served > 20)
      expect(Object.keys(await owner.api(`/api/keys/${id}/${act}`, body))).not.toContain('error')
      confirmed = performance.now()
      await clients
      expect([kind, late]).toEqual([kind, 0])
    }
  })

  test('what workers do not serve is the same as without them', async () => {
    const made = await key()
    const headers = { authorization: `Bearer ${made.secret}` }
    const repeated = { ...headers, 'idempotency-key': 'one' }
    const first = await fetch(server.url + KINDS.search.path, { headers: repeated })
    const second = await fetch(server.url + KINDS.search.path, { headers: repeated })
    expect([first.status, second.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
    expect(await first.text()).toBe(await second.text())
    const models = await fetch(`${server.url}/v1/models`, { headers })
    expect([models.status, Object(await models.json()).object]).toEqual([200, 'list'])
    const stranger = await fetch(server.url + KINDS.search.path)
    expect([stranger.status, Object(await stranger.json()).error.code]).toEqual([402, 'payment_required'])
    expect((await fetch(`${server.url}/ready`)).status).toBe(200)
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    for (const worker of [1, 2, 3]) expect(metrics).toContain(`gateway_worker_connected{worker="local-${worker}"} 1`)
    const seen = () =>
      states().then((all) => all.map(({ pid, version, connected }: WorkerRecord) => [pid !== null, version, connected]))
    await until(async () => (await seen()).every(([hasProcess]: unknown[]) => hasProcess), seen)
    expect(await seen()).toEqual(Array(3).fill([true, VERSION, true]))
    const wrong = await search({ secret: 'gwk_nonsense' })
    expect([wrong.status, Object(await wrong.json()).error.code]).toEqual([401, 'invalid_api_key'])
  })

  test('prices that an operator sets hold for the next call of every worker: of searches and of imported APIs', async () => {
    const { secret } = await key()
    for (const [kind, operation] of [
      ['search', 'image-search'],
      ['imported', 'weather.forecast'],
    ] as const) {
      await control(folder, '/prices', { operation, usd: '0.007' })
      const answers = await Promise.all(Array.from({ length: 20 }, () => callOf(kind, server.url, secret)))
      await control(folder, '/prices', { operation, usd: '0.005' })
      expect(new Set(answers.map(({ headers }) => headers.get('x-cost-micros-usd')))).toEqual(new Set(['7000']))
    }
  })
})

test('three kills of workers and of their primary, and three workers that freeze, under load: no charge is lost, nothing stays held (spec D4)', async () => {
  const report = await crashRun({ kills: 3, workers: 3, calls: 2000 })
  const { served, lost, problems, heldMicros, survivors } = report
  expect({ problems, lost, heldMicros, survivors }).toEqual({ problems: [], lost: [], heldMicros: 0, survivors: [] })
  expect(served).toBeGreaterThanOrEqual(2000)
  expect(report.chargedWithoutAnswer).toBeLessThanOrEqual(report.maxChargedWithoutAnswer)
})

test('a gateway with workers that takes over from another one loses no call that it accepted, and each is charged once', async () => {
  const folder = await dataFolder()
  const sold = await openSoldKinds(folder)
  const env = {
    ...sold.env,
    WORKERS: '2',
    TAKE_OVER: 'true',
    DRAIN_NOTICE_SECONDS: '1',
    PORT: String(await freePort()),
  }
  try {
    const first = await startServer(folder, env)
    await sold.importWeather()
    const owner = await richOwner(first, folder)
    const { secret } = await owner.api('/api/keys', { name: 'load' })
    const statuses: Promise<number>[] = []
    const call = async () => (await callOf('imported', first.url, secret)).status
    const timer = setInterval(() => statuses.push(call().catch(() => 0)), 10)
    await until(() => statuses.length > 20)
    const second = await startServer(folder, env)
    expect(await first.exited).toBe(0)
    const before = statuses.length
    await until(() => statuses.length > before + 250)
    clearInterval(timer)
    const failed = (await Promise.all(statuses)).filter((status) => status !== 200)
    expect(failed.length).toBeLessThanOrEqual(MAX_RESET)
    expect(failed.every((status) => status === 0)).toBe(true)
    const served = statuses.length - failed.length
    const states: WorkerRecord[] = (await (await control(folder, '/workers')).json()).workers
    expect(states).toHaveLength(2)
    expect(await second.kill('SIGTERM')).toBe(0)
    const { problems, charges } = await reconcile(await databaseOf(folder))
    expect(problems).toEqual([])
    expect(charges).toBeGreaterThanOrEqual(served)
    expect(charges).toBeLessThanOrEqual(served + failed.length)
  } finally {
    await sold.close()
    await removeFolder(folder)
  }
})
