import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KeyRing } from '../../server/adapters/sealing/key-ring'
import { LeaseFile } from '../../server/adapters/stores/postgres/lease-file'
import { PostgresLog } from '../../server/adapters/stores/postgres/postgres-log'
import type { ApiKey } from '../../server/core/credentials/api-key'
import { appended } from '../../server/core/ledger/journal'
import type { OpenLogCopy } from '../../server/core/ledger/log-copy'
import { POSTGRES_IS_MISSING } from '../../tools/postgres'
import { call, charge, openTestStores } from '../support/ledger-parts'
import { reconcile } from '../support/reconcile'
import { startPostgres } from '../support/servers/postgres'
import { cpuTime } from './proc'
import { quantile } from './statistics'

/**
 * `bun run bench:journal [LOOPS] [CHARGES] [US]`: charges of 1000 accounts through the journal alone, without a socket, in as many
 * closed loops (64), and what else the request thread does for a call as so many microseconds of it (0). CPU is counted until
 * the tables have everything. Where PostgreSQL is installed, in turns also with its log there (`LOG_URL`). Put it on one core (`taskset -c 0`) to see what applying costs those who wait; run two versions
 * in turns to compare them.
 */
const [loops = 64, count = 20_000, otherUs = 0] = process.argv.slice(2).map(Number)
const ACCOUNTS = 1000
const ROUNDS = 3

type Stores = Awaited<ReturnType<typeof openTestStores>>

function records(keys: readonly ApiKey[], wanted: number) {
  return Array.from({ length: wanted }, () => {
    const { id, accountId, poolId } = keys[Math.floor(Math.random() * keys.length)] as ApiKey
    return charge(accountId, 5, { pool: poolId, call: call(accountId, 5, { keyId: id }) })
  })
}

async function round(stores: Stores, keys: readonly ApiKey[], wanted: number): Promise<string> {
  const left = records(keys, wanted)
  const times: number[] = []
  const before = cpuTime(process.pid)
  const begun = performance.now()
  const loop = async () => {
    for (let record = left.pop(); record; record = left.pop()) {
      const at = performance.now()
      const { kind } = await appended(stores.journal, record)
      if (kind !== 'committed') throw new Error(`a charge was ${kind}`)
      times.push(performance.now() - at)
      if (otherUs === 0) continue
      for (const until = performance.now() + otherUs / 1000; performance.now() < until; );
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  await Promise.all(Array.from({ length: loops }, loop))
  const perSecond = wanted / ((performance.now() - begun) / 1000)
  await stores.applied()
  const after = cpuTime(process.pid)
  const each = (total: number) => (total / wanted).toFixed(1)
  const waited = [0.5, 0.99, 0.999].map((share) => quantile(times, share).toFixed(1))
  const cpu = `CPU us each ${each(after.process - before.process)}, of it JS thread ${each(after.main - before.main)}`
  return `${perSecond.toFixed(0)}/s, ${cpu}, p50 / p99 / p99.9 ms ${waited.join(' / ')}`
}

const folder = mkdtempSync(join(tmpdir(), 'bench-journal-'))
const postgres = POSTGRES_IS_MISSING ? null : await startPostgres()

async function openBenched(name: string, openCopy?: OpenLogCopy) {
  mkdirSync(join(folder, name))
  const stores = await openTestStores({ folder: join(folder, name), ...(openCopy && { openCopy }) })
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => stores.account(1_000_000_000)))
  const keys = await Promise.all(accounts.map((account) => stores.key(account)))
  await round(stores, keys, count)
  return { name, stores, keys }
}

/** As a gateway with LOG_URL opens it. */
function copyIn(url: string): OpenLogCopy {
  const fail = (...what: string[]) => {
    throw new Error(what.join(': '))
  }
  const sealing = new KeyRing([{ id: 'k1', bytes: new Uint8Array(32) }])
  const file = new LeaseFile(join(folder, 'lease'))
  const options = {
    url,
    sealing,
    file,
    keepHours: 1,
    replica: null,
    onFatal: fail,
    onTrouble: fail,
    onNote: () => undefined,
  }
  return (local) => PostgresLog.open(options, local)
}

try {
  const all = [await openBenched('file')]
  if (postgres) all.push(await openBenched('file and PostgreSQL', copyIn((await postgres.database()).url)))
  for (let i = 0; i < ROUNDS; i++)
    for (const { name, stores, keys } of all) console.log(`${name}: ${await round(stores, keys, count)}`)
  for (const { name, stores } of all) {
    await stores.close()
    const { problems } = await reconcile(join(folder, name, 'gateway.db'))
    console.log(problems.length === 0 ? 'all sums agree' : `WRONG: ${problems.slice(0, 3).join('; ')}`)
    if (problems.length > 0) process.exitCode = 1
  }
} finally {
  await postgres?.close()
  rmSync(folder, { recursive: true, force: true })
}
process.exit()
