import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../server/listen'
import { median, spread, table } from './statistics'
import { FEEDER_CORE, SERVER_CORE, type Workshop } from './workshop'
import { type Burst, burst, type Target } from './wrk'

/** The peer that this compares with, at this version. */
export const PORTKEY = '@portkey-ai/gateway@1.15.2'
const CONNECTIONS = [1, 64]

interface PortkeyRow {
  readonly connections: number
  readonly control: readonly Burst[]
  readonly portkey: readonly Burst[]
}

export interface PortkeyResult {
  /** Why there is nothing to compare with; null when there is. */
  readonly skipped: string | null
  readonly rows: readonly PortkeyRow[]
}

/** The other gateway, installed and started on the servers' core; why not, where it could not be. */
export async function openPortkey(
  workshop: Workshop,
): Promise<{ skipped: string | null; port: number; pid: number; stop: () => void }> {
  const folder = await workshop.folder('portkey')
  writeFileSync(join(folder, 'package.json'), '{"private":true}')
  const install = Bun.spawn([process.execPath, 'add', PORTKEY], { cwd: folder, stdout: 'ignore', stderr: 'pipe' })
  const said = await new Response(install.stderr).text()
  if ((await install.exited) !== 0)
    return {
      skipped: `${PORTKEY} could not be installed: ${said.split('\n')[0]}`,
      port: 0,
      pid: 0,
      stop: () => undefined,
    }
  const port = freePort('127.0.0.1')
  const start = [process.execPath, '--bun', join('node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js')]
  const foreign = await workshop.foreign([...start, `--port=${port}`, '--headless'], folder, port, SERVER_CORE)
  return {
    skipped: null,
    port,
    pid: foreign.pid,
    stop() {
      foreign.stop()
      workshop.removeFolder(folder)
    },
  }
}

/** The speed floor: another gateway, which charges nothing, on a chat double, against the same control. */
export async function measurePortkey(
  workshop: Workshop,
  plan: { rounds: number; seconds: number },
): Promise<PortkeyResult> {
  const opened = await openPortkey(workshop)
  if (opened.skipped !== null) return { skipped: opened.skipped, rows: [] }
  const upstream = await workshop.helper('upstream.ts', [], FEEDER_CORE)
  const base = `http://127.0.0.1:${upstream.ready}`
  const proxy = await workshop.helper('bare-proxy.ts', [base], SERVER_CORE)
  const chat = (at: number | string, pid: number): Target => ({
    url: `http://127.0.0.1:${at}/v1/chat/completions`,
    pid,
    script: 'chat.lua',
    args: [`${base}/v1`],
  })
  const control = chat(proxy.ready, proxy.pid)
  const portkey = chat(opened.port, opened.pid)
  await burst(control, 32, 1)
  await burst(portkey, 32, 2)
  const rows: PortkeyRow[] = []
  for (const connections of CONNECTIONS) {
    const row = { connections, control: [] as Burst[], portkey: [] as Burst[] }
    for (let round = 0; round < plan.rounds; round++) {
      row.control.push(await burst(control, connections, plan.seconds))
      row.portkey.push(await burst(portkey, connections, plan.seconds))
    }
    rows.push(row)
  }
  opened.stop()
  await proxy.stop()
  await upstream.stop()
  return { skipped: null, rows }
}

export function describePortkey({ skipped, rows }: PortkeyResult): string {
  if (skipped) return `Skipped: ${skipped}`
  const pair = (row: PortkeyRow, pick: (burst: Burst) => number, digits: number) =>
    `${median(row.control.map(pick)).toFixed(digits)} / ${median(row.portkey.map(pick)).toFixed(digits)}`
  return [
    `Pairs are control / ${PORTKEY} on Bun, a chat completion of about 1 KB, upstream 0 ms, one core. It charges nothing.`,
    table(
      ['c', 'req/s', 'ratio (range)', 'p50 ms', 'CPU us/req', 'not 200'],
      rows.map((row) => [
        row.connections,
        pair(row, (b) => b.rps, 0),
        spread(
          row.portkey.map(({ rps }, i) => rps / (row.control[i]?.rps ?? Number.NaN)),
          2,
        ),
        pair(row, (b) => b.p50 / 1000, 2),
        pair(row, (b) => b.cpu, 1),
        row.portkey.reduce((total, b) => total + b.refused + b.broken, 0),
      ]),
    ),
  ].join('\n\n')
}
