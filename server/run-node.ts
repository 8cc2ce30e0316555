import { join } from 'node:path'
import type { compose } from './compose'
import type { CellsOfNode, openCellsOfNode } from './compose/cluster/cells-of-node'
import { openers } from './compose/cluster/gateway-openers'
import { joinedMetrics } from './compose/cluster/joined-metrics'
import { openNode } from './compose/cluster/open-node'
import type { SearchIndex } from './compose/search/search-index'
import type { Surroundings } from './compose/surroundings'
import type { Config } from './config'
import { reasonOf } from './core/result'
import { CONTROL_SOCKET } from './http/operator/control'
import { listen, listenControl, listenMetrics } from './listen'
import type { ProcessLog } from './log'
import { drainMsOf } from './stopping'

type Gateway = Awaited<ReturnType<typeof compose>>
type Opened = Awaited<ReturnType<typeof openNode>>

/** Time for the last responses after the port is closed. */
const LAST_RESPONSES_MS = 2_000

type CellSurroundings = Required<Pick<Surroundings, 'node'>> & Pick<Surroundings, 'cell' | 'staffOf'>

interface NodeProcess {
  readonly config: Config
  readonly nodeUrl: string
  /** The index that its gateways share. */
  readonly index: Pick<SearchIndex, 'problem'>
  readonly log: ProcessLog
  /** Opens the accounts of a cell. Another node may own its database only until `opening` begins. */
  readonly compose: (
    surroundings: CellSurroundings,
    onLost: (reason: string) => void,
    opening: Surroundings['opening'],
  ) => Promise<Gateway>
  /** Starts what a gateway does beside its calls, once this node owns the cell. */
  readonly onOwned: (gateway: Gateway, surroundings: CellSurroundings) => void
  /** Ends the process with a one-line message. */
  readonly end: (message: string) => never
  /** What ends last. */
  readonly release: () => void
}

/** Runs this process as one of many nodes (ADR 46). Resolves when it owns the accounts or knows the owner. */
export async function runNode(parts: NodeProcess) {
  const { config, log, end } = parts
  let server: Bun.Server<undefined> | null = null
  /** By cell. */
  const gateways = new Map<string, Gateway>()
  const owned = (gateway: Gateway, surroundings: CellSurroundings) => {
    const { cell } = surroundings.node.lease
    gateway.app.server = server
    gateways.set(cell, gateway)
    parts.onOwned(gateway, surroundings)
    return {
      ...gateway,
      async close() {
        gateways.delete(cell)
        await gateway.close()
      },
    }
  }
  const notifyOtherNodes = async () => opened.notifyOtherNodes()
  const cells = await openCells(config, { onFatal: end, notifyOtherNodes })
  const opened: Opened = await openNode(config, {
    ...{ nodeUrl: parts.nodeUrl, index: parts.index, log, several: cells?.several, onStuck: end },
    ...openers<Gateway, CellSurroundings>({
      compose: parts.compose,
      surroundingsOf: (node) => ({ node, ...cells?.surroundings(node) }),
      owned,
    }),
  })
  const { node, role } = opened
  const serving = () => new Map([...gateways].filter(([cell]) => role.of(cell)?.name !== 'standby'))
  const attach = (listening: Bun.Server<undefined>) => {
    server = listening
    node.connections = listening
  }
  const onFault = (error: unknown) => log.error('request failed', { reason: reasonOf(error) })
  const web = listen(config, node.handle, attach, onFault, node.links.websocket)
  const control = listenControl(join(config.dataDir, CONTROL_SOCKET), node.control)
  const metrics = config.metrics?.listener
    ? listenMetrics(config.metrics.listener, (request) => scraped(request, serving(), role.cells.length > 1))
    : null
  const closers = [
    () => control.stop(),
    () => metrics?.stop(),
    () => opened.close(),
    () => cells?.close(),
    () => parts.release(),
  ]
  const hurry = Promise.withResolvers<void>()
  let isStopping = false
  const stop = async (signal: string) => {
    if (isStopping || signal === 'SIGINT') hurry.resolve()
    if (isStopping) return
    isStopping = true
    const owned = [...serving().values()]
    for (const { stopping } of owned) stopping.announce()
    const longestCallMs = () => Math.max(0, ...owned.map((gateway) => gateway.longestCallMs()))
    const drainMs = drainMsOf(config, { longestCallMs })
    await stopNode({ config, log, web, opened, drainMs, closers }, signal, hurry.promise)
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal))
  const problem = await role.start()
  if (problem !== null) {
    await opened.close()
    end(problem)
  }
  return {
    /** Reads MODELS_FILE again in all gateways of this node. Returns the ids of models that changed. */
    reloadModels: async () => [
      ...new Set((await Promise.all([...serving().values()].map((one) => one.reloadModels()))).flat()),
    ],
    isOwner: role.name === 'owner',
  }
}

/** The metrics of all gateways of this node. */
async function scraped(
  request: Request,
  gateways: ReadonlyMap<string, Gateway>,
  areSeveral: boolean,
): Promise<Response> {
  const answers = await Promise.all(
    [...gateways].flatMap(([cell, { metrics }]) =>
      metrics ? [metrics.onOwnPort(request).then((answer) => ({ cell, answer }))] : [],
    ),
  )
  const [first] = answers
  if (!first) return new Response('This node is a standby.\n', { status: 503 })
  if (!areSeveral || !first.answer.ok) return first.answer
  const texts = await Promise.all(answers.map(async ({ cell, answer }) => ({ cell, text: await answer.text() })))
  return new Response(joinedMetrics(texts), { headers: first.answer.headers })
}

/** Null with one cell, which needs none of what finds the cell of a request. */
async function openCells(config: Config, parts: Parameters<typeof openCellsOfNode>[1]): Promise<CellsOfNode | null> {
  if (config.cellDatabaseUrls.length === 0) return null
  const { openCellsOfNode } = await import('./compose/cluster/cells-of-node')
  return openCellsOfNode(config, parts)
}

interface Stopping {
  readonly config: Pick<Config, 'drainNoticeSeconds'>
  readonly log: ProcessLog
  readonly web: ReturnType<typeof listen>
  readonly opened: Opened
  readonly drainMs: number
  readonly closers: readonly (() => unknown)[]
}

/**
 * Stops a node without a failed call: balancers are told first; then an owner gives the accounts to another node, while its requests wait; then
 * the other nodes are told, which send nothing more; then the port closes, and what this node forwarded ends.
 */
async function stopNode(parts: Stopping, signal: string, hurry: Promise<unknown>): Promise<void> {
  const { config, log, web, drainMs } = parts
  const { node, role, forwarding } = parts.opened
  node.announceStop()
  role.withdraw()
  web.retireConnections()
  log.info(`${signal}: stopping this node`, { notice_seconds: config.drainNoticeSeconds })
  if (config.drainNoticeSeconds > 0) await Promise.race([Bun.sleep(config.drainNoticeSeconds * 1000), hurry])
  await role.leave(drainMs)
  // A request sent to a closing port may or may not have run.
  await node.links.ended(LAST_RESPONSES_MS)
  web.closePort()
  await forwarding.ended(drainMs)
  await web.stop(LAST_RESPONSES_MS)
  for (const close of parts.closers) await close()
  log.flush()
  log.info('stopped')
}
