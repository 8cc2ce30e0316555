import { load, openCluster, openSpender, otherThan, ownersOf } from '../support/cluster/cluster'
import { control, SOURCE } from '../support/servers/server-process'
import { until } from '../support/until'
import { median } from './statistics'

/**
 * `bun run bench:hand-over`: an operator moves a cell from one node to the other and back while it is called: at both nodes, at the older owner, as where a
 * balancer hashes keys, and at the next one. Three cells on two nodes, so that no other cell moves because of it.
 */

/** Issue 23, of the slowest call beside the usual one. */
const BAR_MS = 200
/** The first ones run code that the node has not run before. */
const WARM_MOVES = 2
const MOVES = 12
const PLACES = ['both nodes', 'the older owner', 'the next owner'] as const
/** How many call, and how long each rests between its calls. */
const CALLERS = 4
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
  /** How much longer than usual the slowest call of a move takes, and how many calls fail. */
  async function moved(place: (typeof PLACES)[number]) {
    const owner = (await owners())[cell]
    const [from, to] = nodes[0].url === owner ? nodes : [nodes[1], nodes[0]]
    const called = { 'both nodes': [from, to], 'the older owner': [from], 'the next owner': [to] }[place]
    let turn = 0
    const calls = load(secrets.get(cell) ?? '', CALLERS, () => called[turn++ % called.length] ?? from, REST_MS)
    await Bun.sleep(AROUND_MS)
    const usual = median(calls.outcomes.map(({ ms }) => ms))
    await control(nodes[0].folder, 'cells-move', { cell, to: to.url })
    await Bun.sleep(AROUND_MS)
    const outcomes = await calls.stop()
    return { more: Math.max(...outcomes.map(({ ms }) => ms)) - usual, failed: otherThan(outcomes, 200).length }
  }
  for (let move = 0; move < WARM_MOVES; move++) await moved('both nodes')
  console.log(`${MOVES} moves of ${cell}: how much longer than usual the slowest call of each took. Bar: ${BAR_MS} ms.`)
  for (const place of PLACES) {
    const moves: Awaited<ReturnType<typeof moved>>[] = []
    while (moves.length < MOVES) moves.push(await moved(place))
    const more = moves.map((each) => each.more)
    const failed = moves.reduce((sum, each) => sum + each.failed, 0)
    const found = median(more)
    console.log(
      `callers at ${place}: ${found.toFixed(0)} ms (median; ${Math.min(...more).toFixed(0)} to ${Math.max(...more).toFixed(0)}), ${failed} failed, ${found <= BAR_MS ? 'holds' : 'MISSED'}`,
    )
  }
} finally {
  await cluster.close()
}
