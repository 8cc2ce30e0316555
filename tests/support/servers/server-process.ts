import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { indexSources } from '../../../server/compose/search/index-sources'
import { writeMigratedDatabase } from '../databases/migrated-database'
import { databaseSetting, IS_SERVER } from '../databases/test-database'
import { freePort } from './free-port'
import { noteServer } from './running-servers'
import { bundledServer, KNOWN_FINGERPRINT } from './server-bundle'
import { writeSmallIndex } from './small-index'

const ROOT = join(import.meta.dir, '..', '..', '..')
/** Where Bun keeps what it compiled, as in an operator's home: without it each start compiles everything again, 0.3 s. */
export const COMPILED = join(ROOT, 'node_modules', '.cache', 'gateway-tests', 'compiled')
export const SECRET_KEY = 'a secret that only tests know, 32 bytes and more'

/**
 * A data folder with a small search index in it, so that a start under test does not build the real one. `migrated`: with a database that has
 * every migration and nothing else as well, which takes a fifth of a start; for tests whose subject is not the first start.
 */
export async function dataFolder({ migrated = true } = {}): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gw-'))
  await addSmallIndex(folder)
  if (migrated && !IS_SERVER) await writeMigratedDatabase(join(folder, 'gateway.db'))
  return folder
}

/** The same for a data folder that exists. */
export async function addSmallIndex(folder: string): Promise<void> {
  const { indexPath, ...real } = indexSources(folder)
  const fingerprint = await writeSmallIndex(indexPath, real)
  await chmod(indexPath, 0o600)
  await writeFile(join(folder, KNOWN_FINGERPRINT), fingerprint, { mode: 0o600 })
}

export const removeFolder = (folder: string) => rm(folder, { recursive: true, force: true })

export interface ServerProcess {
  readonly url: string
  readonly pid: number
  /** Resolves to the exit code; null when a signal ended it. */
  readonly exited: Promise<number>
  kill(signal: NodeJS.Signals): Promise<number>
  /** Its output so far. */
  output(): string
  /** From here on its output has no reader. */
  closeOutput(): Promise<void>
}

/** A server that lives for seconds is over before compiled code pays, or memory that is freed: without collecting it a start takes a seventh less. */
export const SHORT_LIVED = {
  BUN_JSC_useGC: '0',
  BUN_JSC_useDFGJIT: '0',
  BUN_JSC_thresholdForJITAfterWarmUp: '2000',
  MIMALLOC_PURGE_DELAY: '-1',
}
/** In the environment of a server whose memory or speed is the subject. */
export const FREES_MEMORY = { BUN_JSC_useGC: '1' }
/** The program that people start, with their settings of Bun. */
export const SOURCE = 'server/main.ts'

/**
 * Starts the real server on a free port, and resolves when its ready line is out; rejects with its output when it ends before.
 * From its bundle, which starts faster; from `SOURCE` where the start is the subject.
 */
export async function startServer(
  folder: string,
  env: Readonly<Record<string, string>> = {},
  program?: typeof SOURCE,
  flags: readonly string[] = [],
): Promise<ServerProcess> {
  return startProgram([process.execPath, program ?? (await bundledServer()), ...flags], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'] ?? '',
      BUN_RUNTIME_TRANSPILER_CACHE_PATH: COMPILED,
      ...(program !== SOURCE && SHORT_LIVED),
      DATA_DIR: folder,
      PORT: env['PORT'] ?? `${await freePort()}`,
      DATABASE_SYNC: 'promised',
      ...(await databaseSetting(folder)),
      SECRET_KEY,
      DISK_RESERVE_MIB: '0',
      SIGNUP_RPM: '1000',
      OWNER_RPM: '1000000',
      VISITOR_RPM: '1000000',
      SIGNUP_CREDIT_PER_NETWORK: '1000000',
      SIGNUP_CREDIT_DAILY_USD: '1000000',
      PAYMENTS: env['PAYMENTS_RPC_URL'] ? 'tempo' : 'off',
      ...env,
    },
  })
}

/** Starts any form of the server, such as the single binary, with this environment and no other. */
export async function startProgram(
  command: readonly string[],
  { cwd, env }: { readonly cwd: string; readonly env: Readonly<Record<string, string>> },
): Promise<ServerProcess> {
  const child = Bun.spawn([...command], { cwd, env, stdout: 'pipe', stderr: 'pipe' })
  noteServer(child)
  let output = ''
  const ready = Promise.withResolvers<string>()
  const readers = [child.stdout.getReader(), child.stderr.getReader()]
  const read = async (reader: (typeof readers)[number]) => {
    const decoder = new TextDecoder()
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      output += decoder.decode(part.value, { stream: true })
      const line = /(?:^|"message":")Gateway ready at (\S+)/m.exec(output)
      if (line?.[1]) ready.resolve(line[1])
    }
  }
  void Promise.all(readers.map(read)).then(() => ready.reject(new Error(`the server ended: ${output}`)))
  const url = await ready.promise
  return {
    url,
    pid: child.pid,
    exited: child.exited,
    output: () => output,
    async closeOutput() {
      for (const reader of readers) await reader.cancel()
    },
    kill(signal) {
      child.kill(signal)
      return child.exited
    },
  }
}

/** Signs up, over HTTP; `api` sends the session cookie and JSON and answers the parsed body. */
export async function signUp(url: string, email: string, password = 'correct horse battery') {
  const answer = await fetch(`${url}/api/auth/sign-up/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Ada', email, password }),
  })
  if (answer.status !== 200) throw new Error(await answer.text())
  const cookie = answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ')
  const account = await fetch(`${url}/api/account`, { headers: { cookie } })
  return {
    email,
    id: String(Object(await account.json()).id),
    cookie,
    async api(path: string, body?: unknown, base = url) {
      const said = await fetch(`${base}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { cookie, ...(body !== undefined && { 'content-type': 'application/json' }) },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
      return (await said.json()) as any
    },
  }
}

/** A request over the control socket. `path`: below `/api/operator`. */
export async function control(
  folder: string,
  path: string,
  body?: Record<string, unknown>,
  method = 'POST',
): Promise<Response> {
  const said = await fetch(`http://gateway/api/operator${path}`, {
    unix: join(folder, 'control.sock'),
    ...(body && { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
  })
  if (!said.ok) throw new Error(await said.text())
  return said
}

/** The answer of `/ready` over the control socket. */
export async function readiness(folder: string) {
  return (await fetch('http://gateway/ready', { unix: join(folder, 'control.sock') })).json()
}

/** Restores a data folder by `gateway operator restore`. */
export async function restore(dataDir: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const child = Bun.spawn([process.execPath, 'server/cli/main.ts', 'operator', 'restore', ...args], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'] ?? '',
      BUN_RUNTIME_TRANSPILER_CACHE_PATH: COMPILED,
      DATA_DIR: dataDir,
      SECRET_KEY,
      ...env,
    },
    stdout: 'pipe',
    stderr: 'pipe',
  })
  const [out, err] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()])
  return { code: await child.exited, out, err }
}
