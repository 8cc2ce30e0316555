import type { CellReport, OneCell } from '../../http/operator/nodes/cell-record'
import type { NodeReport } from '../../http/operator/nodes/node-record'
import { askServer, UsageError } from '../control-client'
import { asJson } from '../print'
import { table } from '../table'

export const NODES_HELP = `  nodes                                     show the nodes on this database: which cells each owns, and which stand by
  cells                                     show the cells: the node that owns each, and what it has to do
  cells move CELL --to NODE_URL             hand a cell over to another node, which keeps it as long as it lives; its calls end
                                            first, new ones wait`

interface Options {
  readonly json?: boolean | undefined
  readonly to?: string | undefined
}

/** Runs a command about nodes and their cells. Resolves to its output; null if it is none. */
export function nodesCommand(command: string, rest: readonly string[], options: Options): Promise<string> | null {
  if (command === 'nodes') return nodes(rest, options)
  if (command !== 'cells') return null
  return rest.length === 0 ? cells(options) : move(rest, options)
}

async function nodes(rest: readonly string[], { json }: Options): Promise<string> {
  if (rest.length > 0) throw new UsageError('"operator nodes" takes options only; see --help')
  const report = (await askServer('nodes', {})) as NodeReport
  return json ? asJson(report) : nodeTable(report)
}

async function cells({ json }: Options): Promise<string> {
  const report = (await askServer('cells', {})) as CellReport
  return json ? asJson(report) : cellTable(report.cells)
}

async function move([command, cell, ...more]: readonly string[], { json, to }: Options): Promise<string> {
  if (command !== 'move' || cell === undefined || more.length > 0 || to === undefined)
    throw new UsageError('"operator cells" takes nothing, or "move CELL --to NODE_URL"; see --help')
  const answer = (await askServer('cells-move', { cell, to })) as { readonly cell: OneCell }
  return json ? asJson(answer) : cellTable([answer.cell])
}

function nodeTable({ nodes }: NodeReport): string {
  return table(
    ['NODE', 'URL', 'ROLE', 'CELLS', 'SINCE', 'SEEN MS AGO', 'CLOCK MS', 'TIME ZONES', 'VERSION'],
    nodes.map((node) => [
      ...[node.id, node.url, node.role, node.cells.join(' ') || '-', node.since],
      ...[node.seen_ms_ago, node.clock_ms, node.time_zones ?? '-', node.version],
    ]),
  )
}

function cellTable(cells: readonly OneCell[]): string {
  return table(
    [
      ...['CELL', 'OWNER', 'SINCE', 'PINNED', 'ACCOUNTS', 'REQUESTS', 'LONG CALLS', 'HOLDS', 'PAYMENTS', 'STUCK'],
      ...['COMMIT WAIT MS', 'DATABASE MS'],
    ],
    cells.map((cell) => [
      ...[cell.name, cell.owner ?? '-', cell.since ?? '-', cell.is_pinned ? 'yes' : 'no'],
      ...[cell.accounts, cell.requests, cell.long_calls, cell.kept_holds].map((count) => count ?? '-'),
      ...[cell.unfinished_payments, cell.stuck_records, cell.commit_wait_ms, cell.database_ms].map((n) => n ?? '-'),
    ]),
  )
}
