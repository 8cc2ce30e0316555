import { parseArgs } from 'node:util'
import { crashRun } from '../support/servers/crash-run'

const HELP = `Usage: bun run crash [KILLS]

Kills the server with SIGKILL at random points under load, KILLS times (100 by default), restarts it each time, then
compares every 200 that a caller saw with the ledger. Exits 1 when a charge was lost or a sum does not agree.
`

const { values, positionals } = parseArgs({
  args: Bun.argv.slice(2),
  allowPositionals: true,
  options: { help: { type: 'boolean', short: 'h' } },
})
const kills = Number(positionals[0] ?? 100)
const isWrong = !Number.isSafeInteger(kills) || kills < 1
if (values.help || isWrong) {
  process.stdout.write(HELP)
  process.exit(values.help ? 0 : 2)
}
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
process.exit(report.lost.length + report.problems.length === 0 ? 0 : 1)
