import { createClient } from '@libsql/client'
import { load, type Outcome, openCluster, openSpender, ownerOf, search, type TestNode, untilOwner } from './cluster'
import { type Reconciliation, reconcile } from './reconcile'
import { until } from './until'

/** What the capped key of each life may spend. */
const CAP_USD = 0.1
const CALLERS = 8
/** After its first calls, an owner lives at most so much longer. */
const MAX_LIFE_MS = 300

export interface NodeCrashReport extends Reconciliation {
  readonly kills: number
  readonly served: number
  /** Calls that were answered 200 and are not in the ledger. Must be none. */
  readonly lost: readonly string[]
  /** Keys that spent more than their limit. Must be none. */
  readonly over: readonly string[]
  /** Statuses other than 200, 402 (the capped key), 503 and a broken connection. Must be none. */
  readonly strange: readonly number[]
  /** From each kill to the next call that was served. */
  readonly gapsMs: readonly number[]
}

/**
 * Kills the node that owns the accounts with SIGKILL under load, so many times, and starts another node in its place. Each time one key
 * may spend 0.10 USD, and one more than it can. Then compares every 200 with the ledger. With `endsLease`, a lease ends at the kill, which
 * saves its 10 seconds.
 */
export async function nodeCrashRun(
  { kills, nodes: size, endsLease }: { readonly kills: number; readonly nodes: number; readonly endsLease: boolean },
  onLife: (life: number, gapMs: number) => void = () => undefined,
): Promise<NodeCrashReport> {
  const cluster = await openCluster()
  try {
    let nodes = [await cluster.start()]
    while (nodes.length < size) nodes.push(await cluster.start())
    const spender = await openSpender(nodes[0] as TestNode, 'ada@example.com', null)
    const outcomes: Outcome[] = []
    const gapsMs: number[] = []
    for (let life = 1; life <= kills; life++) {
      const { dying, living } = await split(nodes)
      const next = living[0] as TestNode
      const { secret } = await spender.api('/api/keys', { name: `life ${life}`, spending_limit: CAP_USD }, next.url)
      let turn = 0
      const pick = () => living[turn++ % living.length] ?? next
      const calls = [load(spender.secret, CALLERS, pick), load(String(secret), CALLERS, pick)]
      await until(() => calls.every((load) => load.outcomes.length > CALLERS))
      await Bun.sleep(Math.random() * MAX_LIFE_MS)
      const killedAt = performance.now()
      await dying.kill('SIGKILL')
      if (endsLease) await cluster.endLease()
      while ((await search(next, spender.secret)).status !== 200) await Bun.sleep(10)
      gapsMs.push(performance.now() - killedAt)
      for (const load of calls) outcomes.push(...(await load.stop()))
      nodes = [...living, await cluster.start()]
      onLife(life, gapsMs.at(-1) ?? 0)
    }
    await untilOwner((await split(nodes)).dying)
    return { ...(await judged(cluster, outcomes)), kills, gapsMs }
  } finally {
    await cluster.close()
  }
}

async function split(nodes: readonly TestNode[]) {
  const url = await ownerOf(nodes.at(-1) as TestNode)
  const dying = nodes.find((node) => node.url === url)
  if (!dying) throw new Error(`no node owns the accounts: ${url}`)
  return { dying, living: nodes.filter((node) => node !== dying) }
}

async function judged(cluster: Awaited<ReturnType<typeof openCluster>>, outcomes: readonly Outcome[]) {
  const served = outcomes.filter(({ status }) => status === 200).map(({ id }) => id)
  const charged = await cluster.charged(served)
  const client = createClient({ url: cluster.database.url })
  const { rows } = await client.execute('SELECT id FROM pools WHERE spent > spending_limit')
  client.close()
  return {
    ...(await reconcile(cluster.database.url)),
    served: served.length,
    lost: served.filter((id) => !charged.has(id)),
    over: rows.map(({ id }) => String(id)),
    strange: outcomes.map(({ status }) => status).filter((status) => ![0, 200, 402, 503].includes(status)),
  }
}
