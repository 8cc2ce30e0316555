import { isFileUrl, move, ownIndex, reopenDatabase } from '../../compose/backup/move'
import { cellStorage, storageSettings } from '../../config'
import { MoveProblem, type MoveProgress, type MoveReport } from '../../core/backup/move'
import { parsedArgsWith } from '../command'
import { progressLines } from '../commands/operator-backup'
import { CommandRefused, UsageError } from '../control-client'
import { asJson, count } from '../print'
import { PROGRAM } from '../program'
import type { Terminal } from '../terminal'

const HELP = `Usage: ${PROGRAM} operator migrate-database --from PLACE --to PLACE [--dry-run] [--json]
       ${PROGRAM} operator migrate-database --cell CELL --to PLACE [--dry-run] [--json]
       ${PROGRAM} operator migrate-database --reopen PLACE [--cell CELL] [--target-is-gone]

Moves the data of a stopped gateway into an empty database: from a file to a libSQL server, back, or from one server to another. PLACE is
file:/path/gateway.db or libsql://host (or http:, https:). DATABASE_AUTH_TOKEN is the servers' token. If the target's token differs, set
TARGET_DATABASE_AUTH_TOKEN, or TARGET_DATABASE_AUTH_TOKEN_FILE to a file with it. DATABASE_SYNC=promised promises that the servers
acknowledge only what is on their disks.

Stop the gateway, or all nodes, first. The command applies the log of charges, copies every table and compares it row by row, compares the
books, closes the old database and opens the new one. The two can never be served at the same time. If it is interrupted before the old
database is closed, the old one still works and the new one is refused; run the same command again to restart the copy.

The old database keeps its data but stays closed: no gateway starts on it. Delete it once the new one has a backup.

  --cell CELL       move a cell other than main, such as c2, to another server. Needs the settings of the nodes: DATABASE_URL, where the
                    nodes are known, CELL_DATABASE_URLS, and CELL_DATABASE_AUTH_TOKEN. With several cells, move main with --from, to another server
  --dry-run         check both databases and say what would be copied; change nothing
  --reopen PLACE    reopen a closed database. Refused while the new one has the data: the same balances could be spent twice.
                    To go back, move the data back into a new database
  --target-is-gone  the new database is lost for good, with everything that was served there: reconcile after the start
  --json            print what moved as JSON
`

/** Settings that say where the data is, and change when it moves. */
const LOCATION_SETTINGS = new Set(['DATABASE_URL', 'DATABASE_AUTH_TOKEN', 'TARGET_DATABASE_AUTH_TOKEN'])
const PLACE = /^(file:|libsql:\/\/|https?:\/\/)./

/** Moves data between databases while no gateway runs. */
export async function moveCommand(args: readonly string[], { err }: Pick<Terminal, 'err'>): Promise<string> {
  const { values } = parsedArgsWith(
    args,
    {
      ...{
        from: { type: 'string' },
        to: { type: 'string' },
        cell: { type: 'string' },
        reopen: { type: 'string' },
        'dry-run': { type: 'boolean' },
      },
      ...{ 'target-is-gone': { type: 'boolean' }, json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    },
    false,
  )
  if (values.help || args.length === 0) return HELP
  process.umask(0o077)
  try {
    const token = values.cell === undefined ? storageSettings().databaseAuthToken : cellStorage().authToken
    const targetToken = storageSettings().targetAuthToken ?? token
    if (values.reopen !== undefined) {
      const location = locationOf('--reopen', values.reopen, token)
      return await reopened(location, targetToken, values['target-is-gone'] === true)
    }
    if (values.cell !== undefined && values.from !== undefined)
      throw new UsageError('--cell takes the source from CELL_DATABASE_URLS: omit --from; see --help')
    const cell = values.cell === undefined ? null : cellOf(values.cell)
    const from = locationOf('--from', cell?.url ?? values.from, token)
    const asked = { isRehearsal: values['dry-run'] === true, isJson: values.json === true, cell }
    return await moved(from, locationOf('--to', values.to, targetToken), asked, err)
  } catch (error) {
    throw error instanceof MoveProblem ? new CommandRefused(error.message) : error
  }
}

function locationOf(option: string, value: string | undefined, authToken: string | null) {
  if (value === undefined || !PLACE.test(value) || !(value.startsWith('file:') || URL.canParse(value)))
    throw new UsageError(`${option} takes file:/path/gateway.db or libsql://host; see --help`)
  return { url: value, authToken }
}

/** A cell other than `main`, according to the settings of the nodes. */
function cellOf(name: string) {
  const { urls } = cellStorage()
  const names = urls.map((_, i) => `c${i + 2}`)
  const url = urls[names.indexOf(name)]
  if (url === undefined)
    throw new UsageError(
      `there is no cell "${name}" with its own database: CELL_DATABASE_URLS names ${names.join(', ') || 'none'}`,
    )
  const { databaseUrl, databaseAuthToken } = storageSettings()
  return { name, url, control: { url: databaseUrl, authToken: databaseAuthToken } }
}

type Location = ReturnType<typeof locationOf>

interface Asked {
  readonly isRehearsal: boolean
  readonly isJson: boolean
  readonly cell: ReturnType<typeof cellOf> | null
}

async function moved(
  from: Location,
  to: Location,
  { isRehearsal, isJson, cell }: Asked,
  print: Terminal['err'],
): Promise<string> {
  if (isFileUrl(from.url) && isFileUrl(to.url))
    throw new UsageError(`both databases are files: copy them with "${PROGRAM} operator backup"`)
  const progress = progressLines(print)
  const onProgress = ({ step, rows, total }: MoveProgress) => progress({ step, bytes: rows, total })
  const onTrouble = (what: string, reason: string) => print(`${what}: ${reason}\n`)
  const { isSyncPromised, dataDir } = storageSettings()
  const report = await move({ from, to, cell, now: Date.now(), isSyncPromised, onProgress, onTrouble }, isRehearsal)
  return isJson ? asJson(recordOf(report)) : text(report, cell ? null : await ownIndex(dataDir), cell?.name ?? null)
}

function recordOf({ from, to, outcome, tables, problems, waitingBytes }: MoveReport) {
  return { from, to, outcome: outcome.replaceAll(' ', '_'), tables, problems, waiting_log_bytes: waitingBytes }
}

function text(report: MoveReport, index: string | null, cell: string | null): string {
  const { from, to, tables, outcome, problems, waitingBytes } = report
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  const what = `${count(tables.length, 'table')} with ${count(rows, 'row')}`
  const books =
    problems === 0
      ? 'its books agree'
      : `its ledger has ${count(problems, 'mismatch', 'mismatches')}, like the original`
  if (outcome === 'rehearsed') {
    const waiting =
      waitingBytes > 0 ? ` The log of charges has ${waitingBytes} bytes, which will be applied first.` : ''
    return `${from} can be moved to ${to}: ${what}, and ${books}.${waiting} Nothing was changed.\n`
  }
  const done = [
    outcome === 'moved'
      ? `${to} has the data of ${from}: ${what}, each compared with the original, and ${books}.`
      : `${to} has the data of ${from} since an earlier run.`,
    `${from} is closed: no gateway starts on it. Delete it once the new database has a backup. Never start a copy of it that you made before.`,
  ]
  if (cell !== null)
    return [
      ...done,
      `Then start all nodes with ${to} in CELL_DATABASE_URLS, at the position of ${cell}: keep the order.`,
      '',
    ].join('\n')
  return [
    ...done,
    'The data contains no secrets. Bring these settings, with the same values:',
    ...secretNames(report).map(
      (name) => `  ${name}${name === 'SECRET_KEY' ? ', or the file secret_key in DATA_DIR' : ''}`,
    ),
    ...(index === null ? [] : [`Also copy ${index} into the DATA_DIR of each node: it has your own documents.`]),
    `Then start the gateway with DATABASE_URL=${to}${isFileUrl(to) ? ' and without NODE_URL' : `, its token in DATABASE_AUTH_TOKEN, and for many nodes a NODE_URL each`}.`,
    '',
  ].join('\n')
}

function secretNames({ keyVariables }: MoveReport): readonly string[] {
  const names = new Set([...storageSettings().secrets, ...keyVariables])
  return [...names].filter((name) => !LOCATION_SETTINGS.has(name))
}

async function reopened(location: Location, authToken: string | null, isTargetGone: boolean): Promise<string> {
  const { name, target } = await reopenDatabase({ location, authToken, isTargetGone, now: Date.now() })
  return `${name} is open again, without what was served from ${target}. Start the gateway without public access, and run "${PROGRAM} operator reconcile" before customers use it.\n`
}
