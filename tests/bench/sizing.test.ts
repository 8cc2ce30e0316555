import { describe, expect, test } from 'bun:test'
import { type CallCosts, capacityOf, cellsOfNode } from './sizing'
import { simulate } from './sizing-simulation'
import { sizes } from './sizing-table'

/** Of the magnitude that was measured, in round numbers. */
const COSTS: CallCosts = { owner: 400, ownerOfForwarded: 440, forwarder: 150, database: 300, lookUp: 100 }
const layout = (nodes: number, cells: number, lookUps = 0) => ({ nodes, cells, lookUps })

describe('capacity of a cluster', () => {
  test('one node with one cell serves what a core of its owner does', () => {
    expect(capacityOf(layout(1, 1), COSTS)).toEqual({ callsPerSecond: 2500, full: 'node' })
  })

  test('a second node without a cell of its own adds no throughput: the owner does the same work for each call', () => {
    // Half of the calls are forwarded, and cost the owner 40 us more.
    expect(capacityOf(layout(2, 1), COSTS)).toEqual({ callsPerSecond: 1e6 / 420, full: 'node' })
  })

  test('two nodes with a cell each serve twice, less what the hops of half of the calls cost', () => {
    const { callsPerSecond, full } = capacityOf(layout(2, 2), COSTS)
    expect([callsPerSecond, full]).toEqual([(2 * 1e6) / (420 + 75), 'node'])
  })

  test('the database is full first where it has more to do than an owner, and one more cell relieves it', () => {
    const costs = { ...COSTS, database: 600 }
    expect(capacityOf(layout(1, 1), costs)).toEqual({ callsPerSecond: 1e6 / 600, full: 'database of a cell' })
    expect(capacityOf(layout(2, 2), costs)).toEqual({ callsPerSecond: (2 * 1e6) / 600, full: 'database of a cell' })
  })

  test('the control database is full first where most calls look a cell up', () => {
    expect(capacityOf(layout(16, 16, 1), COSTS)).toEqual({
      callsPerSecond: 1e6 / (300 / 16 + 100),
      full: 'control database',
    })
    expect(capacityOf(layout(16, 16, 0), COSTS).full).toBe('node')
  })

  test('the cells that nodes own are all cells, and differ by at most one', () => {
    for (const nodes of [1, 2, 3, 5, 16])
      for (const cells of [1, 2, 4, 7, 16]) {
        const owned = Array.from({ length: nodes }, (_, node) => cellsOfNode(node, layout(nodes, cells)))
        expect(owned.reduce((sum, count) => sum + count)).toBe(cells)
        expect(Math.max(...owned) - Math.min(...owned)).toBeLessThanOrEqual(1)
      }
  })
})

describe('a simulation of callers, lines and service times', () => {
  const cases = [layout(1, 1), layout(2, 1), layout(2, 2), layout(3, 2), layout(4, 16), layout(16, 4), layout(8, 8, 1)]
  test.each([
    ['the owner is full first', COSTS],
    ['the database is full first', { ...COSTS, database: 900 }],
  ])(
    'serves what the formula says within 5 percent, and the part that it names is busy all the time, if %s',
    (_, costs) => {
      for (const one of cases) {
        const { callsPerSecond, full } = capacityOf(one, costs)
        const simulated = simulate(one, costs, 2, 23)
        expect(Math.abs(simulated.callsPerSecond / callsPerSecond - 1), JSON.stringify(one)).toBeLessThan(0.05)
        expect(full === 'node' ? simulated.busiestNode : simulated.busiestDatabase).toBeGreaterThan(0.95)
      }
    },
  )

  test('the same seed gives the same result, another one another', () => {
    const run = (seed: number) => simulate(layout(2, 2), COSTS, 1, seed)
    expect(run(1)).toEqual(run(1))
    expect(run(1)).not.toEqual(run(2))
  })
})

test('the table has calls by nodes and cells, the part that is full first, and how far the simulation is off', () => {
  const text = sizes(COSTS, 0, [1, 2, 4])
  const rows = text.split('\n').filter((line) => /^\| \d/.test(line))
  expect(rows.map((row) => row.split(' | ')[0])).toEqual(['| 1', '| 2', '| 4'])
  expect(rows[0]).toStartWith('| 1 | 2500 node | ')
  expect(text).toMatch(/at most [0-4]\.\d % off/)
})
