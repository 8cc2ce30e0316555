import { parseArgs } from 'node:util'
import { nodeCrashRun } from '../support/cluster/node-crash-run'
import { crashRun } from '../support/servers/crash-run'

const HELP = `Usage: bun run crash [KILLS] [--nodes NODES] [--cells CELLS]

Kills the server with SIGKILL at random points under load, KILLS times (100 by default), restarts it each time, then
compares every 200 that a caller saw with the ledger. With --nodes 2 or more, kills the node of a cluster that owns the
accounts, and also checks that no limit is exceeded and that calls are served again within 15 seconds. With --cells, the
accounts are divided among so many databases, and the owner of another one is killed each time. Exits 1 when a charge
was lost, a limit exceeded or a sum does not agree.
`

/** How long a take-over may take, from the kill to the next call that is served. */
const MAX_GAP_MS = 15_000

const { values, positionals } = parseArgs({
  args: Bun.argv.slice(2),
  allowPositionals: true,
  options: {
    help: { type: 'boolean', short: 'h' },
    nodes: { type: 'string', default: '1' },
    cells: { type: 'string', default: '1' },
  },
})
const [kills, nodes, cells] = [positionals[0] ?? 100, values.nodes, values.cells].map(Number) as [
  number,
  number,
  number,
]
const areCounts = [kills, nodes, cells].every((count) => Number.isSafeInteger(count) && count >= 1)
const isWrong = !areCounts || (cells > 1 && nodes === 1)
if (values.help || isWrong) {
  process.stdout.write(HELP)
  process.exit(values.help ? 0 : 2)
}
process.exit((await (nodes === 1 ? ofOneProcess() : ofNodes())) ? 0 : 1)

async function ofOneProcess(): Promise<boolean> {
  const report = await crashRun(kills, (life, served) =>
    process.stdout.write(`kill ${life} of ${kills}: ${served} served\n`),
  )
  process.stdout.write(`
kills                         ${report.kills}
200s seen by callers          ${report.served}
charges in the ledger         ${report.charges}
lost                          ${report.lost.length}
charged, answer never seen    ${report.chargedWithoutAnswer} (at most one a client a kill: ${report.maxChargedWithoutAnswer})
sums that do not agree        ${report.problems.length}
`)
  for (const problem of report.problems) process.stdout.write(`  ${problem}\n`)
  return report.lost.length + report.problems.length === 0
}

async function ofNodes(): Promise<boolean> {
  const report = await nodeCrashRun({ kills, nodes, cells, endsLease: false }, (life, gapMs) =>
    process.stdout.write(`kill ${life} of ${kills}: served again after ${(gapMs / 1000).toFixed(1)} s\n`),
  )
  const longest = Math.max(...report.gapsMs)
  process.stdout.write(`
kills                         ${report.kills} of ${nodes} nodes, ${cells} cells
200s seen by callers          ${report.served}
charges in the ledger         ${report.charges}
lost                          ${report.lost.length}
keys above their limit        ${report.over.length}
other answers                 ${report.strange.length}
longest time without service  ${(longest / 1000).toFixed(1)} s
sums that do not agree        ${report.problems.length}
`)
  for (const problem of [...report.strange, ...report.problems]) process.stdout.write(`  ${problem}\n`)
  const wrong = report.lost.length + report.over.length + report.strange.length + report.problems.length
  return wrong === 0 && longest <= MAX_GAP_MS
}
