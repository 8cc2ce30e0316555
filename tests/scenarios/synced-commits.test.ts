import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Client, createClient } from '@libsql/client'
import { assertSyncedCommits } from '../../server/adapters/stores/libsql/driver/synced-commits'
import { hasSqld, openSqld } from '../support/databases/sqld'
import { dataFolder, removeFolder, startServer } from '../support/servers/server-process'
import { canTrace, systemCalls } from '../support/servers/system-calls'

const COMMITS = 10

/** A server's word about its commits, and its behaviour. */
describe.skipIf(!hasSqld)('a libSQL server', () => {
  let database: Awaited<ReturnType<typeof openSqld>>
  let client: Client
  let folder = ''
  beforeAll(async () => {
    database = await openSqld()
    client = createClient({ url: database.url })
    folder = await dataFolder({ migrated: false })
  })
  afterAll(async () => {
    client.close()
    await database.close()
    await removeFolder(folder)
  })
  const saysSynced = async () => Number((await client.execute('PRAGMA synchronous')).rows[0]?.[0]) >= 2

  test.skipIf(!canTrace)('syncs each commit before it acknowledges it exactly if it says so', async () => {
    await client.execute('CREATE TABLE traced (x)')
    const traced = ['fsync', 'fdatasync', 'sendto', 'sendmsg', 'write', 'writev']
    const lines = await systemCalls(database.pid(), traced, async () => {
      for (let i = 0; i < COMMITS; i++) await client.execute({ sql: 'INSERT INTO traced VALUES (?)', args: [i] })
    })
    let [synced, acknowledged, late] = [0, 0, 0]
    for (const line of lines) {
      if (/\b(fsync|fdatasync)\(/.test(line)) synced++
      if (!line.includes('"HTTP/1.1 200 OK')) continue
      acknowledged++
      // Commits go one after the other, so each answer must have one more sync behind it than the one before.
      if (synced < acknowledged) late++
    }
    expect(acknowledged).toBe(COMMITS)
    expect(late === 0).toBe(await saysSynced())
  })

  test('that says that it acknowledges commits before they are on disk is refused in one line, unless that is promised', async () => {
    // If a later server says otherwise, it is taken without a promise: then this test and docs/operating.md have to say so.
    expect(await saysSynced()).toBe(false)
    const env = { DATABASE_URL: database.url, SOCIAL_PROVIDER: 'none' }
    const refusal =
      /^the server ended: gateway: The database at 127\.0\.0\.1:\d+ acknowledges commits before they are on disk \(synchronous=NORMAL\)[^\n]*DATABASE_SYNC=promised[^\n]*\n$/
    await expect(startServer(folder, { ...env, DATABASE_SYNC: 'asked' })).rejects.toThrow(refusal)
    expect(
      (await client.execute("SELECT count(*) AS n FROM sqlite_master WHERE name = 'accounts'")).rows[0]?.['n'],
    ).toBe(0)
    const server = await startServer(folder, { ...env, DATABASE_SYNC: 'promised' })
    expect(await server.kill('SIGTERM')).toBe(0)
  }, 60_000)
})

test('a server that syncs its commits is taken; one that does not say so, too, with a line for the operator', async () => {
  const said: string[] = []
  const ask = (rows: () => Promise<number[][]>) =>
    assertSyncedCommits(
      { rows },
      { url: 'libsql://db.example', isPromised: false, onTrouble: (what, reason) => said.push(`${what}: ${reason}`) },
    )
  await ask(async () => [[2]])
  await ask(async () => [[3]])
  expect(said).toEqual([])
  await ask(() => Promise.reject(new Error('unsupported statement')))
  expect(said).toEqual(['sync: the server does not say whether it syncs a commit before it acknowledges it'])
  await expect(ask(async () => [[0]])).rejects.toThrow('The database at db.example acknowledges commits before')
})
