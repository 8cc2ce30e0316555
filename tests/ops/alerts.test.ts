import { expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stringify } from 'yaml'

const RULES = join(import.meta.dir, '../../ops/alerts.yaml')
const promtool = Bun.which('promtool')
const LABELS = '{instance="a",job="gateway"}'
const DAY = 86_400

/** Series that hold one value each for three days from second 0 of the epoch, by metric. */
const series = (values: Readonly<Record<string, number>>) =>
  Object.entries({ gateway_ready: 1, process_start_time_seconds: 0, ...values }).map(([name, value]) => ({
    series: `${name}${LABELS}`,
    values: `${value}+0x4320`,
  }))

/** Which of `alerts` fire at the end of three days, of which the time is `3 * DAY`. */
async function firing(
  values: Readonly<Record<string, number>>,
  alerts: Readonly<Record<string, boolean>>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'gw-alerts-'))
  const file = join(folder, 'test.yaml')
  const tests = [
    {
      interval: '1m',
      input_series: series(values),
      promql_expr_test: Object.entries(alerts).map(([alert, fires]) => ({
        expr: `count(ALERTS{alertname="${alert}",alertstate="firing"}) or vector(0)`,
        eval_time: '72h',
        exp_samples: [{ labels: '{}', value: fires ? 1 : 0 }],
      })),
    },
  ]
  await Bun.write(file, stringify({ rule_files: [RULES], evaluation_interval: '10m', tests }))
  const { exitCode, stdout, stderr } = Bun.spawnSync([promtool ?? '', 'test', 'rules', file])
  await rm(folder, { recursive: true })
  expect(exitCode, stdout.toString() + stderr.toString()).toBe(0)
}

test.skipIf(promtool === null)(
  'a check of the books or a backup that is late, memory and a full disk are alerts',
  async () => {
    await firing(
      {
        gateway_books_compared_timestamp_seconds: 0.5 * DAY,
        gateway_books_mismatches: 2,
        gateway_backup_newest_timestamp_seconds: 0.5 * DAY,
        gateway_backup_every_seconds: DAY,
        process_resident_memory_bytes: 900,
        gateway_memory_limit_bytes: 1000,
        gateway_disk_full: 1,
      },
      {
        GatewayBooksNotCompared: true,
        GatewayBooksDisagree: true,
        GatewayBackupLate: true,
        GatewayMemory: true,
        GatewayDiskFull: true,
        GatewayDown: false,
      },
    )
  },
)

test.skipIf(promtool === null)('what never happened in a process of three days is late, too', async () => {
  await firing(
    { gateway_backup_every_seconds: DAY },
    { GatewayBooksNotCompared: true, GatewayBackupLate: true, GatewayBooksDisagree: false },
  )
})

test.skipIf(promtool === null)(
  'a gateway that does its daily work, or schedules no copies, raises no alert',
  async () => {
    const well = { gateway_books_compared_timestamp_seconds: 2.5 * DAY, gateway_books_mismatches: 0 }
    const memory = { process_resident_memory_bytes: 800, gateway_memory_limit_bytes: 1000, gateway_disk_full: 0 }
    const none = {
      GatewayBooksNotCompared: false,
      GatewayBooksDisagree: false,
      GatewayBackupLate: false,
      GatewayMemory: false,
      GatewayDiskFull: false,
      GatewayDown: false,
    }
    await firing({ ...well, ...memory }, none)
    const copied = { gateway_backup_newest_timestamp_seconds: 1.5 * DAY, gateway_backup_every_seconds: DAY }
    await firing({ ...well, ...memory, ...copied }, none)
  },
)

test.skipIf(promtool === null)(
  'a gateway whose metrics are gone, and one of several that is gone, is down',
  async () => {
    await firing({ gateway_ready: Number.NaN, up: 0 }, { GatewayDown: true })
  },
)
