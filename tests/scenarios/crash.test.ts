import { expect, setDefaultTimeout, test } from 'bun:test'
import { crashRun } from '../support/crash-run'

setDefaultTimeout(120_000)

/** `bun run crash` kills a hundred times by the same rules. */
const KILLS = 3

test(`${KILLS} kills under load lose no charge of a built-in or an imported operation: every 200 has its row, and all sums agree (spec-answers 4, 12)`, async () => {
  const report = await crashRun(KILLS)
  const { served, charges, lost, chargedWithoutAnswer, problems } = report
  process.stdout.write(
    `${KILLS} kills: ${served} served, ${charges} charged, ${lost.length} lost, ${chargedWithoutAnswer} charged without an answer, ${problems.length} sums wrong\n`,
  )
  expect(report.problems).toEqual([])
  expect(report.lost).toEqual([])
  expect(report.served).toBeGreaterThan(KILLS * 10)
  expect(report.chargedMicros).toBe(report.charges * 5000)
  expect(report.chargedWithoutAnswer).toBeLessThanOrEqual(report.maxChargedWithoutAnswer)
})
