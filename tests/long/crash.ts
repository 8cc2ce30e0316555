import { parseArgs } from 'node:util'
import { crashRun } from '../support/servers/crash-run'
import { remoteRun } from '../support/servers/remote-workers'

const HELP = `Usage: bun run crash [--workers N] [--calls N] [--freeze-ms N] [--remote] [KILLS]

Kills the server with SIGKILL at random points under load, KILLS times (100 by default), restarts it each time, then
compares every 200 that a caller saw with the ledger. Exits 1 when a charge was lost or a sum does not agree.

  --workers N    serve with N workers, 2 or more; before each kill one of them is killed and another frozen
  --calls N      serve so many calls in all, at least
  --freeze-ms N  how long a worker is frozen, 300 by default; beyond 8,000 its primary settles its calls and kills it
  --remote       with two workers over TCP; in each of KILLS rounds a worker and the primary are killed, each is frozen,
                 and the connections are cut
`

const { values, positionals } = parseArgs({
  args: Bun.argv.slice(2),
  allowPositionals: true,
  options: {
    help: { type: 'boolean', short: 'h' },
    workers: { type: 'string', default: '0' },
    calls: { type: 'string', default: '0' },
    remote: { type: 'boolean', default: false },
    'freeze-ms': { type: 'string', default: '300' },
  },
})
const [kills = 0, workers = 0, calls = 0, freezeMs = 0] = [
  positionals[0] ?? 100,
  values.workers,
  values.calls,
  values['freeze-ms'],
].map(Number)
const isWrong = ![kills, workers, calls, freezeMs].every(Number.isSafeInteger) || kills < 1 || workers === 1
if (values.help || isWrong) {
  process.stdout.write(HELP)
  process.exit(values.help ? 0 : 2)
}
const onLife = (life: number, served: number) => process.stdout.write(`kill ${life} of ${kills}: ${served} served\n`)
if (values.remote) {
  const { charges, problems, lost, wronged, heldMicros, served } = await remoteRun({
    rounds: kills,
    calls,
    freezeMs,
    onRound: onLife,
  })
  process.stdout.write(
    `served ${served}, charges ${charges}, lost ${lost.length}, charged although they were told not ${wronged.length}, still held ${heldMicros}\n`,
  )
  for (const problem of problems) process.stdout.write(`  ${problem}\n`)
  process.exit(lost.length + wronged.length + problems.length + heldMicros === 0 ? 0 : 1)
}
const report = await crashRun({ kills, workers, calls, freezeMs, onLife })
process.stdout.write(`
kills                         ${report.kills}
200s seen by callers          ${report.served}
charges in the ledger         ${report.charges}
lost                          ${report.lost.length}
still held                    ${report.heldMicros}
workers that outlived it      ${report.survivors.length}
charged, answer never seen    ${report.chargedWithoutAnswer} (at most one a client a kill: ${report.maxChargedWithoutAnswer})
sums that do not agree        ${report.problems.length}
`)
for (const problem of report.problems) process.stdout.write(`  ${problem}\n`)
const wrong = report.lost.length + report.problems.length + report.heldMicros + report.survivors.length
process.exit(wrong === 0 ? 0 : 1)
