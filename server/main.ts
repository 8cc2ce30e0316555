import { join } from 'node:path'
import { compose } from './compose'
import { isInUse, refuseLostData, startProblem, takeDataFolder } from './compose/data'
import { logSelfCheck } from './compose/self-check'
import { type Config, changedSettings, dataFolder, givenNow, logFormat, validConfig } from './config'
import { ConfigError } from './config/config-error'
import { drainMsOf } from './config/listening'
import { reasonOf } from './core/result'
import { HandOver, StandbyAnswers, takeOver, WaitingRoom } from './hand-over'
import {
  CONTROL_SOCKET,
  finishCalls,
  freePort,
  LAST_RESPONSES_MS,
  type Listening,
  listen,
  listenControl,
  listenMetrics,
  openPort,
  PortError,
} from './listen'
import { type Log, LogOutput, logFileProblem, openLog, type ProcessLog } from './log'
import { secureFolder } from './setup/secure-folder'
import { unmountedVolume } from './setup/unmounted-volume'

type Gateway = Awaited<ReturnType<typeof compose>>
type Lock = Awaited<ReturnType<typeof takeDataFolder>>

/** The format of lines to stderr, of the environment until the settings are read. */
let format = logFormat()

/** The texts of the settings, once they are read. */
let textsAtStart: ReturnType<typeof givenNow>['texts'] = {}

/** The log, once the settings are read. */
let output: LogOutput | null = null

/** Writes a line before the log is open, or that ends the process: to stderr, and to a log file too. */
function tell(level: 'warn' | 'error', message: string): void {
  if (output?.isFile) openLog('debug', output.write, undefined, format)[level](message)
  if (format === 'json') openLog('debug', undefined, undefined, 'json')[level](message)
  else process.stderr.write(`gateway: ${message}\n`)
}

/** The handler of a hang-up. Without one it would end the process, also while it starts. */
let onHangUp = () => {}
process.on('SIGHUP', () => onHangUp())

function openOutput({ logFile }: Config): LogOutput {
  try {
    return new LogOutput(logFile)
  } catch (error) {
    end(logFileProblem(logFile ?? '', error))
  }
}

/** Ends the process with a one-line message. */
function end(message: string): never {
  tell('error', message)
  process.exit(1)
}

/** Writes to stdout what a person at a terminal reads after a start; `line` is the same for a collector of logs. */
function announce({ logFormat: format }: Config, text: string, line: string): void {
  if (format === 'json') openLog('debug', (written) => process.stdout.write(written), undefined, 'json').info(line)
  else process.stdout.write(text)
}

/** Makes new files private to this user, and checks the data folder before the secret in it is read. */
async function secureDataFolder(): Promise<void> {
  process.umask(0o077)
  const unmounted = unmountedVolume(process.argv)
  if (unmounted !== null) throw new Error(unmounted)
  await secureFolder(dataFolder(), (line) => tell('warn', line))
}

/** The settings, with a free port for 0, and the texts that they were given as. */
function settings() {
  try {
    const given = givenNow()
    const config = validConfig(given, dataFolder())
    format = config.logFormat
    for (const warning of config.warnings) tell('warn', warning)
    if (config.port !== 0) return { config, texts: given.texts }
    const port = String(freePort(config.host))
    const read = (name: string) => (name === 'PORT' ? port : given.read(name))
    return { config: validConfig({ ...given, read }, dataFolder()), texts: given.texts }
  } catch (error) {
    if (error instanceof ConfigError || error instanceof PortError) end(error.message)
    throw error
  }
}

/** SIGHUP: opens the log by its name again, and reads the models again. A problem changes nothing. */
async function reload({ reloadModels }: Pick<Gateway, 'reloadModels'>, log: Log): Promise<void> {
  try {
    output?.reopen()
  } catch (error) {
    log.error('LOG_FILE could not be opened again; lines go to the old file', { reason: reasonOf(error) })
  }
  try {
    const changed = await reloadModels()
    log.info('SIGHUP: the log was opened again and MODELS_FILE read; all other settings need a restart', { changed })
    const settings = changedSettings(textsAtStart, givenNow().texts)
    if (settings.length > 0) log.warn('SIGHUP: settings have changed; restart the gateway to use them', { settings })
  } catch (error) {
    log.error('SIGHUP: MODELS_FILE or a setting could not be read; they stay as they were', { reason: reasonOf(error) })
  }
}

/** Locks the data folder; with TAKE_OVER once the gateway that has it has left. The port is open then, and requests wait. */
async function takeData(config: Config, openPort: () => Listening): Promise<{ folder: Lock; web: Listening | null }> {
  try {
    const folder = await takeDataFolder(config)
    if (config.takeOver) freePort(config.host, config.port)
    return { folder, web: null }
  } catch (error) {
    if (!config.takeOver || !isInUse(error)) throw error
  }
  let web: Listening | null = null
  const folder = await takeOver({
    config,
    socket: join(config.dataDir, CONTROL_SOCKET),
    openPort() {
      web = openPort()
    },
    take: () =>
      takeDataFolder(config).catch((error: unknown) => {
        if (isInUse(error)) return null
        throw error
      }),
  })
  return { folder, web }
}

const STANDBY = '--standby='
const clock = { now: () => Date.now() }
/** Starts a worker. */
const WORKER = [process.execPath, ...process.execArgv, new URL('./worker-process.ts', import.meta.url).pathname]

/** Says what should be changed, and how to become operator while there is none. */
async function informOperator(config: Config, gateway: Gateway, log: Log, isFresh: boolean): Promise<void> {
  if (config.production) {
    const { lastTimes } = gateway.core.stores
    const { needsOperator, backups } = gateway
    void logSelfCheck(config, { now: clock.now, lastTimes, needsOperator, backupWarning: backups.warning }, log)
  }
  if (!(await gateway.needsOperator())) return
  const mayBeFirst = isFresh && config.firstAccountIsOperator
  const notice = claimNotice(config.baseUrl, gateway.setupToken.issue(), mayBeFirst)
  announce(config, notice, notice.trim().replace(/\n\s*/g, ' '))
}

async function start(config: Config, log: ProcessLog, started: number): Promise<void> {
  const [room, passedOn] = [new WaitingRoom(), new WaitingRoom()]
  let address: Bun.Server<undefined> | null = null
  const hasWorkers = config.workers > 0
  if (hasWorkers && !config.takeOver) freePort(config.host, config.port)
  const open = (at: Parameters<typeof listen>[0], { handle }: WaitingRoom) =>
    listen(at, handle, (server) => (address = server), faultsTo(log))
  const openWeb = () => open(config, room)
  const standby = await stoodBy(config, log)
  const taken = await takeData(config, openWeb)
  await refuseLostData(config, process.argv.includes('--new'), log)
  const acceptsClock = process.argv.includes('--accept-clock')
  const gateway = await compose(config, { clock, acceptsClock, log, onFatal: end })
  await standby?.release()
  let handOver: HandOver | null = null
  const control = listenControl(
    join(config.dataDir, CONTROL_SOCKET),
    async (request) => handOver?.answer(request) ?? gateway.control(request),
  )
  const { metrics: settings } = config
  const { metrics: endpoint } = gateway
  const metrics =
    settings?.listener && endpoint ? listenMetrics(settings.listener, (request) => endpoint.onOwnPort(request)) : null
  // Workers have the port, and this process takes what they pass on.
  const web = hasWorkers ? open({ host: '127.0.0.1', port: 0 }, passedOn) : (taken.web ?? openWeb())
  gateway.app.server = address
  const { workersListener } = config
  const startWorkers = () => gateway.workers.start(web.port, WORKER)
  const workers =
    hasWorkers || workersListener
      ? openPort(workersListener ?? config, startWorkers, workersListener ? 'WORKERS_' : '')
      : null
  if (workers) passedOn.open(workers.passedOn(gateway.fetch))
  room.open(gateway.fetch)
  const remote = workersListener && listenForWorkers(workersListener, passedOn.handle, log)
  const closers = [
    () => remote?.stop(LAST_RESPONSES_MS),
    () => control.stop(),
    () => metrics?.stop(),
    () => gateway.close(),
    () => taken.folder.release(),
  ]
  const hurry = Promise.withResolvers<void>()
  let isStopping = false
  const stop = async (signal: string) => {
    if (isStopping || signal === 'SIGINT') hurry.resolve()
    if (isStopping) return
    isStopping = true
    await stopInOrder({ config, log, web, workers, gateway, closers }, signal, hurry.promise)
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal))
  const leave = () => {
    hurry.resolve()
    void stop('hand-over')
  }
  const { stopping } = gateway
  handOver = new HandOver({
    config,
    web: hasWorkers && workers ? workers.ports : web,
    stopping,
    drainMs: () => drainMsOf(config, gateway),
    leave,
  })
  onHangUp = () => void reload(gateway, log)
  void gateway.rail.open()
  await gateway.index.prepare(progress(log), undefined, standby?.indexed)
  await workers?.listening
  if (hasWorkers && taken.web) leaveToWorkers(taken.web)
  const isFresh = (await gateway.accounts.count()) === 0
  const took = performance.now() - started
  announce(config, welcome(config.baseUrl, took, isFresh), readyLine(config.baseUrl, took))
  await informOperator(config, gateway, log, isFresh)
}

function faultsTo(log: Log) {
  return (error: unknown) => log.error('request failed', { reason: reasonOf(error) })
}

/** Serves what came while another gateway left the port; the rest goes to the workers. */
function leaveToWorkers(web: Listening): void {
  web.retireConnections()
  // After the event loop accepted all connections that came, as in a hand-over.
  setTimeout(() => setImmediate(() => web.closePort()), LAST_RESPONSES_MS)
}

/** With `--standby=REPLICA`: answers 503 on the port until this process is to be the primary. */
async function stoodBy(config: Config, log: Log) {
  const replica = process.argv.find((arg) => arg.startsWith(STANDBY))?.slice(STANDBY.length)
  if (replica === undefined) return null
  const { standBy } = await import('./compose/standby')
  const waiting = new StandbyAnswers(log)
  const web = listen(config, waiting.handle, () => undefined, faultsTo(log))
  log.info('standing by for another gateway')
  const leave = () => process.exit(0)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, leave)
  const acceptsFailover = process.argv.includes('--accept-failover')
  const standby = await standBy(config, replica, { acceptsFailover, log, onState: waiting.take })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.off(signal, leave)
  web.retireConnections()
  await web.stop(0)
  return standby
}

/** Takes what workers of other machines pass on, on the port after the one that they connect to. */
function listenForWorkers(
  { host, port, tls }: NonNullable<Config['workersListener']>,
  handle: (request: Request) => Response | Promise<Response>,
  log: Log,
): Listening {
  return listen({ host, port: port + 1, tls, prefix: 'WORKERS_' }, handle, () => undefined, faultsTo(log))
}

/** Logs the progress of building the index in steps of 10 %. */
function progress(log: Log): (done: number, total: number) => void {
  let tenth = -1
  return (done, total) => {
    const now = total === 0 ? 10 : Math.floor((done / total) * 10)
    if (now === tenth) return
    tenth = now
    log.info(`building the search index: ${now * 10} %`)
  }
}

/** The message at startup: that the gateway is ready, and what to do next. */
function welcome(url: string, startedMs: number, isFresh: boolean): string {
  const ready = readyLine(url, startedMs)
  const next = isFresh
    ? [
        'Next: sign up, create a key, search.',
        `  curl -c cookies.txt -H 'content-type: application/json' ${url}/api/auth/sign-up/email \\`,
        `    -d '{"name":"Ada","email":"ada@example.com","password":"correct horse battery"}'`,
        `  curl -b cookies.txt -H 'content-type: application/json' ${url}/api/keys -d '{"name":"My first key"}'`,
        `  curl -H "Authorization: Bearer $GATEWAY_API_KEY" '${url}/apis/v1/websearch/images/search?q=credit%20card'`,
      ]
    : [`Try: curl -i '${url}/apis/v1/websearch/images/search?q=credit%20card'`]
  return [ready, ...next, 'Stop with Ctrl-C.', ''].join('\n')
}

/** That the gateway is ready, in one line. */
function readyLine(url: string, startedMs: number): string {
  return `Gateway ready at ${url} (${(startedMs / 1000).toFixed(1)} s)`
}

/** The message at startup while there is no operator: how to become it with the one-time token. */
function claimNotice(url: string, token: string, mayBeFirst: boolean): string {
  const who = mayBeFirst
    ? 'The first account becomes operator if it signs up on this machine. To claim operator rights from elsewhere:'
    : 'This gateway has no operator yet. To claim operator rights:'
  return `${who}\n  sign up, open ${url}/operator and enter this one-time token: ${token}\n`
}

interface Running {
  readonly config: Pick<Config, 'drainNoticeSeconds' | 'drainSeconds'>
  readonly log: ProcessLog
  readonly web: Listening
  /** Null without any. */
  readonly workers: { readonly ports: Pick<Listening, 'retireConnections'>; stop(maxMs: number): Promise<void> } | null
  readonly gateway: {
    readonly stopping: { announce(): void; drain(): void }
    longestCallMs(): number
    streamsEnded(maxMs: number): Promise<void>
    close(): Promise<void>
  }
  /** Parts that end after the last call, in this order. */
  readonly closers: readonly (() => unknown)[]
}

/**
 * Stops the process in order: `/ready` says `draining` for DRAIN_NOTICE_SECONDS while calls are served as before, then the port closes, and
 * calls in progress have DRAIN_SECONDS to end. `hurry` ends the notice early.
 */
async function stopInOrder(running: Running, signal: string, hurry: Promise<unknown>): Promise<void> {
  const { config, log, web, workers, gateway, closers } = running
  gateway.stopping.announce()
  // Proxies keep connections open: each closes after its next response, so that none is cut while a request arrives.
  web.retireConnections()
  workers?.ports.retireConnections()
  const noticeMs = config.drainNoticeSeconds * 1000
  if (noticeMs > 0) {
    log.info(`${signal}: stopping; new calls are served for the time of the notice`, { seconds: noticeMs / 1000 })
    await Promise.race([Bun.sleep(noticeMs), hurry])
  }
  const drainMs = drainMsOf(config, gateway)
  // What they serve is decided here, and what they pass on is served here.
  await workers?.stop(drainMs)
  log.info(`${signal}: finishing requests in progress`)
  const { stopping, streamsEnded } = gateway
  await finishCalls(web, { drain: () => stopping.drain(), streamsEnded }, drainMs)
  for (const close of closers) await close()
  log.flush()
  log.info('stopped')
}

/** Reads the settings and starts. Not at the top level, where an `await` would keep a bundle from holding bytecode. */
async function main(): Promise<void> {
  const started = performance.now()
  await secureDataFolder().catch((error: unknown) => end(reasonOf(error)))
  const { config, texts } = settings()
  textsAtStart = texts
  output = openOutput(config)
  const log = openLog(config.logLevel, output.write, undefined, config.logFormat)
  await start(config, log, started).catch((error: unknown) => end(startProblem(config, error)))
}

void main()
