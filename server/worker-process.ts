import { Connection } from './adapters/workers/connection'
import { exitWith, readParent } from './adapters/workers/parent'
import { composeWorker } from './compose/worker'
import { type Config, dataFolder, givenNow, validConfig } from './config'
import { drainMsOf } from './config/listening'
import { reasonOf } from './core/result'
import { VERSION } from './core/version'
import { PassOn } from './http/pass-on'
import { finishCalls, LAST_RESPONSES_MS, type Listening, listen } from './listen'
import { LogOutput, openLog, type ProcessLog } from './log'
import type { Pushed } from './workers/pushed'

const FLUSH_MS = 2_000
const REPORT_MS = 1_000

/**
 * Serves paid calls on the port that it shares with others, and asks its primary about each. It opens the port once it has the
 * primary's tables, and ends when its primary wants it to or has died.
 */
async function serve(config: Config, log: ProcessLog): Promise<never> {
  const parent = await readParent()
  const { name, key, instance, socket } = parent.credential
  const ready = Promise.withResolvers<void>()
  const clock = { now: () => Date.now() }
  const connection: Connection = new Connection({
    address: { unix: socket },
    credential: name,
    key,
    instance,
    version: VERSION,
    onPush([piece]) {
      worker.tables.take(piece as Pushed)
      ready.resolve()
    },
    // Its calls are settled by the primary, so not a byte more goes to their callers.
    onLost: () => void worker.streamsEnded(0),
    onDrain: () => web?.retireConnections(),
    warn: (message, fields) => log.warn(message, { worker: name, ...fields }),
  })
  const passOn = new PassOn({ target: () => connection.passOn, now: clock.now })
  const surroundings = { clock, acceptsClock: true, log, onFatal: () => undefined }
  const worker = composeWorker(config, surroundings, {
    primary: connection,
    passOn: (request, server) => passOn.answer(request, server as NonNullable<typeof server>),
  })
  let web: Listening | null = null
  await Promise.race([ready.promise, parent.ended])
  web = listen(
    { ...config, takeOver: true },
    worker.fetch,
    (server) => {
      worker.server = server
    },
    (error) => log.error('request failed', { worker: name, reason: reasonOf(error) }),
  )
  const listening = web
  connection.tell('counters', ['listening'])
  setInterval(() => worker.report(), REPORT_MS).unref()
  const finishMs = drainMsOf(config, worker)
  const finish = async () => {
    listening.retireConnections()
    await finishCalls(listening, worker, finishMs)
    await worker.close()
    await connection.flush(FLUSH_MS)
    log.flush()
  }
  return exitWith(parent, finish, finishMs + LAST_RESPONSES_MS + FLUSH_MS)
}

async function main(): Promise<void> {
  process.umask(0o077)
  const config = validConfig(givenNow(), dataFolder())
  const output = new LogOutput(config.logFile)
  const log = openLog(config.logLevel, output.write, undefined, config.logFormat)
  await serve(config, log).catch((error: unknown) => {
    log.error('a worker could not serve', { reason: reasonOf(error) })
    process.exit(1)
  })
}

void main()
