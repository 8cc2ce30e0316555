import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { LibsqlLeases } from '../../../server/adapters/stores/libsql/cluster/lease-store'
import { WriteLock } from '../../../server/adapters/stores/libsql/cluster/write-lock'
import { hasSqld, openSqld } from '../../support/databases/sqld'
import { gate } from './faulty-writes'

describe('the writes of a node to the control database', () => {
  test('go one at a time, in the order in which they were asked for, and one that fails holds nobody up', async () => {
    const lock = new WriteLock(60_000)
    const events: string[] = []
    const slow = gate()
    const write = (name: string, send: () => Promise<unknown> = async () => undefined) =>
      lock.take(async () => {
        events.push(`${name} begins`)
        await send()
        events.push(`${name} ends`)
      })
    const all = [
      write('one', () => slow.opened),
      write('two', () => Promise.reject(new Error('no'))).catch(() => events.push('two failed')),
      write('three'),
    ]
    expect(events).toEqual([])
    slow.open()
    await Promise.all(all)
    expect(events).toEqual(['one begins', 'one ends', 'two begins', 'two failed', 'three begins', 'three ends'])
  })

  test('that get no turn in time are given up without being sent; those after them are not', async () => {
    const lock = new WriteLock(20)
    const slow = gate()
    const first = lock.take(() => slow.opened)
    let sent = 0
    await expect(lock.take(async () => sent++)).rejects.toThrow('the writes before it took too long')
    slow.open()
    await first
    await lock.take(async () => sent++)
    expect(sent).toBe(1)
  })
})

describe.skipIf(!hasSqld)('the writes of a node about leases and nodes', () => {
  let database: Awaited<ReturnType<typeof openSqld>>
  let wire: ReturnType<typeof Bun.serve>
  let [inside, most] = [0, 0]
  beforeAll(async () => {
    database = await openSqld()
    // In front of the server: counts the requests that are there at once and write.
    wire = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const body = await request.text()
        const writes = body.includes('BEGIN IMMEDIATE')
        if (writes) most = Math.max(most, ++inside)
        const { pathname } = new URL(request.url)
        const answer = await fetch(database.url + pathname, { method: request.method, ...(body && { body }) })
        const text = await answer.text()
        if (writes) inside--
        return new Response(text, { status: answer.status, headers: { 'content-type': 'application/json' } })
      },
    })
  })
  afterAll(async () => {
    await wire.stop(true)
    await database.close()
  })

  test('reach the server one at a time, however many are asked for at once', async () => {
    const leases = new LibsqlLeases({ url: `http://127.0.0.1:${wire.port}`, authToken: null })
    const node = { id: 'node_a', url: 'http://127.0.0.1:1', version: '0.2.0', zones: null, skewMs: 0 }
    await leases.join(node, {})
    const term = (await leases.take('main', node)) ?? 0
    const many = Array.from({ length: 20 }, (_, i) =>
      i % 2 ? leases.beat(node) : leases.renew(node.id, [{ cell: 'main', term }]),
    )
    await Promise.all(many)
    expect((await leases.look()).owners.get('main')).toMatchObject({ nodeId: node.id, term })
    expect(most).toBe(1)
    await leases.close()
  })
})
