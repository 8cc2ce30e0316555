import { createClient } from '@libsql/client'
import { openCluster, openSpender, ownersOf, type TestNode } from '../support/cluster'
import { control, SOURCE } from '../support/server-process'
import { until } from '../support/until'
import { median } from './statistics'

/**
 * `bun run bench:hand-over`: an operator moves a cell from one node to the other and back while it is called. Three cells on two nodes, so that no other
 * cell moves because of it.
 */
const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'
/** As operators start it. */
const AS_SOLD = { BUN_JSC_useDFGJIT: '1', BUN_JSC_thresholdForJITAfterWarmUp: '500', MIMALLOC_PURGE_DELAY: '100' }
const BAR_MS = 200
/** The first ones run code that the node has not run before. */
const WARM_MOVES = 2
const MOVES = 12
/** Callers at each node, and how long each rests between its calls. */
const CALLERS = 2
const REST_MS = 20
/** How long they call before each move, and after it. */
const AROUND_MS = 700

interface Call {
  readonly beganAt: number
  readonly ms: number
  readonly status: number
}

/** Calls both nodes until it is stopped. */
function callers(nodes: readonly TestNode[], secret: string) {
  const calls: Call[] = []
  let isOver = false
  const caller = async ({ url }: TestNode) => {
    while (!isOver) {
      const beganAt = performance.now()
      const { status } = await fetch(url + SEARCH, { headers: { authorization: `Bearer ${secret}` } })
      calls.push({ beganAt, ms: performance.now() - beganAt, status })
      await Bun.sleep(REST_MS)
    }
  }
  const all = nodes.flatMap((node) => Array.from({ length: CALLERS }, () => caller(node)))
  return async () => {
    isOver = true
    await Promise.all(all)
    return calls
  }
}

const cluster = await openCluster({ moreCells: 2 })
try {
  const nodes = [await cluster.start(AS_SOLD, SOURCE), await cluster.start(AS_SOLD, SOURCE)] as const
  const owners = () => ownersOf(nodes[0])
  await until(async () => {
    const urls = Object.values(await owners())
    return !urls.includes(null) && new Set(urls).size === 2
  })
  const secrets = new Map<string, string>()
  const directory = createClient({ url: cluster.database.url })
  for (let i = 0; secrets.size < 3; i++) {
    const { id, secret } = await openSpender(nodes[0], `caller-${i}@example.com`, null)
    const sql = 'SELECT cell FROM account_directory WHERE account_id = ?'
    const { rows } = await directory.execute({ sql, args: [id] })
    secrets.set(String(rows[0]?.['cell']), secret)
  }
  directory.close()
  const owned = Object.entries(await owners())
  const isOfTwo = ([cell, url]: (typeof owned)[number]) =>
    cell !== 'main' && owned.filter(([, other]) => other === url).length === 2
  const [cell = ''] = owned.find(isOfTwo) ?? []
  const more: number[] = []
  let failed = 0
  for (let move = 0; move < WARM_MOVES + MOVES; move++) {
    const owner = (await owners())[cell]
    const to = nodes.find(({ url }) => url !== owner) ?? nodes[0]
    const stop = callers(nodes, secrets.get(cell) ?? '')
    await Bun.sleep(AROUND_MS)
    const movedAt = performance.now()
    await control(nodes[0].folder, 'cells-move', { cell, to: to.url })
    await Bun.sleep(AROUND_MS)
    const calls = await stop()
    const usual = median(calls.flatMap(({ beganAt, ms }) => (beganAt + ms < movedAt ? [ms] : [])))
    const slowest = Math.max(...calls.map(({ ms }) => ms))
    failed += calls.filter(({ status }) => status !== 200).length
    if (move >= WARM_MOVES) more.push(slowest - usual)
  }
  const found = median(more)
  console.log(
    `${MOVES} moves of ${cell}: the slowest call of each took ${found.toFixed(0)} ms more than usual (median; ${Math.min(...more).toFixed(0)} to ${Math.max(...more).toFixed(0)}), ${failed} failed. Bar: ${BAR_MS} ms, ${found <= BAR_MS ? 'holds' : 'MISSED'}.`,
  )
} finally {
  await cluster.close()
}
