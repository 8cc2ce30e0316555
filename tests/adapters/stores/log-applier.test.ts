import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Connection } from '../../../server/adapters/stores/libsql/driver/worker/worker-connection'
import type { Applied } from '../../../server/adapters/stores/libsql/driver/worker-wire'
import { WriteQueue } from '../../../server/adapters/stores/libsql/driver/write-queue'
import { LogApplier } from '../../../server/adapters/stores/libsql/journal/log-applier'
import { encodeLine } from '../../../server/adapters/stores/libsql/journal/log-format'
import type { JournalRecord } from '../../../server/core/ledger/journal'
import {
  apiKey,
  audit,
  call,
  charge,
  keptAnswer,
  openTestStores,
  raiseEpoch,
  requestId,
  type TestStores,
} from '../../support/ledger-parts'
import { until } from '../../support/until'
import { gate, ioError } from './faulty-writes'

let stores: TestStores
let writer: Connection
let applier: LogApplier
let batches: number
let fatal: string[]
let damage: string[]
let trouble: string[]
let faults: { before: () => Promise<void> | void; after: () => Promise<void> | void }
let added: number
let stuck: number
let log: string

/**
 * An applier on the tables and the log of a real file, with the test on both sides of each batch. It acts when it is asked
 * only. The log is one of its own, separate from that of the stores, without another writer.
 */
beforeEach(async () => {
  stores = await openTestStores()
  writer = await Connection.open({ role: 'writer', url: `file:${stores.file}`, authToken: null }, () => undefined)
  const queue = new WriteQueue(writer, await number('SELECT epoch FROM owner'))
  ;[batches, fatal, damage, trouble, added, stuck, log] = [0, [], [], [], 0, 0, join(stores.folder, 'own.log')]
  writeFileSync(log, '')
  faults = { before: () => undefined, after: () => undefined }
  applier = new LogApplier({
    log,
    writes: {
      async apply(request): Promise<Applied> {
        batches++
        await faults.before()
        const applied = await queue.apply(request)
        await faults.after()
        return applied
      },
    },
    lastApplied: 0,
    stuck: '0 0',
    onStuck: () => stuck++,
    onFatal: (reason) => fatal.push(reason),
    onDamage: (reason) => damage.push(reason),
    onTrouble: (what, reason) => trouble.push(`${what}: ${reason}`),
    delayMs: 3_600_000,
  })
})
afterEach(async () => {
  applier.stop()
  await writer.close()
  await stores.close()
})

const number = async (sql: string) =>
  Number(
    (await writer.send({ op: 'batch', mode: 'read', statements: [{ sql, args: [] }] }))[0]?.rows[0]?.[0] ?? Number.NaN,
  )
const charges = () => number("SELECT count(*) FROM entries WHERE kind = 'charge'")
/** As the log's writer does: the line is in the file before the applier hears of it. */
const add = (...records: JournalRecord[]) => {
  const payload = JSON.stringify(records)
  const line = encodeLine({ number: ++added, payload })
  appendFileSync(log, line)
  applier.add({ number: added, payload, records: records.length, bytes: line.length })
}
const errorOf = (act: Promise<void>) =>
  act.then(
    () => null,
    (error: Error) => error.message,
  )
const logged = () => readFileSync(log).length

describe('the log applier', () => {
  test('applies many groups in one batch, with the number of the last one', async () => {
    const account = await stores.account(1000)
    for (let i = 0; i < 50; i++) add(charge(account, 5), charge(account, 5))
    expect(applier.unappliedBytes).toBe(logged())
    await applier.applied()
    expect([batches, await charges(), await number('SELECT applied_group FROM owner')]).toEqual([1, 100, 50])
    expect(await number(`SELECT credit FROM accounts WHERE id = '${account}'`)).toBe(500)
    expect([applier.lastApplied, applier.unappliedBytes]).toEqual([50, 0])
  })

  test('notifies those waiting at the end of each batch, however much is left', async () => {
    const account = await stores.account(1_000_000)
    for (let i = 0; i < 4; i++) add(...Array.from({ length: 1000 }, () => charge(account, 1)))
    await applier.step()
    expect(applier.lastApplied).toBe(1)
    await applier.applied()
    await applier.step()
    expect(await charges()).toBe(4000)
  })

  test('leaves the database alone when nothing is pending', async () => {
    await applier.applied()
    expect(batches).toBe(0)
  })

  test('starts without a reader when much is pending, and splits what is too much for one batch', async () => {
    const account = await stores.account(1_000_000)
    for (let i = 0; i < 10; i++) add(...Array.from({ length: 1000 }, () => charge(account, 1)))
    await applier.applied()
    expect(await charges()).toBe(10_000)
    expect(batches).toBe(10)
  })

  test('gives each reader what was written before it asked, however many ask at once', async () => {
    const account = await stores.account(1000)
    const slow = gate()
    faults.before = () => slow.opened
    add(charge(account, 5))
    const first = applier.applied()
    await until(() => batches > 0)
    add(charge(account, 5))
    const seen = [1, 2, 3].map(() => applier.applied().then(charges))
    slow.open()
    await first
    expect(await Promise.all(seen)).toEqual([2, 2, 2])
    expect(batches).toBe(2)
  })

  test('gives the same result for a charge and its reversal, together or apart', async () => {
    const account = await stores.account(1000)
    const record = charge(account, 30)
    const [entry] = record.entries
    if (!entry || !record.call) throw new Error('a charge has an entry and a call')
    add(record)
    add({
      undoes: record.call,
      entries: [{ ...entry, kind: 'reversal', debit: entry.credit, credit: entry.debit }],
      change: { accountId: account, credit: 30, paid: 0, toppedUp: 0 },
    })
    await applier.applied()
    expect(await number(`SELECT status FROM requests WHERE id = '${record.call.id}'`)).toBe(503)
    expect(await number(`SELECT credit FROM accounts WHERE id = '${account}'`)).toBe(1000)
  })
})

describe('a database that refuses writes', () => {
  test('is reported to the reader and retried; nothing is lost and nothing is applied twice', async () => {
    const account = await stores.account(1000)
    faults.before = () => Promise.reject(ioError())
    add(charge(account, 5))
    await expect(applier.applied()).rejects.toThrow('disk I/O error')
    add(charge(account, 5))
    expect([applier.isBehind, applier.unappliedBytes, trouble]).toEqual([true, logged(), ['apply: disk I/O error']])
    faults.before = () => undefined
    await applier.applied()
    expect([await charges(), applier.isBehind, applier.unappliedBytes]).toEqual([2, false, 0])
  })

  test('that committed and then failed has the batch once', async () => {
    const account = await stores.account(1000)
    faults.after = () => Promise.reject(ioError())
    add(charge(account, 5))
    await expect(applier.applied()).rejects.toThrow('disk I/O error')
    faults.after = () => undefined
    add(charge(account, 5))
    await applier.applied()
    expect([await charges(), batches, fatal]).toEqual([2, 2, []])
  })

  test('because another process owns it ends this one', async () => {
    const account = await stores.account(1000)
    faults.after = () => Promise.reject(ioError())
    add(charge(account, 5))
    await expect(applier.applied()).rejects.toThrow()
    faults.after = () => undefined
    await raiseEpoch(stores.file)
    await expect(applier.applied()).rejects.toThrow('owner_epoch_is_current')
    expect([await charges(), fatal]).toEqual([1, ['another process owns the database now']])
  })
})

describe('the log it reads', () => {
  test('is read from its start after it was emptied', async () => {
    const account = await stores.account(1000)
    for (let life = 0; life < 3; life++) {
      add(charge(account, 5))
      add(charge(account, 5))
      await applier.applied()
      expect(await charges()).toBe(2 * (life + 1))
      writeFileSync(log, '')
      applier.emptied()
    }
    expect([await number('SELECT applied_group FROM owner'), fatal]).toEqual([6, []])
  })

  test('may be emptied while a batch still writes notes: what was applied is not read again', async () => {
    const account = await stores.account(1000)
    const upstream = { provider: 'double', waitingMs: 1, upstreamMs: 1 }
    for (let i = 0; i < 1500; i++) applier.note(call(account, null, { upstream }))
    for (let i = 0; i < 3; i++) add(charge(account, 5))
    faults.before = () => {
      if (batches !== 2) return
      expect(applier.lastApplied).toBe(added)
      writeFileSync(log, '')
      applier.emptied()
    }
    await applier.applied()
    expect(batches).toBe(3)
    add(charge(account, 5))
    await applier.applied()
    expect([fatal, await charges(), applier.lastApplied, applier.unappliedBytes]).toEqual([[], 4, 4, 0])
    expect(await number('SELECT count(*) FROM requests')).toBe(1504)
  })

  test('may have a group larger than one read', async () => {
    const account = await stores.account(1_000_000)
    add(...Array.from({ length: 10 }, (_, i) => ({ ...charge(account, 5), kept: keptAnswer(account, i, 200_000) })))
    add(charge(account, 5))
    await applier.applied()
    expect([await charges(), await number('SELECT sum(length(body)) FROM kept_answers')]).toEqual([11, 2_000_000])
    // More than 1 MiB is a batch of its own.
    expect(batches).toBe(2)
  })

  test('is damaged once it cannot be read: the tables get nothing from it, and everything from memory', async () => {
    const account = await stores.account(1000)
    add(charge(account, 5))
    add(charge(account, 5))
    const bytes = readFileSync(log)
    bytes[bytes.length - 20] = 0
    writeFileSync(log, bytes)
    await expect(applier.applied()).rejects.toThrow('has no good line at byte')
    expect(damage).toEqual([
      expect.stringMatching(/^[^\n]+ has no good line at byte \d+, though it was written there$/),
    ])
    expect(await charges()).toBe(0)
    await applier.rescue()
    expect([await charges(), await number('SELECT applied_group FROM owner')]).toEqual([2, 2])
  })

  test('is never skipped over: a missing group is damage', async () => {
    const account = await stores.account(1000)
    added = 1
    add(charge(account, 5))
    await expect(applier.applied()).rejects.toThrow('has no good line at byte 0')
    expect([await charges(), damage.length]).toEqual([0, 1])
    expect(await errorOf(applier.rescue())).toBe('group 1 is in memory no more')
    expect(await charges()).toBe(0)
  })

  test('may be damaged after what the tables have: a rescue adds only what they lack', async () => {
    const account = await stores.account(1000)
    add(charge(account, 5))
    await applier.applied()
    add(charge(account, 5))
    faults.after = () => Promise.reject(ioError()) // committed, and the answer was lost
    expect(await errorOf(applier.applied())).not.toBeNull()
    faults.after = () => undefined
    add(charge(account, 5))
    writeFileSync(log, '')
    await applier.rescue()
    expect([await charges(), applier.lastApplied]).toEqual([3, 3])
  })
})

test('with an acknowledged charge that breaks a rule puts it aside, and applies the others, in its batch and later', async () => {
  const account = await stores.account(10)
  add(charge(account, 5))
  add(charge(account, 50))
  applier.note(call(account, null))
  await applier.applied()
  expect([await charges(), await number('SELECT count(*) FROM stuck_records'), stuck, fatal]).toEqual([1, 1, 1, []])
  add(charge(account, 5))
  await applier.applied()
  expect([await charges(), stuck, applier.unappliedBytes, applier.droppedNotes]).toEqual([2, 1, 0, 0])
})

describe('notes', () => {
  test('that break a rule cost no charge, no other note and no last use', async () => {
    const account = await stores.account(1000)
    const key = apiKey(account)
    await stores.credentials.create(key, { limit: null, budgets: [] }, audit())
    const id = requestId()
    for (const note of [call(account, null, { id }), call(account, null, { id }), call(account, null)])
      applier.note(note)
    applier.touch(key.id, 1234)
    add(charge(account, 5))
    await applier.applied()
    expect([await charges(), await number('SELECT count(*) FROM requests'), applier.droppedNotes]).toEqual([1, 3, 1])
    expect(await number(`SELECT last_used_at FROM keys WHERE id = '${key.id}'`)).toBe(1234)
    expect(fatal).toEqual([])
  })

  test('of a batch that was not written are dropped and counted', async () => {
    const account = await stores.account(1000)
    faults.before = () => Promise.reject(ioError())
    applier.note(call(account, null))
    await applier.applied()
    expect(applier.droppedNotes).toBe(1)
  })
})
