import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { doctorCommand } from '../../server/cli/local/doctor-command'
import { hasSqld, openSqld } from '../support/databases/sqld'
import { reconcile } from '../support/reconcile'
import {
  control,
  dataFolder,
  removeFolder,
  SECRET_KEY,
  type ServerProcess,
  signUp,
  startServer,
} from '../support/servers/server-process'

const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'

describe.skipIf(!hasSqld)('on a libSQL server', () => {
  let database: Awaited<ReturnType<typeof openSqld>>
  let folders: string[] = []
  let first: ServerProcess
  let secret = ''
  const call = (server: ServerProcess) => fetch(server.url + SEARCH, { headers: { authorization: `Bearer ${secret}` } })

  beforeAll(async () => {
    database = await openSqld()
    folders = [await dataFolder({ migrated: false }), await dataFolder({ migrated: false })]
    first = await startServer(folders[0] ?? '', { DATABASE_URL: database.url })
    const owner = await signUp(first.url, 'ada@example.com')
    await control(folders[0] ?? '', `/accounts/${owner.id}/limits`, {
      limits: { rpm: 1e6, tpm: 1e6, concurrency: 100 },
    })
    secret = (await owner.api('/api/keys', { name: 'remote', spending_limit: 0.1 })).secret
  })
  afterAll(async () => {
    await database.close()
    await Promise.all(folders.map(removeFolder))
  })

  test('a call is charged, and concurrent ones are each charged once', async () => {
    const statuses = (await Promise.all(Array.from({ length: 10 }, () => call(first)))).map((answer) => answer.status)
    expect(statuses).toEqual(Array(10).fill(200))
    const { problems, charges } = await reconcile(database.url)
    expect({ problems, charges }).toEqual({ problems: [], charges: 10 })
  })

  test('doctor finds the server and the books sound while a gateway serves from it', async () => {
    let text = ''
    const env = { DATA_DIR: folders[0] ?? '', SECRET_KEY, DATABASE_URL: database.url, DATABASE_SYNC: 'promised' }
    const out = (piece: string) => {
      text += piece
    }
    await doctorCommand(['--json'], { env, out, now: Date.now }).catch(() => undefined)
    const findings: { check: string; status: string; message: string }[] = JSON.parse(text).findings
    const found = (check: string) =>
      findings.flatMap((one) => (one.check === check ? `${one.status} ${one.message}` : []))
    expect(found('database')).toEqual([expect.stringMatching(/^ok 127\.0\.0\.1:\d+ answers in \d+ ms, epoch \d+$/)])
    expect(found('books')).toEqual(['ok the books agree'])
  })

  test('a database that dies during a call charges no caller without an answer', async () => {
    await database.kill()
    const calls = Promise.all(Array.from({ length: 4 }, () => call(first)))
    await database.start()
    const served = (await calls).filter((answer) => answer.status === 200).length
    const refused = (await calls).filter((answer) => answer.status === 503)
    expect(served + refused.length).toBe(4)
    for (const answer of refused) expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    // The next call is behind whatever was undone, so that the sums below are final.
    expect((await call(first)).status).toBe(200)
    const { problems, charges } = await reconcile(database.url)
    expect({ problems, charges }).toEqual({ problems: [], charges: 10 + served + 1 })
  })

  test('a process whose successor has started commits nothing more, and ends with one line (spec D4)', async () => {
    const before = await reconcile(database.url)
    const second = await startServer(folders[1] ?? '', { DATABASE_URL: database.url })
    const late = await call(first).then(
      (answer) => answer.status,
      () => 0,
    )
    expect([0, 503]).toContain(late)
    expect(await first.exited).toBe(1)
    expect(first.output()).toContain('gateway: another process owns the database now')
    expect((await reconcile(database.url)).charges).toBe(before.charges)
    expect((await call(second)).status).toBe(200)
    expect(await second.kill('SIGTERM')).toBe(0)
    expect((await reconcile(database.url)).problems).toEqual([])
  })
})
