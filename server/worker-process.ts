import { randomBytes } from 'node:crypto'
import { Connection, type ConnectionParts } from './adapters/workers/connection'
import { exitWith, readParent } from './adapters/workers/parent'
import { openTracer } from './compose/observing/telemetry'
import { composeWorker } from './compose/worker'
import { type Config, dataFolder, givenNow, remoteWorkerConfig, validConfig } from './config'
import { drainMsOf } from './config/listening'
import type { TraceSettings } from './config/traces'
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

/** Serves paid calls, and asks its primary about each. It opens the port once it has the primary's tables. */
async function serve(config: Config, employment: Employment, log: ProcessLog): Promise<never> {
  const { sharesPort, ended, ...where } = employment
  const name = where.credential
  const ready = Promise.withResolvers<void>()
  const clock = { now: () => Date.now() }
  const connection: Connection = new Connection({
    ...where,
    version: VERSION,
    onPush([piece]) {
      worker.tables.take(piece as Pushed)
      ready.resolve()
    },
    // Its calls are settled by the primary, so not a byte more goes to their callers.
    onLost: () => void worker.streamsEnded(0),
    onReplaced: () => worker.decisions.claimOpen(),
    warn: (message, fields) => log.warn(message, { worker: name, ...fields }),
  })
  const passOn = new PassOn({ target: () => connection.passOnSoon(), ca: where.ca ?? null, now: clock.now })
  const surroundings = { clock, acceptsClock: true, log, onFatal: () => undefined }
  const { traces } = config
  const tracer = traces && (await openTracer(tracesOf(traces, name), log))
  const worker = composeWorker(config, surroundings, {
    tracer,
    primary: connection,
    passOn: (request, server) => passOn.answer(request, server as NonNullable<typeof server>),
    hasIndex: sharesPort,
  })
  await Promise.race([ready.promise, ended])
  const web: Listening = listen(
    { ...config, takeOver: sharesPort },
    worker.fetch,
    (server) => {
      worker.server = server
    },
    (error) => log.error('request failed', { worker: name, reason: reasonOf(error) }),
  )
  connection.tell('counters', ['listening'])
  if (!sharesPort) process.stdout.write(`Gateway ready at ${config.baseUrl} as worker ${name}\n`)
  void worker.report()
  setInterval(() => void worker.report(), REPORT_MS).unref()
  const finishMs = drainMsOf(config, worker)
  const noticeMs = sharesPort ? 0 : config.drainNoticeSeconds * 1000
  const finish = async () => {
    if (sharesPort) connection.endsWithConnection()
    worker.announce()
    web.retireConnections()
    await Bun.sleep(noticeMs)
    await finishCalls(web, worker, finishMs)
    await worker.close()
    await Promise.all([connection.flush(FLUSH_MS), tracer?.close()])
    const requests = await worker.decisions.settled(FLUSH_MS)
    if (requests.length > 0)
      log.error('calls were answered 503, and may be charged: refund those that are', { requests })
    log.flush()
  }
  return exitWith(ended, finish, noticeMs + finishMs + LAST_RESPONSES_MS + 2 * FLUSH_MS)
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
function remote({ primaries, credential, ca }: ReturnType<typeof remoteWorkerConfig>['remote']): Employment {
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
  // `gateway worker`; a child of a primary has no arguments.
  const given = Bun.argv[2] === 'worker' ? remoteWorkerConfig() : null
  const config = given?.config ?? validConfig(givenNow(), dataFolder())
  const output = new LogOutput(config.logFile)
  const log = openLog(config.logLevel, output.write, undefined, config.logFormat)
  await serve(config, given ? remote(given.remote) : await ofParent(), log)
}

main().catch((error: unknown) => {
  process.stderr.write(`gateway: a worker could not serve: ${reasonOf(error)}\n`)
  process.exit(1)
})
