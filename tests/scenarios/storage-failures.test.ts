import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync } from 'node:fs'
import { open, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { IMAGES } from '../support/doubles/brave-bodies'
import { HttpDouble } from '../support/doubles/http-double'
import { reconcile } from '../support/reconcile'
import {
  control,
  dataFolder,
  readiness,
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
  // Lazily, because another reader of the mounts may keep it busy.
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
    await control(folder, `/accounts/${owner.id}/limits`, { limits: { rpm: 1e6, tpm: 1e6, concurrency: 100 } })
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
    const told = await readiness(folder)
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

/** Fills a disk until it takes nothing more. */
async function fill(path: string): Promise<void> {
  const file = await open(path, 'w')
  try {
    for (const size of [1 << 20, 1 << 12, 1]) {
      const part = Buffer.alloc(size)
      while (
        await file.write(part).then(
          ({ bytesWritten }) => bytesWritten === size,
          () => false,
        )
      );
    }
  } finally {
    await file.close()
  }
}

describe.skipIf(!canMount)('a full disk and the vendor', () => {
  const disk = mkdtempSync(join(tmpdir(), 'gw-full-'))
  const filler = join(disk, 'filler')
  let folder = ''
  let vendor: HttpDouble
  /** The vendor's wait before it answers. */
  let gate: Promise<unknown> = Promise.resolve()

  beforeAll(async () => {
    expect(mount('-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', disk)).toBe(true)
    folder = await dataFolder()
    vendor = new HttpDouble(async () => {
      await gate
      return new Response(IMAGES)
    })
  })
  afterAll(async () => {
    await vendor.stop()
    Bun.spawnSync(['umount', '-l', disk])
    await removeFolder(folder)
    await removeFolder(disk)
  })

  test.each([
    ['with its reserve, all calls in progress are charged', '1'],
    ['without a reserve', '0'],
  ])('%s, and calls of a full disk cost the vendor nothing until there is space (spec D4)', async (_name, reserve) => {
    const database = join(disk, `with-${reserve}.db`)
    const server = await startServer(folder, {
      DATABASE_URL: `file:${database}`,
      DISK_RESERVE_MIB: reserve,
      WEBSEARCH_PROVIDER: 'brave',
      BRAVE_BASE_URL: vendor.url,
      BRAVE_API_KEY: 'key',
      CREDIT_BUYS_PAID_PROVIDERS: 'true',
    })
    const owner = await signUp(server.url, `ada${reserve}@example.com`)
    await control(folder, `/accounts/${owner.id}/limits`, { limits: { rpm: 1e6, tpm: 1e6, concurrency: 100 } })
    const headers = { authorization: `Bearer ${(await owner.api('/api/keys', { name: 'full' })).secret}` }
    const call = (i = 0) => fetch(`${server.url}/apis/v1/websearch/images/search?q=card${i}&count=1`, { headers })
    expect((await call()).status).toBe(200)
    const before = vendor.received.length

    const opened = Promise.withResolvers<void>()
    gate = opened.promise
    const inProgress = Array.from({ length: 20 }, (_, i) => call(100 + i))
    await until(() => vendor.received.length === before + 20)
    await fill(filler)
    opened.resolve()
    const answers = (await Promise.all(inProgress)).map(({ status }) => status)
    const served = answers.filter((status) => status === 200).length
    if (reserve === '1') expect(answers).toEqual(Array(20).fill(200))
    // The bytes of a last block; one of them found that the disk is full.
    else expect(served).toBeLessThan(20)

    for (let round = 0; round < 5; round++)
      for (const answer of await Promise.all(Array.from({ length: 40 }, (_, i) => call(200 + round * 40 + i)))) {
        expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
        expect((await answer.json()).error.code).toBe('service_unavailable')
      }
    expect(vendor.received.length).toBe(before + 20)
    expect((await fetch(`${server.url}/ready`)).status).toBe(503)

    await rm(filler)
    let more = 0
    await until(async () => (await call(1000 + more++)).status === 200)
    expect(
      (await Promise.all(Array.from({ length: 20 }, (_, i) => call(2000 + i)))).map(({ status }) => status),
    ).toEqual(Array(20).fill(200))
    expect(vendor.received.length).toBe(before + 20 + 1 + 20)
    expect(await server.kill('SIGTERM')).toBe(0)
    const { problems, charges } = await reconcile(database)
    expect({ problems, charges }).toEqual({ problems: [], charges: 1 + served + 1 + 20 })
    const kept = await stat(`${database}.reserve`).catch(() => null)
    expect(kept && [kept.size, kept.blocks * 512]).toEqual(reserve === '1' ? [1 << 20, 1 << 20] : null)
    if (reserve === '1') {
      expect(server.output()).toMatch(/^\S+ error the disk is full: new calls are refused until it has space/m)
      expect(server.output()).toMatch(/^\S+ info the disk has space again: new calls are served$/m)
    }
    await rm(database)
  })

  test('a start on a full disk refuses calls and serves them once there is space', async () => {
    const database = join(disk, 'late.db')
    const settings = { DATABASE_URL: `file:${database}`, DISK_RESERVE_MIB: '4' }
    await (await startServer(folder, settings)).kill('SIGTERM')
    await rm(`${database}.reserve`)
    await writeFile(filler, Buffer.alloc(7 << 20))
    const server = await startServer(folder, settings)
    const owner = await signUp(server.url, 'grace@example.com')
    await control(folder, `/accounts/${owner.id}/limits`, { limits: { rpm: 1e6, tpm: 1e6, concurrency: 100 } })
    const headers = { authorization: `Bearer ${(await owner.api('/api/keys', { name: 'full' })).secret}` }
    const call = () => fetch(server.url + SEARCH, { headers })
    expect((await call()).status).toBe(503)
    await rm(filler)
    await until(async () => (await call()).status === 200)
    expect(await server.kill('SIGTERM')).toBe(0)
  })
})

describe('a frozen process', () => {
  test('keeps its database: a second one is refused in one line; once it is killed, its successor has every charge (spec D4)', async () => {
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
