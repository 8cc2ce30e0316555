import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { POSTGRES_IS_MISSING } from '../../tools/postgres'
import { chargedIds, executeOn } from '../support/databases/database-file'
import { IS_SERVER } from '../support/databases/test-database'
import { LITESTREAM_IS_MISSING } from '../support/servers/litestream'
import { call, callers, openGateway, recount, SEARCH } from '../support/servers/logged-gateway'
import { type Postgres, startPostgres } from '../support/servers/postgres'
import { addSmallIndex, control, restore, type ServerProcess, startServer } from '../support/servers/server-process'
import { until } from '../support/until'

setDefaultTimeout(process.env['LONG'] ? 3_600_000 : 120_000)

const ROUNDS = process.env['LONG'] ? 30 : 2
const isMissing = IS_SERVER || POSTGRES_IS_MISSING

let postgres: Postgres
let folder: string
beforeAll(async () => {
  if (isMissing) return
  folder = await mkdtemp(join(tmpdir(), 'second-log-'))
  postgres = await startPostgres()
})
afterAll(async () => {
  if (isMissing) return
  await postgres.close()
  await rm(folder, { recursive: true, force: true })
})

test.skipIf(isMissing)(
  'a machine that is lost loses no acknowledged charge, no revoked key and no top-up: an older copy and the log in PostgreSQL have all (spec D4)',
  async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { dataDir, env, server, owner, secret } = await openGateway(postgres)
      const leaked = await owner.api('/api/keys', { name: 'leaked' })
      expect(await call(server.url, leaked.secret)).toBe(200)
      const copies = join(folder, `copies-${round}`)
      await control(dataDir, '/backups', { to: copies })
      const list = async () =>
        (await (await control(dataDir, `/backups?to=${encodeURIComponent(copies)}`)).json()).copies
      await until(async () => (await list()).length === 1)
      const load = callers(() => server.url, secret)
      await until(() => load.answered.size > 100)
      // What the copy does not know.
      expect((await owner.api(`/api/keys/${leaked.key.id}/revoke`, {})).key.status).toBe('revoked')
      const late = await owner.api('/api/keys', { name: 'late', spending_limit: 1 })
      await control(dataDir, `/accounts/${owner.id}/grants`, { usd: '7', note: 'late' })
      await until(() => load.answered.size > 200)
      await server.kill('SIGKILL')
      await load.stop()
      expect(await chargedIds(join(dataDir, 'gateway.db')).then(({ size }) => size)).toBeGreaterThan(0)
      const before = await executeOn(join(dataDir, 'gateway.db'), 'SELECT credit FROM accounts WHERE id = ?', [
        owner.id,
      ])
      await rm(dataDir, { recursive: true, force: true })

      const found = join(folder, `found-${round}`)
      const restored = await restore(found, [copies, '--log', 'LOG_URL', '--json'], env)
      expect({ code: restored.code, err: restored.err }).toMatchObject({ code: 0 })
      expect(JSON.parse(restored.out).groups).toBeGreaterThan(0)
      await addSmallIndex(found)
      const next = await startServer(found, env)
      expect(await call(next.url, leaked.secret)).toBe(401)
      expect(await call(next.url, late.secret)).toBe(200)
      expect(await call(next.url, secret)).toBe(200)
      expect(await next.kill('SIGTERM')).toBe(0)
      await recount(found, load.answered)
      const grants = await executeOn(
        join(found, 'gateway.db'),
        "SELECT count(*) AS n FROM entries WHERE kind = 'grant'",
      )
      expect([before.length, Number(grants[0]?.['n'])]).toEqual([1, 2])
    }
  },
)

test.skipIf(isMissing)(
  'a PostgreSQL that is killed under load, and the gateway while it is gone, cost callers a 503 and nobody a charge',
  async () => {
    const { dataDir, env, server, secret } = await openGateway(postgres)
    let current = server
    const load = callers(() => current.url, secret)
    for (let round = 0; round < ROUNDS; round++) {
      const before = load.answered.size
      await until(() => load.answered.size > before + 50)
      await postgres.kill('SIGKILL')
      if (round > 0) {
        await until(() => load.statuses.has(503))
        await current.kill('SIGKILL')
      }
      await postgres.start()
    }
    // What was in the file alone, nobody knew of.
    current = await startServer(dataDir, env)
    const before = load.answered.size
    await until(() => load.answered.size > before + 50)
    await load.stop()
    expect([...load.statuses.keys()].toSorted()).toEqual([200, 503])
    expect(await current.kill('SIGTERM')).toBe(0)
    await recount(dataDir, load.answered)
    await rm(dataDir, { recursive: true, force: true })
  },
)

test.skipIf(isMissing)(
  'a gateway that slept past its lease answers nothing when it wakes: another one has its log, and it ends with one line',
  async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const { dataDir, env, server, owner, secret } = await openGateway(postgres)
      let current: ServerProcess = server
      const load = callers(() => current.url, secret)
      await until(() => load.answered.size > 50)
      process.kill(server.pid, 'SIGSTOP')
      const elsewhere = join(folder, `elsewhere-${round}`)
      await cp(dataDir, elsewhere, { recursive: true, filter: (path) => !/\.(sock|lock)$/.test(path) })
      const next = await startServer(elsewhere, { ...env })
      current = next
      const key = await (await fetch(`${next.url}/api/keys`, { headers: { cookie: owner.cookie } })).json()
      const id = key.keys[0].id
      expect((await owner.api(`/api/keys/${id}/disable`, {}, next.url)).key.status).toBe('disabled')
      const asleep = fetch(server.url + SEARCH, { headers: { authorization: `Bearer ${secret}` } }).then(
        ({ status }) => status,
        () => 0,
      )
      process.kill(server.pid, 'SIGCONT')
      expect([0, 503]).toContain(await asleep)
      expect(await server.exited).toBe(1)
      expect(server.output()).toContain('another gateway has the lease at LOG_URL: this one stops')
      await load.stop()
      expect(await call(next.url, secret)).toBe(401)
      expect(await next.kill('SIGTERM')).toBe(0)
      await recount(elsewhere, load.answered)
      await rm(dataDir, { recursive: true, force: true })
    }
  },
)

test.skipIf(isMissing || LITESTREAM_IS_MISSING)(
  'a restore of a time has every charge up to then and none after it, and is a gateway of its own: it cannot have the log of the original (spec D4)',
  async () => {
    const replica = `file://${join(folder, 'replica')}`
    const { dataDir, env, server, owner, secret, name } = await openGateway(postgres, { LITESTREAM_REPLICA: replica })
    const leaked = await owner.api('/api/keys', { name: 'leaked' })
    const calls = async () => {
      const all = callers(() => server.url, secret)
      await until(() => all.answered.size > 50)
      await all.stop()
      return all.answered
    }
    // Before its first file there is no state to go back to.
    await until(() => existsSync(join(folder, 'replica', 'ltx')))
    const before = await calls()
    await Bun.sleep(20)
    const time = new Date().toISOString()
    await Bun.sleep(20)
    const after = await calls()
    expect((await owner.api(`/api/keys/${leaked.key.id}/revoke`, {})).key.status).toBe('revoked')

    const found = join(folder, 'of-a-time')
    const take = (dir: string, ...args: string[]) => restore(dir, ['--litestream', replica, '--log', ...args], env)
    const future = await take(found, 'LOG_URL', '--until', '2999-01-01T00:00:00Z')
    expect([future.code, future.err]).toEqual([2, expect.stringContaining('must be a time of the past')])
    await until(async () => (await take(found, 'LOG_URL', '--until', time)).code === 0)
    await addSmallIndex(found)
    await expect(startServer(found, env)).rejects.toThrow('this data does not belong to it')
    const { url: LOG_URL } = await postgres.database()
    const own = await startServer(found, { LOG_URL })
    expect(await call(own.url, leaked.secret)).toBe(200)
    expect(await own.kill('SIGTERM')).toBe(0)
    await recount(found, before)
    const charged = await chargedIds(join(found, 'gateway.db'))
    expect([...after.keys()].filter((id) => charged.has(id))).toEqual([])

    // The original knows nothing of it.
    expect(await call(server.url, secret)).toBe(200)
    expect(await server.kill('SIGTERM')).toBe(0)
    await recount(dataDir, new Map([...before, ...after]))
    const installations = await postgres.sql('SELECT installation FROM gateway_lease', name)
    expect(installations).toEqual([
      { installation: JSON.parse(await Bun.file(`${dataDir}/gateway.db.lease`).text()).installation },
    ])
  },
)
