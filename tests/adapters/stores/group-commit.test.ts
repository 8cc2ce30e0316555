import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { appended } from '../../../server/core/ledger/journal'
import { accountId, apiKey, audit, call, charge, keptAnswer, opening, requestId } from '../../support/ledger-parts'
import { until } from '../../support/until'
import { gate, ioError, openFaulty } from './faulty-writes'

let parts: Awaited<ReturnType<typeof openFaulty>>
beforeEach(async () => {
  parts = await openFaulty()
})
afterEach(() => parts.close())

const charges = () => parts.number("SELECT count(*) FROM entries WHERE kind = 'charge'")

/** Keeps the writer busy, so that what `act` appends goes down as one group. */
async function asOneGroup<T>(act: () => T): Promise<T> {
  const busy = gate()
  parts.faults.before = () => busy.opened
  const first = appended(parts.journal, opening(accountId(), 1))
  await until(() => parts.groups.length > 0)
  const result = act()
  parts.faults.before = () => undefined
  busy.open()
  await first
  return result
}

describe('groups', () => {
  test('a record that finds the writer idle is committed at once and alone', async () => {
    const account = await parts.account()
    for (let i = 0; i < 3; i++) expect(await appended(parts.journal, charge(account, 5))).toEqual({ kind: 'committed' })
    expect(parts.groups).toHaveLength(3)
  })

  test('form from what arrives during a commit', async () => {
    const account = await parts.account()
    const outcomes = await asOneGroup(() =>
      Array.from({ length: 20 }, () => appended(parts.journal, charge(account, 5))),
    )
    expect(new Set((await Promise.all(outcomes)).map((outcome) => outcome.kind))).toEqual(new Set(['committed']))
    expect(parts.groups).toHaveLength(2)
    expect(await parts.number('SELECT credit FROM accounts ORDER BY credit DESC')).toBe(1_000_000 - 100)
  })

  test('answer each of their records, also after one whose caller throws', async () => {
    const account = await parts.account()
    const outcomes = await asOneGroup(() => {
      parts.journal.append(charge(account, 5), () => {
        throw new Error('a fault of the caller')
      })
      return [1, 2].map(() => appended(parts.journal, charge(account, 5)))
    })
    expect((await Promise.all(outcomes)).map(({ kind }) => kind)).toEqual(['committed', 'committed'])
    expect(parts.trouble).toEqual(['the end of a record: a fault of the caller'])
  })

  test('are limited to 512 records', async () => {
    const account = await parts.account()
    await Promise.all(
      await asOneGroup(() => Array.from({ length: 600 }, () => appended(parts.journal, charge(account, 5)))),
    )
    expect(parts.groups).toHaveLength(3)
    expect(await charges()).toBe(600)
  })

  test('are limited to 1 MiB, unless one record is larger', async () => {
    const account = await parts.account()
    const sizes = [400, 400, 400, 1500, 10, 10]
    const records = sizes.map((kib, i) => ({ ...charge(account, 5), kept: keptAnswer(account, i, kib * 1024) }))
    await Promise.all(await asOneGroup(() => records.map((record) => appended(parts.journal, record))))
    // The first group kept the writer busy. Then two of 400 KiB, one of them, the one of 1,500, and the two small ones.
    expect(parts.groups).toHaveLength(1 + 4)
    expect(await parts.number('SELECT count(*) FROM kept_answers')).toBe(6)
  })

  test('use one statement per table, however many records', async () => {
    const account = await parts.account()
    await Promise.all(
      await asOneGroup(() => Array.from({ length: 50 }, () => appended(parts.journal, charge(account, 5)))),
    )
    expect(parts.groups.at(-1)).toEqual([
      'INSERT INTO requests',
      'INSERT INTO entries',
      'UPDATE accounts SET',
      'INSERT INTO usage_rollup',
      'INSERT INTO usage_latency',
    ])
  })
})

describe('a record that breaks a rule of the schema', () => {
  test('fails alone: the others of its group are committed', async () => {
    const [rich, poor] = [await parts.account(1000), await parts.account(3)]
    const outcomes = await Promise.all(
      await asOneGroup(() => [rich, rich, poor, rich].map((account) => appended(parts.journal, charge(account, 5)))),
    )
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(['committed', 'committed', 'refused', 'committed'])
    expect(outcomes[2]).toMatchObject({ constraint: 'other' })
    expect(await charges()).toBe(3)
    expect(await parts.number(`SELECT credit FROM accounts WHERE id = '${poor}'`)).toBe(3)
  })

  test('is found in halves: of 512, the other 511 are committed in few groups', async () => {
    const [rich, poor] = [await parts.account(), await parts.account(3)]
    parts.groups.length = 0
    const outcomes = await Promise.all(
      await asOneGroup(() =>
        Array.from({ length: 512 }, (_, i) => appended(parts.journal, charge(i === 300 ? poor : rich, 5))),
      ),
    )
    expect(outcomes.filter(({ kind }) => kind === 'committed')).toHaveLength(511)
    expect(outcomes[300]).toMatchObject({ kind: 'refused', constraint: 'other' })
    expect(await charges()).toBe(511)
    // The one before them, all of them, and two halves at each of nine steps.
    expect(parts.groups).toHaveLength(1 + 1 + 2 * 9)
  })

  test('is reported to the operator if it is a charge: the counters and the database disagree', async () => {
    const poor = await parts.account(3)
    expect(await appended(parts.journal, charge(poor, 5))).toMatchObject({ kind: 'refused', constraint: 'other' })
    expect(parts.trouble).toHaveLength(1)
    expect(parts.trouble[0]).toContain('account_posted_not_negative')
  })

  test('because its request was already charged is refused: a request is charged once', async () => {
    const account = await parts.account()
    const record = charge(account, 5)
    expect(await appended(parts.journal, record)).toEqual({ kind: 'committed' })
    expect(await appended(parts.journal, record)).toMatchObject({ kind: 'refused', constraint: 'other' })
    expect(await charges()).toBe(1)
  })

  test('does not cost its group the notes and last uses written with it', async () => {
    const poor = await parts.account(3)
    const key = apiKey(poor)
    await parts.credentials.create(key, { limit: null, budgets: [] }, audit())
    const [refused] = await asOneGroup(() => {
      parts.journal.note(call(poor, null))
      parts.journal.touch(key.id, 1234)
      return [appended(parts.journal, charge(poor, 5))]
    })
    expect(await refused).toMatchObject({ kind: 'refused' })
    await parts.journal.drained()
    expect(await parts.number('SELECT count(*) FROM requests')).toBe(1)
    expect(await parts.number(`SELECT last_used_at FROM keys WHERE id = '${key.id}'`)).toBe(1234)
  })
})

describe('an error that may have come after the commit', () => {
  test('is a success if the database has the group', async () => {
    const account = await parts.account()
    parts.faults.after = () => Promise.reject(ioError())
    expect(await appended(parts.journal, charge(account, 5))).toEqual({ kind: 'committed' })
    expect(await charges()).toBe(1)
  })

  test('is a refusal of the whole group if the database does not have it', async () => {
    const account = await parts.account()
    const outcomes = await asOneGroup(() => {
      parts.faults.after = () => undefined
      const all = [1, 2, 3].map(() => appended(parts.journal, charge(account, 5)))
      queueMicrotask(() => {
        parts.faults.before = () => Promise.reject(ioError())
      })
      return all
    })
    for (const outcome of await Promise.all(outcomes))
      expect(outcome).toEqual({ kind: 'refused', reason: 'disk I/O error', constraint: null })
    expect(await charges()).toBe(0)
    expect(parts.trouble).toEqual(['commit: disk I/O error'])
  })

  test('leaves the next group alone', async () => {
    const account = await parts.account()
    parts.faults.before = () => Promise.reject(ioError())
    expect((await appended(parts.journal, charge(account, 5))).kind).toBe('refused')
    parts.faults.before = () => undefined
    expect((await appended(parts.journal, charge(account, 5))).kind).toBe('committed')
  })
})

describe('notes', () => {
  test('are written with the next group and need no commit of their own', async () => {
    const account = await parts.account()
    parts.journal.note(call(account, null))
    expect((await appended(parts.journal, charge(account, 5))).kind).toBe('committed')
    expect(parts.groups).toHaveLength(1)
    expect(await parts.number('SELECT count(*) FROM requests')).toBe(2)
  })

  test('are dropped and counted above their limit; charges are not', async () => {
    // A call whose upstream was asked has a row in any case.
    const upstream = { provider: 'double', waitingMs: 1, upstreamMs: 1 }
    const account = await parts.account()
    const charged = await asOneGroup(() => {
      for (let i = 0; i < 10_007; i++) parts.journal.note(call(account, null, { upstream }))
      return [appended(parts.journal, charge(account, 5))]
    })
    expect((await charged[0])?.kind).toBe('committed')
    await parts.journal.drained()
    expect(parts.journal.droppedNotes).toBe(7)
    expect(await parts.number('SELECT count(*) FROM requests')).toBe(10_001)
  })

  test('that break a rule are dropped and counted, one by one', async () => {
    const account = await parts.account()
    const id = requestId()
    for (const note of [call(account, null, { id }), call(account, null, { id }), call(account, null)])
      parts.journal.note(note)
    await parts.journal.drained()
    expect(parts.journal.droppedNotes).toBe(1)
    expect(await parts.number('SELECT count(*) FROM requests')).toBe(2)
  })

  test('of a group that was not written are dropped and counted', async () => {
    const account = await parts.account()
    parts.faults.before = () => Promise.reject(ioError())
    parts.journal.note(call(account, null))
    await parts.journal.drained()
    expect(parts.journal.droppedNotes).toBe(1)
  })
})
