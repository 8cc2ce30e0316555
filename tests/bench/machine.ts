import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { cpus, release, totalmem, type } from 'node:os'
import { join } from 'node:path'
import { version as elysia } from '../../node_modules/elysia/package.json'
import { quantile } from './statistics'

/** Sync times of a folder's disk in microseconds, of a 4 KB write over bytes that exist, as a log that is reused does it. */
export interface SyncTimes {
  readonly p50: number
  readonly p99: number
}

const PROBES = 400
const PAGE = Buffer.alloc(4096, 1)

export function syncTimes(folder: string): SyncTimes {
  const file = join(folder, 'sync-probe')
  const fd = openSync(file, 'w')
  const times: number[] = []
  try {
    for (let i = 0; i < PROBES; i++) writeSync(fd, PAGE, 0, PAGE.length, i * PAGE.length)
    fdatasyncSync(fd)
    for (let i = 0; i < PROBES; i++) {
      writeSync(fd, PAGE, 0, PAGE.length, i * PAGE.length)
      const begun = performance.now()
      fdatasyncSync(fd)
      times.push((performance.now() - begun) * 1000)
    }
  } finally {
    closeSync(fd)
    rmSync(file, { force: true })
  }
  return { p50: quantile(times, 0.5), p99: quantile(times, 0.99) }
}

/** The machine and the versions of the figures. */
export function machineFacts(folder: string): string[] {
  const [cpu] = cpus()
  const memory = (totalmem() / 2 ** 30).toFixed(0)
  const disk = said(['stat', '-f', '-c', '%T', folder])
  const { p50, p99 } = syncTimes(folder)
  return [
    `Machine: ${cpus().length} x ${cpu?.model ?? 'unknown'}, ${memory} GiB, ${type()} ${release()}, ${distribution()}`,
    `Data folder: on ${disk}; fdatasync of 4 KB p50 ${p50.toFixed(0)} us, p99 ${p99.toFixed(0)} us`,
    'Fsync policy: every 200 is sent after an fdatasync of the log line of its charge; SQLite follows, WAL, synchronous=FULL',
    `Versions: Bun ${Bun.version}, Elysia ${elysia}, ${said(['wrk', '-v']).split(' Copyright')[0] || 'no wrk'}, commit ${said(['git', 'rev-parse', '--short', 'HEAD'])}`,
    `Date: ${new Date().toISOString().slice(0, 10)}`,
    `Command: bun run ${[process.argv[1]?.match(/([\w-]+)\.ts$/)?.[1], ...process.argv.slice(2)].join(' ')}`,
  ]
}

function said(command: string[]): string {
  if (!Bun.which(command[0] ?? '')) return ''
  const { stdout, stderr } = Bun.spawnSync(command)
  return (stdout.toString() || stderr.toString()).split('\n')[0]?.trim() ?? ''
}

function distribution(): string {
  try {
    return /PRETTY_NAME="(.*)"/.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? ''
  } catch {
    return ''
  }
}
