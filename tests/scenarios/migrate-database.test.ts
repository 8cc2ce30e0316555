import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createClient } from '@libsql/client'
import { executeOn } from '../support/databases/database-file'
import { hasSqld, openSqld } from '../support/databases/sqld'
import { reconcile } from '../support/reconcile'
import {
  addSmallIndex,
  COMPILED,
  dataFolder,
  removeFolder,
  SECRET_KEY,
  type ServerProcess,
  signUp,
  startServer,
} from '../support/servers/server-process'
import { until } from '../support/until'

/** Issue 23: from one process to many, and back, by the command line. */
const ROOT = resolve(import.meta.dir, '../..')
const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'
/** Six pages, so that some are copied at a kill in the middle and some are not: by their bytes, as many rows as fill them take far longer. */
const REQUESTS = 1200
const RANDOM_BYTES = 1300
const HALF_COPIED = /copying [3-6]\d %/
/** Bun and the driver take most of it: 165 MiB with these. */
const MAX_MEMORY = 300 * 1024 * 1024

/** The most memory that a process had so far. What the system says of one that ended includes its parent's. */
async function memoryOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  return Number(/^VmHWM:\s+(\d+) kB/m.exec(status)?.[1] ?? 0) * 1024
}

describe.skipIf(!hasSqld)('migrate-database', () => {
  const folders: string[] = []
  let database: Awaited<ReturnType<typeof openSqld>>
  let file: string
  let secret: string
  const started: ServerProcess[] = []
  beforeAll(async () => {
    for (let one = 0; one < 3; one++) folders.push(await dataFolder({ migrated: one === 0 }))
    file = join(folders[0] ?? '', 'gateway.db')
    database = await openSqld()
    const server = await start(0)
    const owner = await signUp(server.url, 'ada@example.com')
    secret = (await owner.api('/api/keys', { name: 'first', spending_limit: 1 })).secret
    expect(await search(server)).toBe(200)
    // What the log has and the tables lack is moved too.
    await server.kill('SIGKILL')
    await executeOn(
      file,
      `WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < ${REQUESTS})
        INSERT INTO requests (id, account_id, key_id, operation, at, status, latency_ms, address, input_tokens, output_tokens,
          cache_read_tokens, cache_write_tokens, cost, failure)
        SELECT 'req_' || printf('%08d', x), accounts.id, 'key_1', 'image-search', 1763900000000 + x, 404, 3, '203.0.113.7', 0, 0, 0, 0, 0,
          hex(randomblob(${RANDOM_BYTES})) FROM n, accounts`,
    )
  }, 60_000)
  afterAll(async () => {
    for (const server of started) await server.kill('SIGKILL')
    await database.close()
    await Promise.all(folders.map(removeFolder))
  })

  async function start(folder: number, env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
    const server = await startServer(folders[folder] ?? '', env)
    started.push(server)
    return server
  }
  const refused = (folder: number, env: Readonly<Record<string, string>> = {}) =>
    start(folder, env).then(
      () => 'it started',
      (error: Error) => error.message,
    )
  const search = async ({ url }: ServerProcess) =>
    (await fetch(url + SEARCH, { headers: { authorization: `Bearer ${secret}` } })).status

  function command(...args: readonly string[]) {
    const child = Bun.spawn([process.execPath, 'server/cli/main.ts', 'operator', 'migrate-database', ...args], {
      cwd: ROOT,
      env: {
        ...{ PATH: process.env['PATH'] ?? '', BUN_RUNTIME_TRANSPILER_CACHE_PATH: COMPILED },
        ...{
          DATA_DIR: folders[0] ?? '',
          SECRET_KEY,
          SEALING_KEYS: `k1:${'A'.repeat(43)}=`,
          DATABASE_AUTH_TOKEN: 'hunter2',
          DATABASE_SYNC: 'promised',
        },
      },
      stdout: 'pipe',
      stderr: 'pipe',
    })
    let err = ''
    let memory = 0
    const reading = (async () => {
      for await (const part of child.stderr) {
        err += new TextDecoder().decode(part)
        memory = Math.max(memory, await memoryOf(child.pid))
      }
    })()
    const ended = (async () => {
      const out = await new Response(child.stdout).text()
      await reading
      return { code: await child.exited, out, err, memory }
    })()
    return { child, ended, reached: (line: RegExp) => until(() => line.test(err)) }
  }

  test('says what it would do, what it needs, and changes nothing', async () => {
    const [dry, help, wrong] = await Promise.all([
      command('--from', `file:${file}`, '--to', database.url, '--dry-run').ended,
      command('--help').ended,
      command('--from', `file:${file}`, '--to', 'postgres://db').ended,
    ])
    expect(dry).toMatchObject({
      code: 0,
      out: expect.stringMatching(/can be moved to .* rows, and its books agree.* Nothing was changed/),
    })
    expect(help.out).toContain('--reopen PLACE')
    expect(wrong).toMatchObject({
      code: 2,
      err: expect.stringContaining('--to takes file:/path/gateway.db or libsql://host'),
    })
  }, 30_000)

  test('killed in the middle it leaves the old place serving and the new one refused; run again it moves all requests', async () => {
    const places = ['--from', `file:${file}`, '--to', database.url]
    const first = command(...places)
    await first.reached(HALF_COPIED)
    expect(await refused(0)).toContain('is in use by another gateway')
    first.child.kill('SIGKILL')
    await first.ended
    expect(await refused(1, { DATABASE_URL: database.url })).toMatch(
      /is an unfinished copy of file:.* Run "gateway operator migrate-database"/,
    )
    const node = { DATABASE_URL: database.url, NODE_URL: 'http://127.0.0.1:9', SOCIAL_PROVIDER: 'none' }
    expect(await refused(1, node)).toContain('is an unfinished copy of file:')
    const old = await start(0)
    expect(await search(old)).toBe(200)
    expect(await command(...places).ended).toMatchObject({ code: 1, err: expect.stringContaining('is in use') })
    expect(await old.kill('SIGTERM')).toBe(0)

    const began = performance.now()
    const { code, out, err, memory } = await command(...places).ended
    expect({ code, err }).toEqual({ code: 0, err })
    expect(performance.now() - began).toBeLessThan(60_000)
    expect(memory).toBeLessThan(MAX_MEMORY)
    expect(out).toContain('each compared with the original, and its books agree')
    expect(out).toContain('  SECRET_KEY, or the file secret_key in DATA_DIR\n  SEALING_KEYS\n')
    expect(out + err).not.toContain('hunter2')
    expect(await refused(0)).toContain(`this data was moved to ${database.url}`)
    expect(await reconcile(database.url)).toMatchObject({ charges: 2, problems: [] })
    const fresh = await start(1, { DATABASE_URL: database.url })
    expect(await search(fresh)).toBe(200)
    expect(await fresh.kill('SIGTERM')).toBe(0)
  }, 120_000)

  test('a server that dies in the middle leaves it as it was; then the data comes back into one file', async () => {
    const back = join(folders[2] ?? '', 'gateway.db')
    const places = ['--from', database.url, '--to', `file:${back}`]
    const first = command(...places)
    await first.reached(HALF_COPIED)
    await database.kill()
    const { code, err } = await first.ended
    expect(code).toBe(1)
    expect(err.trimEnd().split('\n').at(-1)).toMatch(
      /^gateway: the move was interrupted: .* was not closed and can serve\. Run this again with the same databases$/,
    )
    expect(await refused(2)).toContain('is an unfinished copy of http://')
    await database.start()
    // As if its 10 seconds were over.
    const client = createClient({ url: database.url })
    await client.execute('UPDATE leases SET expires_at = 0')
    client.close()
    const moved = await command(...places, '--json').ended
    expect(JSON.parse(moved.out)).toMatchObject({ outcome: 'moved', to: `file:${back}`, problems: 0 })
    expect(await refused(1, { DATABASE_URL: database.url })).toContain('this data was moved to file:')
    expect(await command('--reopen', database.url).ended).toMatchObject({
      code: 1,
      err: expect.stringContaining('has the data now'),
    })
    await addSmallIndex(folders[2] ?? '')
    const server = await start(2)
    expect(await search(server)).toBe(200)
    expect(await server.kill('SIGTERM')).toBe(0)
    expect(await reconcile(back)).toMatchObject({ charges: 4, problems: [] })
    expect(await executeOn(back, 'SELECT count(*) AS n FROM requests')).toMatchObject([{ n: REQUESTS + 4 }])
  }, 120_000)
})
