import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KeyRing } from '../../../server/adapters/sealing/key-ring'
import { LeaseFile, leaseText } from '../../../server/adapters/stores/postgres/lease-file'
import { LogConnection } from '../../../server/adapters/stores/postgres/log-connection'
import { examineLog } from '../../../server/adapters/stores/postgres/log-reader'
import { dropPartitions } from '../../../server/adapters/stores/postgres/log-tables'
import { PostgresLog, type PostgresLogOptions } from '../../../server/adapters/stores/postgres/postgres-log'
import { chained, type LogEnd, type LoggedGroup } from '../../../server/core/ledger/log-copy'
import { POSTGRES_IS_MISSING } from '../../../tools/postgres'
import { type Postgres, startPostgres, startRelay, urlOf } from '../../support/servers/postgres'
import { until } from '../../support/until'

setDefaultTimeout(process.env['LONG'] ? 3_600_000 : 120_000)

const START: LogEnd = { number: 0, chain: '' }
const sealing = new KeyRing([{ id: 'k1', bytes: new Uint8Array(32).fill(7) }])
const ROUNDS = process.env['LONG'] ? 30 : 2
const LEASE_MS = 1_000

let postgres: Postgres
let relay: Awaited<ReturnType<typeof startRelay>>
let folder: string
beforeAll(async () => {
  if (POSTGRES_IS_MISSING) return
  folder = mkdtempSync(join(tmpdir(), 'log-copy-'))
  postgres = await startPostgres()
  relay = await startRelay(postgres.port)
})
afterEach(() => {
  if (!POSTGRES_IS_MISSING) relay.freeze(false)
})
afterAll(async () => {
  if (POSTGRES_IS_MISSING) return
  relay.close()
  await postgres.close()
  rmSync(folder, { recursive: true, force: true })
})

const group = (number: number): LoggedGroup => ({ number, payload: `[{"entries":[],"n":${number}}]` })
const ended = (groups: number): LogEnd => Array.from({ length: groups }, (_, i) => group(i + 1)).reduce(chained, START)

/** A log in a database of its own, through the relay. */
async function openLog(
  name?: string,
  file = new LeaseFile(join(folder, crypto.randomUUID())),
  local = START,
  port = relay.port,
  replica: PostgresLogOptions['replica'] = null,
) {
  relay.cutWhen(() => false)
  const database = name ?? (await postgres.database()).name
  const fatal: string[] = []
  const trouble: string[] = []
  const log = await PostgresLog.open(
    {
      url: urlOf(port, database),
      sealing,
      file,
      keepHours: 1,
      replica,
      leaseMs: LEASE_MS,
      onFatal: (reason) => fatal.push(reason),
      onTrouble: (_what, reason) => trouble.push(reason),
      onNote: () => undefined,
    },
    local,
  )
  /** Every group, opened and proved to follow the one before. */
  const all = async () => {
    const found: LoggedGroup[] = []
    for await (const some of log.after(START)) found.push(...some)
    return found
  }
  return { log, file, database, fatal, trouble, all }
}

const missing = POSTGRES_IS_MISSING

test.skipIf(missing)('a log is read back as it was written, sealed, and continued by the next process', async () => {
  const first = await openLog()
  for (let n = 1; n <= 40; n++) await first.log.append(group(n))
  expect(await first.all()).toEqual(Array.from({ length: 40 }, (_, i) => group(i + 1)))
  await first.log.close()
  const stored = await postgres.sql(
    "SELECT string_agg(convert_from(data, 'UTF8'), '') AS data FROM gateway_log",
    first.database,
  )
  expect(String(stored[0]?.data)).not.toContain('entries')
  const next = await openLog(first.database, first.file, ended(40))
  expect(next.log.end).toEqual(ended(40))
  expect(await next.log.at(39)).toEqual(ended(39))
  await next.log.append(group(41))
  expect((await next.all()).length).toBe(41)
  const found = await examineLog(
    { url: urlOf(postgres.port, next.database), sealing, acceptsFailover: false },
    ended(30),
  )
  expect(found.groups).toBe(11)
  const wrong = new KeyRing([{ id: 'k1', bytes: new Uint8Array(32).fill(8) }])
  const unreadable = examineLog(
    { url: urlOf(postgres.port, next.database), sealing: wrong, acceptsFailover: false },
    START,
  )
  await expect(unreadable).rejects.toThrow('was changed')
  await next.log.close()
  expect([first.fatal, next.fatal]).toEqual([[], []])
})

test.skipIf(missing)(
  'a connection that is cut at any point of an append loses no group and writes none twice',
  async () => {
    const { log, all, fatal } = await openLog()
    let written = 0
    await log.append(group(++written))
    for (let round = 0; round < ROUNDS; round++)
      // A request and its response, then the sign-in, settings, fence and read of the next connection.
      for (let at = 0; at < 24; at++) {
        let passed = 0
        relay.cutWhen(() => passed++ === at)
        await log.append(group(++written))
        relay.cutWhen(() => false)
      }
    expect(await all()).toEqual(Array.from({ length: written }, (_, i) => group(i + 1)))
    expect(fatal).toEqual([])
    await log.close()
  },
)

test.skipIf(missing)(
  'a server that is killed, whose sessions are ended, or that answers nothing loses no group',
  async () => {
    const { log, all, fatal, trouble } = await openLog()
    let written = 0
    let isOver = false
    const writer = (async () => {
      while (!isOver) await log.append(group(++written))
    })()
    for (let round = 0; round < ROUNDS; round++) {
      await until(() => written > 20 * (2 * round + 1))
      await postgres.sql(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gateway log'",
      )
      await until(() => written > 20 * (2 * round + 2))
      await postgres.kill('SIGKILL')
      await postgres.start()
      const before = written
      await until(() => written > before + 2)
    }
    relay.freeze(true)
    await until(() => log.problem !== null && log.waitingMs > LEASE_MS)
    relay.freeze(false)
    const before = written
    await until(() => written > before + 2 && log.problem === null)
    isOver = true
    await writer
    expect(await all()).toEqual(Array.from({ length: written }, (_, i) => group(i + 1)))
    expect(fatal).toEqual([])
    expect(trouble.every((line) => line.startsWith('charges wait for PostgreSQL'))).toBe(true)
    await log.close()
  },
)

test.skipIf(missing)('of two processes with one log only the later one writes, and the earlier one ends', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const first = await openLog()
    await first.log.append(group(1))
    // As a folder that was copied while it ran.
    const copied = join(folder, `copied-${round}`)
    writeFileSync(`${copied}.lease`, JSON.stringify(first.file.read()))
    const open = () => openLog(first.database, new LeaseFile(copied), ended(1), postgres.port)
    await expect(open()).rejects.toThrow('stop that one first')
    relay.freeze(true)
    const second = await open()
    expect(first.log.problem).not.toBeNull()
    relay.freeze(false)
    let answered = 0
    void first.log.append(group(2)).then(() => answered++)
    await second.log.append({ number: 2, payload: '["of the second"]' })
    await until(() => first.fatal.length > 0)
    expect(answered).toBe(0)
    expect(first.fatal[0]).toBe('another gateway has the lease at LOG_URL: this one stops')
    expect((await second.all())[1]?.payload).toBe('["of the second"]')
    expect(second.fatal).toEqual([])
    await Promise.all([first.log.close(), second.log.close()])
  }
})

test.skipIf(missing)(
  'a lease that is renewed is not taken by data from elsewhere, and is once it has run out',
  async () => {
    const first = await openLog()
    await first.log.append(group(1))
    const known = first.file.read()
    const restored = new LeaseFile(join(folder, 'restored'))
    writeFileSync(join(folder, 'restored.lease'), leaseText({ installation: known?.installation ?? '', holder: null }))
    await expect(openLog(first.database, restored, ended(1))).rejects.toThrow('stop that one first')
    // Its process is gone without a word.
    relay.freeze(true)
    await first.log.close()
    relay.freeze(false)
    const next = await openLog(first.database, restored, ended(1))
    await next.log.append(group(2))
    expect((await next.all()).length).toBe(2)
    await next.log.close()
    await expect(openLog(first.database, first.file, ended(1))).rejects.toThrow('another gateway had the log')
  },
)

test.skipIf(missing)(
  'groups that a promoted replica lacks are appended again, unless another history is there',
  async () => {
    const { log, all, database, fatal } = await openLog()
    for (let n = 1; n <= 9; n++) await log.append(group(n))
    await postgres.sql('DELETE FROM gateway_log WHERE number > 5', database)
    await postgres.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gateway log'")
    await log.append(group(10))
    expect(await all()).toEqual(Array.from({ length: 10 }, (_, i) => group(i + 1)))
    await postgres.sql(
      `UPDATE gateway_log SET chain = 'other' WHERE number = 8; DELETE FROM gateway_log WHERE number > 8`,
      database,
    )
    await postgres.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gateway log'")
    let answered = 0
    void log.append(group(11)).then(() => answered++)
    await until(() => fatal.length > 0)
    expect(fatal[0]).toBe('PostgreSQL at LOG_URL ends with group 8 of another history; this gateway wrote up to 10')
    expect(answered).toBe(0)
    await log.close()
  },
)

test.skipIf(missing)('an append with a warning counts only after it was found behind the fence', async () => {
  const { log, all, database } = await openLog()
  await postgres.sql(
    `CREATE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE WARNING 'canceling wait for synchronous replication'; RETURN NEW; END $$;
     CREATE TRIGGER warns BEFORE INSERT ON gateway_log FOR EACH ROW EXECUTE FUNCTION warn()`,
    database,
  )
  await log.append(group(1))
  await log.append(group(2))
  expect((await all()).length).toBe(2)
  const [lease] = await postgres.sql('SELECT epoch::int FROM gateway_lease', database)
  expect(Number(lease?.epoch)).toBe(4)
  await log.close()
})

test.skipIf(missing)(
  'a pooler, the log of another gateway, and an empty database in the place of a known log are refused',
  async () => {
    const { log, file, database } = await openLog()
    await log.append(group(1))
    await log.close()
    await expect(openLog(database)).rejects.toThrow('does not belong to it')
    await expect(openLog(undefined, file)).rejects.toThrow('LOG_URL is empty')
    const other = await openLog()
    await other.log.close()
    await expect(openLog(database, other.file)).rejects.toThrow('the log of another gateway')
    // PgBouncer invents the number of the process.
    relay.rewrite((direction, bytes) => {
      const at = direction === 'out' ? bytes.indexOf(Buffer.from([0x4b, 0, 0, 0, 12])) : -1
      if (at >= 0) bytes.writeInt32BE(1, at + 5)
      return bytes
    })
    await expect(openLog()).rejects.toThrow('connection pooler')
    relay.rewrite((_direction, bytes) => bytes)
    expect(readFileSync(`${(file as unknown as { path: string }).path}`, 'utf8')).toContain('installation')
  },
)

test.skipIf(missing)(
  'a log begins where the data is, goes on over partitions, and drops old ones as a whole',
  async () => {
    const begin = { number: 65_530, chain: 'of before' }
    const { log, file, database } = await openLog(undefined, undefined, begin)
    let end = begin
    for (let n = 65_531; n <= 65_540; n++) {
      await log.append(group(n))
      end = chained(end, group(n))
    }
    expect([await log.at(65_530), await log.at(65_540)]).toEqual([begin, end])
    await log.close()
    const connection = await LogConnection.open(urlOf(postgres.port, database))
    const partitions = async () =>
      (
        await connection.rows<{ name: string }>('SELECT inhrelid::regclass::text AS name FROM pg_inherits ORDER BY 1')
      ).map(({ name }) => name)
    await dropPartitions(connection, 1, 1)
    expect(await partitions()).toContain('gateway_log_0')
    await connection.rows("UPDATE gateway_log SET at = at - interval '2 hours'")
    // Not while the copy of the tables lacks its last group.
    const replica = { confirmedGroup: 65_535, sync: async () => 1 }
    const kept = await openLog(database, file, end, relay.port, replica)
    await until(async () => (await partitions()).includes('gateway_log_2'))
    expect(await partitions()).toContain('gateway_log_0')
    await kept.log.close()
    replica.confirmedGroup = 65_536
    const dropping = await openLog(database, file, end, relay.port, replica)
    await until(async () => !(await partitions()).includes('gateway_log_0'))
    await dropping.log.close()
    expect(await partitions()).toContain('gateway_log_1')
    connection.destroy()
    const next = await openLog(database, file, end)
    expect([next.log.end, await next.log.at(65_531)]).toEqual([end, null])
    await next.log.close()
  },
)

test.skipIf(missing)(
  'a replica that is promoted without the last groups gets them from the gateway, and is no place to restore from before',
  async () => {
    const replication = await startRelay(postgres.port)
    const replica = await startPostgres(replication.port)
    const front = await startRelay(postgres.port)
    try {
      const { log, all, database, fatal } = await openLog(undefined, undefined, START, front.port)
      for (let n = 1; n <= 5; n++) await log.append(group(n))
      const has = async () => (await replica.sql('SELECT count(*)::int AS n FROM gateway_log', database))[0]?.n
      await until(async () => (await has().catch(() => 0)) === 5)
      replication.freeze(true)
      for (let n = 6; n <= 9; n++) await log.append(group(n))
      front.leadTo(1)
      await replica.sql('SELECT pg_promote()')
      const examined = examineLog({ url: urlOf(replica.port, database), sealing, acceptsFailover: false }, ended(5))
      await expect(examined).rejects.toThrow('was promoted')
      front.leadTo(replica.port)
      await log.append(group(10))
      expect(await all()).toEqual(Array.from({ length: 10 }, (_, i) => group(i + 1)))
      expect(await has()).toBe(10)
      await until(() => log.problem === null)
      expect(fatal).toEqual([])
      await log.close()
    } finally {
      replication.close()
      front.close()
      await replica.close()
    }
  },
)

const WAITING = "SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'"

test.skipIf(missing)(
  'a group whose synchronous replica is away is not acknowledged, not even when the wait is cancelled',
  async () => {
    const replica = await startPostgres(postgres.port)
    const standbys = async (names: string) => {
      await postgres.sql(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`)
      await postgres.sql('SELECT pg_reload_conf()')
    }
    try {
      const { log, all, fatal } = await openLog()
      await standbys('FIRST 1 (*)')
      await log.append(group(1))
      await replica.kill('SIGKILL')
      let answered = false
      const waiting = log.append(group(2)).then(() => {
        answered = true
      })
      await until(() => log.problem !== null)
      const cancelled = await postgres.sql(`SELECT pg_cancel_backend(pid) FROM (${WAITING}) AS waiting`)
      expect(cancelled.length).toBeGreaterThan(0)
      // The fence that follows waits for the replica as well.
      await until(async () => (await postgres.sql(WAITING)).length > 0)
      expect([answered, log.problem === null]).toEqual([false, false])
      await replica.start()
      await waiting
      await until(() => log.problem === null)
      expect((await all()).length).toBe(2)
      expect(fatal).toEqual([])
      await log.close()
    } finally {
      await standbys('')
      await replica.close()
    }
  },
)
