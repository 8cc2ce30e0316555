import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { reconcile } from '../support/reconcile'
import { SEARCH } from './speed'
import { median, spread, sum, table } from './statistics'
import { FEEDER_CORE, type Workshop } from './workshop'
import { type Burst, burst } from './wrk'

export interface TokensResult {
  readonly rows: readonly {
    readonly connections: number
    readonly keys: readonly Burst[]
    readonly tokens: readonly Burst[]
  }[]
  readonly problems: readonly string[]
}

/** Few enough that every app has called before it is measured: its first call makes its connection. */
const APPS = 50
/** Tokens are good at the address that they were made for, and the gateway's port is known only later. */
const SETTINGS = { BASE_URL: 'http://127.0.0.1:1', PAYMENTS: 'off' }

/** Charged image searches with an app's access token, which is looked up each time, against the same with an API key, in turns. */
export async function measureTokens(
  workshop: Workshop,
  plan: { readonly rounds: number; readonly seconds: number; readonly connections: readonly number[] },
): Promise<TokensResult> {
  const folder = await workshop.folder('tokens')
  writeFileSync(join(folder, 'env.json'), JSON.stringify(SETTINGS))
  await workshop.once('seed-core.ts', ['tokens', folder, String(APPS)])
  const upstream = await workshop.helper('upstream.ts', [], FEEDER_CORE)
  const gateway = await workshop.gateway(folder, `http://127.0.0.1:${upstream.ready}/2000/0`)
  const url = `http://127.0.0.1:${gateway.ready}${SEARCH}`
  const by = (file: string) =>
    ({ url, pid: gateway.pid, script: 'rotate-keys.lua', args: [join(folder, file)] }) as const
  for (const file of ['keys.txt', 'tokens.txt']) await burst(by(file), 32, 2)
  const rows: { connections: number; keys: Burst[]; tokens: Burst[] }[] = []
  for (const connections of plan.connections) {
    const row: (typeof rows)[number] = { connections, keys: [], tokens: [] }
    for (let round = 0; round < plan.rounds; round++) {
      row.keys.push(await burst(by('keys.txt'), connections, plan.seconds))
      row.tokens.push(await burst(by('tokens.txt'), connections, plan.seconds))
    }
    rows.push(row)
  }
  await gateway.stop()
  await upstream.stop()
  const { problems } = await reconcile(join(folder, 'gateway.db'))
  workshop.removeFolder(folder)
  return { rows, problems }
}

export function describeTokens({ rows, problems }: TokensResult): string {
  const of = (bursts: readonly Burst[], pick: (burst: Burst) => number, digits = 0) =>
    median(bursts.map(pick)).toFixed(digits)
  const books = problems.length === 0 ? 'all sums agree' : `WRONG: ${problems.slice(0, 3).join('; ')}`
  return [
    table(
      ['c', 'req/s, key / token', 'ratio (range)', 'p50 ms', 'CPU us/req', 'not 200'],
      rows.map(({ connections, keys, tokens }) => [
        connections,
        `${of(keys, ({ rps }) => rps)} / ${of(tokens, ({ rps }) => rps)}`,
        spread(
          tokens.map(({ rps }, round) => rps / (keys[round]?.rps ?? Number.NaN)),
          2,
        ),
        `${of(keys, ({ p50 }) => p50 / 1000, 2)} / ${of(tokens, ({ p50 }) => p50 / 1000, 2)}`,
        `${of(keys, ({ cpu }) => cpu)} / ${of(tokens, ({ cpu }) => cpu)}`,
        sum([...keys, ...tokens].map(({ refused, broken }) => refused + broken)),
      ]),
    ),
    '',
    `Books: ${books}.`,
  ].join('\n')
}
