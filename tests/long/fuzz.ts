import { parseArgs } from 'node:util'
import { fuzzRun } from '../support/fuzz/fuzz-run'
import { heavyLines, heavyRun } from '../support/fuzz/heavy-bodies'
import { reportLines } from '../support/fuzz/report'

const HELP = `Usage: bun run fuzz [REQUESTS] [--seed N]

Generates REQUESTS requests (100,000 by default) from the served /openapi.json, good ones and hostile ones, sends them to a real
server over plain sockets, judges every answer, and compares what the answers said they cost with the ledger. The same seed
generates the same requests. Then it sends heavy bodies (nested, wide, 31 MB), one at a time, and reads what each took of the CPU of
the thread that serves: at most 50 ms, on a machine that does nothing else. Exits 1 when anything was not as promised.
`

function settings(): { requests: number; seed: number } | null {
  try {
    const { values, positionals } = parseArgs({ options: { seed: { type: 'string' } }, allowPositionals: true })
    const requests = Number(positionals[0] ?? 100_000)
    const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32))
    const good = positionals.length <= 1 && Number.isSafeInteger(requests) && requests > 0 && Number.isSafeInteger(seed)
    return good ? { requests, seed } : null
  } catch {
    return null
  }
}

const given = settings()
if (!given) {
  process.stdout.write(HELP)
  process.exit(['--help', '-h'].includes(Bun.argv[2] ?? '') ? 0 : 2)
}
const { requests, seed } = given
process.stdout.write(`seed ${seed}\n`)
let tenth = 0
const report = await fuzzRun(requests, seed, (sent) => {
  if (Math.floor((sent / requests) * 10) <= tenth) return
  tenth = Math.floor((sent / requests) * 10)
  process.stdout.write(`${sent} of ${requests}\n`)
})
process.stdout.write(`${reportLines(report).join('\n')}\n`)
const fits = report.spentMicros === report.seenMicros && report.ledger.problems.length === 0
const heavy = await heavyRun()
process.stdout.write(`${heavyLines(heavy).join('\n')}\n`)
const isLight = heavy.every((reading) => reading.fits)
process.exit(fits && isLight && report.problemCount === 0 && report.isReady && report.exitCode === 0 ? 0 : 1)
