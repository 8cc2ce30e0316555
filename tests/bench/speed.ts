import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { reconcile } from '../support/reconcile'
import { syncTimes } from './machine'
import { median, spread, sum, table } from './statistics'
import { FEEDER_CORE, SERVER_CORE, type Workshop } from './workshop'
import { type Burst, burst, type Target } from './wrk'

export interface SpeedPlan {
  readonly series: readonly { bytes: number; delayMs: number }[]
  readonly connections: readonly number[]
  readonly rounds: number
  readonly seconds: number
  readonly keys: number
}

export interface SpeedRow {
  readonly bytes: number
  readonly delayMs: number
  readonly connections: number
  readonly control: readonly Burst[]
  readonly gateway: readonly Burst[]
}

export interface Audit {
  readonly series: string
  readonly served: number
  readonly refused: number
  readonly charges: number
  /** Most calls that can have been charged without wrk counting their answer: it hangs up at the end of each burst. */
  readonly maxUncounted: number
  readonly problems: readonly string[]
}

export interface SpeedResult {
  readonly rows: readonly SpeedRow[]
  readonly audits: readonly Audit[]
  /** fdatasync p50 in microseconds, measured before each series. */
  readonly syncUs: number
}

/** A search as the benches ask for it. */
export const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=20&country=US&safesearch=strict'
const WARM_CONNECTIONS = 32
/** Until the compiler has seen the whole path: a service runs for days, and its first seconds are another figure. */
const WARM_SECONDS = 10

/** Loads control and gateway in turns, A B A B, so that what else the machine does falls on both. */
export async function measureSpeed(workshop: Workshop, plan: SpeedPlan): Promise<SpeedResult> {
  const template = await workshop.folder('keys')
  const keysFile = join(template, 'keys.txt')
  await workshop.once('seed-core.ts', ['keys', template, String(plan.keys)])
  const upstream = await workshop.helper('upstream.ts', [], FEEDER_CORE)
  const rows: SpeedRow[] = []
  const audits: Audit[] = []
  const syncs: number[] = []
  for (const { bytes, delayMs } of plan.series) {
    const folder = await workshop.folder('gateway')
    cpSync(template, folder, { recursive: true })
    syncs.push(syncTimes(folder).p50)
    const base = `http://127.0.0.1:${upstream.ready}/${bytes}/${delayMs}`
    const proxy = await workshop.helper('bare-proxy.ts', [base], SERVER_CORE)
    const gateway = await workshop.gateway(folder, base)
    const target = (pid: number, port: string): Target => ({
      url: `http://127.0.0.1:${port}${SEARCH}`,
      pid,
      script: 'rotate-keys.lua',
      args: [keysFile],
    })
    const control = target(proxy.pid, proxy.ready)
    const ours = target(gateway.pid, gateway.ready)
    const bursts: { connections: number; burst: Burst }[] = []
    const loadOurs = async (connections: number, seconds: number) => {
      const done = await burst(ours, connections, seconds)
      bursts.push({ connections, burst: done })
      return done
    }
    await burst(control, WARM_CONNECTIONS, WARM_SECONDS)
    await loadOurs(WARM_CONNECTIONS, WARM_SECONDS)
    for (const connections of plan.connections) {
      const row = { bytes, delayMs, connections, control: [] as Burst[], gateway: [] as Burst[] }
      for (let round = 0; round < plan.rounds; round++) {
        row.control.push(await burst(control, connections, plan.seconds))
        row.gateway.push(await loadOurs(connections, plan.seconds))
      }
      rows.push(row)
      process.stderr.write(`${seriesName(row)}, c=${connections}: ${ratio(row)} of the control\n`)
    }
    await proxy.stop()
    await gateway.stop()
    audits.push(await audit(`${seriesName({ bytes, delayMs })}`, join(folder, 'gateway.db'), bursts))
    workshop.removeFolder(folder)
  }
  await upstream.stop()
  workshop.removeFolder(template)
  return { rows, audits, syncUs: median(syncs) }
}

/** Holds what the generator counted against the books of a gateway that has stopped. */
async function audit(
  series: string,
  database: string,
  bursts: readonly { connections: number; burst: Burst }[],
): Promise<Audit> {
  const { charges, problems } = await reconcile(database)
  const refused = sum(bursts.map(({ burst }) => burst.refused))
  const served = sum(bursts.map(({ burst }) => burst.requests)) - refused
  const maxUncounted = sum(bursts.map(({ connections }) => connections))
  const lost = charges < served ? [`${served - charges} answers of 200 have no charge`] : []
  const extra = charges - served > maxUncounted ? [`${charges - served} charges more than answers of 200`] : []
  return { series, served, refused, charges, maxUncounted, problems: [...problems, ...lost, ...extra] }
}

function seriesName({ bytes, delayMs }: { bytes: number; delayMs: number }): string {
  return `${bytes / 1000} KB, upstream ${delayMs} ms`
}

/** Of each round on its own, because control and gateway of one round saw the same machine. */
export function ratios(row: SpeedRow): number[] {
  return row.gateway.map(({ rps }, i) => rps / (row.control[i]?.rps ?? Number.NaN))
}

function ratio(row: SpeedRow): string {
  return spread(ratios(row), 2)
}

/** The gateway's addition to the median latency, in microseconds. */
export function addedP50(row: SpeedRow): number {
  return median(row.gateway.map(({ p50 }) => p50)) - median(row.control.map(({ p50 }) => p50))
}

export function describeSpeed({ rows, audits, syncUs }: SpeedResult): string {
  const of = (bursts: readonly Burst[], pick: (burst: Burst) => number, digits = 0) =>
    median(bursts.map(pick)).toFixed(digits)
  const ms = (us: number) => us / 1000
  const pair = (row: SpeedRow, pick: (burst: Burst) => number, digits = 0) =>
    `${of(row.control, pick, digits)} / ${of(row.gateway, pick, digits)}`
  const speeds = table(
    [
      'Body, upstream',
      'c',
      'req/s',
      'ratio (range)',
      'p50 ms',
      'p99 ms',
      'p99.9 ms',
      'CPU us/req',
      'of it JS thread',
      'RSS MB',
      'added p50',
      'not 200',
    ],
    rows.map((row) => [
      seriesName(row),
      row.connections,
      pair(row, (b) => b.rps),
      ratio(row),
      pair(row, (b) => ms(b.p50), 2),
      pair(row, (b) => ms(b.p99), 2),
      pair(row, (b) => ms(b.p999), 2),
      pair(row, (b) => b.cpu, 1),
      pair(row, (b) => b.mainCpu, 1),
      pair(row, (b) => b.residentMb),
      row.connections === 1 ? `${addedP50(row).toFixed(0)} us` : `${ms(addedP50(row)).toFixed(2)} ms`,
      sum([...row.control, ...row.gateway].map((b) => b.refused + b.broken)),
    ]),
  )
  const books = table(
    ['Series', '200s counted', 'charged rows', 'cut off at most', 'not 200', 'books'],
    audits.map((a) => [
      a.series,
      a.served,
      a.charges,
      a.maxUncounted,
      a.refused,
      a.problems.length === 0 ? 'all sums agree' : `WRONG: ${a.problems.slice(0, 3).join('; ')}`,
    ]),
  )
  return [
    'Pairs are control / gateway; medians of the rounds.',
    speeds,
    `fdatasync p50 in this run: ${syncUs.toFixed(0)} us; the bar for c=1 is 3 x that + 100 = ${(3 * syncUs + 100).toFixed(0)} us.`,
    'Reconciliation after each series (the gateway stopped by SIGTERM):',
    books,
  ].join('\n\n')
}
