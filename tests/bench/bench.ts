import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { describeAgainst, measureAgainst } from './against'
import { describeAllocations, measureAllocations } from './allocations'
import { describeApis, measureApis } from './apis'
import { describeBars, type Results } from './bars'
import { machineFacts } from './machine'
import { describeMemory, measureMemory } from './memory'
import { describeModels, measureModels } from './models'
import { describePayments, measurePayments } from './payments'
import { describeRetention, measureRetention } from './retention'
import { describeSpeed, measureSpeed, type SpeedPlan } from './speed'
import { describeTokens, measureTokens } from './tokens'
import { describeUsage, measureUsage } from './usage-pages'
import { describeWorkers, measureWorkers } from './workers'
import { Workshop } from './workshop'
import { wrkProblem } from './wrk'

const LOADED = ['speed', 'tokens', 'models', 'apis', 'payments', 'retention', 'workers'] as const
const PARTS = [...LOADED, 'allocations', 'memory', 'usage'] as const
type Part = (typeof PARTS)[number]

const HELP = `Measures the gateway and prints Markdown tables for docs/performance.md.

  bun run bench [options]

  --only PART     one of the parts below; may be given more than once
  --quick         1 to 2 minutes: fewer and shorter rounds, a tenth of the usage rows; for a first look only
  --json FILE     writes every single result there too
  --rounds N      rounds of each comparison (5, quick 2)
  --seconds N     seconds of each burst (4, quick 1)
  --connections N of the speed part; may be given more than once (1, 16, 64, 256)
  --series A/B    of the speed part: bodies of A bytes from an upstream that takes B ms; may be given more than once
  --rows N        calls in the database of the usage pages (10000000, quick 1000000)
  --against COMMIT
                  only chat, streams and searches of that commit, of this checkout and of a bare proxy, in turns
  --dir FOLDER    where the data folders are made: what counts is the speed of its disk (default: the temporary folder)
  --help

speed     charged image searches against a bare Bun fetch proxy, in turns, and the books of every run; the gateway is started
          as users start it, with a double in the place of Brave
tokens    charged searches by an app's access token against an API key, in turns, and the books
models    chat completions, plain and streamed, charged, against a bare pipe and @portkey-ai/gateway, and the books
apis      an imported image search against the built-in one, alone and among 10,000 operations, in turns, and the books
payments  402 challenges, and calls paid one by one against the chain alone, in turns, and the books
allocations
          the objects that a search, a chat and a stream make; the same on a busy machine
workers   charged chats of one process, of a primary with one worker and with two, by the CPU of each process, and the books
retention charged searches with and without old calls being removed from the log, in turns
memory    100,000 keys against one
usage     an owner's pages over 10 million calls
Leave the machine alone meanwhile: it needs two cores, and 8 GB of disk for the usage pages.`

const SERIES = [
  { bytes: 2000, delayMs: 0 },
  { bytes: 20_000, delayMs: 0 },
  { bytes: 2000, delayMs: 50 },
  { bytes: 20_000, delayMs: 50 },
]

interface Options {
  readonly parts: readonly Part[]
  readonly speed: SpeedPlan
  readonly rows: number
  readonly against: string | null
  readonly json: string | null
  readonly folder: string | null
}

function options(): Options {
  const { values } = parseArgs({
    options: {
      only: { type: 'string', multiple: true },
      quick: { type: 'boolean', default: false },
      json: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      rows: { type: 'string' },
      dir: { type: 'string' },
      against: { type: 'string' },
      connections: { type: 'string', multiple: true },
      series: { type: 'string', multiple: true },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(HELP)
    process.exit(0)
  }
  const { quick } = values
  const positive = (name: string, text: string) => {
    const value = Number(text)
    if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name} must be a whole number above 0`)
    return value
  }
  const number = (name: 'rounds' | 'seconds' | 'rows', usual: number) => positive(name, values[name] ?? String(usual))
  const series = values.series?.map((text) => {
    const [, bytes, delayMs] = /^(\d{1,6})\/(\d{1,4})$/.exec(text) ?? []
    if (!bytes) throw new Error(`--series must be like 2000/50, not "${text}"`)
    return { bytes: Number(bytes), delayMs: Number(delayMs) }
  })
  const wrong = values.only?.find((part) => !PARTS.includes(part as Part))
  if (wrong) throw new Error(`--only must be one of ${PARTS.join(', ')}, not "${wrong}"`)
  return {
    parts: PARTS.filter((part) => values.against === undefined && (!values.only || values.only.includes(part))),
    against: values.against ?? null,
    speed: {
      series: series ?? SERIES,
      connections:
        values.connections?.map((text) => positive('connections', text)) ?? (quick ? [1, 64, 256] : [1, 16, 64, 256]),
      rounds: number('rounds', quick ? 2 : 5),
      seconds: number('seconds', quick ? 1 : 4),
      keys: 1000,
    },
    rows: number('rows', quick ? 1_000_000 : 10_000_000),
    json: values.json ?? null,
    folder: values.dir ?? null,
  }
}

async function bench({ parts, against, speed, rows, json, folder }: Options): Promise<boolean> {
  const workshop = new Workshop(folder)
  const facts = machineFacts(await workshop.folder('probe'))
  const results: Results = {}
  const found: Record<string, unknown> = { facts, results }
  console.log(facts.map((fact) => `- ${fact}`).join('\n'))
  if (!Bun.which('taskset')) console.log('- No taskset here: servers and generator share the cores, ratios mean little')
  const noWrk = against !== null || LOADED.some((part) => parts.includes(part)) ? await wrkProblem() : null
  if (noWrk) console.log(`\nSkipped ${LOADED.join(', ')}: ${noWrk}`)
  if (against !== null) {
    if (noWrk) throw new Error(noWrk)
    const compared = await measureAgainst(workshop, against, speed)
    found['against'] = compared
    section('Against another commit', describeAgainst(compared))
    if (compared.problems.length > 0) return false
  }
  if (parts.includes('speed') && !noWrk) {
    results.speed = await measureSpeed(workshop, speed)
    section('Speed', describeSpeed(results.speed))
  }
  if (parts.includes('tokens') && !noWrk) {
    results.tokens = await measureTokens(workshop, { ...speed, connections: [1, 64] })
    section('Access tokens against keys', describeTokens(results.tokens))
  }
  if (parts.includes('models') && !noWrk) {
    results.models = await measureModels(workshop, speed)
    section('Models', describeModels(results.models))
  }
  if (parts.includes('apis') && !noWrk) {
    results.apis = await measureApis(workshop, speed)
    section('Imported APIs', describeApis(results.apis))
  }
  if (parts.includes('payments') && !noWrk) {
    results.payments = await measurePayments(workshop, speed)
    section('Payments', describePayments(results.payments))
  }
  if (parts.includes('retention') && !noWrk) {
    const retention = await measureRetention(workshop, speed)
    found['retention'] = retention
    section('Old calls removed beside calls', describeRetention(retention))
  }
  if (parts.includes('workers') && !noWrk) {
    const workers = await measureWorkers(workshop, speed)
    found['workers'] = workers
    section('Workers', describeWorkers(workers))
    if (workers.problems.length > 0) return false
  }
  if (parts.includes('allocations')) {
    const allocations = await measureAllocations(workshop)
    found['allocations'] = allocations
    section('Allocations', describeAllocations(allocations))
  }
  if (parts.includes('memory')) {
    results.memory = await measureMemory(workshop, 100_000)
    section('Memory of keys', describeMemory(results.memory))
  }
  if (parts.includes('usage')) {
    results.usage = await measureUsage(workshop, rows)
    section('Usage pages', describeUsage(results.usage))
  }
  const bars = describeBars(results)
  if (bars) section('Bars', bars)
  if (json) writeFileSync(json, JSON.stringify(found, null, 2))
  const agrees = [results.tokens, results.models, results.apis, results.payments].every(
    (part) => !part || part.problems.length === 0,
  )
  return agrees && (results.speed?.audits.every(({ problems }) => problems.length === 0) ?? true)
}

function section(title: string, text: string): void {
  console.log(`\n## ${title}\n\n${text}`)
}

// The gateway closes what others could read in its folder, and says so.
process.umask(0o077)
try {
  // A missed bar is a finding, not a fault; books that disagree are.
  process.exit((await bench(options())) ? 0 : 1)
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exit(1)
}
