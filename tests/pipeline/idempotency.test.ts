import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { MAX_STORED_BYTES } from '../../server/core/idempotency/idempotency-record'
import { appended, type GroupFate, type Journal } from '../../server/core/ledger/journal'
import { Ledger } from '../../server/core/ledger/ledger'
import { micros, ZERO } from '../../server/core/money'
import { Idempotency } from '../../server/pipeline/idempotency/idempotency'
import { accountId, call, charge, NOON, openTestStores, requestId, type TestStores } from '../support/ledger-parts'
import { until } from '../support/until'

let stores: TestStores
const account = accountId()
const clock = { now: () => NOON }
const asked = (key: string, effect: 'read' | 'write' = 'write', fingerprint = 'a request') => ({
  account,
  operation: 'post-social',
  key,
  fingerprint,
  requestId: requestId(),
  effect,
})
/** The ledger of a process that has just opened the accounts. */
const openLedger = (journal: Journal = stores.journal) =>
  new Ledger({ holds: stores.holds, journal, bookings: stores.bookings, clock, onReversalFailure: () => undefined })
/** The turns of a process that has just started. */
const idempotency = (ledger = openLedger()) => new Idempotency(stores.idempotencyRecords, clock, ledger)
async function first(key: string, effect?: 'read' | 'write') {
  const turn = await idempotency().use(asked(key, effect))
  if (!turn.ok || turn.value.kind !== 'first') throw new Error('it was there before')
  return turn.value.first
}
const verdict = async (key: string, effect?: 'read' | 'write') => {
  const turn = await idempotency().use(asked(key, effect))
  return turn.ok ? turn.value.kind : turn.error.code
}

beforeAll(async () => {
  stores = await openTestStores()
})
afterAll(() => stores.close())

describe('a write under an Idempotency-Key (spec D5)', () => {
  test('is reserved durably before its upstream is called: after a crash its repeat is outcome_unknown, never a second send', async () => {
    await first('crash')
    expect(await verdict('crash')).toBe('outcome_unknown')
  })

  test('that certainly did nothing frees its key', async () => {
    await (await first('refused')).end('nothing')
    expect(await verdict('refused')).toBe('first')
  })

  test('that ends twice hands over once: only one waiting request runs', async () => {
    const one = idempotency()
    const begun = async () => {
      const turn = await one.use(asked('twice', 'read'))
      if (!turn.ok || turn.value.kind !== 'first') throw new Error('it was there before')
      return turn.value.first
    }
    const before = await begun()
    const waited = begun()
    await before.end('nothing')
    const after = await waited
    await before.end('unknown')
    let isSecond = false
    const third = begun().then((turn) => {
      isSecond = true
      return turn
    })
    await stores.idempotencyRecords.find(asked('twice'), NOON)
    expect(isSecond).toBe(false)
    await after.end('nothing')
    await (await third).end('nothing')
  })

  test('that failed lets one of two waiting requests run; the other keeps waiting and runs after it', async () => {
    const one = idempotency()
    let working = 0
    const order: string[] = []
    const worker = async (name: string) => {
      const turn = await one.use(asked('crowd', 'read'))
      if (!turn.ok || turn.value.kind !== 'first') throw new Error('it was there before')
      expect(++working).toBe(1)
      order.push(name)
      // So long that every other admitted caller has begun by now.
      for (let i = 0; i < 5; i++) await stores.idempotencyRecords.find(asked('crowd'), NOON)
      working--
      await turn.value.first.end('nothing')
    }
    const workers = ['failed', 'waits', 'waits too'].map(worker)
    await Promise.all(workers)
    expect(order).toEqual(['failed', 'waits', 'waits too'])
  })

  test('with an unknown outcome keeps its key', async () => {
    await (await first('timeout')).end('unknown')
    expect(await verdict('timeout')).toBe('outcome_unknown')
  })

  test('that was charged is answered again from the record in the commit of its charge', async () => {
    const owner = await stores.account()
    const turn = await first('done')
    const record = call(owner, 5000)
    const kept = turn.answer('{"data":1}', { 'x-a': 'b' })
    expect((await appended(stores.journal, { ...charge(owner, 5000, { call: record }), kept })).kind).toBe('committed')
    await turn.end('done')
    const again = await idempotency().use(asked('done'))
    expect(again).toEqual({ ok: true, value: { kind: 'repeat', body: '{"data":1}', headers: { 'x-a': 'b' } } })
  })

  test('whose charge was undone is not answered from it', async () => {
    const owner = await stores.account()
    const record = call(owner, 5000)
    const turn = await idempotency().use({ ...asked('undone', 'read'), requestId: record.id })
    if (!turn.ok || turn.value.kind !== 'first') throw new Error('it was there before')
    const kept = turn.value.first.answer('{}', {})
    await appended(stores.journal, { ...charge(owner, 5000, { call: record }), kept })
    const { entries } = charge(owner, 5000, { call: record })
    const back = entries.map((entry) => ({
      ...entry,
      kind: 'reversal' as const,
      debit: entry.credit,
      credit: entry.debit,
    }))
    const change = { accountId: owner, credit: 5000, paid: 0, toppedUp: 0 }
    await appended(stores.journal, { undoes: record, entries: back, change })
    await turn.value.first.end('unknown')
    expect(await verdict('undone', 'read')).toBe('first')
  })
})

describe('another request under a key', () => {
  const other = async (key: string) => {
    const turn = await idempotency().use(asked(key, 'write', 'another request'))
    return turn.ok ? turn.value.kind : turn.error.code
  }

  test('whose first is reserved, and may still run, is 409 idempotency_conflict', async () => {
    await first('held')
    expect(await other('held')).toBe('idempotency_conflict')
  })

  test.each(['cut', 'too_large', 'kept'] as const)('whose first is %s is 409 idempotency_conflict', async (state) => {
    const owner = await stores.account()
    const turn = await first(`was ${state}`)
    const answers = {
      cut: () => turn.cut(),
      too_large: () => turn.answer('x'.repeat(MAX_STORED_BYTES + 1), {}),
      kept: () => turn.answer('{}', {}),
    }
    const kept = answers[state]()
    expect(kept.state).toBe(state)
    const record = call(owner, 5000)
    expect((await appended(stores.journal, { ...charge(owner, 5000, { call: record }), kept })).kind).toBe('committed')
    await turn.end('done')
    expect(await other(`was ${state}`)).toBe('idempotency_conflict')
  })
})

describe('a read', () => {
  test('reserves nothing: after a crash it runs again', async () => {
    await first('read', 'read')
    expect(await verdict('read', 'read')).toBe('first')
  })
})

test('of many concurrent writes with one key exactly one is first, even on two processes', async () => {
  const turns = await Promise.all(Array.from({ length: 6 }, () => verdict('many')))
  expect(turns.filter((kind) => kind === 'first')).toHaveLength(1)
  expect(turns.filter((kind) => kind === 'outcome_unknown')).toHaveLength(5)
})

test('a repeat is 503 while its own process does not know whether the first was charged, and runs again after the reversal', async () => {
  const account = await stores.account()
  const record = call(account, 5000)
  const { promise: fate, resolve: tell } = Promise.withResolvers<GroupFate>()
  let isFirst = true
  const append: Journal['append'] = (record, onEnd) =>
    stores.journal.append(record, (outcome) => {
      onEnd(isFirst ? { kind: 'unknown', fate } : outcome)
      isFirst = false
    })
  const ledger = openLedger({ append, note: () => undefined })
  const one = idempotency(ledger)
  const use = await one.use({ ...asked('undecided', 'read'), requestId: record.id })
  if (!use.ok || use.value.kind !== 'first') throw new Error('it was there before')
  const hold = { request: record.id, account, pool: null, amount: micros(5000), at: NOON, creditPays: true }
  expect((await ledger.hold(hold)).ok).toBe(true)
  const captured = await ledger.capture(micros(5000), record, ZERO, use.value.first.answer('{}', {}))
  expect(captured).toEqual({ ok: false, error: 'outcome_unknown' })
  await use.value.first.end('nothing')
  const again = await one.use(asked('undecided', 'read'))
  expect(!again.ok && again.error).toMatchObject({ code: 'service_unavailable', retryAfterSeconds: 1 })
  tell('committed')
  await until(async () => (await stores.bookings.chargeOf(account, record.id)) === null)
  await until(async () => {
    const last = await one.use(asked('undecided', 'read'))
    return last.ok && last.value.kind === 'first'
  })
})
