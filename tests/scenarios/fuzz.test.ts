import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { builtDashboard } from '../support/dashboard/built-dashboard'
import { type FuzzReport, fuzzRun } from '../support/fuzz/fuzz-run'
import { reportLines } from '../support/fuzz/report'

setDefaultTimeout(120_000)

/** `bun run fuzz` sends a hundred thousand. */
const REQUESTS = 2000

describe(`${REQUESTS} requests generated from /openapi.json, over plain sockets, against a real server`, () => {
  const seed = Math.floor(Math.random() * 2 ** 32)
  let report: FuzzReport

  beforeAll(async () => {
    await builtDashboard()
    report = await fuzzRun(REQUESTS, seed)
  })
  afterAll(() => console.log(reportLines(report).join('\n')))

  test('every answer follows the rules: no 5xx, one error shape, ids, limit headers, no hang', () => {
    expect(report.problems).toEqual([])
    expect(report.requests).toBeGreaterThanOrEqual(REQUESTS)
  })

  test('the run reached every kind of operation and refusal', () => {
    for (const outcome of ['200', '201', '400', '401', '402', '403', '404', '405', '409', '413', '415', '429'])
      expect([outcome, (report.outcomes.get(outcome) ?? 0) > 0]).toEqual([outcome, true])
    expect(report.ledger.charges).toBeGreaterThan(REQUESTS / 100)
  })

  test('a 200 cost what it reported, and nothing else cost anything', () => {
    expect(report.spentMicros).toBe(report.seenMicros)
    expect(report.ledger.problems).toEqual([])
    // Research is charged for each of its searches.
    expect(report.ledger.chargedMicros).toBeGreaterThanOrEqual(report.ledger.charges * 5000)
    expect(report.ledger.chargedMicros % 5000).toBe(0)
  })

  test('the server is as healthy as before: ready, with bounded memory, and it stops in order', () => {
    expect(report.isReady).toBe(true)
    expect(report.exitCode).toBe(0)
    expect(report.rssAfterMib).toBeLessThan(report.rssBeforeMib + 300)
  })

  test('nothing failed on our side without showing in an answer', () => {
    expect(report.log.split('\n').filter((line) => line.includes(' error '))).toEqual([])
  })
})
