import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, readFile, rename, rmdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { reconcile } from '../support/reconcile'
import {
  dataFolder,
  readiness,
  removeFolder,
  type ServerProcess,
  signUp,
  startServer,
} from '../support/servers/server-process'
import { until } from '../support/until'

const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card'

describe('signals', () => {
  let folder = ''
  let log = ''
  let models = ''
  let server: ServerProcess
  let headers: Record<string, string>

  beforeAll(async () => {
    folder = await dataFolder()
    log = join(folder, 'gateway.log')
    models = join(folder, 'models.json')
    await listModels('one', 'two')
    server = await startServer(folder, {
      LOG_FILE: log,
      MODELS_FILE: models,
      SANDBOX_MODELS: 'false',
      DRAIN_NOTICE_SECONDS: '600',
      NODE_ENV: 'production',
      SEALING_KEYS: `k1:${'A'.repeat(43)}=`,
    })
    const owner = await signUp(server.url, 'ada@example.com')
    headers = { authorization: `Bearer ${(await owner.api('/api/keys', { name: 'signals' })).secret}` }
  })
  afterAll(() => removeFolder(folder))

  const call = () => fetch(server.url + SEARCH, { headers })
  const listModels = (...ids: readonly string[]) => {
    const upstream = { kind: 'openai', base_url: 'http://127.0.0.1:9/v1' }
    const price = { input: 2.5, output: 10 }
    return writeFile(models, JSON.stringify({ models: ids.map((id) => ({ id, upstream, price })) }))
  }
  const listed = async () => {
    const { data } = await (await fetch(`${server.url}/v1/models`, { headers })).json()
    return data.map(({ id }: { id: string }) => id)
  }
  const logged = (text: string) => until(async () => (await readFile(log, 'utf8').catch(() => '')).includes(text))

  test('a start in production checks its surroundings', async () => {
    await logged('warn self-check {"check":"backups","problem":')
    await logged('info self-check {"check":"sandbox","state":"off"}')
  })

  test('SIGHUP opens the moved log again, and reads the models again', async () => {
    expect(await listed()).toEqual(['one', 'two'])
    await rename(log, `${log}.1`)
    await listModels('two', 'three')
    process.kill(server.pid, 'SIGHUP')
    await logged('all other settings need a restart {"changed":["one","three"]}')
    expect(await listed()).toEqual(['three', 'two'])
    expect(await readFile(log, 'utf8')).not.toContain('restart the gateway')
    expect(await readFile(`${log}.1`, 'utf8')).not.toContain('SIGHUP')
    expect(server.output()).not.toContain('SIGHUP')
  })

  test('SIGHUP names the settings of gateway.yaml that need a restart, and not their values', async () => {
    await writeFile(join(folder, 'gateway.yaml'), 'ANON_RPM: 7\nMETRICS_TOKEN: only-tests-know-this-token-of-metrics\n')
    process.kill(server.pid, 'SIGHUP')
    await logged('restart the gateway to use them {"settings":["ANON_RPM","METRICS_TOKEN"]}')
    expect(await readFile(log, 'utf8')).not.toContain('only-tests-know')
  })

  test('SIGHUP with models that cannot be used changes nothing and says why', async () => {
    await writeFile(models, '{"models": [')
    process.kill(server.pid, 'SIGHUP')
    await logged('they stay as they were {"reason":')
    expect(await listed()).toEqual(['three', 'two'])
    expect((await call()).status).toBe(200)
  })

  test('SIGHUP with a log that cannot be opened goes on in the old file, and opens it once it can', async () => {
    await rename(log, `${log}.2`)
    await mkdir(log)
    process.kill(server.pid, 'SIGHUP')
    await until(async () => (await readFile(`${log}.2`, 'utf8')).includes('lines go to the old file {"reason":'))
    expect((await call()).status).toBe(200)
    await rmdir(log)
    await listModels('two', 'three')
    process.kill(server.pid, 'SIGHUP')
    await logged('all other settings need a restart {"changed":[]}')
    expect(await listed()).toEqual(['three', 'two'])
  })

  test('SIGTERM serves calls for the time of the notice, and each closes its connection; a second one ends the notice', async () => {
    process.kill(server.pid, 'SIGTERM')
    await logged('SIGTERM: stopping')
    const ready = await fetch(`${server.url}/ready`)
    expect([ready.status, await ready.json()]).toEqual([503, { status: 'draining' }])
    expect((await readiness(folder)).status).toBe('draining')
    const served = await call()
    expect([served.status, served.headers.get('connection')]).toEqual([200, 'close'])
    expect(await server.kill('SIGTERM')).toBe(0)
    expect(await readFile(log, 'utf8')).toContain('info stopped\n')
    await expect(fetch(`${server.url}/ready`)).rejects.toThrow()
    expect(await reconcile(join(folder, 'gateway.db'))).toMatchObject({ charges: 3, problems: [] })
  })
})

test('a gateway whose log lost its reader serves on', async () => {
  const folder = await dataFolder()
  const server = await startServer(folder)
  await server.closeOutput()
  for (let calls = 0; calls < 20; calls++) expect((await fetch(`${server.url}/v1/nothing`)).status).toBe(404)
  expect((await fetch(`${server.url}/ready`)).status).toBe(200)
  expect(await server.kill('SIGTERM')).toBe(0)
  await removeFolder(folder)
})
