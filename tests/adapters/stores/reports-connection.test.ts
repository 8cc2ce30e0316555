import { afterEach, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { Opened } from '../../../server/adapters/stores/libsql/driver/opened'
import { OWN_THREADS, type WorkerThreads } from '../../../server/adapters/stores/libsql/driver/worker/worker-threads'
import { openDatabase } from '../../../server/adapters/stores/libsql/open-database'
import { endTestDatabase, testDatabase } from '../../support/databases/test-database'
import { NOON } from '../../support/ledger-parts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

/** A database and the threads that it runs on. */
async function opened() {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-reports-'))
  const running = new Set<Worker>()
  const threads: WorkerThreads = {
    start(script) {
      const worker = OWN_THREADS.start(script)
      running.add(worker)
      return worker
    },
    end(worker) {
      running.delete(worker)
      OWN_THREADS.end(worker)
    },
  }
  const all = new Opened()
  closers.push(async () => {
    await all.close()
    await endTestDatabase(folder)
    await rm(folder, { recursive: true, force: true })
  })
  const fail = (...said: string[]) => {
    throw new Error(said.join(': '))
  }
  const url = await testDatabase(folder, join(folder, 'gateway.db'))
  const options = { url, authToken: null, isSyncPromised: true, clock: { now: () => NOON } }
  const database = await openDatabase({ ...options, threads, onFatal: fail, onTrouble: fail }, all)
  return { ...database, running, close: () => all.close() }
}

const COUNTED = 2_000_000
const SLOW = sql`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${COUNTED}) SELECT count(*) AS counted FROM n`
const QUICK = sql`SELECT 1 AS one`

test('a report that reads for long keeps no look-up waiting', async () => {
  const { db, reports } = await opened()
  await reports.all(QUICK)
  const ended: string[] = []
  const report = reports.all(SLOW).then((rows) => {
    ended.push('report')
    return rows
  })
  await db.all(QUICK).then(() => ended.push('look-up'))
  expect(await report).toEqual([{ counted: COUNTED }])
  expect(ended).toEqual(['look-up', 'report'])
})

test('reports open their connection at the first use, once, and see what was committed before', async () => {
  const { db, reports, running } = await opened()
  expect(running.size).toBe(2)
  await db.run(sql`INSERT INTO webhook_hosts (host, failures, since) VALUES ('a', 1, 0)`)
  const all = await Promise.all([1, 2].map(() => reports.all(sql`SELECT host AS value FROM webhook_hosts`)))
  expect(all).toEqual([[{ value: 'a' }], [{ value: 'a' }]])
  expect(running.size).toBe(3)
})

test('a connection that opens while the database is closed is closed, too, and later reports are refused', async () => {
  const { reports, running, close } = await opened()
  const first = reports.all(QUICK).catch(() => 'refused')
  await close()
  await first
  expect(running.size).toBe(0)
  const late = await reports.all(QUICK).catch((error: Error) => error.cause)
  expect(late).toMatchObject({ code: 'ABANDONED', unavailable: true })
})
