import type { ApisResult } from './apis'
import type { MemoryResult } from './memory'
import type { ModelsResult } from './models'
import { type PaymentsResult, perCoreSecond } from './payments'
import { addedP50, ratios, type SpeedResult } from './speed'
import { median, table } from './statistics'
import type { TokensResult } from './tokens'
import type { UsageResult } from './usage-pages'

export interface Results {
  speed?: SpeedResult
  models?: ModelsResult
  apis?: ApisResult
  tokens?: TokensResult
  payments?: PaymentsResult
  memory?: MemoryResult
  usage?: UsageResult
}

interface Bar {
  readonly what: string
  readonly bar: string
  readonly found: string
  readonly holds: boolean
}

/** The goals, with what was found. */
export function describeBars(results: Results): string {
  const bars = [
    ...speedBars(results.speed),
    ...apiBars(results.apis),
    ...paymentBars(results.payments),
    ...memoryBars(results.memory),
    ...usageBars(results.usage),
  ]
  if (bars.length === 0) return ''
  return table(
    ['Bar', 'asked', 'found', ''],
    bars.map(({ what, bar, found, holds }) => [what, bar, found, holds ? 'holds' : 'MISSED']),
  )
}

function apiBars(apis: ApisResult | undefined): Bar[] {
  if (!apis) return []
  const ratioOf = (row: ApisResult['rows'][number]) =>
    median(row.imported.map(({ cpu }, i) => cpu / (row.builtIn[i]?.cpu ?? Number.NaN)))
  const more = apis.residentMb.many - apis.residentMb.one
  return [
    ...apis.rows.map((row): Bar => {
      const found = ratioOf(row)
      const what = `CPU of an imported operation against the built-in search, c=${row.connections}`
      return { what, bar: '<= 1.1x', found: `${found.toFixed(2)}x`, holds: found <= 1.1 }
    }),
    { what: 'memory of 10,000 imported operations', bar: '< 50 MB', found: `${more.toFixed(0)} MB`, holds: more < 50 },
  ]
}

function speedBars(speed: SpeedResult | undefined): Bar[] {
  if (!speed) return []
  const find = (delayMs: number, connections: number) =>
    speed.rows.find((row) => row.bytes === 2000 && row.delayMs === delayMs && row.connections === connections)
  const share = (what: string, row: ReturnType<typeof find>, least: number): Bar[] => {
    if (!row) return []
    const found = median(ratios(row))
    return [{ what, bar: `>= ${least.toFixed(2)}x`, found: `${found.toFixed(2)}x`, holds: found >= least }]
  }
  const tail = (row: ReturnType<typeof find>, leastMs: number): Bar[] => {
    if (!row) return []
    const [ours, control] = [row.gateway, row.control].map((bursts) => median(bursts.map(({ p99 }) => p99)) / 1000)
    if (ours === undefined || control === undefined) return []
    const most = Math.max(leastMs, 6 * control)
    const what = `p99, c=${row.connections}, 2 KB, 0 ms`
    return [{ what, bar: `<= ${most.toFixed(0)} ms`, found: `${ours.toFixed(0)} ms`, holds: ours <= most }]
  }
  const single = find(0, 1)
  const most = 3 * speed.syncUs + 100
  const wrong = speed.audits.filter(({ problems }) => problems.length > 0).length
  return [
    ...share('throughput, c=64, 2 KB, 0 ms', find(0, 64), 0.3),
    ...share('throughput, c=256, 2 KB, 50 ms', find(50, 256), 0.95),
    ...tail(find(0, 64), 12),
    ...tail(find(0, 16), 6),
    ...(single
      ? [
          {
            what: 'added p50, c=1, 2 KB, 0 ms',
            bar: `<= ${most.toFixed(0)} us`,
            found: `${addedP50(single).toFixed(0)} us`,
            holds: addedP50(single) <= most,
          },
        ]
      : []),
    { what: 'books of every series', bar: 'all agree', found: `${wrong} wrong`, holds: wrong === 0 },
  ]
}

function paymentBars(payments: PaymentsResult | undefined): Bar[] {
  if (!payments || payments.skipped !== null) return []
  const found = perCoreSecond(payments.challenges)
  return [
    { what: '402 challenges per second of one core', bar: '>= 5000', found: found.toFixed(0), holds: found >= 5000 },
    {
      what: 'books of the payments',
      bar: 'all agree',
      found: `${payments.problems.length} wrong`,
      holds: payments.problems.length === 0,
    },
  ]
}

function memoryBars(memory: MemoryResult | undefined): Bar[] {
  if (!memory) return []
  const { oneKeyMb, loads } = memory
  const start = {
    what: 'memory with one key',
    bar: '<= 150 MB',
    found: `${oneKeyMb.toFixed(0)} MB`,
    holds: oneKeyMb <= 150,
  }
  const added = loads.map(({ name, addedMb }) => ({
    what: `memory of ${name}`,
    bar: '<= 60 MB',
    found: `${addedMb.toFixed(0)} MB`,
    holds: addedMb <= 60,
  }))
  return [start, ...added]
}

function usageBars(usage: UsageResult | undefined): Bar[] {
  return (usage?.pages ?? []).map(({ page, account, p95 }) => ({
    what: `${page}, ${account} account, p95`,
    bar: '< 100 ms',
    found: `${p95.toFixed(1)} ms`,
    holds: p95 < 100,
  }))
}
