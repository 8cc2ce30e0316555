import { describe, expect, test } from 'bun:test'
import type { AppendOutcome, Journal, JournalRecord } from '../../../server/core/ledger/journal'
import { WatchedJournal } from '../../../server/core/ledger/watched-journal'
import type { CallRecord } from '../../../server/core/usage/call-record'

const CHARGE: JournalRecord = { call: {} as CallRecord, entries: [] }
const FULL: AppendOutcome = { kind: 'refused', reason: 'no space left', constraint: null }
const TAKEN: AppendOutcome = { kind: 'refused', reason: 'taken', constraint: 'reference' }
const DONE: AppendOutcome = { kind: 'committed' }

/** A journal that ends each append as `end` says, and keeps what it was given. */
function journal() {
  const given: JournalRecord[] = []
  const state = { end: DONE as AppendOutcome | Promise<AppendOutcome> }
  const inner: Journal = {
    append: async (record) => {
      given.push(record)
      return state.end
    },
    note: () => undefined,
  }
  const clock = { at: 0 }
  return { given, state, clock, watched: new WatchedJournal(inner, () => clock.at) }
}

describe('whether anything can be charged', () => {
  test('is known from the last charge, without a write', async () => {
    const { given, watched } = journal()
    expect(await watched.problem()).toBeNull()
    await watched.append(CHARGE)
    expect(await watched.problem()).toBeNull()
    expect(given).toEqual([CHARGE])
  })

  test('is found out by a probe when nothing was charged for five seconds, once in five seconds', async () => {
    const { given, state, clock, watched } = journal()
    clock.at = 4_999
    expect(await watched.problem()).toBeNull()
    expect(given).toHaveLength(0)
    clock.at = 5_000
    expect(await watched.problem()).toBeNull()
    clock.at = 9_999
    expect(await watched.problem()).toBeNull()
    expect(given).toHaveLength(1)
    state.end = FULL
    clock.at = 10_000
    expect(await watched.problem()).toBe('no space left')
  })

  test('is false after a charge that the disk refused, and true once a probe succeeds', async () => {
    const { given, state, watched } = journal()
    state.end = FULL
    await watched.append(CHARGE)
    expect(await watched.problem()).toBe('no space left')
    expect(await watched.problem()).toBe('no space left')
    state.end = DONE
    expect(await watched.problem()).toBeNull()
    expect(await watched.problem()).toBeNull()
    expect(given).toHaveLength(4)
    for (const probe of given.slice(1)) expect({ ...probe, ends: null }).toEqual({ entries: [], ends: null })
  })

  test('is false after a charge with an unknown outcome', async () => {
    const { state, watched } = journal()
    state.end = { kind: 'unknown', fate: Promise.resolve('refused') }
    await watched.append(CHARGE)
    expect(await watched.problem()).toBe('the database did not confirm the last write in time')
  })

  test('is not affected by a rule that refuses one charge, nor by incoming money', async () => {
    const { state, watched } = journal()
    state.end = TAKEN
    await watched.append(CHARGE)
    expect(await watched.problem()).toBeNull()
    state.end = FULL
    await watched.append({ entries: [] })
    expect(await watched.problem()).toBeNull()
  })

  test('is probed once on the disk, however many ask at once', async () => {
    const { given, state, watched } = journal()
    state.end = FULL
    await watched.append(CHARGE)
    const hanging = Promise.withResolvers<AppendOutcome>()
    state.end = hanging.promise
    const asked = Array.from({ length: 10 }, () => watched.problem())
    hanging.resolve(DONE)
    expect(new Set(await Promise.all(asked))).toEqual(new Set([null]))
    expect(given).toHaveLength(2)
  })
})
