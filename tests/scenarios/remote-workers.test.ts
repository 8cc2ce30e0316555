import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openApiUpstream } from '../support/api-upstream'
import { databaseOf } from '../support/databases/test-database'
import { reconcile } from '../support/reconcile'
import { freePort } from '../support/servers/free-port'
import { LOCALHOST_CERTIFICATE } from '../support/servers/localhost-certificate'
import { credentialOf, remoteRun, startWorker, twoPorts } from '../support/servers/remote-workers'
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

/** An imported operation, since searches of the built-in index are passed on. */
const PATH = '/apis/v1/weather/v1/forecast'
/** Of the primary, from which its workers have them. */
const SETTINGS = { ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1', CREDIT_BUYS_PAID_PROVIDERS: 'true' }
const DOCUMENT = {
  openapi: '3.1.0',
  info: { title: 'Weather', version: '1' },
  paths: { '/v1/forecast': { get: { operationId: 'forecast', responses: { 200: { description: 'The forecast.' } } } } },
}
const WEATHER = {
  name: 'weather',
  auth: 'none',
  document: JSON.stringify(DOCUMENT),
  price: { mode: 'fixed', usd: '0.005' },
}

/** A real primary, and processes that work for it as from other machines: over TCP with TLS, with credentials. */
describe('workers of other machines', () => {
  const upstream = openApiUpstream(() => Response.json({ sun: true }))
  let folder = ''
  let primaryUrl = ''
  let env: Record<string, string> = {}
  let primary: ServerProcess
  let owner: Awaited<ReturnType<typeof signUp>>
  const workers: ServerProcess[] = []

  beforeAll(async () => {
    folder = await dataFolder()
    const files = { WORKERS_CERT: join(folder, 'cert.pem'), WORKERS_CERT_KEY: join(folder, 'key.pem') }
    await writeFile(files.WORKERS_CERT, LOCALHOST_CERTIFICATE.cert)
    await writeFile(files.WORKERS_CERT_KEY, LOCALHOST_CERTIFICATE.key)
    const port = await twoPorts()
    env = { ...files, WORKERS_PORT: String(port), ...SETTINGS, PORT: String(await freePort()) }
    primaryUrl = `https://localhost:${port}`
    primary = await startServer(folder, env, SOURCE)
    owner = await signUp(primary.url, 'ada@example.com')
    await control(folder, '/apis/import', { ...WEATHER, base_url: upstream.url })
    await control(folder, `/accounts/${owner.id}/limits`, { limits: { rpm: 1e8, tpm: 1e8, concurrency: 1000 } })
    await control(folder, `/accounts/${owner.id}/grants`, { usd: '1000' })
  })
  afterAll(async () => {
    try {
      for (const worker of workers) await worker.kill('SIGKILL')
      expect(await primary.kill('SIGTERM')).toBe(0)
      const { problems } = await reconcile(await databaseOf(folder))
      expect(problems).toEqual([])
    } finally {
      await upstream.close()
      await removeFolder(folder)
    }
  })

  const start = async (name: string): Promise<ServerProcess> => {
    const WORKER_CREDENTIAL = await credentialOf(folder, name)
    const worker = await startWorker(primaryUrl, {
      PRIMARY_CA: join(folder, 'cert.pem'),
      WORKER_CREDENTIAL,
    })
    workers.push(worker)
    return worker
  }
  const key = async (body: object = {}): Promise<{ id: string; secret: string }> => {
    const made = await owner.api('/api/keys', { name: `key ${crypto.randomUUID()}`, ...body })
    return { id: made.key.id, secret: made.secret }
  }
  const call = ({ url }: { url: string }, { secret }: { secret: string }) =>
    fetch(url + PATH, { headers: { authorization: `Bearer ${secret}` } })
  const states = async () => (await (await control(folder, '/workers')).json()).workers

  test('serve over TLS what the primary allows, and pass the rest on', async () => {
    const [one, two] = [await start('one'), await start('two')]
    const limited = await key({ spending_limit: 0.1 })
    const answers = await Promise.all(Array.from({ length: 60 }, (_, i) => call(i % 2 ? one : two, limited)))
    const served = answers.filter(({ status }) => status === 200)
    expect([served.length, answers.filter(({ status }) => status === 402).length]).toEqual([20, 40])
    const made = await key()
    const models = await fetch(`${one.url}/v1/models`, { headers: { authorization: `Bearer ${made.secret}` } })
    expect([models.status, Object(await models.json()).object]).toEqual([200, 'list'])
    const seen = async () =>
      (await states()).map(({ name, pid, connected }: Record<string, unknown>) => [name, pid, connected])
    const listed = [
      ['one', one.pid, true],
      ['two', two.pid, true],
    ]
    // Each reports in the second after it came.
    await until(async () => Bun.deepEquals(await seen(), listed), seen)
    await owner.api(`/api/keys/${made.id}/disable`, {})
    expect((await call(one, made)).status).toBe(401)
  })

  test('serve new calls by the settings of another primary, without a restart', async () => {
    const one = await start('stayed')
    const made = await key()
    const origin = 'https://app.example.com'
    const allowed = async () => {
      const headers = { authorization: `Bearer ${made.secret}`, origin }
      const answer = await fetch(one.url + PATH, { headers }).catch(() => null)
      return [answer?.status, answer?.headers.get('access-control-allow-origin') ?? null]
    }
    expect(await allowed()).toEqual([200, null])
    expect(await primary.kill('SIGTERM')).toBe(0)
    primary = await startServer(folder, { ...env, CORS_ORIGINS: origin }, SOURCE)
    await until(async () => Bun.deepEquals(await allowed(), [200, origin]), allowed)
    expect(one.output()).toContain('the settings of the primary have changed')
  })

  test('a credential that is removed cuts its workers off at once, and no other', async () => {
    const [gone, stays] = [await start('gone'), await start('stays')]
    const made = await key()
    expect([(await call(gone, made)).status, (await call(stays, made)).status]).toEqual([200, 200])
    expect((await control(folder, '/worker-credentials/gone', {}, 'DELETE')).status).toBe(200)
    const after = await Promise.all(Array.from({ length: 20 }, (_, i) => call(i % 2 ? gone : stays, made)))
    expect(after.map(({ status }) => status)).toEqual(after.map((_, i) => (i % 2 ? 503 : 200)))
    const passedOn = await fetch(`${gone.url}/v1/models`, { headers: { authorization: `Bearer ${made.secret}` } })
    expect(passedOn.status).toBe(503)
    await until(
      () => gone.output().includes('does not know its credential'),
      () => gone.output(),
    )
    const names = await (await control(folder, '/worker-credentials')).json()
    expect(names.credentials.map(({ name }: { name: string }) => name)).not.toContain('gone')
    expect(JSON.stringify(names)).not.toContain('salt')
  })
})

test('kills, freezes and cuts of workers, their primary and connections: no charge is lost, doubled or kept (spec D4)', async () => {
  const { served, lost, wronged, problems, heldMicros } = await remoteRun({ rounds: 3, calls: 600 })
  expect({ problems, lost, wronged, heldMicros }).toEqual({ problems: [], lost: [], wronged: [], heldMicros: 0 })
  expect(served).toBeGreaterThanOrEqual(600)
})
