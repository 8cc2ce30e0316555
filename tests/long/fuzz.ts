import { rm } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { fuzzRun } from '../support/fuzz/fuzz-run'
import { heavyLines, heavyRun } from '../support/fuzz/heavy-bodies'
import { fuzzImported } from '../support/fuzz/imported'
import { reportLines } from '../support/fuzz/report'
import { reconcile } from '../support/reconcile'

const HELP = `Usage: bun run fuzz [REQUESTS] [--seed N] [--only heavy|apis]

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
  /** Null for all. */
  readonly only: 'heavy' | 'apis' | null
}

function settings(): Settings | null {
  try {
    const options = { seed: { type: 'string' }, only: { type: 'string' } } as const
    const { values, positionals } = parseArgs({ options, allowPositionals: true })
    const requests = Number(positionals[0] ?? 100_000)
    const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32))
    const good = positionals.length <= 1 && Number.isSafeInteger(requests) && requests > 0 && Number.isSafeInteger(seed)
    const only = values.only ?? null
    return good && (only === null || only === 'heavy' || only === 'apis') ? { requests, seed, only } : null
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

/** Whether imported operations took what was generated for them as promised. */
async function areApisGood({ requests, seed }: Settings): Promise<boolean> {
  const { statuses, problems, folder, databaseFile } = await fuzzImported(requests, seed)
  const sums = (await reconcile(databaseFile)).problems
  await rm(folder, { recursive: true, force: true })
  const counts = Object.entries(statuses).map(([status, count]) => `${status}: ${count}`)
  process.stdout.write(
    `imported operations, seed ${seed}: ${counts.join(', ')}\n${[...problems, ...sums].join('\n')}\n`,
  )
  return problems.length === 0 && sums.length === 0
}

const given = settings()
if (!given) {
  process.stdout.write(HELP)
  process.exit(['--help', '-h'].includes(Bun.argv[2] ?? '') ? 0 : 2)
}
const { only } = given
const isGood = only !== null || (await isFuzzGood(given))
const isLightEnough = only === 'apis' || (await isLight())
const isApisGood = only === 'heavy' || (await areApisGood(given))
process.exit(isGood && isLightEnough && isApisGood ? 0 : 1)
