import { resolve } from 'node:path'
import { type BackupSource, backupTarget, backupWork } from '../../compose/backup/backups'
import { restoreCopy } from '../../compose/backup/restore'
import { restoreLitestream } from '../../compose/backup/restore-litestream'
import { logFinder } from '../../compose/log-copy'
import { dataFolder, readConfig, storageSettings } from '../../config'
import { secretMark } from '../../config/backups'
import { Backups } from '../../core/backup/backups'
import { type CopyManifest, isCopyName } from '../../core/backup/copy'
import { BackupProblem, type BackupTarget, findCopy } from '../../core/backup/target'
import { copyRecord } from '../../http/operator/restore/backup-record'
import { parsedArgsWith } from '../command'
import { copyReport, listText, progressLines } from '../commands/operator-backup'
import { CommandRefused, hasServer, UsageError } from '../control-client'
import { asJson, count } from '../print'
import { PROGRAM } from '../program'
import type { Terminal } from '../terminal'

type Output = Pick<Terminal, 'err'>

/**
 * Backup commands that need no server: restore and verify, and the others while no gateway runs. Null for what the running server does, and for other
 * commands.
 */
export async function localBackupCommand(args: readonly string[], { err }: Output): Promise<string | null> {
  if (args.includes('--help') || args.includes('-h')) return null
  const { values, positionals } = parsed(args)
  const [command, ...rest] = positionals
  const isJson = values.json === true
  process.umask(0o077)
  try {
    if (command === 'restore' && values.litestream !== undefined)
      return await restoredByLitestream(rest, { ...values, litestream: values.litestream }, err)
    if (command === 'restore') return await restored(one('restore', rest), values, err)
    const [first, ...more] = rest
    if (first === 'verify') return await verified(one('backup verify', more), isJson, err)
    if (first !== 'list') refuseCopy(first)
    if (hasServer(dataFolder())) return null
    if (first === 'list') return await listed(more[0], isJson)
    return await backedUp(first, values.verify === true, isJson, err)
  } catch (error) {
    throw error instanceof BackupProblem ? new CommandRefused(error.message) : error
  }
}

function parsed(args: readonly string[]) {
  return parsedArgsWith(args, {
    json: { type: 'boolean' },
    verify: { type: 'boolean' },
    litestream: { type: 'string' },
    log: { type: 'string' },
    'accept-failover': { type: 'boolean' },
    until: { type: 'string' },
  })
}

function one(command: string, args: readonly string[]): string {
  const [copy] = args
  if (copy === undefined || args.length > 1) throw new UsageError(`"operator ${command}" takes one copy; see --help`)
  return copy
}

/** Anybody who names a copy wants to verify it, not to put another copy inside it. */
function refuseCopy(location: string | undefined): void {
  if (isCopyName(location?.replace(/\/+$/, '').split('/').at(-1) ?? ''))
    throw new UsageError(`${location} is a copy. Did you mean "operator backup verify ${location}"?`)
}

/** The settings to read copies. Only storage settings are needed: a new machine may have no others yet. */
function backupSource(): BackupSource {
  const { dataDir, databaseUrl, access } = storageSettings()
  return { dataDir, databaseUrl, backup: { access, secrets: [], secretMark: '' } }
}

/** `LOCATION/NAME`, or a location, for its newest copy. */
async function named(text: string): Promise<{ readonly target: BackupTarget; readonly copy: CopyManifest }> {
  const location = text.startsWith('s3:') ? text.replace(/\/+$/, '') : resolve(text)
  const at = location.lastIndexOf('/')
  const last = location.slice(at + 1)
  const target = backupTarget(isCopyName(last) ? location.slice(0, at) : location, backupSource())
  return { target, copy: await findCopy(target, isCopyName(last) ? last : null) }
}

interface LogChoice {
  readonly log?: string
  readonly until?: string
  readonly 'accept-failover'?: boolean
}

/** The log in PostgreSQL that `--log LOG_URL` names; null for a file or none. Its URL is a secret, which no list of processes should show. */
function findLogOf({ log, 'accept-failover': acceptsFailover = false }: LogChoice, until: Date | null = null) {
  if (log !== 'LOG_URL') return null
  const { logCopy, sealingKeys } = storageSettings()
  const copy = logCopy()
  if (!copy) throw new UsageError('--log LOG_URL needs the setting LOG_URL')
  return logFinder({ url: copy.url, sealingKeys: sealingKeys(), acceptsFailover, until })
}

async function restored(
  text: string,
  values: LogChoice & { readonly json?: boolean },
  print: Output['err'],
): Promise<string> {
  if ((values.log !== undefined && values.log !== 'LOG_URL') || values.until !== undefined)
    throw new UsageError('"operator restore COPY" takes --log LOG_URL, or no log; --until goes with --litestream')
  const { target, copy } = await named(text)
  const { dataDir, databaseUrl } = backupSource()
  const findLog = findLogOf(values)
  const onProgress = progressLines(print)
  const groups = await restoreCopy({ target, copy, dataDir, databaseUrl, now: Date.now(), findLog, onProgress })
  if (values.json) return asJson({ ...copyRecord(copy), ...(findLog && { groups }) })
  const adds = findLog ? `Its start adds ${count(groups, 'group')} of changes from LOG_URL.\n` : ''
  return `${dataDir} now has the data of ${copy.name}, and ${booksOf(copy)}.\n${secretLines(copy)}${adds}Start the gateway, then run "${PROGRAM} operator after-restore" before customers use it.\n`
}

async function restoredByLitestream(
  rest: readonly string[],
  values: LogChoice & { readonly litestream: string; readonly json?: boolean },
  print: Output['err'],
): Promise<string> {
  const { litestream: replica, log, json } = values
  const until = timeOf(values.until)
  if (rest.length > 0 || log === undefined)
    throw new UsageError(
      '"operator restore --litestream REPLICA" takes --log FILE, --log LOG_URL, or --log none if both are lost; see --help',
    )
  const { dataDir, databaseUrl } = backupSource()
  const { litestream: program, access } = storageSettings()
  const onProgress = progressLines(print)
  const findLog = findLogOf(values, until)
  const file = log === 'none' || findLog ? null : resolve(log)
  if (until !== null && file !== null)
    throw new UsageError('a log file does not say when its groups were written: --until takes --log LOG_URL, or none')
  const { groups, problems } = await restoreLitestream({
    litestream: { program, access },
    replica,
    until,
    log: file,
    findLog,
    dataDir,
    databaseUrl,
    now: Date.now(),
    onProgress,
  })
  if (json) return asJson({ replica, log: findLog ? 'LOG_URL' : file, groups, problems })
  const charges =
    file === null && !findLog
      ? 'Charges of the last seconds may be missing: there is no log'
      : `Its start adds ${count(groups, 'group')} of charges from the log`
  const own =
    until === null
      ? ''
      : ' It is a gateway of its own: give it another LOG_URL and LITESTREAM_REPLICA, and stop the original, since both would spend the same balances.'
  const at = until === null ? '' : ` of ${until.toISOString()}`
  return `${dataDir} now has the data of ${replica}${at}, and ${booksOf({ problems })}. ${charges}.${own}\nStart the gateway, then run "${PROGRAM} operator after-restore" before customers use it.\n`
}

/** A time of the past; null if none is given. */
function timeOf(text: string | undefined): Date | null {
  if (text === undefined) return null
  const time = new Date(text)
  if (!(time.getTime() <= Date.now()))
    throw new UsageError(`--until ${text} must be a time of the past, such as 2026-11-29T12:00:00Z`)
  return time
}

function booksOf({ problems }: Pick<CopyManifest, 'problems'>): string {
  return problems === 0
    ? 'its books agree'
    : `its ledger has ${count(problems, 'mismatch', 'mismatches')}, copied from the original`
}

function secretLines({ secrets, secretMark: mark }: CopyManifest): string {
  const given = storageSettings().secrets
  const key = currentMark()
  const missing = secrets.filter((name) => (name === 'SECRET_KEY' ? key === null : !given.includes(name)))
  const lines = missing.length > 0 ? [`Not set, but needed with the original's values: ${missing.join(', ')}`] : []
  if (key !== null && key !== mark)
    lines.push(
      "SECRET_KEY differs from the copy's: everyone is signed out, and secrets sealed with the old key stay unreadable.",
    )
  return lines.map((line) => `${line}\n`).join('')
}

function currentMark(): string | null {
  try {
    return secretMark(readConfig().secretKey)
  } catch {
    return null // other settings may not be set yet
  }
}

async function verified(text: string, isJson: boolean, print: Output['err']): Promise<string> {
  const { target, copy } = await named(text)
  await backupWork(backupSource()).verify(target, copy, progressLines(print))
  return isJson ? asJson(copyRecord(copy)) : `${copy.name} is complete, it opens, and ${booksOf(copy)}.\n`
}

async function listed(text: string | undefined, isJson: boolean): Promise<string> {
  const target = backupTarget(text ?? configuredLocation(), backupSource())
  const list = { location: target.location, copies: (await target.copies()).map(copyRecord) }
  return isJson ? asJson(list) : listText(list)
}

function configuredLocation(): string {
  const { backupTo } = storageSettings()
  if (backupTo !== null) return backupTo
  throw new UsageError('name a location, or set BACKUP_TO')
}

async function backedUp(
  text: string | undefined,
  verify: boolean,
  isJson: boolean,
  print: Output['err'],
): Promise<string> {
  const config = readConfig()
  const target = backupTarget(text ?? configuredLocation(), config)
  const backups = new Backups({ ...backupWork(config), clock: { now: () => Date.now() } })
  const order = { target, verify, keep: text === undefined ? config.backup.keep : null }
  const { copy } = await backups.start(order, progressLines(print)).result
  return isJson ? asJson(copyRecord(copy)) : copyReport(copyRecord(copy), target.location)
}
