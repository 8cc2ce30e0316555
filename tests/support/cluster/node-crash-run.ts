import { type Reconciliation, reconcile } from '../reconcile'
import { until } from '../until'
import {
  load,
  makeKey,
  type Outcome,
  openCluster,
  openSpender,
  otherThan,
  ownersOf,
  type Pause,
  search,
  type TestNode,
  untilOwner,
} from './cluster'

/** What the capped key of each life may spend. */
const CAP_USD = 0.1
/** After its first calls, an owner lives at most so much longer. */
const MAX_LIFE_MS = 300
/** Only what was refused is not asked again at once. */
const FULL_SPEED = { served: 0, refused: 25 }

export interface NodeCrashReport extends Reconciliation {
  readonly kills: number
  readonly served: number
  /** Calls that were answered 200 and are not in the ledger. Must be none. */
  readonly lost: readonly string[]
  /** Keys that spent more than their limit. Must be none. */
  readonly over: readonly string[]
  /** Answers other than 200, 402 (the capped key), 503 and a broken connection. Must be none. */
  readonly strange: readonly string[]
  /** From each kill to the next call that was served. */
  readonly gapsMs: readonly number[]
}

interface NodeCrashes {
  readonly kills: number
  readonly nodes: number
  /** How many cells the accounts are divided among. */
  readonly cells?: number
  readonly endsLease: boolean
  /** How many callers each key has. */
  readonly callers?: number
  /** How long each caller waits after an answer, and after a kill: the cells that are served meanwhile need no load. */
  readonly pause?: Pause
  readonly pauseAfterKill?: Pause
}

/**
 * Kills the node that owns a cell with SIGKILL under load of an account in each, so many times, and starts another node in its place. Each time
 * one key of each account may spend 0.10 USD, and one more than it can. Then compares every 200 with the ledgers. With `endsLease`, a
 * lease ends at the kill, which saves its 10 seconds.
 */
export async function nodeCrashRun(
  { kills, nodes: size, cells = 1, endsLease, callers = 8, pause = FULL_SPEED, pauseAfterKill = pause }: NodeCrashes,
  onLife: (life: number, gapMs: number) => void = () => undefined,
): Promise<NodeCrashReport> {
  const cluster = await openCluster({ moreCells: cells - 1 })
  try {
    let nodes = [await cluster.start()]
    while (nodes.length < size) nodes.push(await cluster.start())
    const spenders: Awaited<ReturnType<typeof openSpender>>[] = []
    while (spenders.length < cells)
      spenders.push(await openSpender(nodes[0] as TestNode, `ada${spenders.length}@example.com`, null))
    const outcomes: Outcome[] = []
    const gapsMs: number[] = []
    for (let life = 1; life <= kills; life++) {
      const { dying, living } = await split(nodes, life)
      const next = living[0] as TestNode
      const capped = { name: `life ${life}`, spending_limit: CAP_USD }
      const keys = await Promise.all(spenders.map((spender) => makeKey(spender, capped, next)))
      let turn = 0
      const pick = () => living[turn++ % living.length] ?? next
      const secrets = [...spenders, ...keys].map(({ secret }) => secret)
      const calls = secrets.map((secret) => load(secret, callers, pick, pause))
      await until(() => calls.every((load) => load.outcomes.length > callers))
      await Bun.sleep(Math.random() * MAX_LIFE_MS)
      const killedAt = performance.now()
      await dying.kill('SIGKILL')
      for (const load of calls) load.pace(pauseAfterKill)
      if (endsLease) await cluster.endLease()
      for (const { secret } of spenders) await until(async () => (await search(next, secret)).status === 200)
      gapsMs.push(performance.now() - killedAt)
      for (const load of calls) outcomes.push(...(await load.stop()))
      nodes = [...living, await cluster.start()]
      onLife(life, gapsMs.at(-1) ?? 0)
    }
    await untilOwner((await split(nodes, 0)).dying)
    return { ...(await judged(cluster, outcomes)), kills, gapsMs }
  } finally {
    await cluster.close()
  }
}

/** The node that owns a cell, another one each time, and the others. Waits while a cell moves. */
async function split(nodes: readonly TestNode[], turn: number) {
  let owners: readonly (TestNode | undefined)[] = []
  await until(async () => {
    const urls = Object.values(await ownersOf(nodes.at(-1) as TestNode))
    owners = urls.map((url) => nodes.find((node) => node.url === url))
    return owners.every(Boolean)
  })
  const dying = owners[turn % owners.length] as TestNode
  return { dying, living: nodes.filter((node) => node !== dying) }
}

async function judged(cluster: Awaited<ReturnType<typeof openCluster>>, outcomes: readonly Outcome[]) {
  const served = outcomes.filter(({ status }) => status === 200).map(({ id }) => id)
  const charged = await cluster.charged(served)
  const over = await cluster.inAllCells('SELECT id FROM pools WHERE spent > spending_limit')
  const books: Reconciliation[] = []
  for (const { url } of [cluster.database, ...cluster.cellDatabases]) books.push(await reconcile(url))
  return {
    charges: books.reduce((sum, { charges }) => sum + charges, 0),
    chargedMicros: books.reduce((sum, { chargedMicros }) => sum + chargedMicros, 0),
    problems: books.flatMap(({ problems }) => problems),
    served: served.length,
    lost: served.filter((id) => !charged.has(id)),
    over: over.map(({ id }) => String(id)),
    strange: otherThan(outcomes, 0, 200, 402, 503).map(({ failure }) => String(failure)),
  }
}
