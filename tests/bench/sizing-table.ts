import { type CallCosts, capacityOf } from './sizing'
import { simulate } from './sizing-simulation'
import { table } from './statistics'

const COUNTS = [1, 2, 4, 8, 16]
const SIMULATED_SECONDS = 3
const SEED = 23

/** The table of calls per second by nodes and cells, each with the part that is full first, and how far a simulation of it is off. */
export function sizes(costs: CallCosts, lookUps: number, counts: readonly number[] = COUNTS): string {
  let off = 0
  const entry = (nodes: number, cells: number) => {
    const layout = { nodes, cells, lookUps }
    const { callsPerSecond, full } = capacityOf(layout, costs)
    const simulated = simulate(layout, costs, SIMULATED_SECONDS, SEED)
    off = Math.max(off, Math.abs(simulated.callsPerSecond / callsPerSecond - 1))
    return `${callsPerSecond.toFixed(0)} ${full}`
  }
  const rows = counts.map((nodes) => [nodes, ...counts.map((cells) => entry(nodes, cells))])
  return [
    `Calls a second, and the part that is full first: computed. Each node has a core, each database another one; calls are spread evenly over nodes and cells, and ${lookUps * 100} % of them look the cell of their key up.`,
    '',
    table(['nodes', ...counts.map((cells) => (cells === 1 ? '1 cell' : `${cells} cells`))], rows),
    '',
    `A simulation with these service times (queues, seed ${SEED}) is at most ${(off * 100).toFixed(1)} % off.`,
  ].join('\n')
}
