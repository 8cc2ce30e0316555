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
  return { given, state, watched: new WatchedJournal(inner) }
}

describe('whether anything can be charged', () => {
  test('is known from the last charge, without a write', async () => {
    const { given, watched } = journal()
    expect(await watched.canCharge()).toBe(true)
    await watched.append(CHARGE)
    expect(await watched.canCharge()).toBe(true)
    expect(given).toEqual([CHARGE])
  })

  test('is false after a charge that the disk refused, and true once a probe succeeds', async () => {
    const { given, state, watched } = journal()
    state.end = FULL
    await watched.append(CHARGE)
    expect(await watched.canCharge()).toBe(false)
    expect(await watched.canCharge()).toBe(false)
    state.end = DONE
    expect(await watched.canCharge()).toBe(true)
    expect(await watched.canCharge()).toBe(true)
    expect(given).toHaveLength(4)
    for (const probe of given.slice(1)) expect({ ...probe, ends: null }).toEqual({ entries: [], ends: null })
  })

  test('is false after a charge with an unknown outcome', async () => {
    const { state, watched } = journal()
    state.end = { kind: 'unknown', fate: Promise.resolve('refused') }
    await watched.append(CHARGE)
    expect(await watched.canCharge()).toBe(false)
  })

  test('is not affected by a rule that refuses one charge, nor by incoming money', async () => {
    const { state, watched } = journal()
    state.end = TAKEN
    await watched.append(CHARGE)
    expect(await watched.canCharge()).toBe(true)
    state.end = FULL
    await watched.append({ entries: [] })
    expect(await watched.canCharge()).toBe(true)
  })

  test('is probed once on the disk, however many ask at once', async () => {
    const { given, state, watched } = journal()
    state.end = FULL
    await watched.append(CHARGE)
    const hanging = Promise.withResolvers<AppendOutcome>()
    state.end = hanging.promise
    const asked = Array.from({ length: 10 }, () => watched.canCharge())
    hanging.resolve(DONE)
    expect(new Set(await Promise.all(asked))).toEqual(new Set([true]))
    expect(given).toHaveLength(2)
  })
})
