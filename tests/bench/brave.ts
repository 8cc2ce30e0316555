import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { reconcile } from '../support/reconcile'
import { median, spread, sum, table } from './statistics'
import { FEEDER_CORE, SERVER_CORE, type Workshop } from './workshop'
import { type Burst, burst, type Target } from './wrk'

export interface BraveResult {
  readonly rows: readonly {
    readonly connections: number
    readonly bare: readonly Burst[]
    readonly brave: readonly Burst[]
  }[]
  readonly problems: readonly string[]
}

const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=20&country=US&safesearch=strict'
const CONNECTIONS = [1, 64]
const KEYS = 50
const BYTES = 2000

/**
 * Charged image searches through the adapter for Brave, in a gateway that was started as users start it, against the same gateway
 * with a provider that does nothing but `fetch` the same double, in turns.
 */
export async function measureBrave(
  workshop: Workshop,
  plan: { readonly rounds: number; readonly seconds: number },
): Promise<BraveResult> {
  const upstream = await workshop.helper('upstream.ts', [], FEEDER_CORE)
  const base = `http://127.0.0.1:${upstream.ready}/${BYTES}/0`
  const folders = { bare: await workshop.folder('bare'), brave: await workshop.folder('brave') }
  await workshop.once('seed-core.ts', ['keys', folders.bare, String(KEYS)])
  cpSync(folders.bare, folders.brave, { recursive: true })
  const gateways = {
    bare: await workshop.helper('gateway.ts', [folders.bare, base], SERVER_CORE),
    brave: await workshop.gateway(folders.brave, base),
  }
  const target = (name: keyof typeof gateways): Target => ({
    url: `http://127.0.0.1:${gateways[name].ready.split(' ')[0]}${SEARCH}`,
    pid: gateways[name].pid,
    script: 'rotate-keys.lua',
    args: [join(folders[name], 'keys.txt')],
  })
  const [bare, brave] = [target('bare'), target('brave')]
  for (const one of [bare, brave]) await burst(one, 32, plan.seconds * 2)
  const rows: { connections: number; bare: Burst[]; brave: Burst[] }[] = []
  for (const connections of CONNECTIONS) {
    const row: (typeof rows)[number] = { connections, bare: [], brave: [] }
    for (let round = 0; round < plan.rounds; round++) {
      row.bare.push(await burst(bare, connections, plan.seconds))
      row.brave.push(await burst(brave, connections, plan.seconds))
    }
    rows.push(row)
  }
  const problems: string[] = []
  for (const name of ['bare', 'brave'] as const) {
    await gateways[name].stop()
    problems.push(...(await reconcile(join(folders[name], 'gateway.db'))).problems)
    workshop.removeFolder(folders[name])
  }
  await upstream.stop()
  return { rows, problems }
}

export function describeBrave({ rows, problems }: BraveResult): string {
  const pair = (row: BraveResult['rows'][number], pick: (one: Burst) => number, digits = 0) =>
    [row.bare, row.brave].map((bursts) => median(bursts.map(pick)).toFixed(digits)).join(' / ')
  const books = problems.length === 0 ? 'all sums agree' : `WRONG: ${problems.slice(0, 3).join('; ')}`
  return [
    'Pairs are a provider that only fetches / the adapter for Brave, of the same double; 2 KB, upstream 0 ms.',
    table(
      ['c', 'req/s', 'CPU us/req', 'of it JS thread', 'CPU ratio (range)', 'p50 ms', 'p99 ms', 'RSS MB', 'not 200'],
      rows.map((row) => [
        row.connections,
        pair(row, ({ rps }) => rps),
        pair(row, ({ cpu }) => cpu),
        pair(row, ({ mainCpu }) => mainCpu),
        spread(
          row.brave.map(({ cpu }, round) => cpu / (row.bare[round]?.cpu ?? Number.NaN)),
          2,
        ),
        pair(row, ({ p50 }) => p50 / 1000, 2),
        pair(row, ({ p99 }) => p99 / 1000, 1),
        pair(row, ({ residentMb }) => residentMb),
        sum([...row.bare, ...row.brave].map(({ refused, broken }) => refused + broken)),
      ]),
    ),
    `Books: ${books}.`,
  ].join('\n\n')
}
