import { basename, resolve } from 'node:path'
import type { BackupCopy, BackupList, BackupStatus, StartedBackup } from '../../http/operator/restore/backup-record'
import { parsedArgsWith } from '../command'
import { askServer, CommandRefused, UsageError } from '../control-client'
import { asJson, count } from '../print'
import { PROGRAM } from '../program'
import { table } from '../table'
import type { CommandTools, OperatorCommand } from './operator-command'

const POLL_MS = 250
const BACKUPS = '/api/operator/backups'

export const BACKUP_COMMANDS: readonly OperatorCommand[] = [
  {
    words: 'backup',
    about: 'copy the data to a place (default: BACKUP_TO); with --verify, read the copy back and reconcile it',
    usage: '[FOLDER|s3://BUCKET/PREFIX] [--verify]',
    async run(args, { tell }) {
      const { values, positionals } = parsedArgsWith(args, { json: { type: 'boolean' }, verify: { type: 'boolean' } })
      const [location, ...more] = positionals
      if (more.length > 0) throw new UsageError('"operator backup" takes one location; see --help')
      const order = { to: placeOf(location), verify: values.verify === true }
      const started = (await askServer('POST', BACKUPS, order)) as StartedBackup
      const copy = await finished(started, tell)
      return values.json ? asJson(copy) : copyReport(copy, started.location)
    },
  },
  {
    words: 'backup list',
    about: 'list the copies in a place',
    route: 'GET /backups',
    args: ['location?'],
    read: ({ location }) => ({ to: placeOf(location) }),
    print: listText,
  },
  {
    words: 'backup verify',
    about: 'check the sums of a copy, open it and reconcile it',
    usage: 'COPY',
    run: needsTheGateway('backup verify'),
  },
  {
    words: 'restore',
    about: 'put a copy, or the newest one of a place, into an empty DATA_DIR; or a replica of Litestream',
    legend:
      '--log is the log of charges (gateway.db.log) of the lost gateway, to go with the replica, or none if it is lost; LOG_URL is the one in PostgreSQL, also for a COPY. --accept-failover: that PostgreSQL was promoted and lost nothing. --until, such as 2026-11-29T12:00:00Z, takes the state of that time.\n',
    usage: 'COPY [--log LOG_URL] | --litestream REPLICA --log FILE|LOG_URL|none [--until TIME]',
    run: needsTheGateway('restore'),
  },
  {
    words: 'archive',
    about: 'write calls, entries and closings of a month that ended 13 months ago as CSV',
    legend: '--remove compares the archive with the tables and takes its calls and charges out.\n',
    usage: 'MONTH --to FOLDER|s3://BUCKET/PREFIX [--remove]',
    run: needsTheGateway('archive'),
  },
  {
    words: 'archive list',
    about: 'list the months whose calls and charges are in archives',
    route: 'GET /archives',
    columns: { archives: ['month', 'location', 'name', 'charges', 'charged_micros_usd'] },
  },
]

function needsTheGateway(words: string) {
  return async (): Promise<never> => {
    throw new UsageError(`"operator ${words}" needs the gateway itself, as "gateway-server" or in its folder`)
  }
}

/** The server has another working directory. */
function placeOf(location: string | boolean | undefined): string | undefined {
  if (location === undefined) return undefined
  const text = String(location)
  return text.startsWith('s3:') ? text : resolve(text)
}

async function finished({ name }: StartedBackup, tell: CommandTools['tell']): Promise<BackupCopy> {
  const progress = progressLines(tell)
  for (;;) {
    const {
      running,
      last_success: success,
      last_failure: failure,
    } = (await askServer('GET', `${BACKUPS}/status`)) as BackupStatus
    if (success?.name === name) return success.copy
    if (failure?.name === name) throw new CommandRefused(failure.reason)
    if (running?.name !== name) throw new CommandRefused(`the gateway was restarted; the backup ${name} did not end`)
    progress(running)
    await Bun.sleep(POLL_MS)
  }
}

/** Tells of each step, and of each tenth of it. */
export function progressLines(tell: CommandTools['tell']) {
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
