import { parseArgs } from 'node:util'
import { fuzzRun } from '../support/fuzz/fuzz-run'
import { heavyLines, heavyRun } from '../support/fuzz/heavy-bodies'
import { reportLines } from '../support/fuzz/report'

const HELP = `Usage: bun run fuzz [REQUESTS] [--seed N] [--only heavy]

Generates REQUESTS requests (100,000 by default) from the served /openapi.json, good ones and hostile ones, sends them to a real
server over plain sockets, judges every answer, and compares what the answers said they cost with the ledger. The same seed
generates the same requests. Then it sends heavy bodies (nested, wide, 31 MB), one at a time, in turns to the gateway and to a Bun
server that only receives them, and reads what both took of the CPU of the thread that serves. What the gateway takes more is at most
50 ms, and 25 ms for a body over 1 MiB, which that thread only passes on. --only heavy sends these alone. Exits 1 when anything was not
as promised.
`

interface Settings {
  readonly requests: number
  readonly seed: number
  readonly onlyHeavy: boolean
}

function settings(): Settings | null {
  try {
    const options = { seed: { type: 'string' }, only: { type: 'string' } } as const
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    const requests = Number(positionals[0] ?? 100_000)
    const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32))
    const good = positionals.length <= 1 && Number.isSafeInteger(requests) && requests > 0 && Number.isSafeInteger(seed)
    return good && (values.only ?? 'heavy') === 'heavy' ? { requests, seed, onlyHeavy: values.only === 'heavy' } : null
  } catch {
    return null
  }
}

/** Whether the generated requests went as promised. */
async function isFuzzGood({ requests, seed }: Settings): Promise<boolean> {
  process.stdout.write(`seed ${seed}\n`)
  let tenth = 0
  const report = await fuzzRun(requests, seed, (sent) => {
    if (Math.floor((sent / requests) * 10) <= tenth) return
    tenth = Math.floor((sent / requests) * 10)
    process.stdout.write(`${sent} of ${requests}\n`)
  })
  process.stdout.write(`${reportLines(report).join('\n')}\n`)
  const fits = report.spentMicros === report.seenMicros && report.ledger.problems.length === 0
  return fits && report.problemCount === 0 && report.isReady && report.exitCode === 0
}

/** Whether no heavy body held the serving thread up. */
async function isLight(): Promise<boolean> {
  const heavy = await heavyRun()
  process.stdout.write(`${heavyLines(heavy).join('\n')}\n`)
  return heavy.every(({ fits }) => fits)
}

const given = settings()
if (!given) {
  process.stdout.write(HELP)
  process.exit(['--help', '-h'].includes(Bun.argv[2] ?? '') ? 0 : 2)
}
const good = given.onlyHeavy || (await isFuzzGood(given))
process.exit((await isLight()) && good ? 0 : 1)
