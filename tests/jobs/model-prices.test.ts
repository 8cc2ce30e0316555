import { afterEach, expect, jest, test } from 'bun:test'
import type { Model } from '../../server/core/models/model'
import { parseModelEntry } from '../../server/core/models/model-entry'
import { CurrentSheet } from '../../server/core/models/price-sheet'
import { err, ok } from '../../server/core/result'
import { startPriceChecks } from '../../server/jobs/model-prices'

const MINUTE_MS = 60_000

afterEach(() => {
  jest.useRealTimers()
})

/** Lets what a timer began come to its end. */
const settled = async () => {
  for (let n = 0; n < 20; n++) await Promise.resolve()
}

function model(id: string, name: string): Model {
  const entry = { id, upstream: { kind: 'openai', model: name }, price: { input: 2, output: 10 } }
  const parsed = parseModelEntry(entry, { created: 1, priceVersion: () => 'v1' })
  if (!parsed.ok) throw new Error(parsed.error)
  return parsed.value
}
const priced = (input: number) => ({
  litellm_provider: 'openai',
  input_cost_per_token: input / 1e6,
  output_cost_per_token: 1e-5,
})
const answerOf = (status: number, text: string) =>
  ok({
    url: 'u',
    status,
    headers: new Headers(),
    contentType: 'application/json',
    body: new TextEncoder().encode(text),
  })

test('models that cost less than their vendor charges are logged each day, by the newest sheet; a failed reading is repeated within an hour', async () => {
  jest.useFakeTimers()
  const logged: string[] = []
  const write = (...line: unknown[]) => void logged.push(JSON.stringify(line))
  const log = { info: write, error: write, warn: write, debug: write }
  const sheet = new CurrentSheet({ $date: '2026-01-01', one: priced(1), two: priced(2) })
  const answers = [
    answerOf(200, JSON.stringify({ one: priced(3), unused: priced(9) })),
    err({ kind: 'timeout', reason: 'it took too long' } as const),
    answerOf(404, ''),
    answerOf(200, '<html>'),
    answerOf(200, JSON.stringify({ two: priced(4) })),
  ]
  const asked: string[] = []
  const job = startPriceChecks(
    {
      models: { list: () => [model('a', 'one'), model('b', 'two')] },
      priceSheet: sheet,
      url: 'https://sheets.example/prices.json',
      fetch: async ({ url }) => {
        asked.push(url)
        return answers.shift() ?? answerOf(500, '')
      },
      clock: { now: () => Date.UTC(2026, 10, 29) },
    },
    log,
  )
  const after = async (minutes: number) => {
    logged.length = 0
    jest.advanceTimersByTime(minutes * MINUTE_MS)
    await settled()
    return logged.join('\n')
  }
  const first = await after(1)
  expect(first).toContain('"model":"a","below":"input 2 < 3"')
  expect(first).not.toContain('"model":"b"')
  expect(sheet.prices).toEqual({ $date: '2026-11-29', one: priced(3), two: priced(2) })
  expect(await after(24 * 60)).toContain('it took too long')
  expect(await after(60)).toContain('status 404')
  expect(await after(60)).toContain('could not be read')
  const last = await after(60)
  expect(last).toContain('"model":"a","below":"input 2 < 3"')
  expect(last).toContain('"model":"b","below":"input 2 < 4"')
  expect(asked).toHaveLength(5)
  await job.close()
})
