import { constants } from 'node:fs'
import { access, lstat, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type DataHealth, diskOf, examineCopies } from '../../compose/backup/data-health'
import type { Config } from '../../config'
import { DAY_MS, isoTime } from '../../core/clock'
import { clockProblem, type LastTimes } from '../../core/ledger/clock-check'
import { count } from '../print'
import { PROGRAM } from '../program'

/** The subject of a check. */
export type Check =
  | 'configuration'
  | 'data'
  | 'permissions'
  | 'disk'
  | 'clock'
  | 'limits'
  | 'ports'
  | 'database'
  | 'books'
  | 'backups'
  | 'gateway'

/** The finding of a check. `fail`: calls cannot be served or charged, or soon will not be. */
export interface Finding {
  readonly check: Check
  readonly status: 'ok' | 'warn' | 'fail'
  readonly message: string
  /** The cure; null without one. */
  readonly advice: string | null
}

export type Found = Omit<Finding, 'check'>

export const pass = (message: string): Found => ({ status: 'ok', message, advice: null })
export const warn = (message: string, advice: string): Found => ({ status: 'warn', message, advice })
export const fail = (message: string, advice: string): Found => ({ status: 'fail', message, advice })

const MIB = 1024 * 1024
/** The log of charges needs this much while the tables cannot be written. */
const MIN_FREE = 256 * MIB
const MIN_FILES = 1_000
const MIN_OPEN_FILES = 4_096
const MIN_MEMORY = 512 * MIB
const OTHERS = 0o077

/** Whether only this user can read and write the data. */
export async function checkPermissions(dataDir: string): Promise<readonly Found[]> {
  const uid = process.getuid?.()
  const found: Found[] = []
  for (const path of [dataDir, ...(await readdir(dataDir)).map((name) => join(dataDir, name))]) {
    const entry = await lstat(path).catch(() => null) // a running gateway removes files at any time
    if (!entry || uid === undefined || entry.isSymbolicLink()) continue
    if (entry.uid !== uid)
      found.push(
        fail(
          `${path} belongs to uid ${entry.uid}, and this is uid ${uid}`,
          'Run this as the user of the gateway, or change the owner',
        ),
      )
    else if (entry.mode & OTHERS)
      found.push(warn(`${path} is open to other users (mode ${(entry.mode & 0o777).toString(8)})`, `chmod go= ${path}`))
  }
  const isWritable = await access(dataDir, constants.W_OK).then(
    () => true,
    () => false,
  )
  if (!isWritable) found.push(fail(`${dataDir} cannot be written`, 'Mount it writable, or change its mode'))
  return found.length > 0 ? found : [pass(`only this user can access ${dataDir}`)]
}

/** Whether there is room for charges and for a copy of the data. */
export async function checkDisk(dataDir: string, databaseBytes: number): Promise<readonly Found[]> {
  const { bytes, files } = await diskOf(dataDir)
  const left = `${dataDir} has ${Math.floor(bytes / MIB)} MiB left`
  if (bytes < MIN_FREE) return [fail(left, 'Free space now: when the disk is full, no call can be charged')]
  if (files < MIN_FILES) return [fail(`${dataDir} has room for ${files} more files`, 'Free some inodes')]
  if (bytes < databaseBytes * 1.2)
    return [
      warn(
        `${left}, less than the size of the database`,
        'Backups and upgrades need a copy of the database: enlarge the disk',
      ),
    ]
  return [pass(left)]
}

/** Whether the clock is plausible: budgets, sessions and prices depend on it. */
export function checkClock(now: number, last: LastTimes): readonly Found[] {
  const problem = clockProblem(now, last)
  if (problem !== null) return [fail(problem, 'Synchronize the clock with NTP: timedatectl set-ntp true')]
  const timedatectl = Bun.which('timedatectl')
  const ntpState = timedatectl && Bun.spawnSync([timedatectl, 'show', '--property=NTPSynchronized', '--value']).stdout
  if (ntpState?.toString().trim() === 'no')
    return [warn('the clock is not synchronized by NTP', 'timedatectl set-ntp true')]
  return [pass(`${isoTime(now)}, which fits the last entries of the data`)]
}

/** The limits of this shell. A service has the limits of its unit. */
export async function checkLimits(): Promise<readonly Found[]> {
  const text = await readFile('/proc/self/limits', 'utf8').catch(() => '')
  const soft = (name: string) => new RegExp(`^${name} +(\\S+)`, 'm').exec(text)?.[1] ?? 'unlimited'
  const found: Found[] = []
  const files = soft('Max open files')
  if (Number(files) < MIN_OPEN_FILES)
    found.push(
      warn(`at most ${files} files and sockets may be open`, 'ulimit -n 65536, or LimitNOFILE=65536 in the unit'),
    )
  const size = soft('Max file size')
  if (size !== 'unlimited') found.push(fail(`files are limited to ${size} bytes`, 'ulimit -f unlimited'))
  const memory = process.constrainedMemory()
  if (memory > 0 && memory < MIN_MEMORY)
    found.push(warn(`at most ${Math.floor(memory / MIB)} MiB of memory`, 'Give it 512 MiB or more'))
  return found.length > 0 ? found : [pass(`${files} open files, unlimited file size`)]
}

/** Whether the ports are free or in use by the running gateway. */
export async function checkPorts(
  config: Pick<Config, 'host' | 'port' | 'metrics'>,
  isRunning: boolean,
): Promise<readonly Found[]> {
  const places = [
    { setting: 'PORT', host: config.host, port: config.port },
    ...(config.metrics?.listener ? [{ setting: 'METRICS_PORT', ...config.metrics.listener }] : []),
  ]
  return places.map(({ setting, host, port }) => {
    const at = `${host}:${port} (${setting})`
    const problem = port === 0 ? null : listenProblem(host, port)
    if (isRunning)
      return problem === 'EADDRINUSE' || port === 0
        ? pass(`${at} is in use by the gateway`)
        : warn(`nothing listens on ${at}`, 'Run this with the settings of the gateway')
    if (problem === 'EADDRINUSE') return fail(`another program listens on ${at}`, `Stop it, or set ${setting}`)
    return problem === null
      ? pass(`${at} is free`)
      : fail(`${at} cannot be used: ${problem}`, `Set ${setting}, or HOST`)
  })
}

/** The system's error code; null if a server could listen there. */
function listenProblem(hostname: string, port: number): string | null {
  try {
    Bun.listen({ hostname, port, socket: { data: () => undefined } }).stop(true)
    return null
  } catch (error) {
    return String(Object(error).code ?? error)
  }
}

/** Whether the books agree, and this version fits the data. */
export function checkBooks({ age, problems, logBytes }: DataHealth): readonly Found[] {
  if (age === 'newer')
    return [
      fail('a newer gateway wrote the database', 'Start the newer gateway, or restore a copy from before the upgrade'),
    ]
  if (age === 'older')
    return [warn('an older gateway wrote the database', 'The next start upgrades it: see docs/upgrading.md')]
  const [first] = problems ?? []
  if (first)
    return [
      fail(
        `the books have ${count(problems?.length ?? 0, 'mismatch', 'mismatches')}; the first: ${first.what} (${first.subject}: ${first.one} and ${first.other})`,
        `Run "${PROGRAM} operator reconcile", and compare with a copy from before`,
      ),
    ]
  return [pass(`the books agree; the log of charges has ${logBytes} bytes and is readable`)]
}

/** Whether backups are made. */
export async function checkBackups(backup: Config['backup'], now: number): Promise<readonly Found[]> {
  if (backup.to === null) return [warn('no backups are scheduled', 'Set BACKUP_TO: see docs/operating/backup.md')]
  const { writeProblem, newestAt: newest } = await examineCopies(backup.to, backup)
  if (writeProblem !== null)
    return [warn(`no copy can be written: ${writeProblem}`, 'Mount it writable or change its owner, or set BACKUP_TO')]
  const advice = `See the log of the gateway. "${PROGRAM} operator backup" makes a copy now`
  if (newest === null) return [warn(`${backup.to} has no copy yet`, advice)]
  if (now - newest > 2 * backup.everyMs)
    return [warn(`the newest copy in ${backup.to} is ${((now - newest) / DAY_MS).toFixed(1)} days old`, advice)]
  return [pass(`the newest copy in ${backup.to} was made at ${isoTime(newest)}`)]
}
