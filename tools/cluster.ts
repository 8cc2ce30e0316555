import { randomBytes } from 'node:crypto'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describeFailure, SetupFailure } from '../server/setup/setup-failure'
import { HERE, INIT, POSTGRES_IS_MISSING, postgresIn } from './postgres'
import { installPostgres, LITESTREAM, pathWith } from './test-programs'

/**
 * `bun run cluster [FOLDER]`: PostgreSQL, a primary, its standby and two workers on this machine, as docs/two-machines.md describes them. Each
 * begins anew some time after it ended, late enough that the standby takes over. Ctrl-C ends all. Without FOLDER the data goes with it.
 */
const ROOT = resolve(import.meta.dirname, '..')
const PAUSE_MS = 15_000
const [A, B, ONE, TWO] = [3000, 3001, 3002, 3003] as const
/** What workers pass on has the port after it. */
const [WORKERS_A, WORKERS_B] = [7000, 7002] as const
const POSTGRES = 5440

type Child = Bun.Subprocess
const children = new Map<string, Child>()
let isEnding = false
let onEnd = () => {}

/** Starts a program now, and again whenever it ends. */
function keep(name: string, start: () => Child): void {
  const child = start()
  children.set(name, child)
  void child.exited.then(async (code) => {
    if (isEnding) return
    console.log(`${name} ended with ${child.signalCode ?? code}; it begins anew in ${PAUSE_MS / 1000} s`)
    await Bun.sleep(PAUSE_MS)
    if (!isEnding) keep(name, start)
  })
  console.log(`${name}: process ${child.pid}`)
}

async function end(): Promise<void> {
  isEnding = true
  for (const name of ['worker one', 'worker two', 'standby b', 'primary a', 'PostgreSQL']) {
    const child = children.get(name)
    child?.kill(name === 'PostgreSQL' ? 'SIGINT' : 'SIGTERM')
    await child?.exited
  }
  onEnd()
}

async function untilDone(attempt: () => Promise<unknown>): Promise<void> {
  const isDone = () => attempt().then(Boolean, () => false)
  while (!isEnding && !(await isDone())) await Bun.sleep(200)
}

async function cluster(given: string | undefined): Promise<void> {
  await installPostgres()
  if (POSTGRES_IS_MISSING)
    throw new SetupFailure('PostgreSQL is missing. Install it (Debian: apt-get install postgresql)')
  const PATH = await pathWith(LITESTREAM, ROOT)
  if (Bun.which('litestream', { PATH }) === null)
    throw new SetupFailure('Litestream is missing. Install it from https://litestream.io into the PATH')
  const folder = given === undefined ? mkdtempSync(join(tmpdir(), 'cluster-')) : resolve(given)
  mkdirSync(join(folder, 'postgres'), { recursive: true })
  // PostgreSQL runs as another user if this is root.
  chmodSync(folder, 0o711)
  if (given === undefined) onEnd = () => rmSync(folder, { recursive: true, force: true })
  const common = {
    PATH,
    LOG_URL: `postgres://gateway@127.0.0.1:${POSTGRES}/postgres`,
    SECRET_KEY: secretIn(folder),
    DRAIN_NOTICE_SECONDS: '1',
  }
  const place = (name: string) => `file://${join(folder, `copy-of-${name}`)}`
  const log = openSync(join(folder, 'log'), 'a')
  const start = (args: readonly string[], env: Readonly<Record<string, string>>) =>
    Bun.spawn([process.execPath, ...args], {
      cwd: ROOT,
      env: { ...process.env, ...common, ...env },
      stdio: ['ignore', log, log],
      detached: true,
    })
  const gateway = (name: string, ports: readonly [number, number], ...flags: string[]) =>
    start(['server/setup/up.ts', ...flags], {
      DATA_DIR: join(folder, name),
      PORT: `${ports[0]}`,
      WORKERS_PORT: `${ports[1]}`,
      LITESTREAM_REPLICA: place(name),
    })
  // Once, rather than by both.
  const prepared = gateway('a', [A, WORKERS_A], '--check')
  if ((await prepared.exited) !== 0) throw new SetupFailure(readFileSync(join(folder, 'log'), 'utf8'))
  const postgres = postgresIn(join(folder, 'postgres'))
  if (!existsSync(join(folder, 'postgres/data/PG_VERSION'))) {
    const made = postgres('initdb', INIT)
    if ((await made.exited) !== 0) throw new SetupFailure('initdb failed', await new Response(made.stderr).text())
  }
  keep('PostgreSQL', () => postgres('postgres', ['-p', `${POSTGRES}`, ...HERE]))
  await untilDone(() => new Bun.SQL(common.LOG_URL).unsafe('SELECT 1'))
  // The first start begins the log. Each later one follows the other, if that has the lease.
  let isFirst = !existsSync(join(folder, 'a/gateway.db'))
  keep('primary a', () => {
    const flags = isFirst ? [] : [`--standby=${place('b')}`]
    isFirst = false
    return gateway('a', [A, WORKERS_A], ...flags)
  })
  keep('standby b', () => gateway('b', [B, WORKERS_B], `--standby=${place('a')}`))
  await untilDone(async () => (await Promise.any([A, B].map((port) => ready(port)))).ok)
  const primary = `http://127.0.0.1:${WORKERS_A},http://127.0.0.1:${WORKERS_B}`
  for (const [name, port] of [
    ['one', ONE],
    ['two', TWO],
  ] as const) {
    const env = { PORT: `${port}`, DATA_DIR: join(folder, 'none'), WORKER_CREDENTIAL: await credential(name) }
    keep(`worker ${name}`, () => start(['server/cli/main.ts', 'worker', '--primary', primary], env))
  }
  console.log(`
The gateway:   http://127.0.0.1:${A}   (the standby: http://127.0.0.1:${B}/ready)
Workers:       http://127.0.0.1:${ONE}  http://127.0.0.1:${TWO}
The log:       ${join(folder, 'log')}
Pull a plug:   kill -9 with one of the process ids above. Ctrl-C ends all.`)

  async function ready(port: number): Promise<Response> {
    const answer = await fetch(`http://127.0.0.1:${port}/ready`)
    if (!answer.ok) throw new Error(`${answer.status}`)
    return answer
  }
  async function credential(name: string): Promise<string> {
    const env = { ...process.env, ...common, DATA_DIR: join(folder, 'a') }
    const run = (...args: string[]) =>
      Bun.spawn([process.execPath, 'server/cli/main.ts', 'operator', 'workers', ...args], {
        cwd: ROOT,
        env,
        stderr: 'ignore',
      })
    // Of an earlier run.
    await run('remove', name).exited
    return (await new Response(run('add', name).stdout).text()).trim()
  }
}

/** The same for both gateways, and for later runs. */
function secretIn(folder: string): string {
  const file = join(folder, 'secret_key')
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('base64'), { mode: 0o600 })
  return readFileSync(file, 'utf8')
}

const [given] = Bun.argv.slice(2)
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    if (!isEnding) void end().then(() => process.exit(0))
  })
await cluster(given).catch(async (failure: unknown) => {
  console.error(describeFailure(failure))
  await end()
  process.exit(1)
})
