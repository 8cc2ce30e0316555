import { afterAll, beforeAll, expect, test } from 'bun:test'
import { ReportTurns } from '../../../server/adapters/stores/libsql/usage/report-turns'
import { type Harness, openHarness } from '../../support/harness'

let gateway: Harness

beforeAll(async () => {
  gateway = await openHarness()
})
afterAll(() => gateway.close())

test('an account that asks for a hundred reports gets one turn before each report of another, whichever they are', async () => {
  const { reports, statements } = gateway.core
  const [many, few] = [(await gateway.account()).id, (await gateway.account()).id]
  const filter = { keyId: null, operation: null, status: null, model: null, from: null, to: null }
  const done: string[] = []
  const asked = (name: string, report: Promise<unknown>) => report.then(() => done.push(name))
  const crowd = Array.from({ length: 100 }, () =>
    asked('many', reports.requests({ ...filter, accountId: many }, 50, null)),
  )
  const others = [
    asked('few', reports.errors({ ...filter, accountId: few })),
    asked('few', statements.transactions(few, 50, null)),
    asked('few', statements.daily(few, 'Europe/Berlin', 50, null)),
    asked('few', reports.requests({ ...filter, accountId: few }, 50, null)),
  ]
  await Promise.all([...crowd, ...others])
  expect(done).toHaveLength(104)
  // Two run at once, and each of the four waits for one turn of the others.
  expect(done.lastIndexOf('few')).toBeLessThanOrEqual(2 + 2 * 4)
})

test('a report that fails gives its turn to the next, and one that waits for the tables keeps none', async () => {
  let isApplied = false
  const applied = Promise.withResolvers<void>()
  const turns = new ReportTurns(() => (isApplied ? Promise.resolve() : applied.promise))
  const waiting = [turns.of('a', async () => 1), turns.of('a', async () => 1), turns.of('a', async () => 1)]
  isApplied = true
  const failing = Array.from({ length: 5 }, () => turns.of('b', () => Promise.reject(new Error('no such table'))))
  expect((await Promise.allSettled(failing)).map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
  expect(await turns.of('c', async () => 2)).toBe(2)
  applied.resolve()
  expect(await Promise.all(waiting)).toEqual([1, 1, 1])
})
