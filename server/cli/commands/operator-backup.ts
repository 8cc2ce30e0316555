import { basename, resolve } from 'node:path'
import type { BackupCopy, BackupList, BackupStatus, StartedBackup } from '../../http/operator/restore/backup-record'
import { askServer, CommandRefused, UsageError } from '../control-client'
import { asJson, count } from '../print'
import { PROGRAM } from '../program'
import { table } from '../table'

export const BACKUP_HELP = `  backup [LOCATION] [--verify]              copy the data to a folder or s3://bucket/prefix (default: BACKUP_TO) while the
                                            gateway runs; with --verify, read the copy back and reconcile it
  backup list [LOCATION]                    list the copies in a place
  backup verify COPY                        check the sums of a copy, open it and reconcile it
  restore COPY                              put a copy into an empty DATA_DIR; COPY is a copy, or a place for its newest one
  restore --litestream REPLICA --log FILE   the same from a replica of Litestream and the log of charges (gateway.db.log) of
                                            the lost gateway, or --log none
  archive MONTH --to FOLDER|s3://BUCKET/PREFIX [--remove]
                                            write calls, entries and closings of a month that ended 13 months ago as CSV; with
                                            --remove, compare the archive with the tables and take its calls and charges out
  archive list                              list the months whose calls and charges are in archives`

const POLL_MS = 250

interface Options {
  readonly verify?: boolean | undefined
  readonly json?: boolean | undefined
}

/** Writes a line for people who wait. */
export type Tell = (line: string) => void

/** Runs a command about backups by the running server. */
export async function backupCommand(args: readonly string[], options: Options, tell: Tell): Promise<string> {
  const [first, second, ...more] = args
  if (first === 'verify')
    throw new UsageError('"operator backup verify" needs the gateway itself, as "gateway-server" or in its folder')
  if (first === 'list') {
    if (more.length > 0) throw new UsageError('"operator backup list" takes one location; see --help')
    const list = (await askServer('backup-list', toOf(second))) as BackupList
    return options.json ? asJson(list) : listText(list)
  }
  if (second !== undefined) throw new UsageError('"operator backup" takes one location; see --help')
  const started = (await askServer('backup', { ...toOf(first), verify: options.verify === true })) as StartedBackup
  const copy = await finished(started, tell)
  return options.json ? asJson(copy) : copyReport(copy, started.location)
}

/** The server has another working directory. */
function toOf(location: string | undefined): { readonly to?: string } {
  if (location === undefined) return {}
  return { to: location.startsWith('s3:') ? location : resolve(location) }
}

async function finished({ name }: StartedBackup, tell: Tell): Promise<BackupCopy> {
  const progress = progressLines(tell)
  for (;;) {
    const {
      running,
      last_success: success,
      last_failure: failure,
    } = (await askServer('backup-status', {})) as BackupStatus
    if (success?.name === name) return success.copy
    if (failure?.name === name) throw new CommandRefused(failure.reason)
    if (running?.name !== name) throw new CommandRefused(`the gateway was restarted; the backup ${name} did not end`)
    progress(running)
    await Bun.sleep(POLL_MS)
  }
}

/** Tells of each step, and of each tenth of it. */
export function progressLines(tell: Tell) {
  let last = ''
  return ({ step, bytes, total }: { readonly step: string; readonly bytes: number; readonly total: number }): void => {
    const tenths = total > 0 ? ` ${Math.min(Math.floor((bytes / total) * 10), 10) * 10} %` : ''
    const line = `${step}${tenths}`
    if (line !== last) tell(`${line}\n`)
    last = line
  }
}

/** The next steps after a new copy. */
export function copyReport({ name, bytes, files, secrets, problems }: BackupCopy, location: string): string {
  return [
    `${location}/${name}: ${size(bytes)}, ${files.join(' and ')}`,
    ...(problems > 0
      ? [`Its books disagree in ${count(problems, 'place')}: run "${PROGRAM} operator reconcile".`]
      : []),
    'The copy has customers’ data and no secrets. To restore it elsewhere, bring these settings, with the same values:',
    ...secrets.map((secret) => `  ${secret}${secret === 'SECRET_KEY' ? ', or the file secret_key in DATA_DIR' : ''}`),
    `Then: DATA_DIR=... ${PROGRAM} operator restore ${location}/${name}`,
    '',
  ].join('\n')
}

export function listText({ location, copies }: BackupList): string {
  if (copies.length === 0) return `${location} has no complete copies.\n`
  return table(
    ['COPY', 'TAKEN AT', 'SIZE', 'VERSION'],
    copies.map((copy) => [basename(copy.name), copy.taken_at, size(copy.bytes), copy.version]),
  )
}

function size(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
