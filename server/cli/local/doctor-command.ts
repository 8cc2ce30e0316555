import { existsSync } from 'node:fs'
import { databaseFileOf, examineData } from '../../compose/backup/data-health'
import { type Config, dataFolder, givenNow, storageSettings, validConfig } from '../../config'
import type { LastTimes } from '../../core/ledger/clock-check'
import { parsedWith } from '../command'
import { askServer, hasServer, Refused } from '../control-client'
import { asJson } from '../print'
import type { Terminal } from '../terminal'
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
  ok,
  warn,
} from './doctor-checks'

const DOCTOR_HELP = `Usage: bun run gateway doctor [--json]

Checks what a gateway needs: settings, permissions, books, disk, clock, limits, ports and backups. Says what to do about what it finds. It changes
nothing, whether the gateway runs or not. Run it as the user and with the settings of the gateway.

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
  if (failed > 0) throw new Refused(`${failed} of ${findings.length} checks failed`)
}

function parsed(args: readonly string[]) {
  return parsedWith(args, { json: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } }, false).values
}

function line({ check, status, message, advice }: Finding): string {
  return `${MARKS[status]}  ${check.padEnd(13)}  ${message}${advice === null ? '' : `\n${' '.repeat(21)}${advice}.`}\n`
}

async function examined(env: Environment, now: number): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  const check: RunCheck = async (name, find) => {
    const found = await Promise.resolve()
      .then(find)
      .catch((error: unknown) => [
        fail(error instanceof Error ? error.message : String(error), 'See docs/operating.md'),
      ])
    findings.push(...found.map((one) => ({ check: name, ...one })))
    return found.every(({ status }) => status !== 'fail')
  }
  const dataDir = dataFolder(env)
  const settings: Config[] = []
  await check('configuration', () => checkSettings(env, dataDir, settings))
  if (!existsSync(dataDir)) {
    const advice = 'Start the gateway once, or set DATA_DIR as the gateway has it'
    await check('data', () => [fail(`there is no folder ${dataDir}`, advice)])
    return findings
  }
  const isOwn = await check('permissions', () => checkPermissions(dataDir))
  const isRunning = hasServer(dataDir)
  await check('gateway', () => (isRunning ? checkGateway(dataDir) : [ok('it does not run')]))
  await checkData(check, env, now, isOwn)
  await check('limits', checkLimits)
  for (const config of settings) {
    await check('ports', () => checkPorts(config, isRunning))
    await check('backups', () => checkBackups(config.backup, now))
  }
  return findings
}

function checkSettings(env: Environment, dataDir: string, valid: Config[]): readonly Found[] {
  const given = givenNow(env)
  valid.push(validConfig(given, dataDir))
  const { warnings } = given
  return warnings.length === 0 ? [ok('every setting is valid')] : warnings.map((text) => warn(text, 'Change it'))
}

/** What a gateway that runs says of itself. */
async function checkGateway(dataDir: string): Promise<readonly Found[]> {
  const answer = (await askServer('ready', {}, dataDir).catch((error: unknown) => {
    if (error instanceof Refused) return { status: 'silent', problems: [error.message] }
    throw error
  })) as { readonly status: string; readonly problems?: unknown }
  if (answer.status === 'ready') return [ok('it runs, and can serve and charge')]
  const what = `it runs and is ${answer.status}: ${JSON.stringify(answer.problems ?? null)}`
  return [fail(what, 'Mend what it names; if it is silent, start it again')]
}

/** Opens the database, which makes files beside it: only as its own user. */
async function checkData(check: RunCheck, env: Environment, now: number, isOwn: boolean): Promise<void> {
  const { databaseUrl, dataDir } = storageSettings(env)
  const file = databaseFileOf(databaseUrl)
  let bytes = 0
  let last = NEVER
  await check('books', async () => {
    if (file === null) return [ok('not read: "gateway operator reconcile" checks a database server')]
    if (!existsSync(file)) return [ok('there is no database yet')]
    if (!isOwn) return [warn('not read, because this is another user', 'Run this as the user of the gateway')]
    const health = await examineData(file)
    bytes = health.bytes
    last = health.last
    return checkBooks(health)
  })
  await check('disk', () => checkDisk(dataDir, bytes))
  await check('clock', () => checkClock(now, last))
}
