import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
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

function mount(...args: string[]): boolean {
  return Bun.spawnSync(['mount', ...args]).success
}

const small = mkdtempSync(join(tmpdir(), 'gw-small-'))
/** A file system of its own needs root; where there is none, these tests are skipped and counted as skipped. */
const canMount = mount('-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', small)

afterAll(async () => {
  // Lazily, for whoever else looks at the mounts just then keeps it busy.
  if (canMount) Bun.spawnSync(['umount', '-l', small])
  await rm(small, { recursive: true, force: true })
})

describe.skipIf(!canMount)('a full disk', () => {
  let folder = ''
  let server: ServerProcess
  let headers: Record<string, string> = {}
  const call = () => fetch(server.url + SEARCH, { headers })
  const balance = async () =>
    (await (await fetch(`${server.url}/v1/credits/balance`, { headers })).json()).available_balance_micros_usd

  beforeAll(async () => {
    folder = await dataFolder()
    const [DATABASE_URL, LOG_FILE] = [`file:${join(small, 'gateway.db')}`, join(small, 'gateway.log')]
    server = await startServer(folder, { DATABASE_URL, LOG_FILE })
    const owner = await signUp(server.url, 'ada@example.com')
    await control(folder, 'limits', { account: owner.id, limits: { rpm: 1e6, tpm: 1e6, concurrency: 100 } })
    headers = { authorization: `Bearer ${(await owner.api('/api/keys', { name: 'full' })).secret}` }
  })
  afterAll(() => removeFolder(folder))

  test('callers get 503 with Retry-After and are charged nothing; once there is space again, calls are served', async () => {
    expect((await call()).status).toBe(200)
    const before = await balance()
    const filler = join(small, 'filler')
    await writeFile(filler, Buffer.alloc(4_000_000)).catch(() => undefined)

    const answers = await Promise.all(Array.from({ length: 30 }, call))
    const refused = answers.filter((answer) => answer.status === 503)
    const served = answers.filter((answer) => answer.status === 200)
    expect(refused.length + served.length).toBe(30)
    expect(refused.length).toBeGreaterThan(0)
    for (const answer of refused) expect((await answer.json()).error.code).toBe('service_unavailable')
    for (const answer of refused) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await balance()).toBe(before - served.length * 5000)
    const ready = await fetch(`${server.url}/ready`)
    expect([ready.status, await ready.json()]).toEqual([503, { status: 'not_ready', code: 'charges_unavailable' }])
    const told = await (await control(folder, 'ready', {})).json()
    expect(told.problems).toEqual({ charges: expect.stringMatching(/no space left|no more bytes/i) })

    // The log's own file is on that disk: what it does not take goes to stderr.
    const log = async () => (await readFile(join(small, 'gateway.log'), 'utf8')) + server.output()
    await until(async () => /^\S+ error database: log \{"reason":/m.test(await log()))

    await rm(filler)
    expect((await fetch(`${server.url}/ready`)).status).toBe(200)
    expect((await call()).status).toBe(200)
    expect(await balance()).toBe(before - (served.length + 1) * 5000)
    expect(await server.kill('SIGTERM')).toBe(0)
    const lines = (await readFile(join(small, 'gateway.log'), 'utf8')).trimEnd().split('\n')
    expect(lines.at(-1)).toMatch(/^\S+ info stopped$/)
    const { problems, charges } = await reconcile(join(small, 'gateway.db'))
    expect({ problems, charges }).toEqual({ problems: [], charges: served.length + 2 })
  })

  test('a read-only database stops the start with one line', async () => {
    const readOnly = mkdtempSync(join(tmpdir(), 'gw-ro-'))
    expect(mount('--bind', small, readOnly) && mount('-o', 'remount,bind,ro', readOnly)).toBe(true)
    try {
      const starting = startServer(folder, { DATABASE_URL: `file:${join(readOnly, 'gateway.db')}` })
      await expect(starting).rejects.toThrow(/^the server ended: gateway: [^\n]*(read-?only|unable to open)[^\n]*\n$/i)
    } finally {
      Bun.spawnSync(['umount', readOnly])
      await rm(readOnly, { recursive: true, force: true })
    }
  })
})

describe('a frozen process', () => {
  test('keeps its database: a second one is refused in one line; once it is killed, its successor has every charge (spec-answers 4)', async () => {
    const folders = [await dataFolder(), await dataFolder()]
    const [first = '', second = ''] = folders
    const database = join(first, 'gateway.db')
    const frozen = await startServer(first)
    const owner = await signUp(frozen.url, 'ada@example.com')
    const { secret } = await owner.api('/api/keys', { name: 'shared' })
    const headers = { authorization: `Bearer ${secret}` }
    expect((await fetch(frozen.url + SEARCH, { headers })).status).toBe(200)

    process.kill(frozen.pid, 'SIGSTOP')
    const start = () => startServer(second, { DATABASE_URL: `file:${database}` })
    await expect(start()).rejects.toThrow(
      /^the server ended: gateway: the database .* is in use by another gateway[^\n]*\n$/,
    )
    process.kill(frozen.pid, 'SIGCONT')
    const answers = await Promise.all(Array.from({ length: 8 }, () => fetch(frozen.url + SEARCH, { headers })))
    expect(answers.map((answer) => answer.status)).toEqual(Array(8).fill(200))
    process.kill(frozen.pid, 'SIGSTOP')
    await frozen.kill('SIGKILL')

    const successor = await start()
    expect((await fetch(successor.url + SEARCH, { headers })).status).toBe(200)
    expect(await successor.kill('SIGTERM')).toBe(0)
    const { problems, charges } = await reconcile(database)
    expect({ problems, charges }).toEqual({ problems: [], charges: 10 })
    expect((await stat(`${database}.log`)).size).toBe(0)
    await Promise.all(folders.map(removeFolder))
  })
})
