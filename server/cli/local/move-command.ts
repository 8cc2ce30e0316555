import { isFileUrl, move, ownIndex, reopenDatabase } from '../../compose/backup/move'
import { cellStorage, storageSettings } from '../../config'
import { MoveProblem, type MoveProgress, type MoveReport } from '../../core/backup/move'
import { parsedWith } from '../command'
import { progressLines } from '../commands/operator-backup'
import { Refused, UsageError } from '../control-client'
import { asJson } from '../print'
import type { Terminal } from '../terminal'

const HELP = `Usage: gateway operator migrate-database --from PLACE --to PLACE [--dry-run] [--json]
       gateway operator migrate-database --cell CELL --to PLACE [--dry-run] [--json]
       gateway operator migrate-database --reopen PLACE [--cell CELL] [--target-is-gone]

Moves the data of a stopped gateway into an empty database: from a file to a libSQL server, back, or from one server to another. PLACE is
file:/path/gateway.db or libsql://host (http: or https: too). DATABASE_AUTH_TOKEN is the token of servers, TARGET_DATABASE_AUTH_TOKEN, or
the file that TARGET_DATABASE_AUTH_TOKEN_FILE names, has that of the new place if it is another one. DATABASE_SYNC=promised says that
their disks have what they acknowledge.

Stop the gateway first, or all nodes. What waits in the log of charges is applied, every table is copied and compared row by row, the books
are compared, the old place is closed, and the new one opens. At no moment both can be served. If this is interrupted before the old
place is closed, the old place serves on and the new one is refused; run the same command again, which begins the copy anew.

The old place stays as it was, closed: no gateway starts on it. Delete it once the new one has a backup.

  --cell CELL       move a cell other than main, such as c2, to another server. Needs the settings of the nodes: DATABASE_URL, where the
                    nodes are known, CELL_DATABASE_URLS, and CELL_DATABASE_AUTH_TOKEN. main of several cells goes by --from to another server
  --dry-run         check both places and say what would be copied; change nothing
  --reopen PLACE    open a closed place again. Refused while the new place has the data: the same balances would be spent
                    twice. To come back, move the data back, into a new database
  --target-is-gone  the new place is lost for good. What was served there is lost with it: reconcile after the start
  --json            print what moved as JSON
`

/** They say where the data is, and change with it. */
const OF_THE_LOCATION = new Set(['DATABASE_URL', 'DATABASE_AUTH_TOKEN', 'TARGET_DATABASE_AUTH_TOKEN'])
const PLACE = /^(file:|libsql:\/\/|https?:\/\/)./

/** Moves data between databases while no gateway runs. */
export async function moveCommand(args: readonly string[], { err }: Pick<Terminal, 'err'>): Promise<string> {
  const { values } = parsedWith(
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
      throw new UsageError('--cell says where the data is, by CELL_DATABASE_URLS: leave --from out; see --help')
    const cell = values.cell === undefined ? null : cellOf(values.cell)
    const from = locationOf('--from', cell?.url ?? values.from, token)
    const asked = { isRehearsal: values['dry-run'] === true, isJson: values.json === true, cell }
    return await moved(from, locationOf('--to', values.to, targetToken), asked, err)
  } catch (error) {
    throw error instanceof MoveProblem ? new Refused(error.message) : error
  }
}

function locationOf(option: string, value: string | undefined, authToken: string | null) {
  if (value === undefined || !PLACE.test(value) || !(value.startsWith('file:') || URL.canParse(value)))
    throw new UsageError(`${option} takes file:/path/gateway.db or libsql://host; see --help`)
  return { url: value, authToken }
}

/** A cell other than `main`, by the settings of the nodes. */
function cellOf(name: string) {
  const { urls } = cellStorage()
  const names = urls.map((_, i) => `c${i + 2}`)
  const url = urls[names.indexOf(name)]
  if (url === undefined)
    throw new UsageError(
      `there is no cell "${name}" that has a database of its own: CELL_DATABASE_URLS names ${names.join(', ') || 'none'}`,
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
  tell: Terminal['err'],
): Promise<string> {
  if (isFileUrl(from.url) && isFileUrl(to.url))
    throw new UsageError('both places are files, which are copied by "gateway operator backup"')
  const progress = progressLines(tell)
  const onProgress = ({ step, rows, total }: MoveProgress) => progress({ step, bytes: rows, total })
  const onTrouble = (what: string, reason: string) => tell(`${what}: ${reason}\n`)
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
  const what = `${tables.length} tables with ${rows.toLocaleString('en')} rows`
  const books =
    problems === 0 ? 'its books agree' : `its books disagree in ${problems} places, as those of the original do`
  if (outcome === 'rehearsed') {
    const waiting = waitingBytes > 0 ? ` The log of charges has ${waitingBytes} bytes, which are applied first.` : ''
    return `${from} can be moved to ${to}: ${what}, and ${books}.${waiting} Nothing was changed.\n`
  }
  const done = [
    outcome === 'moved'
      ? `${to} has the data of ${from}: ${what}, each compared with the original, and ${books}.`
      : `${to} has the data of ${from} since an earlier run.`,
    `${from} is closed: no gateway starts on it. Delete it once the new place has a backup. Never start a copy of it that you made before.`,
  ]
  if (cell !== null)
    return [
      ...done,
      `Then start all nodes with ${to} in CELL_DATABASE_URLS, in the place of ${cell}: keep the order.`,
      '',
    ].join('\n')
  return [
    ...done,
    'The data has no secrets. Bring these settings, with the same values:',
    ...secretNames(report).map(
      (name) => `  ${name}${name === 'SECRET_KEY' ? ', or the file secret_key in DATA_DIR' : ''}`,
    ),
    ...(index === null ? [] : [`Bring ${index} too, into the DATA_DIR of each node: it has documents of your own.`]),
    `Then start the gateway with DATABASE_URL=${to}${isFileUrl(to) ? ' and without NODE_URL' : `, its token in DATABASE_AUTH_TOKEN, and for many nodes a NODE_URL each`}.`,
    '',
  ].join('\n')
}

function secretNames({ keyVariables }: MoveReport): readonly string[] {
  const names = new Set([...storageSettings().secrets, ...keyVariables])
  return [...names].filter((name) => !OF_THE_LOCATION.has(name))
}

async function reopened(location: Location, authToken: string | null, isTargetGone: boolean): Promise<string> {
  const { name, target } = await reopenDatabase({ location, authToken, isTargetGone, now: Date.now() })
  return `${name} is open again. What ${target} did is not in it: start the gateway for yourself alone, and run "gateway operator reconcile" before customers use it.\n`
}
