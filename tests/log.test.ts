import { describe, expect, spyOn, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { CallLog, MoneyLog } from '../server/compose/observing/log-lines'
import type { LogFormat } from '../server/config'
import type { LedgerEntry } from '../server/core/ledger/entry'
import { micros } from '../server/core/money'
import { LogOutput, openLog } from '../server/log'

function open(format: LogFormat = 'text') {
  const lines: string[] = []
  const clock = { at: Date.UTC(2026, 10, 22) }
  const write = (line: string) => lines.push(format === 'json' ? line : line.replace(/^\S+ /, '').trimEnd())
  const log = openLog('info', write, () => clock.at, format)
  return { lines, clock, log }
}

describe('the log', () => {
  test('counts the same trouble within a minute, and tells how often when it is over', () => {
    const { lines, clock, log } = open()
    for (let i = 0; i < 1000; i++) log.error('database: log', { reason: 'disk full' })
    log.error('database: log', { reason: 'another' })
    expect(lines).toEqual(['error database: log {"reason":"disk full"}', 'error database: log {"reason":"another"}'])
    clock.at += 60_000
    log.error('database: log', { reason: 'disk full' })
    expect(lines.slice(2)).toEqual([
      'error database: log {"reason":"disk full"} repeated 999 times',
      'error database: log {"reason":"disk full"}',
    ])
  })

  test('is not silenced by a clock that is set back', () => {
    const { lines, clock, log } = open()
    log.error('database: log')
    clock.at -= 3_600_000
    log.error('database: log')
    expect(lines).toEqual(['error database: log', 'error database: log'])
  })

  test('moves no terminal, whatever a stranger got into it', () => {
    const { lines, log } = open()
    log.error('request failed', { reason: '\u009b2J\u202edrawkcab\u200b' })
    expect(lines).toEqual(['error request failed {"reason":"2Jdrawkcab"}'])
  })

  test('tells what it counted before the process ends', () => {
    const { lines, log } = open()
    log.warn('upstream')
    log.warn('upstream')
    log.flush()
    expect(lines).toEqual(['warn upstream', 'warn upstream repeated 1 time'])
  })

  test('writes every line that is no trouble', () => {
    const { lines, log } = open()
    log.info('stopped')
    log.info('stopped')
    log.debug('not asked for')
    expect(lines).toEqual(['info stopped', 'info stopped'])
  })

  test('forgets nothing new under a flood of different lines, and stays small', () => {
    const { lines, log } = open()
    for (let i = 0; i < 5_000; i++) log.warn(`trouble ${i}`)
    expect(lines).toHaveLength(5_000)
  })

  test('is one line each, whatever a stranger got into it', () => {
    const { lines, log } = open()
    log.info('database: closed\n2026-11-22T00:00:00Z error forged', { reason: 'a\nb' })
    expect(lines).toEqual(['info database: closed 2026-11-22T00:00:00Z error forged {"reason":"a\\nb"}'])
  })

  test('is one JSON object per line with LOG_FORMAT=json, which no field or line break can forge', () => {
    const { lines, clock, log } = open('json')
    log.info('call refused', { id: 'req_1', ms: 3, level: 'error', time: 'never', message: 'forged' })
    log.error('a\n{"level":"error"}', { reason: 'x\u202e\n\u2028y' })
    log.error('a\n{"level":"error"}', { reason: 'x\u202e\n\u2028y' })
    clock.at += 60_000
    log.flush()
    const [time, later] = ['2026-11-22T00:00:00.000Z', '2026-11-22T00:01:00.000Z']
    expect(lines.every((line) => line.indexOf('\n') === line.length - 1)).toBe(true)
    const trouble = { level: 'error', message: 'a\n{"level":"error"}', reason: 'x\ny' }
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      { time, level: 'info', message: 'call refused', id: 'req_1', ms: 3 },
      { time, ...trouble },
      { time: later, ...trouble, repeated: 1 },
    ])
  })
})

describe('the log of calls', () => {
  const call = { id: 'req_1', operation: 'image-search', ms: 12.4 }
  const limited = { ...call, status: 429, code: 'rate_limit_exceeded', upstream: null }

  function openCalls() {
    const clock = { at: 0 }
    const { lines, log } = open()
    return { clock, lines, calls: new CallLog(log, () => clock.at) }
  }

  test('has one line per call that was refused or failed, and none for a success', () => {
    const { lines, calls } = openCalls()
    calls.callEnded({ ...call, status: 200, code: null, upstream: null })
    calls.callEnded({ ...call, status: 200, code: 'caller_hung_up', upstream: null })
    calls.callEnded(limited)
    calls.callEnded({ ...call, status: 502, code: 'upstream_error', upstream: 'brave' })
    expect(lines).toEqual([
      'info call refused {"id":"req_1","operation":"image-search","code":"rate_limit_exceeded","ms":12}',
      'info call failed {"id":"req_1","operation":"image-search","code":"upstream_error","upstream":"brave","ms":12}',
    ])
  })

  test('writes ten lines per second of one code, counts the rest, and still shows other codes', () => {
    const { lines, clock, calls } = openCalls()
    for (let i = 0; i < 10_000; i++) calls.callEnded(limited)
    expect(lines).toHaveLength(10)
    calls.callEnded({ ...limited, code: 'quota_exceeded' })
    expect(lines.at(-1)).toContain('quota_exceeded')
    clock.at += 1_000
    calls.callEnded(limited)
    expect(lines).toHaveLength(12)
    calls.summarize()
    calls.summarize()
    expect(lines.slice(12)).toEqual([
      'info more calls were refused or failed {"code":"rate_limit_exceeded","calls":9990}',
    ])
  })

  test('says once a minute how many calls were not paid for, by reason, and none of them alone', () => {
    const { lines, calls } = openCalls()
    const unpaid = { ...limited, status: 402 }
    for (let i = 0; i < 700; i++) calls.callEnded({ ...unpaid, code: 'payment_required' })
    for (let i = 0; i < 3; i++) calls.callEnded({ ...unpaid, code: 'insufficient_balance' })
    expect(lines).toEqual([])
    calls.summarize()
    expect(lines).toEqual([
      'info calls were not paid for in the last minute {"code":"payment_required","calls":700}',
      'info calls were not paid for in the last minute {"code":"insufficient_balance","calls":3}',
    ])
  })
})

describe('the log of money', () => {
  const entry = { kind: 'payment', accountId: null, amount: micros(5000), debit: 'house/payments' } as LedgerEntry

  test('has ten lines a second of each kind, and counts the rest, so that a flood of payments hides no dispute', async () => {
    const { lines, log } = open()
    const money = new MoneyLog(log, () => 0)
    for (let i = 0; i < 1_000; i++) money.committed({ entries: [entry] })
    money.committed({ entries: [{ ...entry, kind: 'dispute' }] })
    money.committed({ entries: [{ ...entry, kind: 'charge' }] })
    expect(lines).toHaveLength(11)
    expect(lines.at(-1)).toBe('info money {"kind":"dispute","usd":"0.005","from":"payments"}')
    money.summarize()
    expect(lines.slice(11)).toEqual(['info more of the same {"what":"payment","count":990}'])
  })
})

describe('the file of the log', () => {
  test.skipIf(!existsSync('/dev/full'))('that takes no lines loses none: they go to stderr', () => {
    const stderr = spyOn(process.stderr, 'write').mockImplementation(() => true)
    try {
      const output = new LogOutput('/dev/full')
      output.write('one\n')
      output.reopen()
      output.write('two\n')
      expect(stderr.mock.calls.map(([line]) => line)).toEqual(['one\n', 'two\n'])
    } finally {
      stderr.mockRestore()
    }
  })

  test('that cannot be opened is an error of the start', () => {
    expect(() => new LogOutput('/nowhere/gateway.log')).toThrow('ENOENT')
  })
})
