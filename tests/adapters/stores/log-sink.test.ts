import { expect, test } from 'bun:test'
import { LogSink } from '../../../server/adapters/stores/libsql/journal/log-journal'
import { accountId, charge } from '../../support/ledger-parts'

const FULL = 'the log is full: the database takes no writes'

/** A log of 100 bytes a line, and an applier that applies when it is asked, if the database takes writes. */
function openSink({ emptyAbove = 200, lag = 400 } = {}) {
  const events: string[] = []
  const trouble: string[] = []
  const state = { takesWrites: true, stuck: false, unapplied: 0, comes: 'written' as 'written' | 'refused' | 'lost' }
  const log = {
    size: 0,
    lastNumber: 0,
    isBroken: false,
    async append(payload: string) {
      if (state.comes === 'written') {
        log.lastNumber++
        log.size += 100
      }
      events.push(`append ${JSON.parse(payload).length}`)
      const ends = { written: { kind: 'written' }, refused: { kind: 'refused', reason: 'ENOSPC' } } as const
      const end = state.comes === 'lost' ? ({ kind: 'lost', reason: 'EIO' } as const) : ends[state.comes]
      return { ...end, number: log.lastNumber, bytes: 100 }
    },
    async empty() {
      log.size = 0
      events.push('empty')
    },
  }
  const applier = {
    lastApplied: 0,
    get isBehind() {
      return !state.takesWrites
    },
    get unappliedBytes() {
      return state.unapplied
    },
    add() {
      state.unapplied += 100
      events.push('add')
    },
    async step() {
      events.push('step')
      if (state.stuck) await new Promise(() => undefined)
      state.unapplied -= 100
    },
    emptied: () => events.push('from its front'),
    async applied() {
      if (!state.takesWrites) throw new Error('disk full')
      applier.lastApplied = log.lastNumber
      state.unapplied = 0
      events.push('applied')
    },
  }
  const sink = new LogSink(
    { log, applier, onTrouble: (_what, reason) => trouble.push(reason) },
    { emptyAbove, lag, maxUnapplied: 500 },
  )
  return {
    state,
    events,
    trouble,
    write: () => sink.write({ records: [charge(accountId(), 5)] }, ['{}']),
  }
}

test('a group is committed when its line is written, and then waits to be applied', async () => {
  const { events, write } = openSink()
  expect(await write()).toBe('committed')
  expect(events).toEqual(['append 1', 'add'])
})

test('a refused line is a refusal that breaks no rule, one with an unknown outcome is lost; neither is applied', async () => {
  const { state, events, write } = openSink()
  state.comes = 'refused'
  expect(await write()).toMatchObject({ message: 'ENOSPC', isConstraint: false })
  state.comes = 'lost'
  expect(await write()).toBe('lost')
  expect(events).not.toContain('add')
})

test('a long log is emptied between two appends, once all of it is applied', async () => {
  const { events, write } = openSink()
  for (let i = 0; i < 4; i++) await write()
  expect(events.join()).toBe('append 1,add,append 1,add,append 1,add,applied,empty,from its front,append 1,add')
})

test('while the database refuses writes the log grows to its limit, then calls are refused until it is applied', async () => {
  const { state, events, trouble, write } = openSink()
  state.takesWrites = false
  for (let i = 0; i < 6; i++) expect(await write()).toBe('committed')
  expect(await write()).toMatchObject({ message: FULL, isConstraint: false })
  expect(trouble).toEqual([FULL])
  expect(events).not.toContain('empty')
  state.takesWrites = true
  state.unapplied = 0
  expect(await write()).toBe('committed')
  expect(events.slice(-5)).toEqual(['applied', 'empty', 'from its front', 'append 1', 'add'])
})

test('a group waits for a batch while the tables are far behind, so that they fall no further behind', async () => {
  const { state, events, write } = openSink({ emptyAbove: 10_000, lag: 200 })
  for (let i = 0; i < 5; i++) await write()
  expect(events.join()).toBe('append 1,add,append 1,add,append 1,add,step,append 1,add,step,append 1,add')
  expect(state.unapplied).toBe(300)
})

test('a group waits only briefly for tables that are stuck: it goes to the log', async () => {
  const { state, events, write } = openSink({ emptyAbove: 10_000, lag: 200 })
  state.stuck = true
  for (let i = 0; i < 4; i++) expect(await write()).toBe('committed')
  expect(events.slice(-3)).toEqual(['step', 'append 1', 'add'])
})
