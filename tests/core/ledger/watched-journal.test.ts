import { describe, expect, test } from 'bun:test'
import {
  type AppendOutcome,
  appended,
  type DiskReserve,
  type Journal,
  type JournalRecord,
} from '../../../server/core/ledger/journal'
import { WatchedJournal } from '../../../server/core/ledger/watched-journal'
import type { CallRecord } from '../../../server/core/usage/call-record'

const CHARGE: JournalRecord = { call: {} as CallRecord, entries: [] }
const FULL: AppendOutcome = { kind: 'refused', reason: 'no space left', constraint: null }
const TAKEN: AppendOutcome = { kind: 'refused', reason: 'taken', constraint: 'reference' }
const DONE: AppendOutcome = { kind: 'committed' }

/** A journal that ends each append as `end` says, and keeps what it was given. */
function journal(reserve: DiskReserve | null = null) {
  const given: JournalRecord[] = []
  const state = { end: DONE as AppendOutcome | Promise<AppendOutcome> }
  const inner: Journal = {
    append: (record, onEnd) => {
      given.push(record)
      void Promise.resolve(state.end).then(onEnd)
    },
    note: () => undefined,
  }
  const clock = { at: 0 }
  return { given, state, clock, watched: new WatchedJournal(inner, () => clock.at, reserve) }
}

describe('whether anything can be charged', () => {
  test('is known from the last charge, without a write', async () => {
    const { given, watched } = journal()
    expect(await watched.problem()).toBeNull()
    await appended(watched, CHARGE)
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
    await appended(watched, CHARGE)
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
    await appended(watched, CHARGE)
    expect(await watched.problem()).toBe('the database did not confirm the last write in time')
  })

  test('is not affected by a rule that refuses one charge, nor by incoming money', async () => {
    const { state, watched } = journal()
    state.end = TAKEN
    await appended(watched, CHARGE)
    expect(await watched.problem()).toBeNull()
    state.end = FULL
    await appended(watched, { entries: [] })
    expect(await watched.problem()).toBeNull()
  })

  test('is probed once on the disk, however many ask at once', async () => {
    const { given, state, watched } = journal()
    state.end = FULL
    await appended(watched, CHARGE)
    const hanging = Promise.withResolvers<AppendOutcome>()
    state.end = hanging.promise
    const asked = Array.from({ length: 10 }, () => watched.problem())
    hanging.resolve(DONE)
    expect(new Set(await Promise.all(asked))).toEqual(new Set([null]))
    expect(given).toHaveLength(2)
  })
})

describe('while charges fail', () => {
  test('one new call a second writes a probe, and all others are refused without a write', async () => {
    const { given, state, clock, watched } = journal()
    expect(watched.isFailing).toBe(false)
    state.end = FULL
    await appended(watched, CHARGE)
    expect(watched.isFailing).toBe(true)
    clock.at = 999
    expect(await watched.recovers()).toBe(false)
    expect(given).toHaveLength(1)
    clock.at = 1_000
    expect(await Promise.all([watched.recovers(), watched.recovers(), watched.recovers()])).toEqual([
      false,
      false,
      false,
    ])
    expect(given).toHaveLength(2)
    clock.at = 1_999
    expect(await watched.recovers()).toBe(false)
    expect(given).toHaveLength(2)
  })

  test('the call that finds that they can be written again goes on, and so do all after it', async () => {
    const { given, state, clock, watched } = journal()
    state.end = FULL
    await appended(watched, CHARGE)
    state.end = DONE
    clock.at = 1_000
    expect(await watched.recovers()).toBe(true)
    expect(watched.isFailing).toBe(false)
    expect(given).toHaveLength(2)
  })

  test('failures of calls that were in progress do not put off the next try', async () => {
    const { state, clock, watched } = journal()
    state.end = FULL
    await appended(watched, CHARGE)
    clock.at = 900
    await appended(watched, CHARGE)
    state.end = DONE
    clock.at = 1_000
    expect(await watched.recovers()).toBe(true)
  })

  test('a stream whose hold could not be made durable counts as a charge that failed: its upstream was asked', async () => {
    const { state, watched } = journal()
    state.end = FULL
    await appended(watched, { keeps: {} as NonNullable<JournalRecord['keeps']>, entries: [] })
    expect(watched.isFailing).toBe(true)
  })
})

describe('a reserve that was given up', () => {
  function given() {
    const reserve = { problem: null as string | null, left: 0, takes: 0, take: async () => reserve.problem }
    reserve.take = async () => {
      reserve.takes++
      if (reserve.left > 0) reserve.problem = null
      return reserve.problem
    }
    return { reserve, ...journal(reserve) }
  }

  test('refuses new calls although charges of calls in progress are written with its space', async () => {
    const { reserve, watched } = given()
    reserve.problem = 'no space left'
    await appended(watched, CHARGE)
    expect(watched.isFailing).toBe(true)
    expect(await watched.problem()).toBe('no space left')
  })

  test('is taken back before a call goes on, once a second, and without it nothing is written', async () => {
    const { reserve, watched, clock, given: written } = given()
    reserve.problem = 'no space left'
    expect([await watched.recovers(), await watched.recovers()]).toEqual([false, false])
    expect([reserve.takes, written.length]).toEqual([1, 0])
    reserve.left = 1
    clock.at = 1_000
    expect([await watched.recovers(), watched.isFailing]).toEqual([true, false])
    expect([reserve.takes, written.length]).toEqual([2, 1])
  })
})
