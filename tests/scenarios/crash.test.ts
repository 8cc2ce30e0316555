import { expect, setDefaultTimeout, test } from 'bun:test'
import { IS_SERVER } from '../support/databases/test-database'
import { crashRun } from '../support/servers/crash-run'

setDefaultTimeout(120_000)

/** `bun run crash` kills a hundred times by the same rules. */
const KILLS = IS_SERVER ? 1 : 3

test(`${KILLS} kills under load lose no charge of a built-in or an imported operation: every 200 has its row, and all sums agree (spec D4, D12)`, async () => {
  const report = await crashRun({ kills: KILLS })
  const { served, charges, lost, chargedWithoutAnswer, problems } = report
  process.stdout.write(
    `${KILLS} kills: ${served} served, ${charges} charged, ${lost.length} lost, ${chargedWithoutAnswer} charged without an answer, ${problems.length} sums wrong\n`,
  )
  expect(report.problems).toEqual([])
  expect(report.lost).toEqual([])
  expect(report.served).toBeGreaterThan(KILLS * 10)
  expect(report.chargedMicros).toBe(report.charges * 5000)
  // The metrics never fall, and end as the ledger does.
  expect(report.metered).toEqual(report.metered.toSorted((a, b) => a - b))
  expect(report.metered.at(-1)).toBe(report.chargedMicros)
  expect(report.chargedWithoutAnswer).toBeLessThanOrEqual(report.maxChargedWithoutAnswer)
})
