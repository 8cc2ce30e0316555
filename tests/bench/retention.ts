import { Database } from 'bun:sqlite'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { SEARCH } from './speed'
import { median, table } from './statistics'
import { FEEDER_CORE, type Workshop } from './workshop'
import { type Burst, burst, type Target } from './wrk'

export interface RetentionResult {
  readonly connections: number
  readonly kept: readonly Burst[]
  readonly pruned: readonly Burst[]
  /** Rows of the log that were looked at during the bursts of the gateway that prunes. */
  readonly rows: number
}

const CONNECTIONS = 16
const KEYS = 50
/** More than are removed while it is measured. */
const OLD_ROWS = 600_000
const DAY_MS = 86_400_000
/** The job begins a minute after the start. */
const PATIENCE_MS = 150_000

/**
 * Charged searches at two gateways on equal databases with an old request log, in turns: one keeps it, the other removes it meanwhile. The
 * other one is stopped by a signal, so that it takes nothing of the core.
 */
export async function measureRetention(
  workshop: Workshop,
  plan: { readonly rounds: number; readonly seconds: number },
): Promise<RetentionResult> {
  const upstream = await workshop.helper('upstream.ts', [], FEEDER_CORE)
  const base = `http://127.0.0.1:${upstream.ready}/2000/0`
  const folders = { kept: await workshop.folder('kept'), pruned: await workshop.folder('pruned') }
  await workshop.once('seed-core.ts', ['keys', folders.kept, String(KEYS)])
  seedOldRows(join(folders.kept, 'gateway.db'))
  cpSync(folders.kept, folders.pruned, { recursive: true })
  const gateways = {
    kept: await workshop.gateway(folders.kept, base),
    pruned: await workshop.gateway(folders.pruned, base, { REQUEST_LOG_DAYS: '1' }),
  }
  const target = (name: keyof typeof gateways): Target => ({
    url: `http://127.0.0.1:${gateways[name].ready}${SEARCH}`,
    pid: gateways[name].pid,
    script: 'rotate-keys.lua',
    args: [join(folders[name], 'keys.txt')],
  })
  const database = new Database(join(folders.pruned, 'gateway.db'), { readonly: true })
  for (const name of ['kept', 'pruned'] as const) await burst(target(name), CONNECTIONS, plan.seconds * 2)
  await pruningBegun(database)
  const done = { kept: [] as Burst[], pruned: [] as Burst[] }
  const first = removed(database)
  for (let round = 0; round < plan.rounds; round++) {
    for (const [one, other] of [
      ['kept', 'pruned'],
      ['pruned', 'kept'],
    ] as const) {
      process.kill(gateways[other].pid, 'SIGSTOP')
      done[one].push(await burst(target(one), CONNECTIONS, plan.seconds))
      process.kill(gateways[other].pid, 'SIGCONT')
    }
    if (removed(database) === OLD_ROWS)
      throw new Error('all old rows are removed: the last bursts had nothing beside them')
  }
  const rows = removed(database) - first
  database.close()
  for (const name of ['kept', 'pruned'] as const) {
    await gateways[name].stop()
    workshop.removeFolder(folders[name])
  }
  await upstream.stop()
  return { connections: CONNECTIONS, ...done, rows }
}

export function describeRetention({ connections, kept, pruned, rows }: RetentionResult): string {
  const of = (bursts: readonly Burst[], pick: (one: Burst) => number) => median(bursts.map(pick))
  const ratio = of(pruned, ({ p99 }) => p99) / of(kept, ({ p99 }) => p99)
  const row = (name: string, bursts: readonly Burst[]) => [
    name,
    of(bursts, ({ rps }) => rps).toFixed(0),
    (of(bursts, ({ p50 }) => p50) / 1000).toFixed(2),
    (of(bursts, ({ p99 }) => p99) / 1000).toFixed(2),
  ]
  return [
    table(
      [`c=${connections}, medians of ${kept.length} bursts in turns`, 'calls/s', 'p50 ms', 'p99 ms'],
      [row('the log is kept', kept), row('old rows are removed meanwhile', pruned)],
    ),
    '',
    `p99 with and without: ${ratio.toFixed(2)}x (bar: at most 1.25x). ${rows} rows were removed meanwhile.`,
  ].join('\n')
}

/** Uncharged calls of last year: all of them go. */
function seedOldRows(file: string): void {
  const database = new Database(file)
  const from = Date.now() - 300 * DAY_MS
  database.run(
    `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${OLD_ROWS - 1})
    INSERT INTO requests (id, client_request_id, account_id, key_id, operation, at, status, code, latency_ms, address,
      input_tokens, output_tokens, cache_read_tokens, cache_write_tokens, cost)
    SELECT 'req_' || printf('%012x', ${from} + i) || printf('%020d', i), NULL, 'acct_' || (i % 100), 'key_1', 'image-search', ${from} + i, 429,
      'rate_limit_exceeded', 1, '192.0.2.1', 0, 0, 0, 0, 0 FROM n`,
  )
  database.close()
}

async function pruningBegun(database: Database): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  while (removed(database) === 0) {
    if (performance.now() > end) throw new Error('the gateway removed nothing')
    await Bun.sleep(500)
  }
}

/** The position of the job, counted in seeded rows: the number is in their ids. */
function removed(database: Database): number {
  const row = database.query<{ cursor: string }, []>(`SELECT cursor FROM pruned WHERE name = 'requests'`).get()
  return row ? Number(row.cursor.slice(-20)) : 0
}
