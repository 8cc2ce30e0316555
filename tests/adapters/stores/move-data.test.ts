import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Client, createClient, type InValue } from '@libsql/client'
import { LibsqlLeases } from '../../../server/adapters/stores/libsql/cluster/lease-store'
import { lockDatabaseFile } from '../../../server/adapters/stores/libsql/driver/file/database-file-lock'
import { epochRaise } from '../../../server/adapters/stores/libsql/driver/raise-epoch'
import { moveData, rehearseMove, reopen } from '../../../server/adapters/stores/libsql/move/move-data'
import type { MoveProgress } from '../../../server/core/backup/move'
import { dumpOf } from '../../support/databases/database-dump'
import { executeOn, openFile } from '../../support/databases/database-file'
import { openDatabaseProxy } from '../../support/databases/database-proxy'
import { writeMigratedDatabase } from '../../support/databases/migrated-database'
import { hasSqld, openSqld } from '../../support/databases/sqld'
import { openHarness } from '../../support/harness'
import { reconcile } from '../../support/reconcile'
import { TEST_THREADS } from '../../support/test-threads'

const NOW = Date.UTC(2026, 10, 23, 12)
const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'

describe.skipIf(!hasSqld)('moving data between a file and a libSQL server', () => {
  let folder: string
  const servers: Awaited<ReturnType<typeof openSqld>>[] = []
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'move-'))
  })
  afterAll(async () => {
    for (const server of servers) await server.close()
    await rm(folder, { recursive: true, force: true })
  })

  let files = 0
  const newFile = () => join(folder, `${files++}`, 'gateway.db')
  const newServer = async () => {
    const server = await openSqld()
    servers.push(server)
    return server
  }
  const migrated = async () => {
    const file = newFile()
    await writeMigratedDatabase(file)
    return file
  }
  const placeOf = (place: string) => ({
    url: place.includes('://') ? place : `file:${place}`,
    authToken: null,
    threads: TEST_THREADS,
  })
  const optionsOf = (from: string, to: string) => ({
    ...{ from: placeOf(from), to: placeOf(to), now: NOW, isSyncPromised: true },
    ...{ onProgress: () => undefined, onTrouble: () => undefined, requireRoom: async () => undefined },
  })
  const move = (from: string, to: string) => moveData(optionsOf(from, to))
  const refusal = (attempt: Promise<unknown>) =>
    attempt.then(
      () => 'not refused',
      (error: Error) => error.message,
    )
  const reopened = (place: string, isTargetGone = false) =>
    reopen({ location: placeOf(place), authToken: null, isTargetGone, now: NOW })
  /** What a start does first. */
  const start = (file: string) =>
    refusal(openHarness({ env: { DATABASE_URL: `file:${file}` } }).then((gateway) => gateway.close()))
  const onServer = async <T>(url: string, use: (client: Client) => Promise<T>): Promise<T> => {
    const client = createClient({ url })
    try {
      return await use(client)
    } finally {
      client.close()
    }
  }

  test('every value arrives as it was, there and back: NUL, huge integers, blobs, emoji, invalid text, empty and null', async () => {
    const file = await migrated()
    const client = openFile(file)
    const hostile: readonly InValue[] = [
      ...['', ' ', 'a b', "it's", '\0', 'a\0b', '🦊 ü 漢字', '\n\r\t"\\', 'n', 't41', '12', '1e3', null, 0, -1],
      ...[
        9_223_372_036_854_775_807n,
        -9_223_372_036_854_775_808n,
        9_007_199_254_740_993n,
        0.1,
        -1.5e-300,
        1.7976931348623157e308,
      ],
      ...[new Uint8Array(), new Uint8Array([0, 255, 128]), new Uint8Array(300_000).fill(7), 'x'.repeat(700_000)],
    ]
    await client.batch(
      [
        'CREATE TABLE plain (anything, other)',
        'CREATE TABLE pairs (a, b, c, PRIMARY KEY (a, b)) WITHOUT ROWID',
        'CREATE TABLE "odd ""name""" (id INTEGER PRIMARY KEY, "a column" TEXT COLLATE NOCASE)',
        'CREATE TABLE numbered (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT)',
        "INSERT INTO numbered (text) VALUES ('1'), ('2'), ('gone')",
        "DELETE FROM numbered WHERE text = 'gone'",
        "INSERT INTO plain VALUES (CAST(x'ff00fe' AS TEXT), 9e999), (-9e999, CAST(x'c3' AS TEXT))",
        `INSERT INTO "odd ""name""" VALUES (9007199254740993, 'big id')`,
        "CREATE TRIGGER plain_is_not_changed BEFORE UPDATE ON plain BEGIN SELECT RAISE(ABORT, 'append-only'); END",
        'CREATE INDEX plain_other ON plain (other) WHERE other IS NOT NULL',
        ...hostile.flatMap((value, at) => [
          { sql: 'INSERT INTO plain VALUES (?, ?)', args: [value, `${at}`] },
          { sql: 'INSERT INTO pairs VALUES (coalesce(?, 0), ?, ?)', args: [value, `${at}`, value] },
          { sql: 'INSERT INTO "odd ""name""" ("a column") VALUES (?)', args: [value] },
        ]),
        "DELETE FROM plain WHERE other = '3'",
      ],
      'write',
    )
    client.close()
    const before = await dumpOf(file)
    const server = await newServer()
    const report = await move(file, server.url)
    expect(report).toMatchObject({ outcome: 'moved', problems: 0 })
    expect(report.tables.find(({ name }) => name === 'plain')?.rows).toBe(hostile.length + 1)
    const { audit_log: acts, ...there } = await dumpOf(server.url)
    expect(acts).toHaveLength(1)
    const { audit_log: none, ...original } = before
    expect(none).toHaveLength(0)
    expect(there).toEqual(original)

    const back = newFile()
    await move(server.url, back)
    const { audit_log: more, ...again } = await dumpOf(back)
    expect(more).toHaveLength(2)
    expect(again).toEqual(original)
    await executeOn(back, "INSERT INTO numbered (text) VALUES ('next')")
    expect(await executeOn(back, "SELECT id FROM numbered WHERE text = 'next'")).toMatchObject([{ id: 4 }])
    expect(await refusal(executeOn(back, 'UPDATE plain SET other = 1'))).toContain('append-only')
    const objects = "SELECT type, name, sql FROM sqlite_master WHERE sql NOT LIKE '%data_move%' ORDER BY type, name"
    expect(await executeOn(back, objects)).toEqual(await executeOn(file, objects))
  }, 60_000)

  test('a server far away gets few messages: small tables are counted and changed together', async () => {
    const server = await newServer()
    const wire = await openDatabaseProxy(server.url)
    expect(await move(await migrated(), wire.url)).toMatchObject({ outcome: 'moved' })
    // A table or an index with a message of its own would be 200 more.
    expect(wire.seen.length).toBeLessThan(60)
    wire.close()
  }, 60_000)

  test('what waits in the log of charges arrives, and the books agree on both sides', async () => {
    const file = newFile()
    const gateway = await openHarness()
    const owner = await gateway.owner('ada@example.com')
    const made = (await (await owner.api('/api/keys', { name: 'first', spending_limit: 1 })).json()) as {
      secret: string
    }
    expect((await gateway.as(made.secret, SEARCH)).status).toBe(200)
    await gateway.core.stores.applied()
    const blocker = openFile(gateway.databaseFile)
    const lock = await blocker.transaction('write')
    for (let call = 0; call < 2; call++) expect((await gateway.as(made.secret, SEARCH)).status).toBe(200)
    await Bun.write(file, '')
    await rm(file)
    await executeOn(gateway.databaseFile, 'VACUUM INTO ?', [file])
    await copyFile(`${gateway.databaseFile}.log`, `${file}.log`)
    await lock.rollback()
    blocker.close()
    await gateway.close()

    const server = await newServer()
    const rehearsed = await rehearseMove(optionsOf(file, server.url))
    expect(rehearsed.outcome).toBe('rehearsed')
    expect(rehearsed.waitingBytes).toBeGreaterThan(0)
    expect(await onServer(server.url, (client) => client.execute('SELECT * FROM sqlite_master'))).toMatchObject({
      rows: [],
    })
    await move(file, server.url)
    expect(await reconcile(server.url)).toMatchObject({ charges: 3, problems: [] })
    expect(await reconcile(file)).toMatchObject({ charges: 3, problems: [] })
  }, 60_000)

  test('the old place is closed to every process, also to older versions and to owners that slept', async () => {
    const file = await migrated()
    const server = await newServer()
    const [slept] = await executeOn(file, 'UPDATE owner SET epoch = 5, asserted = 5 RETURNING epoch')
    await move(file, server.url)
    expect(await start(file)).toMatch(
      /^this data was moved to http:\/\/127\.0\.0\.1:\d+ at 2026-11-23T12:00:00\.000Z and is served from there/,
    )
    const { sql, args } = epochRaise(NOW + 10_000, null)
    expect(await refusal(executeOn(file, sql, args))).toContain('this data was moved to')
    expect(await refusal(executeOn(file, 'UPDATE owner SET asserted = ?', [Number(slept?.['epoch'])]))).toContain(
      'owner_epoch_is_current',
    )
    const epochs = [
      executeOn(file, 'SELECT epoch FROM owner'),
      onServer(server.url, async (client) => (await client.execute('SELECT epoch FROM owner')).rows),
    ]
    const [old, fresh] = (await Promise.all(epochs)).map((rows) => Number(rows[0]?.['epoch']))
    expect(fresh).toBeGreaterThan(old ?? 0)
    // Another place, from a closed one.
    expect(await refusal(move(file, (await newServer()).url))).toContain('this data was moved to')
    // The same command again finds that it is done.
    expect(await move(file, server.url)).toMatchObject({ outcome: 'done before' })
  }, 60_000)

  test.each(['file', 'server'])(
    'a copy into a %s that ended half-way is refused, serves nobody, and is begun anew',
    async (kind) => {
      const original = await migrated()
      const server = await newServer()
      if (kind === 'file') await move(original, server.url)
      const [from, to] = kind === 'file' ? [server.url, newFile()] : [original, server.url]
      const stopAt = (step: MoveProgress['step']) =>
        moveData({
          ...optionsOf(from, to),
          onProgress({ step: now }) {
            if (now === step) throw new Error(`stopped at ${step}`)
          },
        })
      for (const step of ['copying', 'indexing', 'comparing', 'checking'] as const) {
        expect(await refusal(stopAt(step))).toBe(`stopped at ${step}`)
        expect(
          await refusal(
            new LibsqlLeases(placeOf(to)).join({ id: 'a', url: 'http://a', version: '0', zones: null, skewMs: 0 }, {}),
          ),
        ).toContain('an unfinished copy of')
        if (kind === 'file') expect(await start(to)).toContain('an unfinished copy of')
        const { sql, args } = epochRaise(NOW, null)
        const raise =
          kind === 'file'
            ? executeOn(to, sql, args)
            : onServer(to, async (client) => (await client.execute({ sql, args })).rows)
        // There may be no row to raise yet, without which nobody becomes the owner either.
        expect(await raise.then((rows) => `${rows.length} rows`, String)).toMatch(
          step === 'copying' ? /^0 rows$/ : /an unfinished copy of/,
        )
        expect(await refusal(move(to, newFile()))).toContain('an unfinished copy of')
      }
      // Nothing happened to the original.
      if (kind === 'server') expect(await start(from)).toBe('not refused')
      expect(await move(from, to)).toMatchObject({ outcome: 'moved' })
      if (kind === 'file') expect(await start(to)).toBe('not refused')
    },
    60_000,
  )

  test('what an earlier run still sends does not reach a copy that was begun anew', async () => {
    const file = await migrated()
    const server = await newServer()
    const stopped = moveData({
      ...optionsOf(file, server.url),
      onProgress({ step }) {
        if (step === 'checking') throw new Error('frozen')
      },
    })
    expect(await refusal(stopped)).toBe('frozen')
    const [frozen] = (await onServer(server.url, (client) => client.execute('SELECT id FROM data_move'))).rows
    let refused = ''
    await moveData({
      ...optionsOf(file, server.url),
      async requireRoom() {},
      onProgress({ step }) {
        if (step !== 'checking') return
        void refusal(
          onServer(server.url, (client) =>
            client.batch(
              [{ sql: 'UPDATE data_move SET asserted = ?', args: [String(frozen?.['id'])] }, 'DROP TABLE data_move'],
              'write',
            ),
          ),
        ).then((said) => {
          refused = said
        })
      },
    })
    expect(refused).toContain('CHECK constraint failed')
  }, 60_000)

  test('a server that loses its last answer has the data, and one that is gone before it leaves both places closed until the command ends', async () => {
    const file = await migrated()
    const server = await newServer()
    const proxy = await openDatabaseProxy(server.url)
    proxy.set('answer lost', 'DROP TABLE data_move')
    expect(await move(file, proxy.url)).toMatchObject({ outcome: 'moved' })
    proxy.close()

    const other = await migrated()
    const target = await newServer()
    const broken = await openDatabaseProxy(target.url)
    broken.set('late', 'DROP TABLE data_move')
    expect(await refusal(move(other, broken.url))).toMatch(
      /is closed, and .* is not open yet: .*Run this again with the same databases$/,
    )
    expect(await start(other)).toContain('this data was moved to')
    expect(
      await refusal(
        new LibsqlLeases(placeOf(target.url)).join(
          { id: 'a', url: 'http://a', version: '0', zones: null, skewMs: 0 },
          {},
        ),
      ),
    ).toContain('unfinished copy')
    broken.set('none')
    const again = moveData({
      ...optionsOf(other, broken.url),
      onProgress({ step, rows }) {
        // What the first run sent arrives in the middle of the second one.
        if (step === 'comparing' && rows > 0) void broken.letThrough()
      },
    })
    expect(await again).toMatchObject({ outcome: 'moved' })
    broken.close()
  }, 60_000)

  test('a closed place opens again only if its target has not got the data', async () => {
    const file = await migrated()
    const server = await newServer()
    expect(await refusal(reopened(file))).toContain('is not closed')
    await move(file, server.url)
    expect(await refusal(reopened(file))).toContain('has the data now')
    expect(await refusal(reopened(file, true))).toContain('has the data now')
    await server.kill()
    expect(await refusal(reopened(file))).toContain('--target-is-gone')
    expect(await start(file)).toContain('this data was moved to')
    expect(await reopened(file, true)).toEqual({ name: `file:${file}`, target: server.url })
    expect(await start(file)).toBe('not refused')

    const other = await migrated()
    const target = await newServer()
    const proxy = await openDatabaseProxy(target.url)
    proxy.set('late', 'DROP TABLE data_move')
    expect(await refusal(move(other, proxy.url))).toContain('is not open yet')
    proxy.set('none')
    expect((await reopened(other)).target).toBe(proxy.url)
    // What would have opened the target arrives after that.
    expect(JSON.stringify(await proxy.letThrough())).toContain('CHECK constraint failed')
    expect(await start(other)).toBe('not refused')
    proxy.close()
  }, 60_000)

  test('data that went on to a third place is not opened again in the first one', async () => {
    const file = await migrated()
    const server = await newServer()
    await move(file, server.url)
    const third = newFile()
    await move(server.url, third)
    for (const isGone of [false, true])
      expect(await refusal(reopened(file, isGone))).toContain('has the data now, or had it')
    expect(await refusal(move(file, server.url))).toContain('this data was moved to')
    expect(await start(file)).toContain('this data was moved to')
    expect(await start(third)).toBe('not refused')
  }, 60_000)

  test('a target that lost the data is not given the older data without a word', async () => {
    const file = await migrated()
    const server = await newServer()
    await move(file, server.url)
    await onServer(server.url, async (client) => {
      const { rows } = await client.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'",
      )
      await client.migrate(rows.map(({ name }) => `DROP TABLE ${name}`))
    })
    expect(await refusal(move(file, server.url))).toContain('what was served there is lost')
    expect(await refusal(rehearseMove(optionsOf(file, server.url)))).toContain('what was served there is lost')
    // The same if somebody else's copy is there by now.
    const other = await migrated()
    const stopped = moveData({
      ...optionsOf(other, server.url),
      onProgress() {
        throw new Error('stopped')
      },
    })
    expect(await refusal(stopped)).toBe('stopped')
    expect(await refusal(move(file, server.url))).toContain('what was served there is lost')
    expect(await refusal(reopened(file))).toContain('--target-is-gone')
    expect((await reopened(file, true)).target).toBe(server.url)
    expect(await move(file, server.url)).toMatchObject({ outcome: 'moved' })
  }, 60_000)

  test('refuses the same place, a target with anything in it, and data of another version', async () => {
    const file = await migrated()
    const server = await newServer()
    expect(await refusal(move(server.url, `${server.url.replace('http', 'libsql')}/`))).toContain(
      'is where the data is already',
    )
    expect(await refusal(move(newFile(), server.url))).toContain('there is no database at')
    expect(await refusal(move(server.url, newFile()))).toContain('has no data')
    const used = await newServer()
    await onServer(used.url, (client) => client.execute('CREATE TABLE mine (a)'))
    expect(await refusal(move(file, used.url))).toBe(`${used.url} is not empty. Move into a new database`)
    const other = await migrated()
    await move(other, server.url)
    expect(await refusal(move(file, server.url))).toMatch(
      /is not empty: it has the data of a gateway, with tables of 2026/,
    )
    expect(await refusal(rehearseMove(optionsOf(file, server.url)))).toContain('is not empty')
    const folderOfTwo = newFile()
    await Bun.write(`${folderOfTwo}.log`, 'of another one')
    expect(await refusal(move(server.url, folderOfTwo))).toContain(
      'has gateway.db.log, which belongs to another database',
    )
    const empty = await newServer()
    for (const [by, reason] of [
      ['- 1', 'an older version'],
      ['+ 1000', 'a newer version'],
    ] as const) {
      const aged = newFile()
      await writeMigratedDatabase(aged)
      await executeOn(
        aged,
        `UPDATE __drizzle_migrations SET created_at = created_at ${by} WHERE created_at = (SELECT max(created_at) FROM __drizzle_migrations)`,
      )
      expect(await refusal(move(aged, empty.url))).toContain(`${reason} of the gateway wrote`)
    }
    expect(await start(file)).toBe('not refused')
  }, 60_000)

  test('refuses a server that acknowledges before its disk has it, unless the operator promises otherwise', async () => {
    const file = await migrated()
    const { url } = await newServer()
    const options = { ...optionsOf(file, url), isSyncPromised: false }
    for (const attempt of [rehearseMove, moveData])
      expect(await refusal(attempt(options))).toMatch(
        /acknowledges commits before they are on disk .* DATABASE_SYNC=promised/,
      )
    expect(await onServer(url, (client) => client.execute('SELECT * FROM sqlite_master'))).toMatchObject({ rows: [] })
    expect(await start(file)).toBe('not refused')
  })

  test('refuses a place that somebody uses: a lock, a lease, a node that stands by', async () => {
    const file = await migrated()
    const server = await newServer()
    const lock = await lockDatabaseFile(file)
    expect(await refusal(move(file, server.url))).toContain('is in use by another gateway')
    lock.release()
    await move(file, server.url)
    const leases = new LibsqlLeases(placeOf(server.url))
    const node = { id: 'node_a', url: 'http://10.0.0.5:3000', version: '0', zones: null, skewMs: 0 }
    await leases.join(node, {})
    expect(await refusal(move(server.url, newFile()))).toContain('is in use by http://10.0.0.5:3000. Stop all nodes')
    const term = (await leases.take('main', node)) ?? 0
    await leases.leave(node.id)
    expect(await refusal(move(server.url, newFile()))).toContain('is in use by http://10.0.0.5:3000. Stop all nodes')
    expect(await refusal(rehearseMove(optionsOf(server.url, newFile())))).toContain('is in use by')
    await leases.release(node.id, { cell: 'main', term })
    // A node that starts meanwhile is refused with the reason, and so is a single process.
    const back = newFile()
    let said = ''
    await moveData({
      ...optionsOf(server.url, back),
      onProgress({ step, rows }) {
        if (step === 'comparing' && rows > 0) void refusal(leases.join(node, {})).then((told) => (said ||= told))
      },
    })
    expect(said).toContain('this data is being moved')
    const { leases: taken, nodes, secrets } = { leases: 0, nodes: 0, secrets: 0, ...(await countsOf(back)) }
    expect([taken, nodes, secrets]).toEqual([0, 0, 0])
    await leases.close()
  }, 60_000)

  test('an owner that came in between keeps its data: the move ends, and the copy stays closed', async () => {
    const file = await migrated()
    const server = await newServer()
    await move(file, server.url)
    const back = newFile()
    const { sql, args } = epochRaise(NOW + 1_000_000, null)
    let raised = Promise.resolve()
    const beaten = moveData({
      ...optionsOf(server.url, back),
      onProgress({ step }) {
        if (step === 'checking')
          raised = onServer(server.url, async (client) => void (await client.execute({ sql, args })))
      },
    })
    expect(await refusal(beaten)).toMatch(/could not be closed, so the copy was not opened: .*owner_epoch_is_current/)
    await raised
    expect(await start(back)).toContain('an unfinished copy of')
    expect((await readdir(join(back, '..'))).sort()).toContain('gateway.db')
  }, 60_000)
})

async function countsOf(file: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const table of ['leases', 'nodes', 'secrets'])
    counts[table] = Number((await executeOn(file, `SELECT count(*) AS n FROM ${table}`))[0]?.['n'])
  return counts
}
