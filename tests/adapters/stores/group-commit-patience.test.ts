import { afterEach, describe, expect, test } from 'bun:test'
import { DatabaseError } from '../../../server/adapters/stores/libsql/driver/worker/worker-connection'
import { type AppendOutcome, appended } from '../../../server/core/ledger/journal'
import { charge } from '../../support/ledger-parts'
import { type FaultyOptions, gate, ioError, openFaulty } from './faulty-writes'

let parts: Awaited<ReturnType<typeof openFaulty>>
afterEach(() => parts.close())

/** Long enough for a real commit on a busy machine, which opens the account; each test waits for its end once. */
const PATIENCE_MS = 500

const open = async (options: FaultyOptions) => {
  parts = await openFaulty(options)
  return { account: await parts.account(), journal: parts.journal, faults: parts.faults }
}
const charges = () => parts.number("SELECT count(*) FROM entries WHERE kind = 'charge'")
const fateOf = (outcome: AppendOutcome) => (outcome.kind === 'unknown' ? outcome.fate : outcome.kind)

describe('when the wait ends before the database answers', () => {
  test('the outcome is unknown, and resolves later: committed', async () => {
    const { account, journal, faults } = await open({ patienceMs: PATIENCE_MS })
    const slow = gate()
    faults.after = () => slow.opened
    const outcome = await appended(journal, charge(account, 5))
    expect(outcome.kind).toBe('unknown')
    slow.open()
    expect(await fateOf(outcome)).toBe('committed')
    expect(await charges()).toBe(1)
  })

  test('the outcome is unknown, and resolves later: refused', async () => {
    const { account, journal, faults } = await open({ patienceMs: PATIENCE_MS })
    const slow = gate()
    faults.before = () => slow.opened.then(() => Promise.reject(ioError()))
    const outcome = await appended(journal, charge(account, 5))
    expect(outcome.kind).toBe('unknown')
    slow.open()
    expect(await fateOf(outcome)).toBe('refused')
    expect(await charges()).toBe(0)
  })

  test('a rule that one record of the group broke refuses all of them, and none is retried', async () => {
    const { account, journal, faults } = await open({ patienceMs: PATIENCE_MS })
    const slow = gate()
    faults.before = () => slow.opened
    const outcomes = await Promise.all([5, 2_000_000, 5].map((amount) => appended(journal, charge(account, amount))))
    expect(outcomes.map((outcome) => outcome.kind)).toEqual(['unknown', 'unknown', 'unknown'])
    slow.open()
    expect(await Promise.all(outcomes.map(fateOf))).toEqual(['refused', 'refused', 'refused'])
    await journal.drained()
    expect(await charges()).toBe(0)
  })

  test('a record queued behind a stuck commit is refused, and never written', async () => {
    const { account, journal, faults } = await open({ patienceMs: PATIENCE_MS })
    const stuck = gate()
    faults.before = () => stuck.opened
    const first = appended(journal, charge(account, 5))
    await new Promise((resolve) => setImmediate(resolve))
    const second = appended(journal, charge(account, 7))
    expect((await first).kind).toBe('unknown')
    expect(await second).toMatchObject({ kind: 'refused', constraint: null })
    stuck.open()
    await journal.drained()
    expect(await parts.number("SELECT sum(amount) FROM entries WHERE kind = 'charge'")).toBe(5)
  })

  test('the next record is committed normally', async () => {
    const { account, journal, faults } = await open({ patienceMs: 60_000 })
    const slow = gate()
    faults.before = () => slow.opened
    const first = appended(journal, charge(account, 5))
    slow.open()
    expect(await first).toEqual({ kind: 'committed' })
    expect(await appended(journal, charge(account, 5))).toEqual({ kind: 'committed' })
  })
})

describe('the outcome', () => {
  test('is requested until the database answers', async () => {
    let asked = 0
    const { account, journal, faults } = await open({
      lastGroup: () => (++asked === 1 ? Promise.reject(ioError()) : parts.number('SELECT last_group FROM owner')),
    })
    faults.after = () => Promise.reject(ioError())
    expect(await appended(journal, charge(account, 5))).toEqual({ kind: 'committed' })
    expect(asked).toBe(2)
    expect(parts.trouble).toEqual(['commit: disk I/O error', 'fate: disk I/O error'])
  })

  test('stays unknown when another process owns the database, whose numbers say nothing about ours', async () => {
    const { account, journal, faults } = await open({ lastGroup: async () => null })
    faults.after = () => Promise.reject(ioError())
    expect((await appended(journal, charge(account, 5))).kind).toBe('unknown')
    expect(parts.lost).toHaveLength(1)
  })
})

test('is a refusal of the whole group when ownership is lost, and that is reported', async () => {
  const { account, journal, faults } = await open({})
  faults.before = () => {
    throw new DatabaseError({
      message: 'CHECK constraint failed: owner_epoch_is_current',
      code: 'SQLITE_CONSTRAINT_CHECK',
    })
  }
  const outcomes = await Promise.all([1, 2, 3].map(() => appended(journal, charge(account, 5))))
  for (const outcome of outcomes) expect(outcome).toMatchObject({ kind: 'refused', constraint: null })
  expect(parts.lost).toHaveLength(1)
  expect(parts.groups).toHaveLength(1)
})

test('is awaited by drained, together with what it appends, such as the reversal of a late commit', async () => {
  const { account, journal, faults } = await open({ patienceMs: PATIENCE_MS })
  const slow = gate()
  faults.before = () => slow.opened
  const outcome = await appended(journal, charge(account, 5))
  const undone = (async () => {
    await fateOf(outcome)
    for (let step = 0; step < 10; step++) await Promise.resolve()
    return appended(journal, charge(account, 7))
  })()
  slow.open()
  await journal.drained()
  expect(await charges()).toBe(2)
  expect((await undone).kind).toBe('committed')
})
