import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createClient } from '@libsql/client'
import { KeptStream } from '../../../server/adapters/stores/libsql/driver/network/kept-stream'
import { NetworkDatabase } from '../../../server/adapters/stores/libsql/driver/network/network-database'
import { hasSqld, openSqld } from '../../support/sqld'

describe.skipIf(!hasSqld)('a connection that only reads', () => {
  let database: Awaited<ReturnType<typeof openSqld>>
  beforeAll(async () => {
    database = await openSqld()
  })
  afterAll(() => database.close())

  /** A client over a kept stream, what it sent, and the time of the stream. */
  function kept() {
    const sent: { baton?: string; requests: { type: string }[] }[] = []
    const time = { now: 0 }
    const stream = new KeptStream(
      async (request) => {
        sent.push(await request.clone().json())
        return fetch(request)
      },
      () => time.now,
    )
    return { client: createClient({ url: database.url, fetch: stream.fetch }), sent, time, stream }
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
    const reader = new NetworkDatabase({ url: database.url, authToken: null, role: 'reader' })
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

  test('lets statements that come together have streams of their own', async () => {
    const { client, sent } = kept()
    const all = await Promise.all([1, 2, 3].map((n) => client.execute(`SELECT ${n} AS n`)))
    expect(all.map(({ rows }) => rows[0]?.['n'])).toEqual([1, 2, 3])
    expect(types(sent).toSorted()).toEqual(['false,execute', 'false,execute,close', 'false,execute,close'])
  })
})

test('a server that sends streams to another address gets whole requests from then on', async () => {
  const sent: string[] = []
  const result = { cols: [], rows: [], affected_row_count: 0, last_insert_rowid: null }
  const stream = new KeptStream(
    async (request) => {
      const { requests } = (await request.json()) as { requests: { type: string }[] }
      sent.push(requests.map(({ type }) => type).join())
      const results = requests.map(({ type }) => ({
        type: 'ok',
        response: type === 'close' ? { type } : { type, result },
      }))
      return Response.json({ baton: requests.length > 1 ? null : 'b', base_url: 'http://elsewhere.test', results })
    },
    () => 0,
  )
  const client = createClient({ url: 'http://database.test', fetch: stream.fetch })
  await client.execute('SELECT 1')
  await client.execute('SELECT 1')
  expect(sent).toEqual(['execute', 'execute,close'])
})
