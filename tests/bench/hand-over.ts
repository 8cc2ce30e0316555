import { load, openCluster, openSpender, otherThan, ownersOf } from '../support/cluster'
import { control, SOURCE } from '../support/server-process'
import { until } from '../support/until'
import { median } from './statistics'

/**
 * `bun run bench:hand-over`: an operator moves a cell from one node to the other and back while it is called. Three cells on two nodes, so that no other
 * cell moves because of it.
 */

/** Issue 23, of the slowest call beside the usual one. */
const BAR_MS = 200
/** The first ones run code that the node has not run before. */
const WARM_MOVES = 2
const MOVES = 12
/** Callers at each node, and how long each rests between its calls. */
const CALLERS = 2
const REST_MS = { served: 20, refused: 20 }
/** How long they call before each move, and after it. */
const AROUND_MS = 700

const cluster = await openCluster({ moreCells: 2 })
try {
  const nodes = [await cluster.start({}, SOURCE), await cluster.start({}, SOURCE)] as const
  const owners = () => ownersOf(nodes[0])
  await until(async () => {
    const urls = Object.values(await owners())
    return !urls.includes(null) && new Set(urls).size === 2
  })
  const secrets = new Map<string, string>()
  for (let i = 0; secrets.size < 3; i++) {
    const { id, secret } = await openSpender(nodes[0], `caller-${i}@example.com`, null)
    secrets.set(await cluster.cellOf(id), secret)
  }
  const owned = Object.entries(await owners())
  const isOfTwo = ([cell, url]: (typeof owned)[number]) =>
    cell !== 'main' && owned.filter(([, other]) => other === url).length === 2
  const [cell = ''] = owned.find(isOfTwo) ?? []
  const more: number[] = []
  let failed = 0
  for (let move = 0; move < WARM_MOVES + MOVES; move++) {
    const owner = (await owners())[cell]
    const to = nodes.find(({ url }) => url !== owner) ?? nodes[0]
    const loads = nodes.map((node) => load(secrets.get(cell) ?? '', CALLERS, () => node, REST_MS))
    await Bun.sleep(AROUND_MS)
    const usual = median(loads.flatMap(({ outcomes }) => outcomes.map(({ ms }) => ms)))
    await control(nodes[0].folder, 'cells-move', { cell, to: to.url })
    await Bun.sleep(AROUND_MS)
    const outcomes = (await Promise.all(loads.map(({ stop }) => stop()))).flat()
    const slowest = Math.max(...outcomes.map(({ ms }) => ms))
    failed += otherThan(outcomes, 200).length
    if (move >= WARM_MOVES) more.push(slowest - usual)
  }
  const found = median(more)
  console.log(
    `${MOVES} moves of ${cell}: the slowest call of each took ${found.toFixed(0)} ms more than usual (median; ${Math.min(...more).toFixed(0)} to ${Math.max(...more).toFixed(0)}), ${failed} failed. Bar: ${BAR_MS} ms, ${found <= BAR_MS ? 'holds' : 'MISSED'}.`,
  )
} finally {
  await cluster.close()
}
