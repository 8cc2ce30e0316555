import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { reconcile } from '../support/reconcile'
import { machineFacts } from './machine'
import { Pacer, type Tally } from './pacer'
import { residentMb } from './proc'
import { sum, table } from './statistics'
import { FEEDER_CORE, type Helper, SERVER_CORE, Workshop } from './workshop'

/**
 * Between the memory after two fifths of a run and at its end, each after a full collection: in between, the JavaScript heap rises by
 * some 3 MB a second and falls by 80 at once, and a run of a minute sees one such fall or none. Two fifths are warm-up: compiled code,
 * connections, caches that are bounded but not yet full.
 */
const MAX_GROWTH_MB = 32
/** How long a process has for giving back what it collected. */
const GIVE_BACK_MS = 1000
const HELP = `Loads the gateway steadily and watches memory and latency; compares the books at the end.

  bun run soak [MINUTES=10] [--rps N=1000] [--csv FILE] [--dir FOLDER]

Latency is counted from when a request was due. Ends with 1 when a sum disagrees, when an answer was no 200, or when memory after a
full collection grew more than ${MAX_GROWTH_MB} MB from the second fifth of the run to the last.`

const KEYS = 1000
const MAX_UNDER_WAY = 256
const BODY_BYTES = 2000
const UPSTREAM_MS = 5
const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=20'
const INTERVALS = 60
const TABLE_ROWS = 20

interface Point extends Tally {
  readonly minute: number
  readonly rssMb: number
}

function options() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      rps: { type: 'string', default: '1000' },
      csv: { type: 'string' },
      dir: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  })
  if (values.help) {
    console.log(HELP)
    process.exit(0)
  }
  const minutes = Number(positionals[0] ?? 10)
  const rps = Number(values.rps)
  if (!(minutes > 0) || !(rps > 0)) throw new Error('MINUTES and --rps must be numbers above 0')
  return { minutes, rps, csv: values.csv ?? null, folder: values.dir ?? null }
}

async function soak({ minutes, rps, csv, folder }: ReturnType<typeof options>): Promise<boolean> {
  const workshop = new Workshop(folder)
  bindToFeederCore()
  const data = await workshop.folder('soak')
  console.log([...machineFacts(data), `Load: ${rps} requests a second for ${minutes} minutes, ${KEYS} keys`].join('\n'))
  await workshop.once('seed-core.ts', ['keys', data, String(KEYS)])
  const secrets = readFileSync(join(data, 'keys.txt'), 'utf8').split('\n')
  const upstream = await workshop.helper('upstream.ts', [], FEEDER_CORE)
  const base = `http://127.0.0.1:${upstream.ready}/${BODY_BYTES}/${UPSTREAM_MS}`
  const gateway = await workshop.helper('gateway.ts', [data, base], SERVER_CORE)
  const url = `http://127.0.0.1:${gateway.ready.split(' ')[0]}${SEARCH}`
  const pacer = new Pacer({ url, secrets, most: MAX_UNDER_WAY })
  const running = pacer.run(rps)
  const { points, collectedMb } = await watch(pacer, gateway, minutes)
  pacer.stop()
  await running
  const last = pacer.take()
  await gateway.stop()
  const { charges, chargedMicros, problems } = await reconcile(join(data, 'gateway.db'))
  if (csv) writeFileSync(csv, csvOf(points))
  console.log(`\n${curve(points)}`)
  return judge(
    collectedMb,
    [
      ...problems,
      ...(charges < pacer.served ? [`${pacer.served - charges} answers of 200 have no charge`] : []),
      ...(charges > pacer.served + pacer.broken ? [`${charges - pacer.served} charges too many`] : []),
      ...notServed([...points, last]),
    ],
    `${pacer.served} answers of 200, ${charges} charged calls, ${chargedMicros / 1e6} USD`,
  )
}

/** This process is the generator: it stays away from the core of the gateway. */
function bindToFeederCore(): void {
  if (Bun.which('taskset'))
    Bun.spawnSync(['taskset', '-a', '-p', '-c', FEEDER_CORE, String(process.pid)], { stdout: 'ignore' })
}

async function watch(pacer: Pacer, gateway: Helper, minutes: number) {
  const { pid } = gateway
  const everyMs = Math.max(1000, (minutes * 60_000) / INTERVALS)
  const begun = performance.now()
  const points: Point[] = []
  const collectedMb: number[] = []
  while (performance.now() - begun < minutes * 60_000 - 1) {
    await Bun.sleep(begun + (points.length + 1) * everyMs - performance.now())
    const point = { ...pacer.take(), minute: (performance.now() - begun) / 60_000, rssMb: residentMb(pid) }
    points.push(point)
    process.stderr.write(
      `${point.minute.toFixed(1)} min: ${point.rssMb.toFixed(0)} MB, ${point.served} served, p50 ${point.p50.toFixed(1)} ms, p99 ${point.p99.toFixed(1)} ms\n`,
    )
    const elapsed = performance.now() - begun
    if (collectedMb.length === 0 && elapsed > 0.4 * minutes * 60_000) collectedMb.push(await collected(gateway))
  }
  collectedMb.push(await collected(gateway))
  return { points, collectedMb }
}

/** The memory of the process right after a full collection, in MB of RSS. */
async function collected(gateway: Helper): Promise<number> {
  await gateway.ask('gc')
  await Bun.sleep(GIVE_BACK_MS)
  return residentMb(gateway.pid)
}

function notServed(tallies: readonly Tally[]): string[] {
  const refused = sum(tallies.map((tally) => tally.refused))
  const broken = sum(tallies.map((tally) => tally.broken))
  return refused + broken > 0 ? [`${refused} requests were refused, ${broken} had no answer`] : []
}

function judge([early = 0, late = 0]: readonly number[], problems: readonly string[], books: string): boolean {
  const grew = late - early
  console.log(`\nBooks: ${books}; ${problems.length === 0 ? 'all sums agree' : problems.join('; ')}`)
  console.log(
    `Memory after a full collection: ${early.toFixed(0)} MB early, ${late.toFixed(0)} MB late, bound +${MAX_GROWTH_MB} MB`,
  )
  return problems.length === 0 && grew <= MAX_GROWTH_MB
}

const COLUMNS = ['minute', 'rss_mb', 'served', 'refused', 'broken', 'p50_ms', 'p99_ms', 'max_ms'] as const

function cells(point: Point): string[] {
  const { minute, rssMb, served, refused, broken, p50, p99, max } = point
  return [
    minute.toFixed(2),
    rssMb.toFixed(1),
    ...[served, refused, broken].map(String),
    ...[p50, p99, max].map((ms) => ms.toFixed(2)),
  ]
}

function csvOf(points: readonly Point[]): string {
  return `${[COLUMNS, ...points.map(cells)].map((row) => row.join(',')).join('\n')}\n`
}

/** The curve as a table of at most 20 of its points. */
function curve(points: readonly Point[]): string {
  const step = Math.ceil(points.length / TABLE_ROWS)
  return table(COLUMNS, points.filter((_, i) => (i + 1) % step === 0).map(cells))
}

try {
  process.exit((await soak(options())) ? 0 : 1)
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exit(1)
}
