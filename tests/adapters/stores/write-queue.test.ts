import { describe, expect, test } from 'bun:test'
import { type Connection, DatabaseError } from '../../../server/adapters/stores/libsql/driver/worker/worker-connection'
import type { ApplyRequest, WireResult } from '../../../server/adapters/stores/libsql/driver/worker-wire'
import { WriteQueue } from '../../../server/adapters/stores/libsql/driver/write-queue'

interface Sent {
  readonly sql: readonly string[]
  readonly args: readonly unknown[]
  /** Without the result of the fence, which returns what it wrote. */
  answer(results: readonly WireResult[] | Error): Promise<void>
}

const result = (name: string): WireResult => ({
  columns: [name],
  columnTypes: [''],
  rows: [],
  rowsAffected: 0,
  lastInsertRowid: undefined,
})
const statement = (sql: string) => [{ sql, args: [] }]

/** A queue whose connection the test answers by hand. */
function openQueue(epoch = 7) {
  const sent: Sent[] = []
  const applied: ApplyRequest[] = []
  const connection: Pick<Connection, 'send' | 'apply'> = {
    async apply(request) {
      applied.push(request)
      return { group: 30, end: 900, stuck: '0 0' }
    },
    send(request) {
      if (request.op !== 'batch') throw new Error(request.op)
      const { promise, resolve, reject } = Promise.withResolvers<readonly WireResult[]>()
      const statements = request.statements as { sql: string; args: unknown[] }[]
      sent.push({
        sql: statements.map(({ sql }) => sql),
        args: statements[0]?.args ?? [],
        async answer(results) {
          if (results instanceof Error) reject(results)
          else resolve([{ ...result('fence'), rows: [statements[0]?.args as WireResult['rows'][number]] }, ...results])
          await new Promise((settled) => setImmediate(settled))
        },
      })
      return promise
    },
  }
  return { queue: new WriteQueue(connection, epoch), sent, applied }
}

describe('the write queue', () => {
  test('runs one batch at a time', async () => {
    const { queue, sent } = openQueue()
    const both = Promise.all([queue.batch(statement('first')), queue.batch(statement('second'))])
    expect(sent).toHaveLength(1)
    await sent[0]?.answer([result('one')])
    expect(sent).toHaveLength(2)
    await sent[1]?.answer([result('two')])
    expect(await both).toEqual([[result('one')], [result('two')]])
  })

  test('runs ledger groups before waiting management changes', async () => {
    const { queue, sent } = openQueue()
    const all = [queue.batch(statement('a')), queue.batch(statement('b')), queue.group(1, statement('ledger'))]
    for (let i = 0; i < 3; i++) await sent[i]?.answer([])
    await Promise.all(all)
    expect(sent.map(({ sql }) => sql[1])).toEqual(['a', 'ledger', 'b'])
  })

  test('runs a waiting management change between two groups of one ledger', async () => {
    const { queue, sent } = openQueue()
    const ledger = (async () => {
      for (let number = 1; number <= 3; number++) await queue.group(number, statement(`group ${number}`))
    })()
    const change = queue.batch(statement('change'))
    for (let i = 0; i < 4; i++) await sent[i]?.answer([])
    await Promise.all([ledger, change])
    expect(sent.map(({ sql }) => sql[1])).toEqual(['group 1', 'change', 'group 2', 'group 3'])
  })

  test('asserts the epoch first in every batch, together with the number of a group', async () => {
    const { queue, sent, applied } = openQueue(41)
    void queue.batch(statement('change'))
    void queue.group(9, statement('ledger'))
    await sent[0]?.answer([])
    expect(sent[0]?.sql[0]).toContain('UPDATE owner SET asserted = ? WHERE')
    expect(sent[0]?.args).toEqual([41])
    expect(sent[1]?.sql[0]).toContain('UPDATE owner SET asserted = ?, last_group = ? WHERE')
    expect(sent[1]?.args).toEqual([41, 9])
    await sent[1]?.answer([])
    const log = { path: 'gateway.db.log', from: 0, to: 900 }
    expect(await queue.apply({ log, maxRecords: 512, maxBytes: 1024, bestEffort: null })).toMatchObject({
      group: 30,
      end: 900,
    })
    expect(applied).toEqual([{ epoch: 41, log, maxRecords: 512, maxBytes: 1024, bestEffort: null }])
  })

  test('continues after a failed batch', async () => {
    const { queue, sent } = openQueue()
    const failed = queue.batch(statement('bad')).catch((error: Error) => error.message)
    const next = queue.batch(statement('good'))
    await sent[0]?.answer(new DatabaseError({ message: 'no', code: 'SQLITE_FULL' }))
    await sent[1]?.answer([result('good')])
    expect(await failed).toBe('no')
    expect(await next).toEqual([result('good')])
  })

  test('goes on after a write of unknown outcome only once that cannot be committed any more', async () => {
    const { queue, sent } = openQueue()
    const lost = queue.batch(statement('lost')).catch((error: Error) => error.message)
    const next = queue.batch(statement('next')).catch((error: Error) => error.message)
    const after = queue.batch(statement('after'))
    await sent[0]?.answer(new Error('no answer'))
    expect(sent[1]?.sql[0]).toContain('UPDATE owner SET epoch = ?')
    await sent[1]?.answer(new Error('still none'))
    expect([await lost, await next]).toEqual(['no answer', 'still none'])
    const [raised] = sent[2]?.args ?? []
    await sent[2]?.answer([{ ...result('epoch'), rows: [[raised as number, 0]] }])
    expect(sent[3]).toMatchObject({ sql: [expect.any(String), 'after'], args: [raised] })
    await sent[3]?.answer([result('after')])
    expect(await after).toEqual([result('after')])
    await queue.settled()
    expect(sent).toHaveLength(4)
  })

  test('is drained when everything that was submitted has ended', async () => {
    const { queue, sent } = openQueue()
    await queue.drained()
    const ended: string[] = []
    void queue.batch(statement('a')).then(() => ended.push('a'))
    void queue.batch(statement('b')).then(() => ended.push('b'))
    const drained = queue.drained().then(() => ended.push('drained'))
    await sent[0]?.answer([])
    await sent[1]?.answer([])
    await drained
    expect(ended).toEqual(['a', 'b', 'drained'])
  })
})
