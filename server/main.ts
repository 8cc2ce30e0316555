import { join } from 'node:path'
import { compose, prepareIndex, takeDataFolder } from './compose'
import { type Config, dataFolder, logFormat, readConfig } from './config'
import { ConfigError } from './config/config-error'
import { CONTROL_SOCKET } from './http/operator/control'
import { freePort, listen, listenControl, listenMetrics } from './listen'
import { type Log, openLog, type ProcessLog } from './log'
import { secureFolder } from './setup/secure-folder'
import { claimNotice, readyLine, welcome } from './welcome'

/** Time for the last responses after streams were aborted at shutdown. */
const LAST_RESPONSES_MS = 2_000

/** Writes a line before the log is open, or after it failed. */
function tell(level: 'warn' | 'error', message: string): void {
  if (logFormat() === 'json') openLog('debug', undefined, undefined, 'json')[level](message)
  else process.stderr.write(`gateway: ${message}\n`)
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
  await secureFolder(dataFolder(), (line) => tell('warn', line))
}

function settings(): Config {
  try {
    const config = readConfig()
    return config.port === 0 ? readConfig({ PORT: String(freePort(config.host)) }) : config
  } catch (error) {
    if (error instanceof ConfigError) end(error.message)
    throw error
  }
}

async function start(config: Config, log: ProcessLog, started: number): Promise<void> {
  const folder = await takeDataFolder(config)
  const gateway = await compose(config, { clock: { now: () => Date.now() }, log, onFatal: end })
  const control = listenControl(join(config.dataDir, CONTROL_SOCKET), gateway.control)
  const { metrics: settings } = config
  const { metrics: endpoint } = gateway
  const metrics =
    settings?.listener && endpoint ? listenMetrics(settings.listener, (request) => endpoint.onOwnPort(request)) : null
  const web = listen(
    config,
    gateway.fetch,
    (server) => {
      gateway.app.server = server
    },
    (error) => log.error('request failed', { reason: String(error) }),
  )
  let stopping = false
  const stop = async (signal: string) => {
    if (stopping) return
    stopping = true
    log.info(`${signal}: finishing requests in progress`)
    gateway.drain()
    const drainMs = config.drainSeconds === null ? gateway.longestCallMs() : config.drainSeconds * 1000
    const until = performance.now() + drainMs
    await gateway.streamsEnded(drainMs)
    await web.stop(Math.max(LAST_RESPONSES_MS, until - performance.now()))
    await control.stop()
    await metrics?.stop()
    await gateway.close()
    folder.release()
    log.info('stopped')
    log.flush()
    process.exit(0)
  }
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => void stop(signal))
  void gateway.rail.open()
  await prepareIndex(config, progress(log))
  const isFresh = (await gateway.accounts.count()) === 0
  const took = performance.now() - started
  announce(config, welcome(config.baseUrl, took, isFresh), readyLine(config.baseUrl, took))
  if (await gateway.needsOperator()) {
    const mayBeFirst = isFresh && config.firstAccountIsOperator
    const notice = claimNotice(config.baseUrl, gateway.setupToken.issue(), mayBeFirst)
    announce(config, notice, notice.trim().replace(/\n\s*/g, ' '))
  }
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

const started = performance.now()
await secureDataFolder().catch((error: unknown) => end(error instanceof Error ? error.message : String(error)))
const config = settings()
await start(config, openLog(config.logLevel, undefined, undefined, config.logFormat), started).catch((error: unknown) =>
  end(error instanceof Error ? error.message : String(error)),
)
