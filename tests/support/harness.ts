import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compose, DASHBOARD } from '../../server/compose'
import { openTracer } from '../../server/compose/observing/telemetry'
import { composeWorker, type WorkerParts, workerState } from '../../server/compose/worker'
import { type Config, readConfig, workerConfig } from '../../server/config'
import type { Account } from '../../server/core/accounts/account'
import type { Actor } from '../../server/core/audit'
import type { ImageSearchInput } from '../../server/core/catalog/image-search'
import type { LlmContextInput } from '../../server/core/catalog/llm-context'
import type { Limits } from '../../server/core/limits/tier'
import { micros, ZERO } from '../../server/core/money'
import type { OutboundFetch } from '../../server/core/outbound/outbound-fetch'
import type { CallOrigin, Provider, ProviderAnswer, UpstreamFailure } from '../../server/core/providers/provider'
import { ok, type Result } from '../../server/core/result'
import { newKeyForm } from '../../server/http/keys/record'
import { type DashboardFiles, loadDashboard } from '../../server/http/system/dashboard-files'
import { openLog } from '../../server/log'
import './collect-when-forced'
import { writeMigratedDatabase } from './databases/migrated-database'
import { QUICK_HASH } from './quick-hash'
import { listenTo } from './servers/listen-to'
import { TEST_THREADS } from './test-threads'
import { until } from './until'

/**
 * A clock that stands still until it is told. Starts in the middle of a minute, so that a window is not about to end. With
 * `running` it is the true time and moves, as a browser needs.
 */
export class FakeClock {
  private at: number
  private set = 0
  private readonly running: boolean

  constructor({ running = false, now = Date.UTC(2026, 10, 21, 12, 0, 20) }: { running?: boolean; now?: number }) {
    this.running = running
    this.at = running ? 0 : now
  }

  now(): number {
    return this.set + (this.running ? Date.now() + this.at : this.at)
  }

  advance(ms: number): void {
    this.at += ms
  }

  /** Somebody sets the clock: the time of day is another one, and no time passes. */
  jump(ms: number): void {
    this.set += ms
  }

  /** Time that passes. */
  readonly stopwatch = { now: () => (this.running ? performance.now() : 0) + this.at }
}

type Answering<I> = (
  input: I,
  signal: AbortSignal,
  origin: CallOrigin,
) => Promise<Result<ProviderAnswer, UpstreamFailure>>

/** A provider that records what it was asked and answers what the test wants. */
export class FixtureProvider<I> implements Provider<I> {
  readonly name: string = 'fixture'
  readonly asked: I[] = []
  isReady = true
  isLocal?: true
  answer: Answering<I> = async () => ok({ body: '{"fixture":true}' })

  async call(input: I, signal: AbortSignal, origin: CallOrigin): Promise<Result<ProviderAnswer, UpstreamFailure>> {
    this.asked.push(input)
    return this.answer(input, signal, origin)
  }

  async ready(): Promise<boolean> {
    return this.isReady
  }
}

export interface MadeKey {
  readonly id: string
  readonly secret: string
}

const OPERATOR: Actor = { kind: 'operator', id: 'test', address: null }
/** Limits so wide that no test waits for a minute to pass. */
export const WIDE: Limits = { rpm: 1_000_000, tpm: 1_000_000_000, concurrency: 1000 }

interface HarnessOptions {
  readonly env?: Record<string, string>
  readonly folder?: string
  readonly pingMs?: number
  readonly outbound?: OutboundFetch
  /** Answers come from the websearch providers that `env` names, not from fixtures. */
  readonly configuredProviders?: boolean
  /** A clock that runs with the true time. */
  readonly running?: boolean
  readonly clock?: FakeClock
  /** Whether paid calls go to a worker, whether that has a lease, and what happens before a frame of it reaches the gateway. */
  readonly byWorker?: boolean | { readonly hasLease: boolean; before?: (kind: string) => Promise<unknown> }
  /** Where a clock that stands begins. */
  readonly now?: number
}

/** A worker in this process, whose frames are texts. What it does not serve goes to the gateway. */
async function workerOf(
  gateway: Awaited<ReturnType<typeof compose>>,
  config: Config,
  given: Pick<Parameters<typeof compose>[1], 'log' | 'providers'> & { readonly clock: FakeClock },
  lease: Exclude<HarnessOptions['byWorker'], boolean | undefined> = { hasLease: true },
) {
  const calls = gateway.workers.calls('of the tests')
  const sent = <T>(value: T): T => JSON.parse(JSON.stringify(value))
  const surroundings = { ...given, stopwatch: given.clock.stopwatch, acceptsClock: true, onFatal: () => undefined }
  const tracer = config.traces && (await openTracer(config.traces, given.log))
  const primary: WorkerParts['primary'] = {
    get hasLease() {
      return lease.hasLease
    },
    isReady: true,
    sessionNumber: 1,
    back: async () => true,
    async ask(kind, payload) {
      await lease.before?.(kind)
      return sent(await calls.answer(kind, sent(payload)))
    },
    tell: (kind, payload) => calls.take(kind, sent(payload)),
  }
  const state = workerState(primary, given.clock)
  const { pieces } = gateway.workers
  const push = async ([piece]: Parameters<Parameters<typeof pieces.pushChanged>[0]>[0]) => {
    await new Promise((resolve) => setImmediate(resolve))
    state.tables.take(sent(piece ?? {}))
    return true
  }
  gateway.core.listeners.push(() => pieces.pushChanged(push))
  const own = { DATA_DIR: config.dataDir, HOST: config.host, PORT: String(config.port) }
  const worker = composeWorker(workerConfig(sent(config.forWorkers), true, own), surroundings, {
    state,
    tracer,
    primary,
    passOn: (request) => gateway.app.handle(request),
    hasIndex: true,
  })
  return {
    async fetch(request: Request): Promise<Response> {
      for (const piece of pieces.all()) state.tables.take(sent(piece))
      await worker.report()
      return worker.fetch(request)
    },
    streamsEnded: (maxMs: number) =>
      Promise.all([gateway.streamsEnded(maxMs), state.openCalls.ended(maxMs)]).then(() => undefined),
    report: worker.report,
    close: () => Promise.all([worker.close(), tracer?.close()]),
  }
}

/** The limits of callers that have no tier. */
export const CALLER_LIMITS = {
  anonymousLimits: WIDE,
  visitorLimits: WIDE,
  freeUnitsPerMinute: WIDE.rpm,
  paymentAttemptsPerMinute: WIDE.rpm,
}

export type Harness = Awaited<ReturnType<typeof openHarness>>

/** A request as the command line sends it over the control socket. `path`: below `/api/operator`, or `/ready`. */
export function controlRequest(path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST'): Request {
  const json = body !== undefined && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  return new Request(`http://gateway${path === '/ready' ? path : `/api/operator${path}`}`, { method, ...json })
}

export async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-test-'))
  await writeMigratedDatabase(join(folder, 'gateway.db'))
  return folder
}

/** Whether paid calls go to a worker, which asks the gateway with frames as JSON: `bun run test:worker`. */
const BY_WORKER = process.env['TEST_BY_WORKER'] === '1'
/** Whether each call of the harness goes over a socket, as those of real callers do: `bun run test:socket`. */
export const OVER_SOCKET = process.env['TEST_OVER_SOCKET'] === '1'

/** Sends requests to a gateway over a socket of its own, with the Host that they name. */
function socketOf(gateway: Awaited<ReturnType<typeof compose>>) {
  let hangUps = 0
  const handle: typeof gateway.fetch = (request) => {
    request.signal.addEventListener('abort', () => hangUps++)
    return gateway.fetch(request)
  }
  const web = listenTo({ app: gateway.app, fetch: handle })
  return {
    /** How many callers have hung up. */
    hangUps: () => hangUps,
    async send(request: Request): Promise<Response> {
      const { pathname, search, host } = new URL(request.url)
      const headers = new Headers(request.headers)
      // Bun would add its own.
      for (const [name, value] of [
        ['host', host],
        ['user-agent', ''],
      ] as const)
        if (!headers.has(name)) headers.set(name, value)
      const { method, body, signal } = request
      return fetch(`http://127.0.0.1:${web.port}${pathname}${search}`, {
        method,
        headers,
        signal,
        redirect: 'manual',
        decompress: false,
        ...(body && { body }),
      })
    },
    close: () => web.stop(0),
  }
}

let dashboard: { readonly builtAt: string; readonly files: Promise<DashboardFiles> } | null = null

/** Loaded once per process, and again after somebody built it or added the reader of `/docs`. */
async function loadedDashboard(): Promise<DashboardFiles> {
  const times = ['index.html', 'vendor/scalar.js.br'].map((file) =>
    stat(join(DASHBOARD, file)).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    ),
  )
  const builtAt = (await Promise.all(times)).join()
  if (dashboard?.builtAt !== builtAt) dashboard = { builtAt, files: loadDashboard(DASHBOARD) }
  return dashboard.files
}

/** The settings of a gateway in a test, and more. */
export function readTestConfig(env: Readonly<Record<string, string>> = {}) {
  return readConfig(
    {
      SECRET_KEY: 'a secret that only tests know, 32 bytes and more',
      DISK_RESERVE_MIB: '0',
      SIGNUP_RPM: '1000',
      OWNER_RPM: '1000000',
      VISITOR_RPM: '1000000',
      SIGNUP_CREDIT_PER_NETWORK: '1000000',
      SIGNUP_CREDIT_DAILY_USD: '1000000',
      NODE_ENV: 'test',
      ...env,
    },
    {},
  )
}

/**
 * The whole gateway in this process: a real database file in a folder of its own, a fake clock, fixture providers. Calls go
 * through the HTTP app without a socket; they come from 127.0.0.1. Close it when done.
 */
export async function openHarness(options: HarnessOptions = {}) {
  const folder = options.folder ?? (await newFolder())
  const clock = options.clock ?? new FakeClock(options)
  const images = new FixtureProvider<ImageSearchInput>()
  const context = new FixtureProvider<LlmContextInput>()
  const fixtures = options.configuredProviders ? {} : { providers: { images, context } }
  const logged: string[] = []
  const fatal: string[] = []
  const config = readTestConfig({ DATA_DIR: folder, ...options.env })
  const gateway = await compose(config, {
    clock,
    acceptsClock: true,
    stopwatch: clock.stopwatch,
    log: openLog('debug', (line) => logged.push(line)),
    onFatal: (reason) => fatal.push(reason),
    passwordHash: QUICK_HASH,
    threads: TEST_THREADS,
    dashboard: await loadedDashboard(),
    ...fixtures,
    ...(options.pingMs && { pingMs: options.pingMs }),
    ...(options.outbound && { outbound: options.outbound }),
  })
  const { core } = gateway
  const worker =
    (options.byWorker ?? BY_WORKER)
      ? await workerOf(
          gateway,
          config,
          { clock, ...fixtures, log: openLog('debug', (line) => logged.push(line)) },
          typeof options.byWorker === 'object' ? options.byWorker : undefined,
        )
      : null
  const socket = OVER_SOCKET ? socketOf(gateway) : null
  const call = (path: string, init: RequestInit = {}) => {
    const request = new Request(`http://localhost:${config.port}${path}`, init)
    if (worker !== null) return worker.fetch(request)
    return socket === null ? gateway.app.handle(request) : socket.send(request)
  }
  const control = async (path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST') => {
    // A worker reports each second.
    await worker?.report()
    return gateway.control(controlRequest(path, body, method))
  }
  let people = 0
  const credentials = (email: string): RequestInit => ({
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'Ada', email, password: 'correct horse battery' }),
  })
  /** `api` sends the session cookie and JSON. */
  const session = async (email: string, answer: Response) => {
    if (answer.status !== 200) throw new Error(await answer.text())
    const cookie = answer.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ')
    const api = (path: string, body?: unknown, method = body === undefined ? 'GET' : 'POST', headers = {}) =>
      call(path, {
        method,
        headers: { cookie, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
    return { email, cookie, api }
  }
  return {
    folder,
    databaseFile: join(folder, 'gateway.db'),
    config,
    clock,
    images,
    context,
    logged,
    fatal,
    gateway: worker !== null ? { ...gateway, streamsEnded: worker.streamsEnded } : gateway,
    core,
    /** One request; `key` is sent as Bearer. */
    call,
    as: (key: MadeKey | string, path: string, init: RequestInit = {}) => {
      const headers = new Headers(init.headers)
      headers.set('authorization', `Bearer ${typeof key === 'string' ? key : key.secret}`)
      return call(path, { ...init, headers })
    },
    /** Has a caller hang up, and waits until the gateway knows: over a socket that takes a while. */
    async hangingUp(hangUp: () => unknown): Promise<void> {
      const before = socket?.hangUps()
      await hangUp()
      if (socket !== null) await until(() => socket.hangUps() !== before)
    },
    /** A request over the control socket. `path`: below `/api/operator`, or `/ready`. */
    control,
    /** The answer of `/ready` over the control socket. */
    readiness: async () => (await control('/ready')).json(),
    /** An account without an owner who could sign in: fast. 2 USD of signup credit, and `extraUsd` of granted credit. */
    async account(extraUsd = 0, limits: Limits | null = WIDE): Promise<Account> {
      const account = await core.signUp.openAccount(`user-${++people}`)
      if (!account) throw new Error('no account')
      if (extraUsd > 0)
        await core.operator.grant(OPERATOR, account.id, micros(extraUsd * 1_000_000), 'test', `test-${people}`)
      if (!limits) return account
      const changed = await core.operator.setLimits(OPERATOR, account.id, limits)
      if (!changed.ok) throw new Error(changed.error.message)
      return changed.value
    },
    /** A key of an account, with what the owner's API would take as its body. */
    async key(account: Account, body: Record<string, unknown> = {}): Promise<MadeKey> {
      const owner = { accountId: account.id, tier: { ...account, toppedUp: ZERO }, actor: OPERATOR }
      const made = await core.keys.create(owner, newKeyForm({ name: `key ${crypto.randomUUID()}`, ...body }))
      if (!made.ok) throw new Error(JSON.stringify(made.error))
      return { id: made.value.key.id, secret: made.value.secret }
    },
    /**
     * A person who signed up over HTTP. `send`: how the sign-up goes out. `confirm`: reads
     * the mail of a gateway that asks for it, before the sign-in.
     */
    async owner(
      email = `owner-${++people}@example.com`,
      send: typeof call = call,
      confirm?: (email: string) => Promise<void>,
    ) {
      const signedUp = await send('/api/auth/sign-up/email', credentials(email))
      await confirm?.(email)
      return session(email, confirm ? await send('/api/auth/sign-in/email', credentials(email)) : signedUp)
    },
    /** Another session of somebody who signed up. */
    signIn: async (email: string) => session(email, await call('/api/auth/sign-in/email', credentials(email))),
    async close(keepFolder = false): Promise<void> {
      await worker?.close()
      await socket?.close()
      await gateway.close()
      if (!keepFolder) await rm(folder, { recursive: true, force: true })
    },
  }
}
