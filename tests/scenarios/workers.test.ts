import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { chargedIds } from '../support/databases/database-file'
import { databaseOf } from '../support/databases/test-database'
import { reconcile } from '../support/reconcile'
import { crashRun } from '../support/servers/crash-run'
import { freePort } from '../support/servers/free-port'
import {
  control,
  dataFolder,
  removeFolder,
  type ServerProcess,
  SOURCE,
  signUp,
  startServer,
} from '../support/servers/server-process'
import { until } from '../support/until'

setDefaultTimeout(120_000)

const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'
const CHAT = { model: 'sandbox/echo', max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] }

/** A real gateway whose paid calls three processes serve. */
describe('three workers on one machine', () => {
  let folder = ''
  let metricsPort = 0
  let server: ServerProcess
  let owner: Awaited<ReturnType<typeof signUp>>

  beforeAll(async () => {
    folder = await dataFolder()
    metricsPort = await freePort()
    server = await startServer(
      folder,
      { WORKERS: '3', CREDIT_BUYS_PAID_PROVIDERS: 'true', METRICS_PORT: `${metricsPort}` },
      SOURCE,
    )
    owner = await signUp(server.url, 'ada@example.com')
    await control(folder, `/accounts/${owner.id}/limits`, { limits: { rpm: 1e8, tpm: 1e8, concurrency: 1000 } })
    await control(folder, `/accounts/${owner.id}/grants`, { usd: '1000' })
  })
  afterAll(async () => {
    try {
      expect(await server.kill('SIGTERM')).toBe(0)
      const { problems } = await reconcile(await databaseOf(folder))
      expect(problems).toEqual([])
    } finally {
      await removeFolder(folder)
    }
  })

  const key = async (body: object = {}): Promise<{ id: string; secret: string }> => {
    const made = await owner.api('/api/keys', { name: `key ${crypto.randomUUID()}`, ...body })
    return { id: made.key.id, secret: made.secret }
  }
  const search = ({ secret }: { secret: string }) =>
    fetch(server.url + SEARCH, { headers: { authorization: `Bearer ${secret}` } })
  const chat = ({ secret }: { secret: string }, more: object = {}) =>
    fetch(`${server.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...CHAT, ...more }),
    })
  const statuses = async (asking: (() => Promise<Response>)[]) => {
    const answers = await Promise.all(asking.map((ask) => ask()))
    await Promise.all(answers.map((answer) => answer.arrayBuffer()))
    return answers.map(({ status }) => status)
  }
  const many = (ask: () => Promise<Response>) => statuses(Array.from({ length: 200 }, () => ask))

  const of = (found: readonly number[], status: number) => found.filter((one) => one === status).length
  const states = async () => (await (await control(folder, '/workers')).json()).workers

  test('200 calls at once on a limit of 20 serve exactly 20: searches, chats, and streams', async () => {
    const searches = await key({ spending_limit: 0.1 })
    const found = await many(() => search(searches))
    expect([of(found, 200), of(found, 402)]).toEqual([20, 180])
    const price = 100
    for (const more of [{}, { stream: true }]) {
      const limited = await key({ spending_limit: (20 * price) / 1e6 })
      const chats = await many(() => chat(limited, more))
      expect(of(chats, 200) + of(chats, 402)).toBe(200)
      expect(of(chats, 200)).toBeGreaterThan(0)
    }
  })

  test('a key that is disabled is refused on the next call, whichever worker gets it', async () => {
    for (let round = 0; round < 5; round++) {
      const made = await key()
      const before = await statuses(Array.from({ length: 12 }, () => () => search(made)))
      expect(of(before, 200)).toBe(12)
      expect((await owner.api(`/api/keys/${made.id}/disable`, {})).key.status).toBe('disabled')
      const after = await statuses(Array.from({ length: 30 }, () => () => search(made)))
      expect(new Set(after)).toEqual(new Set([401]))
    }
  })

  test('what workers do not serve is the same as without them', async () => {
    const made = await key()
    const headers = { authorization: `Bearer ${made.secret}` }
    const repeated = { ...headers, 'idempotency-key': 'one' }
    const first = await fetch(server.url + SEARCH, { headers: repeated })
    const second = await fetch(server.url + SEARCH, { headers: repeated })
    expect([first.status, second.headers.get('idempotency-replayed')]).toEqual([200, 'true'])
    expect(await first.text()).toBe(await second.text())
    const models = await fetch(`${server.url}/v1/models`, { headers })
    expect([models.status, Object(await models.json()).object]).toEqual([200, 'list'])
    const stranger = await fetch(server.url + SEARCH)
    expect([stranger.status, Object(await stranger.json()).error.code]).toEqual([402, 'payment_required'])
    expect((await fetch(`${server.url}/ready`)).status).toBe(200)
    const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
    for (const worker of [1, 2, 3]) expect(metrics).toContain(`gateway_worker_connected{worker="local-${worker}"} 1`)
    const wrong = await fetch(server.url + SEARCH, { headers: { authorization: 'Bearer gwk_nonsense' } })
    expect([wrong.status, Object(await wrong.json()).error.code]).toEqual([401, 'invalid_api_key'])
  })

  test('a price that an operator sets holds for the next call of every worker', async () => {
    const made = await key()
    await control(folder, '/prices', { operation: 'image-search', usd: '0.007' })
    const answers = await Promise.all(Array.from({ length: 20 }, () => search(made)))
    await control(folder, '/prices', { operation: 'image-search', usd: '0.005' })
    expect(new Set(answers.map(({ headers }) => headers.get('x-cost-micros-usd')))).toEqual(new Set(['7000']))
  })

  test('a worker that is killed under load is replaced, loses no charge, and leaves nothing held', async () => {
    const made = await key()
    const served = new Set<string>()
    let isOver = false
    const client = async (_: unknown, at: number) => {
      while (!isOver) {
        const answer = await (at % 2 ? chat(made, { stream: at % 4 === 1 }) : search(made)).catch(() => null)
        const whole = await answer?.text().catch(() => null)
        const id = answer?.headers.get('x-gateway-request-id')
        // Chats of the sandbox are free, and have no entry.
        if (answer?.status === 200 && whole && id && at % 2 === 0) served.add(id)
      }
    }
    const clients = Promise.all(Array.from({ length: 16 }, client))
    for (let kills = 0; kills < 3; kills++) {
      await until(
        async () => (await states()).length === 3,
        () => 'three workers',
      )
      const enough = served.size + 60
      await until(
        async () => served.size > enough,
        () => `${served.size} served`,
      )
      const { pid } = (await states())[kills]
      process.kill(pid, 'SIGKILL')
    }
    const last = served.size + 60
    await until(
      async () => served.size > last,
      () => `${served.size} served after the kills`,
    )
    isOver = true
    await clients
    // The tables follow the log.
    const lost = async () => {
      const charged = await chargedIds(await databaseOf(folder))
      return [...served].filter((id) => !charged.has(id))
    }
    await until(
      async () => (await lost()).length === 0,
      async () => (await lost()).slice(0, 3),
    )
    const { held_micros_usd: held } = await owner.api('/api/billing')
    expect(held ?? 0).toBe(0)
  })
})

test('two kills of a primary with a worker lose no charge, and its workers do not outlive it (spec D4)', async () => {
  const report = await crashRun(2, () => undefined, { WORKERS: '1' })
  expect([report.problems, report.lost]).toEqual([[], []])
  expect(report.served).toBeGreaterThan(20)
  expect(report.chargedMicros).toBe(report.charges * 5000)
  expect(report.chargedWithoutAnswer).toBeLessThanOrEqual(report.maxChargedWithoutAnswer)
})
