import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { POSTGRES_IS_MISSING } from '../../tools/postgres'
import { executeOn } from '../support/databases/database-file'
import { IS_SERVER } from '../support/databases/test-database'
import { LITESTREAM_IS_MISSING, pidsOf, signalLitestream } from '../support/servers/litestream'
import {
  call,
  callers,
  isFollowing,
  openGateway,
  recount,
  type Standby,
  startStandby,
} from '../support/servers/logged-gateway'
import { type Postgres, startPostgres } from '../support/servers/postgres'
import { control } from '../support/servers/server-process'
import { until } from '../support/until'

setDefaultTimeout(process.env['LONG'] ? 3_600_000 : 180_000)

const ROUNDS = process.env['LONG'] ? 30 : 2
/** `bun run verify` installs both. */
const isMissing = IS_SERVER || POSTGRES_IS_MISSING || LITESTREAM_IS_MISSING

let postgres: Postgres
let folder: string
beforeAll(async () => {
  if (isMissing) return
  folder = await mkdtemp(join(tmpdir(), 'standby-'))
  postgres = await startPostgres()
})
afterAll(async () => {
  if (isMissing) return
  await postgres.close()
  await rm(folder, { recursive: true, force: true })
})

/** Overwrites a page of a copy of that database. */
async function damage(file: string, original: string): Promise<void> {
  const [page] = await executeOn(
    original,
    "SELECT rootpage FROM sqlite_schema WHERE name = 'identity_passkey_user_id_idx'",
  )
  const opened = await open(file, 'r+')
  await opened.write(Buffer.alloc(4096, 0xff), 0, 4096, (Number(page?.['rootpage']) - 1) * 4096)
  await opened.close()
}

const emptyFolder = () => mkdtemp(join(folder, 'standby-'))

test.skipIf(isMissing)(
  'a primary that is killed is followed by one of two standbys, with every acknowledged charge, the revoked key and the top-up (spec D4)',
  async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const replica = `file://${join(folder, `replica-${round}`)}`
      const { dataDir, env, server, owner, secret } = await openGateway(postgres, { LITESTREAM_REPLICA: replica })
      const leaked = await owner.api('/api/keys', { name: 'leaked' })
      const dirs = [await emptyFolder(), await emptyFolder()]
      const standbys = await Promise.all(dirs.map((dir) => startStandby(dir, env, replica)))
      await until(async () => (await Promise.all(standbys.map(isFollowing))).every(Boolean))
      let url = server.url
      const load = callers(() => url, secret)
      await until(() => load.answered.size > 100)
      for (const { url } of standbys) {
        expect(await call(url, secret)).toBe(503)
        expect((await fetch(`${url}/health`)).status).toBe(200)
      }
      // A page that nothing writes any more: the copies are found damaged, and fetched anew.
      for (const dir of round === 0 ? dirs : [])
        await damage(join(dir, 'standby', 'gateway.db'), join(dataDir, 'gateway.db'))
      // What comes now is in no replica.
      signalLitestream(dataDir, 'SIGSTOP')
      expect((await owner.api(`/api/keys/${leaked.key.id}/revoke`, {})).key.status).toBe('revoked')
      await control(dataDir, `/accounts/${owner.id}/grants`, { usd: '7', note: 'late' })
      const before = load.answered.size
      await until(() => load.answered.size > before + 100)
      await server.kill('SIGKILL')
      signalLitestream(dataDir, 'SIGKILL')
      const killedAt = performance.now()

      const winner = await Promise.race(standbys.map(({ server }, at) => server.then(() => at)))
      const [next, other] = [standbys[winner] as Standby, standbys[1 - winner] as Standby]
      url = next.url
      expect(await call(next.url, secret)).toBe(200)
      const output = (await next.server).output()
      expect(output.includes('the copy is damaged, so it is fetched anew')).toBe(round === 0)
      if (process.env['LONG']) console.log(`first 200 after ${Math.round(performance.now() - killedAt)} ms`)
      expect(await call(next.url, leaked.secret)).toBe(401)
      const more = load.answered.size
      await until(() => load.answered.size > more + 20)
      expect((await other.ready()).status).toBe(503)
      await load.stop()
      // The rest of a restore happens by itself.
      const checkedAt = async () => (await (await control(next.dataDir, '/after-restore')).json()).restored.checked_at
      await until(async () => (await checkedAt()) !== null)

      // Who was killed comes back as a standby. What it had is kept aside.
      const back = await startStandby(dataDir, env, replica)
      await until(async () => (await back.ready()).status === 503 && !existsSync(join(dataDir, 'gateway.db')))
      expect(readdirSync(dataDir).filter((name) => name.startsWith('left-behind-'))).toHaveLength(1)
      expect(await (await next.server).kill('SIGTERM')).toBe(0)
      await recount(next.dataDir, load.answered)
      const grants = await executeOn(
        join(next.dataDir, 'gateway.db'),
        "SELECT count(*) AS n FROM entries WHERE kind = 'grant'",
      )
      expect(Number(grants[0]?.['n'])).toBe(2)
    }
  },
)

test.skipIf(isMissing)(
  'kills of a standby, its Litestream and PostgreSQL end nothing; a primary that slept past its lease ends when it wakes, and nothing is lost or doubled (spec D4)',
  async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const replica = `file://${join(folder, `faults-${round}`)}`
      const { env, server, secret } = await openGateway(postgres, { LITESTREAM_REPLICA: replica })
      const dir = await emptyFolder()
      const first = await startStandby(dir, env, replica)
      await until(() => isFollowing(first))
      let url = server.url
      const load = callers(() => url, secret, 8)
      await until(() => load.answered.size > 50)

      const followers = pidsOf(`restore -f -o ${dir}`)
      for (const pid of followers) process.kill(pid, 'SIGKILL')
      await until(() => pidsOf(`restore -f -o ${dir}`).some((pid) => !followers.includes(pid)))
      await until(() => existsSync(join(dir, 'standby', 'gateway.db-txid')))
      await postgres.kill('SIGKILL')
      await until(async () => !(await isFollowing(first)))
      await postgres.start()
      await until(() => isFollowing(first))
      const before = load.answered.size
      await until(() => load.answered.size > before + 20)
      for (const pid of pidsOf(`--standby=${replica}`)) process.kill(pid, 'SIGKILL')
      await until(() => pidsOf(`restore -f -o ${dir}`).length === 0)

      const second = await startStandby(dir, env, replica)
      await until(() => isFollowing(second))
      process.kill(server.pid, 'SIGSTOP')
      const next = await second.server
      url = next.url
      const more = load.answered.size
      process.kill(server.pid, 'SIGCONT')
      expect(await server.exited).toBe(1)
      expect(server.output()).toContain('another gateway has the lease at LOG_URL: this one stops')
      await until(() => load.answered.size > more + 20)
      await load.stop()
      // Whether a call comes while nobody has the lease is chance.
      expect([...new Set([200, 503, ...load.statuses.keys()])].toSorted()).toEqual([200, 503])
      expect(load.statuses.get(200)).toBeGreaterThan(0)
      expect(await next.kill('SIGTERM')).toBe(0)
      await recount(dir, load.answered)
    }
  },
)
