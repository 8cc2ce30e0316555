import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { BUSY_MS } from '../../support/cluster/cluster'
import { type NodeCrashReport, nodeCrashRun } from '../../support/cluster/node-crash-run'
import { hasSqld } from '../../support/databases/sqld'

setDefaultTimeout(120_000)

/** `bun run crash 50 --nodes 2`, and with `--cells 3`, does it fifty times, each with the whole time of a lease. */
const KILLS = 2
/** Enough for calls of each key to be under way at a kill. `bun run crash` calls with more, as fast as they are answered. */
const LOAD = { callers: 3, pause: BUSY_MS, pauseAfterKill: { served: 200, refused: 200 } }

describe.skipIf(!hasSqld)('two nodes', () => {
  test(`whose owner is killed ${KILLS} times under load lose no charge, exceed no limit, and serve again in time`, async () => {
    const report = await nodeCrashRun({ kills: KILLS, ...LOAD, nodes: 2, endsLease: true })
    expectWhole(report)
  })

  test(`that have three cells are killed ${KILLS} times under load, and no cell loses a charge or exceeds a limit`, async () => {
    expectWhole(await nodeCrashRun({ kills: KILLS, ...LOAD, nodes: 2, cells: 3, endsLease: true }))
  })

  function expectWhole(report: NodeCrashReport) {
    expect(report).toMatchObject({ kills: KILLS, lost: [], over: [], strange: [], problems: [] })
    expect(report.served).toBeGreaterThan(KILLS * 8)
    expect(Math.max(...report.gapsMs)).toBeLessThan(15_000)
  }
})
