import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { anApi, anOperation } from '../support/apis'
import { reconcile } from '../support/reconcile'
import type { SearchSource } from './bench-gateway'
import { pictures } from './pictures'
import { residentMb } from './proc'
import { median, spread, sum, table } from './statistics'
import { FEEDER_CORE, SERVER_CORE, type Workshop } from './workshop'
import { type Burst, burst, type Target } from './wrk'

interface ApisRow {
  readonly connections: number
  /** The search that is sold, by the adapter for Brave. */
  readonly builtIn: readonly Burst[]
  /** The same route with a provider that only fetches, validates nothing and shapes nothing. */
  readonly fetching: readonly Burst[]
  readonly imported: readonly Burst[]
  /** The same operation among 10,000. */
  readonly amongMany: readonly Burst[]
}

export interface ApisResult {
  readonly rows: readonly ApisRow[]
  /** Resident memory after the start and a full collection, with one operation and with 10,000. */
  readonly residentMb: { readonly one: number; readonly many: number }
  readonly problems: readonly string[]
}

const CONNECTIONS = [1, 64]
const APIS = 1000
const OPERATIONS = 10
const BYTES = 2000
const QUERY = 'q=credit%20card&count=20&country=US&safesearch=strict'
const BUILT_IN = `/apis/v1/websearch/images/search?${QUERY}`
const IMPORTED = `/apis/v1/pictures/images/search?${QUERY}`

/** An imported image search against the built-in one, of the same upstream double, alone and among 10,000 operations, in turns. */
export async function measureApis(workshop: Workshop, plan: { rounds: number; seconds: number }): Promise<ApisResult> {
  const upstream = await workshop.helper('upstream.ts', [], FEEDER_CORE)
  const base = `http://127.0.0.1:${upstream.ready}/${BYTES}/0`
  const one = await opened(workshop, base, [pictures(base)], 'brave')
  const many = await opened(workshop, base, [pictures(base), ...others(base)], 'brave')
  const fetching = await opened(workshop, base, [], 'double')
  const memory = { one: residentMb(one.pid), many: residentMb(many.pid) }
  const targets = [
    ...[one.target(BUILT_IN), one.target(IMPORTED)],
    ...[many.target(IMPORTED), fetching.target(BUILT_IN)],
  ] as const
  for (const target of targets) await burst(target, 32, plan.seconds * 2)
  const rows: ApisRow[] = []
  for (const connections of CONNECTIONS) {
    const found: [Burst[], Burst[], Burst[], Burst[]] = [[], [], [], []]
    for (let round = 0; round < plan.rounds; round++)
      for (const [i, target] of targets.entries())
        found[i as 0 | 1 | 2 | 3].push(await burst(target, connections, plan.seconds))
    const [builtIn, imported, amongMany, ofFetching] = found
    rows.push({ connections, builtIn, imported, amongMany, fetching: ofFetching })
  }
  const problems = [...(await one.close()), ...(await many.close()), ...(await fetching.close())]
  await upstream.stop()
  return { rows, residentMb: memory, problems }
}

async function opened(workshop: Workshop, base: string, apis: readonly object[], source: SearchSource) {
  const folder = await workshop.folder('apis')
  writeFileSync(join(folder, 'apis.json'), JSON.stringify(apis))
  await workshop.once('seed-core.ts', ['keys', folder, '10'])
  const keys = join(folder, 'keys.txt')
  const gateway = await workshop.helper('gateway.ts', [folder, base, source], SERVER_CORE)
  await gateway.ask('gc')
  const port = gateway.ready.split(' ')[0] ?? ''
  return {
    pid: gateway.pid,
    target: (path: string): Target => ({
      url: `http://127.0.0.1:${port}${path}`,
      pid: gateway.pid,
      script: 'rotate-keys.lua',
      args: [keys],
    }),
    async close(): Promise<readonly string[]> {
      await gateway.stop()
      const { problems } = await reconcile(join(folder, 'gateway.db'))
      workshop.removeFolder(folder)
      return problems
    },
  }
}

function others(baseUrl: string): object[] {
  return Array.from({ length: APIS - 1 }, (_, i) =>
    anApi({
      name: `api-${i}`,
      baseUrl,
      operations: Array.from({ length: OPERATIONS }, (_, n) =>
        anOperation({
          id: `operation${n}`,
          path: `/v1/things/{id}/parts${n}`,
          description: `What operation ${n} of API ${i} does, in a sentence or two that are as long as such texts usually are.`,
          toolName: `api_${i}_operation${n}`,
          parameters: [
            {
              name: 'id',
              in: 'path',
              required: true,
              description: 'Which thing.',
              style: 'simple',
              explode: false,
              schema: { type: 'string', maxLength: 40 },
            },
          ],
        }),
      ),
    }),
  )
}

export function describeApis({ rows, residentMb: { one, many }, problems }: ApisResult): string {
  const cpu = (bursts: readonly Burst[]) => median(bursts.map((burst) => burst.cpu)).toFixed(0)
  const ratio = (bursts: readonly Burst[], to: readonly Burst[]) =>
    spread(
      bursts.map((burst, i) => burst.cpu / (to[i]?.cpu ?? Number.NaN)),
      2,
    )
  return [
    'An imported image search against the built-in one as it is sold (the adapter for Brave) and against a provider that only fetches, of the same double, one core. Bar: at most 1.1 times the CPU of the built-in one.',
    table(
      [
        'c',
        'CPU us/req built-in',
        'imported',
        'among 10,000',
        'only fetching',
        'imported / built-in (range)',
        'imported / only fetching (range)',
        'among 10,000 / alone (range)',
        'not 200',
      ],
      rows.map(({ connections, builtIn, imported, amongMany, fetching }) => [
        ...[connections, cpu(builtIn), cpu(imported), cpu(amongMany), cpu(fetching)],
        ...[ratio(imported, builtIn), ratio(imported, fetching), ratio(amongMany, imported)],
        sum([...builtIn, ...imported, ...amongMany, ...fetching].map(({ refused, broken }) => refused + broken)),
      ]),
    ),
    `Memory with 1,000 APIs of 10 operations: ${(many - one).toFixed(0)} MB more (${one.toFixed(0)} to ${many.toFixed(0)} MB). Bar: 50 MB. ${problems.length === 0 ? 'All books agree' : problems.join('; ')}.`,
  ].join('\n\n')
}
