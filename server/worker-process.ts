import { randomBytes } from 'node:crypto'
import { Connection, type ConnectionParts } from './adapters/workers/connection'
import { exitWith, readParent } from './adapters/workers/parent'
import { openTracer } from './compose/observing/telemetry'
import { composeWorker, workerState } from './compose/worker'
import { type Config, settingsAtStart, workerConfig } from './config'
import { drainMsOf, reachable } from './config/listening'
import type { TraceSettings } from './config/traces'
import type { remoteWorkerSettings, SettingTexts } from './config/workers'
import { KeyedMutex } from './core/keyed-mutex'
import { reasonOf } from './core/result'
import { VERSION } from './core/version'
import { PassOn } from './http/pass-on'
import { finishCalls, LAST_RESPONSES_MS, type Listening, listen } from './listen'
import { LogOutput, openLog, type ProcessLog } from './log'
import type { Pushed } from './workers/pushed'

const FLUSH_MS = 2_000
const REPORT_MS = 1_000

/** Which primary this process works for, and for how long. */
interface Employment extends Pick<ConnectionParts, 'addresses' | 'ca' | 'credential' | 'key' | 'instance'> {
  /** Shares its port with the other workers of its primary. */
  readonly sharesPort: boolean
  /** Resolves when it is to end. */
  readonly ended: Promise<void>
}

/** Serves paid calls, and asks its primary about each. It opens the port once it has the primary's settings and tables. */
async function serve(employment: Employment, log: ProcessLog): Promise<never> {
  const { sharesPort, ended, ...where } = employment
  const name = where.credential
  const clock = { now: () => Date.now() }
  const ready = Promise.withResolvers<Composed>()
  const pushes = new KeyedMutex()
  let now: Composed | null = null
  let web: Listening | null = null
  const take = async ({ settings, isLeaving, ...piece }: Pushed) => {
    if (isLeaving !== undefined && sharesPort) isLeaving ? web?.retireConnections() : web?.keepConnections()
    // Another primary may have other settings: new calls are served by those.
    if (settings && !Bun.deepEquals(settings, now?.settings)) {
      const before = now
      now = await composed(settings)
      now.worker.server = before?.worker.server ?? null
      if (before) {
        log.info('the settings of the primary have changed', { worker: name })
        setTimeout(() => void before.close(), before.worker.longestStreamMs).unref()
      }
    }
    if (now === null) return
    state.tables.take(piece)
    if (piece.tables) ready.resolve(now)
  }
  const connection: Connection = new Connection({
    ...where,
    version: VERSION,
    onPush: ([piece]) => pushes.take('', () => take(piece as Pushed)),
    // Its calls are settled by the primary, so not a byte more goes to their callers.
    onLost: () => void state.openCalls.ended(0),
    onReplaced: () => void state.decisions.claimOpen(),
    warn: (message, fields) => log.warn(message, { worker: name, ...fields }),
  })
  const state = workerState(connection, clock)
  const passOn = new PassOn({ target: () => connection.passOn(), ca: where.ca ?? null, now: clock.now })
  const composed = async (settings: SettingTexts): Promise<Composed> => {
    const config = workerConfig(settings, sharesPort)
    const tracer = config.traces && (await openTracer(tracesOf(config.traces, name), log))
    const parts = { state, tracer, primary: connection, passOn: passOn.answer, hasIndex: sharesPort }
    const worker = composeWorker(config, { clock, acceptsClock: true, log, onFatal: () => undefined }, parts)
    const close = async () => void (await Promise.all([worker.close(), tracer?.close()]))
    return { settings, config, worker, close }
  }
  const first = await Promise.race([ready.promise, ended.then(() => process.exit(0))])
  const current = () => now ?? first
  const opened = listen(
    { ...first.config, takeOver: sharesPort },
    (request) => current().worker.fetch(request),
    (server) => {
      current().worker.server = server
    },
    (error) => log.error('request failed', { worker: name, reason: reasonOf(error) }),
  )
  web = opened
  connection.tell('counters', ['listening'])
  if (!sharesPort)
    process.stdout.write(`Gateway ready at http://${reachable(first.config.host)}:${opened.port} as worker ${name}\n`)
  const report = () => void current().worker.report()
  report()
  setInterval(report, REPORT_MS).unref()
  const noticeMs = () => (sharesPort ? 0 : current().config.drainNoticeSeconds * 1000)
  const finishMs = () => drainMsOf(current().config, current().worker)
  const finish = async () => {
    if (sharesPort) connection.endsWithConnection()
    state.isLeaving = true
    opened.retireConnections()
    await Bun.sleep(noticeMs())
    // After the event loop accepted all connections that came.
    await new Promise((resolve) => setImmediate(resolve))
    const drain = () => {
      state.isDraining = true
    }
    await finishCalls(opened, { drain, streamsEnded: (maxMs) => state.openCalls.ended(maxMs) }, finishMs())
    await Promise.all([current().close(), connection.flush(FLUSH_MS)])
    const requests = await state.decisions.settled(FLUSH_MS)
    if (requests.length > 0)
      log.error('calls were answered 503, and may be charged: refund those that are', { requests })
    log.flush()
  }
  return exitWith(ended, finish, () => noticeMs() + finishMs() + LAST_RESPONSES_MS + 2 * FLUSH_MS)
}

/** What serves by settings of the primary. */
interface Composed {
  readonly settings: SettingTexts
  readonly config: Config
  readonly worker: ReturnType<typeof composeWorker>
  close(): Promise<void>
}

/** Collectors tell processes of one service apart by this. */
function tracesOf(traces: TraceSettings, name: string): TraceSettings {
  return { ...traces, resource: { 'service.instance.id': name, ...traces.resource } }
}

/** The primary of this machine that started this process. */
async function ofParent(): Promise<Employment> {
  const { credential, ended } = await readParent()
  const { name, key, instance, socket } = credential
  return { addresses: [{ unix: socket }], credential: name, key, instance, sharesPort: true, ended }
}

/** One on another machine, as the settings say. */
function elsewhere({ primaries, credential, ca }: ReturnType<typeof remoteWorkerSettings>): Employment {
  const { promise: ended, resolve } = Promise.withResolvers<void>()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => resolve())
  const instance = randomBytes(16).toString('hex')
  return {
    addresses: primaries,
    ca,
    credential: credential.name,
    key: credential.key,
    instance,
    sharesPort: false,
    ended,
  }
}

async function main(): Promise<void> {
  process.umask(0o077)
  const { logLevel, logFile, logFormat, remote } = settingsAtStart()
  // `gateway worker`; a child of a primary has no arguments.
  const employment = Bun.argv[2] === 'worker' ? elsewhere(remote()) : await ofParent()
  const output = new LogOutput(logFile)
  await serve(employment, openLog(logLevel, output.write, undefined, logFormat))
}

main().catch((error: unknown) => {
  process.stderr.write(`gateway: a worker could not serve: ${reasonOf(error)}\n`)
  process.exit(1)
})
