import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { POSTGRES_IS_MISSING } from '../../tools/postgres'
import { IS_SERVER } from '../support/databases/test-database'
import { LITESTREAM_IS_MISSING } from '../support/servers/litestream'
import { isFollowing, openGateway, recount, SEARCH, startStandby } from '../support/servers/logged-gateway'
import { type Postgres, startPostgres } from '../support/servers/postgres'
import { credentialOf, startWorker, twoPorts } from '../support/servers/remote-workers'
import { callOf, openSoldKinds } from '../support/servers/sold-kinds'
import { until } from '../support/until'

setDefaultTimeout(process.env['LONG'] ? 3_600_000 : 180_000)

const ROUNDS = process.env['LONG'] ? 30 : 2
const CALLERS = 8
const isMissing = IS_SERVER || POSTGRES_IS_MISSING || LITESTREAM_IS_MISSING

let postgres: Postgres
let folder: string
beforeAll(async () => {
  if (isMissing) return
  folder = await mkdtemp(join(tmpdir(), 'planned-'))
  postgres = await startPostgres()
})
afterAll(async () => {
  if (isMissing) return
  await postgres.close()
  await rm(folder, { recursive: true, force: true })
})

/** A balancer as people run them: it goes by `/ready`, and asks again elsewhere after a 503 or a connection that was refused. */
function openBalancer(targets: readonly string[]) {
  let current = targets[0] ?? ''
  const find = async () => {
    for (const target of targets) {
      const answer = await fetch(`${target}/ready`).catch(() => null)
      if (answer?.status === 200) current = target
    }
  }
  const timer = setInterval(find, 100)
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const { pathname, search } = new URL(request.url)
      for (;;) {
        const { headers } = request
        const answer = await fetch(current + pathname + search, { headers, keepalive: false }).catch(() => null)
        if (answer && answer.status !== 503) return answer
        await Bun.sleep(50)
      }
    },
  })
  return {
    url: server.url.origin,
    async close() {
      clearInterval(timer)
      await server.stop(true)
    },
  }
}

/** Callers that note each answer, and the longest pause between two good ones. */
function load(call: () => Promise<Response>) {
  const answered = new Map<string, number>()
  const failures: string[] = []
  let isOver = false
  let [last, gapMs] = [performance.now(), 0]
  const all = Array.from({ length: CALLERS }, async () => {
    while (!isOver) {
      const answer = await call().catch((error: unknown) => String(error))
      const text = typeof answer === 'string' ? answer : await answer.text().catch(String)
      if (typeof answer === 'string' || answer.status !== 200) {
        failures.push(text)
        await Bun.sleep(20)
        continue
      }
      answered.set(answer.headers.get('x-gateway-request-id') ?? answer.headers.get('x-request-id') ?? '', Date.now())
      const now = performance.now()
      gapMs = Math.max(gapMs, now - last)
      last = now
    }
  })
  return {
    answered,
    failures,
    gapMs: () => Math.round(gapMs),
    async stop() {
      isOver = true
      await Promise.all(all)
    },
  }
}

test.skipIf(isMissing)(
  'a planned change of machines loses no call: a stopped primary gives its lease up, and a standby that has everything takes it at once (spec D4)',
  async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const sold = await openSoldKinds(folder)
      const replica = `file://${join(folder, `a-${round}`)}`
      const ports = { WORKERS_PORT: `${await twoPorts()}`, DRAIN_NOTICE_SECONDS: '1' }
      const first = await openGateway(postgres, { ...sold.env, ...ports, LITESTREAM_REPLICA: replica })
      const { dataDir, secret } = first
      await sold.importWeather(dataDir)
      const dir = await mkdtemp(join(folder, 'b-'))
      const WORKERS_PORT = `${await twoPorts()}`
      const LITESTREAM_REPLICA = `file://${join(folder, `of-b-${round}`)}`
      const standby = await startStandby(dir, { ...first.env, ...sold.env, WORKERS_PORT, LITESTREAM_REPLICA }, replica)
      const addresses = [ports.WORKERS_PORT, WORKERS_PORT].map((port) => `http://127.0.0.1:${port}`).join()
      const worker = await startWorker(addresses, { WORKER_CREDENTIAL: await credentialOf(dataDir, 'rack') })
      const balancer = openBalancer([first.server.url, standby.url])
      await until(() => isFollowing(standby))
      const authorization = `Bearer ${secret}`
      const direct = load(() => fetch(balancer.url + SEARCH, { headers: { authorization } }))
      const byWorker = load(() => callOf('imported', worker.url, secret))
      await until(() => direct.answered.size > 50 && byWorker.answered.size > 50)
      // In no log: the standby has it only if the last write is copied.
      await first.owner.api('/api/invitations', { email: 'last@example.com', role: 'viewer' })
      expect(await first.server.kill('SIGTERM')).toBe(0)
      const next = await standby.server
      const { invitations } = await first.owner.api('/api/invitations', undefined, next.url)
      expect(invitations).toMatchObject([{ email: 'last@example.com' }])
      const [some, others] = [direct.answered.size, byWorker.answered.size]
      await until(() => direct.answered.size > some + 50 && byWorker.answered.size > others + 50)
      await Promise.all([direct.stop(), byWorker.stop()])
      if (process.env['LONG'])
        console.log(`the longest pause: ${direct.gapMs()} ms direct, ${byWorker.gapMs()} ms through a worker`)
      expect({ direct: direct.failures, byWorker: byWorker.failures }).toEqual({ direct: [], byWorker: [] })
      await balancer.close()
      expect([await worker.kill('SIGTERM'), await next.kill('SIGTERM')]).toEqual([0, 0])
      await recount(dir, new Map([...direct.answered, ...byWorker.answered]))
      await sold.close()
    }
  },
)
