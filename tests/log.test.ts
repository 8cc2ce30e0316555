import { describe, expect, test } from 'bun:test'
import { openLog } from '../server/log'

function open() {
  const lines: string[] = []
  const clock = { at: Date.UTC(2026, 10, 22) }
  const write = (line: string) => lines.push(line.replace(/^\S+ /, '').trimEnd())
  const log = openLog('info', write, () => clock.at)
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
})
