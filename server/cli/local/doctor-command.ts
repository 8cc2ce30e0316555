import { existsSync } from 'node:fs'
import { databaseFileOf, examineData } from '../../compose/backup/data-health'
import { type Config, dataFolder, storageSettings } from '../../config'
import { ConfigError } from '../../config/config-error'
import type { LastTimes } from '../../core/ledger/clock-check'
import { reasonOf } from '../../core/result'
import { parsedArgsWith } from '../command'
import { askServer, CommandRefused, hasServer } from '../control-client'
import { asJson } from '../print'
import { PROGRAM } from '../program'
import type { Terminal } from '../terminal'
import { checkedSettings } from './checked-settings'
import {
  type Check,
  checkBackups,
  checkBooks,
  checkClock,
  checkDisk,
  checkLimits,
  checkPermissions,
  checkPorts,
  type Finding,
  type Found,
  fail,
  pass,
  warn,
} from './doctor-checks'
import { checkServer, checkServerBooks, examinedServer } from './doctor-server'

const DOCTOR_HELP = `Usage: ${PROGRAM} doctor [--json]

Checks what a gateway needs: settings, permissions, database server, books, disk, clock, limits, ports and backups, and says how to fix what
it finds. It changes nothing, whether or not the gateway is running. Run it as the gateway's user, with the gateway's settings.

  --json   print the findings as JSON
  --help   print this help

Exit codes: 0 nothing failed, 1 something did, 2 wrong usage.
`

const MARKS = { ok: 'ok  ', warn: 'WARN', fail: 'FAIL' } as const
const NEVER: LastTimes = { entry: null, audit: null }

type Environment = Terminal['env']
type RunCheck = (name: Check, find: () => Promise<readonly Found[]> | readonly Found[]) => Promise<boolean>

/** Runs all checks and prints what they found. Throws `Refused` if one failed. */
export async function doctorCommand(
  args: readonly string[],
  { env, out, now }: Pick<Terminal, 'env' | 'out' | 'now'>,
): Promise<void> {
  const { json, help } = parsed(args)
  if (help) return out(DOCTOR_HELP)
  const findings = await examined(env, now())
  const failed = findings.filter(({ status }) => status === 'fail').length
  out(json ? asJson({ status: failed > 0 ? 'fail' : 'ok', findings }) : findings.map(line).join(''))
  if (failed > 0) throw new CommandRefused(`${failed} of ${findings.length} checks failed`)
}

function parsed(args: readonly string[]) {
  return parsedArgsWith(args, { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } }, false).values
}

function line({ check, status, message, advice }: Finding): string {
  return `${MARKS[status]}  ${check.padEnd(13)}  ${message}${advice === null ? '' : `\n${' '.repeat(21)}${advice}.`}\n`
}

async function examined(env: Environment, now: number): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  const check: RunCheck = async (name, find) => {
    const found = await Promise.resolve()
      .then(find)
      .catch((error: unknown) => [fail(reasonOf(error), 'See docs/operating.md')])
    findings.push(...found.map((one) => ({ check: name, ...one })))
    return found.every(({ status }) => status !== 'fail')
  }
  const dataDir = dataFolder(env)
  const settings: Config[] = []
  await check('configuration', () => checkSettings(env, settings))
  if (!existsSync(dataDir)) {
    const advice = 'Start the gateway once, or set DATA_DIR to the value that the gateway uses'
    await check('data', () => [fail(`there is no folder ${dataDir}`, advice)])
    return findings
  }
  const isOwn = await check('permissions', () => checkPermissions(dataDir))
  const isRunning = hasServer(dataDir)
  await check('gateway', () => (isRunning ? checkGateway(dataDir) : [pass('it does not run')]))
  await checkData(check, env, now, isOwn)
  await check('limits', checkLimits)
  for (const config of settings) {
    await check('ports', () => checkPorts(config, isRunning))
    await check('backups', () => checkBackups(config.backup, now))
  }
  return findings
}

async function checkSettings(env: Environment, valid: Config[]): Promise<readonly Found[]> {
  const { config, problems, warnings } = await checkedSettings(env)
  if (config) valid.push(config)
  const found = [
    ...problems.map((text) => fail(text, `Change it; "${PROGRAM} config print" shows where each setting comes from`)),
    ...warnings.map((text) => warn(text, 'Change it')),
  ]
  return found.length === 0 ? [pass('every setting is valid')] : found
}

/** The running gateway's report about itself. */
async function checkGateway(dataDir: string): Promise<readonly Found[]> {
  const answer = (await askServer('GET', '/ready', undefined, dataDir).catch((error: unknown) => {
    if (error instanceof CommandRefused) return { status: 'silent', problems: [error.message] }
    throw error
  })) as {
    readonly status: string
    readonly problems?: unknown
    readonly warnings?: Readonly<Record<string, string>>
  }
  const warnings = Object.values(answer.warnings ?? {})
  if (answer.status === 'ready' && warnings.length > 0)
    return warnings.map((text) => warn(`it serves and charges, but ${text}`, 'Fix what it names'))
  if (answer.status === 'ready') return [pass('it runs, and can serve and charge')]
  const what = `it runs and is ${answer.status}: ${JSON.stringify(answer.problems ?? null)}`
  return [fail(what, 'Fix what it names; if it does not respond, restart it')]
}

const OTHER_DATABASE = 'If the gateway has another DATABASE_URL or DATA_DIR, run this with its settings'

/** Opens the database, which creates files next to it, so only as the gateway's own user. */
async function checkData(check: RunCheck, env: Environment, now: number, isOwn: boolean): Promise<void> {
  const storage = readableStorage(env)
  if (storage === null) {
    const [what, advice] = ['not read, because the settings cannot be read', 'Correct the settings first']
    return void (await check('books', () => [warn(what, advice)]))
  }
  const { databaseUrl, dataDir } = storage
  const file = databaseFileOf(databaseUrl)
  let bytes = 0
  let last = NEVER
  const server = file === null ? await examinedServer(storage) : null
  if (server) await check('database', () => checkServer(server))
  await check('books', async () => {
    if (server) return checkServerBooks(server)
    if (file === null) return []
    if (!existsSync(file)) return [pass(`there is no database yet: ${file} is not there. ${OTHER_DATABASE}`)]
    if (!isOwn) return [warn('not read, because this is another user', 'Run this as the user of the gateway')]
    const health = await examineData(file)
    bytes = health.bytes
    last = health.last
    return checkBooks(health)
  })
  await check('disk', () => checkDisk(dataDir, bytes))
  await check('clock', () => checkClock(now, last))
}

/** Null if the settings cannot be read, which is reported separately. */
function readableStorage(env: Environment) {
  try {
    return storageSettings(env)
  } catch (error) {
    if (error instanceof ConfigError) return null
    throw error
  }
}
