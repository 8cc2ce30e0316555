import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createClient } from '@libsql/client'
import { KeptStream } from '../../../server/adapters/stores/libsql/driver/network/kept-stream'
import { NetworkDatabase } from '../../../server/adapters/stores/libsql/driver/network/network-database'
import { hasSqld, openSqld } from '../../support/databases/sqld'

describe.skipIf(!hasSqld)('the connections to a libSQL server', () => {
  let database: Awaited<ReturnType<typeof openSqld>>
  beforeAll(async () => {
    database = await openSqld()
  })
  afterAll(() => database.close())

  /** A client over a kept stream, what it sent, and the time of the stream. */
  function kept() {
    const sent: { baton?: string; requests: { type: string }[] }[] = []
    /** The name of the stream in the last answer, by which the next request goes on with it. */
    const last = { baton: '' }
    const time = { now: 0 }
    const stream = new KeptStream(
      async (request) => {
        sent.push(await request.clone().json())
        const answer = await fetch(request)
        last.baton = /"baton":"([^"]+)"/.exec(await answer.clone().text())?.[1] ?? ''
        return answer
      },
      () => time.now,
    )
    return { client: createClient({ url: database.url, fetch: stream.fetch }), sent, last, time }
  }
  const types = (sent: ReturnType<typeof kept>['sent']) =>
    sent.map(({ baton, requests }) => [baton !== undefined, ...requests.map(({ type }) => type)].join())

  test('uses one stream for its statements one after the other, and each sees what was committed before it', async () => {
    const { client, sent } = kept()
    const writer = createClient({ url: database.url })
    await writer.execute('CREATE TABLE seen (n integer)')
    for (const n of [1, 2, 3]) {
      await writer.execute({ sql: 'INSERT INTO seen VALUES (?)', args: [n] })
      const { rows } = await client.execute('SELECT count(*) AS count FROM seen')
      expect(rows[0]?.['count']).toBe(n)
    }
    expect((await client.execute("SELECT 'a\"]}' AS text")).rows[0]?.['text']).toBe('a"]}')
    expect(types(sent)).toEqual(['false,execute', 'true,execute', 'true,execute', 'true,execute'])
    writer.close()
  })

  test('goes on after a statement that fails, and after a batch that does', async () => {
    const reader = new NetworkDatabase({ url: database.url, authToken: null })
    const rows = async (...sql: string[]) => (await reader.batch(sql, 'read')).map(({ rows: all }) => all)
    await expect(rows('SELECT no_column')).rejects.toThrow('no_column')
    await expect(rows('SELECT 1', 'SELECT no_column')).rejects.toThrow('no_column')
    for (const _ of [1, 2]) expect(await rows('SELECT 1', 'SELECT 2')).toEqual([[[1]], [[2]]])
    expect(await rows('SELECT 1')).toEqual([[[1]]])
    reader.close()
  })

  test('begins another stream after 5 s of silence, and closes one that is a minute old', async () => {
    const { client, sent, time } = kept()
    for (const now of [0, 6_000, ...Array.from({ length: 17 }, (_, i) => 10_000 + i * 4_000)]) {
      time.now = now
      await client.execute('SELECT 1')
    }
    expect(types(sent).slice(0, 3)).toEqual(['false,execute', 'false,execute', 'true,execute'])
    expect(types(sent).slice(-3)).toEqual(['true,execute', 'true,execute,close', 'false,execute'])
  })

  test('repeats a read whose stream the server does not know any more', async () => {
    const { client, sent } = kept()
    await client.execute('SELECT 1')
    await database.kill()
    await database.start()
    expect((await client.execute('SELECT 2 AS two')).rows[0]?.['two']).toBe(2)
    expect(types(sent)).toEqual(['false,execute', 'true,execute', 'false,execute'])
  })

  test('commits in the same stream, whatever its statements say, and reads what others committed since', async () => {
    const { client, sent } = kept()
    const other = createClient({ url: database.url })
    await other.execute('CREATE TABLE booked (n integer, text text)')
    for (const [n, text] of [
      [1, '"step_errors":[{'],
      [2, '],"type":"close_sql"}]}'],
      [3, ''],
    ] as const) {
      const results = await client.batch(
        [
          { sql: 'INSERT INTO booked VALUES (?, ?)', args: [n, text] },
          { sql: `INSERT INTO booked VALUES (-?, '{"\\ "}')`, args: [n] },
          'SELECT text FROM booked WHERE n > 0 ORDER BY n DESC LIMIT 1',
          'SELECT count(*) AS count FROM booked',
        ],
        'write',
      )
      expect([results[2]?.rows[0]?.['text'], results[3]?.rows[0]?.['count']]).toEqual([text, 3 * n - 1])
      await other.execute('INSERT INTO booked VALUES (0, NULL)')
    }
    const one = 'store_sql,store_sql,store_sql,store_sql,batch,close_sql,close_sql,close_sql,close_sql'
    expect(types(sent)).toEqual([`false,${one}`, `true,${one}`, `true,${one}`])
    other.close()
  })

  test('closes a stream in which a statement of a batch failed, and nothing of the batch stays', async () => {
    const { client, sent } = kept()
    await client.execute('CREATE TABLE alone (n integer UNIQUE)')
    const twice = ['INSERT INTO alone VALUES (1)', 'INSERT INTO alone VALUES (1)', 'INSERT INTO alone VALUES (2)']
    await expect(client.batch(twice, 'write')).rejects.toThrow('UNIQUE')
    expect(types(sent).slice(1)).toEqual(['true,store_sql,store_sql,batch,close_sql,close_sql', 'true,close'])
    expect((await client.execute('SELECT * FROM alone')).rows).toHaveLength(0)
    expect(types(sent).at(-1)).toBe('false,execute')
  })

  test('closes a stream in which a batch failed as a whole: no other waits for its lock, and no later read is old', async () => {
    const { client } = kept()
    const other = createClient({ url: database.url })
    await client.execute('CREATE TABLE held (n integer)')
    // More than the server puts into an answer.
    const big =
      'WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 12) SELECT hex(zeroblob(600000)) FROM c'
    for (const mode of ['write', 'read'] as const) {
      const first = mode === 'write' ? 'INSERT INTO held VALUES (77)' : 'SELECT count(*) FROM held'
      await expect(client.batch([first, big], mode)).rejects.toThrow('RESPONSE_TOO_LARGE')
      await other.batch(['INSERT INTO held VALUES (1)', 'INSERT INTO held VALUES (2)'], 'write')
      await client.batch(['INSERT INTO held VALUES (3)', 'INSERT INTO held VALUES (4)'], 'write')
      await other.execute('INSERT INTO held VALUES (5)')
    }
    expect((await client.execute('SELECT count(*) AS count, max(n) AS max FROM held')).rows[0]).toMatchObject({
      count: 10,
      max: 5,
    })
    other.close()
  })

  test('repeats a commit only if the server ran nothing of it', async () => {
    const { client, sent, last } = kept()
    await client.execute('CREATE TABLE once (n integer)')
    await database.kill()
    await database.start()
    const booked = ['INSERT INTO once VALUES (1)', 'INSERT INTO once VALUES (2)']
    await client.batch(booked, 'write')
    expect((await client.execute('SELECT count(*) AS count FROM once')).rows[0]?.['count']).toBe(2)
    // Whether a request with this name ran is not known: somebody had it.
    await fetch(`${database.url}/v2/pipeline`, {
      method: 'POST',
      body: JSON.stringify({ baton: last.baton, requests: [] }),
    })
    const before = sent.length
    await expect(client.batch(booked, 'write')).rejects.toThrow('400')
    expect(sent).toHaveLength(before + 1)
  })

  test('lets statements that come together have streams of their own', async () => {
    const { client, sent } = kept()
    const all = await Promise.all([1, 2, 3].map((n) => client.execute(`SELECT ${n} AS n`)))
    expect(all.map(({ rows }) => rows[0]?.['n'])).toEqual([1, 2, 3])
    expect(types(sent).toSorted()).toEqual(['false,execute', 'false,execute,close', 'false,execute,close'])
  })
})

/** A client over a kept stream to a server that `answer`s by itself, or otherwise as one whose streams are at `base_url`; and what it was sent. */
function keptTo({
  baseUrl = null as string | null,
  answer = (_baton: string | null): Response | Promise<Response> | null => null,
}) {
  const sent: string[] = []
  const time = { now: 0 }
  const result = { cols: [], rows: [], affected_row_count: 0, last_insert_rowid: null }
  const stream = new KeptStream(
    async (request) => {
      const { baton, requests } = (await request.json()) as { baton?: string; requests: { type: string }[] }
      sent.push(requests.map(({ type }) => type).join())
      const results = requests.map(({ type }) => ({
        type: 'ok',
        response: type === 'close' ? { type } : { type, result },
      }))
      return (
        answer(baton ?? null) ?? Response.json({ baton: requests.length > 1 ? null : 'b', base_url: baseUrl, results })
      )
    },
    () => time.now,
  )
  return { client: createClient({ url: 'http://database.test', fetch: stream.fetch }), sent, time }
}

test('a server that lost a stream and does not say so as sqld does gets whole requests for a minute', async () => {
  const answer = (baton: string | null) => (baton === null ? null : new Response('stream not found', { status: 404 }))
  const { client, sent } = keptTo({ answer })
  await client.execute('SELECT 1')
  // Whether it ran is the caller's question.
  await expect(client.execute('SELECT 1')).rejects.toThrow('404')
  for (const _ of [1, 2]) await client.execute('SELECT 1')
  expect(sent).toEqual(['execute', 'execute', 'execute,close', 'execute,close'])
})

test('a batch that failed is answered at once, whether or not the server closes its stream', async () => {
  const error = { message: 'too large', code: 'RESPONSE_TOO_LARGE' }
  const ok = (type: string) => ({ type: 'ok', response: { type } })
  const results = [ok('store_sql'), ok('store_sql'), { type: 'error', error }, ok('close_sql'), ok('close_sql')]
  const answer = (baton: string | null) =>
    baton === null ? Response.json({ baton: 'b', base_url: null, results }) : new Promise<Response>(() => undefined)
  const { client, sent } = keptTo({ answer })
  await expect(client.batch(['SELECT 1', 'SELECT 2'], 'write')).rejects.toThrow('too large')
  expect(sent.at(-1)).toBe('close')
})

test('a server that sends streams to another address gets whole requests for a minute', async () => {
  const { client, sent } = keptTo({ baseUrl: 'http://elsewhere.test' })
  await client.execute('SELECT 1')
  await client.execute('SELECT 1')
  expect(sent).toEqual(['execute', 'execute,close'])
})

test.each([
  ['one 404', () => new Response('not found', { status: 404 })],
  ['one HTML page with status 200', () => new Response('<html>', { headers: { 'content-type': 'text/html' } })],
])('after %s, as of a proxy, streams are kept again a minute later', async (_what, page) => {
  let isPage = false
  const { client, sent, time } = keptTo({ answer: () => (isPage ? page() : null) })
  await client.execute('SELECT 1')
  isPage = true
  await expect(client.execute('SELECT 1')).rejects.toThrow()
  isPage = false
  for (const now of [0, 59_999, 60_000, 60_001]) {
    time.now = now
    await client.execute('SELECT 1')
  }
  expect(sent.slice(2)).toEqual(['execute,close', 'execute,close', 'execute', 'execute'])
})
